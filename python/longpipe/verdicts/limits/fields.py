"""Fields of a scenario that determine its directed links and the connections of its flows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from longpipe.scenario.motion import OwnSatellites, Satellites
from longpipe.scenario.network import Dumbbell, Graph
from longpipe.scenario.policies import TailDrop
from longpipe.scenario.route_links import RouteLink
from longpipe.scenario.starlink import Starlink

if TYPE_CHECKING:
    from longpipe.scenario import Scenario
    from longpipe.scenario.paths import Resolved
    from longpipe.scenario.policies import Policy

# Nodes of a dumbbell's trunk.
_TRUNK: Final = ("switch1", "switch2")
# Beginnings of the names of its hosts.
_HOSTS: Final = ("source", "sink", "vbr-")
# Names of the nodes of transmitters: of a station, and of a satellite, possibly for one station alone.
_UPLINK: Final = re.compile(r"(.+)-up\d*")
_DOWNLINK: Final = re.compile(r"sat\d*-\d+-down(?:-(.+))?")


class LinkFields(NamedTuple):
    """Dotted fields of a directed link, and the values of those that are parts of a scenario.

    A field is "" if the link has none, or if several determine it: the links of a dumbbell's hosts have neither losses
    nor conditioners.
    """

    rate: str
    buffer: str
    policy: str
    loss: str = ""
    conditioners: str = ""
    path: str = ""
    access: str = ""
    policy_now: Any = None
    conditioners_now: tuple[Any, ...] = ()
    path_now: Any = None
    loss_now: Any = None
    access_now: Any = None

    def first(self, kind: str) -> int | None:
        """Returns the number of the first conditioner of a kind; None if there is none."""
        return next((i for i, conditioner in enumerate(self.conditioners_now) if conditioner.kind == kind), None)


class Fields:
    """Names of the fields that determine the links and flows of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._network, self.scenario, self.resolved = scenario.network, scenario, scenario.resolved
        self._names = [node["name"] for node in self.resolved["nodes"]]
        self._owners = _owners(self._network)
        self._number_of = {}
        self._known: dict[int, LinkFields | None] = {}
        self._rates: dict[int, str] = {}
        self._of_role: dict[tuple[str | bool, ...], LinkFields] = {}
        # Places of the stations, by node.
        self._places = {
            node: place
            for between, path in _paths_of(self._network)
            if isinstance(path, Satellites | OwnSatellites)
            for node, place in zip(between, (path.from_, path.to), strict=True)
        }
        if isinstance(self._network, Graph):
            paths = enumerate(link.path for link in self._network.links)
            # Links whose satellites are nodes of the resolved scenario.
            self._spread = [i for i, path in paths if isinstance(path, Satellites | OwnSatellites)]
            for i, link in enumerate(self._network.links):
                self._number_of[link.between] = i, False
                self._number_of[link.between[::-1]] = i, True

    def of_link(self, k: int) -> LinkFields | None:
        """Returns the fields of a directed link of the resolved scenario; links of satellites have those of their path.

        Returns None if no field determines the link.
        """
        if k not in self._known:
            self._known[k] = self._of_link(k)
        return self._known[k]

    def _of_link(self, k: int) -> LinkFields | None:
        """Returns the scenario fields that determine a link; None if no field does."""
        link = self.resolved["links"][k]
        ends = self._names[link["from"]], self._names[link["to"]]
        if isinstance(self._network, Dumbbell):
            # The same fields determine the links of all hosts.
            role = tuple([end if end in _TRUNK else end.startswith(_HOSTS) for end in ends])
            if role not in self._of_role:
                self._of_role[role] = _of_dumbbell(self._network, ends, self.scenario.switch.policy)
            path = self._network.path
            if isinstance(path, Satellites | OwnSatellites) and not any(end.startswith(_HOSTS) for end in ends):
                return _of_kind(self._of_role[role], path, ends, self._places)
            return self._of_role[role]
        if ends in self._number_of:
            number, is_back = self._number_of[ends]
        elif self._spread:
            number, is_back = self._spread[0], False
            way = self._network.links[number]
            if isinstance(way.path, Satellites | OwnSatellites):
                rate, field_prefix = f"network.links.{number}.rate", f"network.links.{number}.path"
                policy = way.policy or self.scenario.switch.policy
                buffer, queue = f"network.links.{number}.buffer", f"network.links.{number}.policy"
                if len(self._spread) > 1:
                    # These have to be equal in all links of a constellation, so that no single field determines them.
                    rate = buffer = queue = ""
                common = LinkFields(rate, buffer, queue, path=field_prefix, path_now=way.path, policy_now=policy)
                return _of_kind(common, way.path, ends, self._places)
        else:
            return None
        way, field_prefix = self._network.links[number], f"network.links.{number}."
        prefix = f"{field_prefix}return_" if is_back else field_prefix
        at_host = self.resolved["nodes"][link["from"]]["kind"] == "host"
        own_path = is_back and way.return_path is not None
        policy = (way.return_policy if is_back else None) or way.policy or self.scenario.switch.policy
        return LinkFields(
            rate=f"{field_prefix}rate" if way.return_rate is None else f"{prefix}rate",
            buffer=f"{field_prefix}host_buffer" if at_host else f"{prefix}buffer",
            policy=f"{field_prefix}host_policy" if at_host else f"{prefix}policy",
            loss=f"{prefix}loss",
            conditioners=f"{prefix}conditioners",
            path=f"{field_prefix}return_path" if own_path else f"{field_prefix}path",
            access=f"{prefix}access",
            policy_now=(way.host_policy or TailDrop()) if at_host else policy,
            conditioners_now=way.return_conditioners if is_back else way.conditioners,
            path_now=way.return_path if own_path else _turned(way.path, is_back=is_back),
            loss_now=way.return_loss if is_back else way.loss,
            access_now=way.return_access if is_back else way.access,
        )

    def of_satellites(self, flow: Resolved) -> LinkFields | None:
        """Returns the fields of the link, between two stations, that satellites replace on the route of a flow."""
        if isinstance(self._network, Dumbbell):
            is_replaced = isinstance(self._network.path, Satellites | OwnSatellites)
            return _of_dumbbell(self._network, _TRUNK, self.scenario.switch.policy) if is_replaced else None
        node_names, links = {node.name for node in self._network.nodes}, self.resolved["links"]
        for way in (flow, *flow.get("rerouting", {}).get("changes", ())):
            ends = [self._names[links[way["route"][0]]["from"]], *(self._names[links[k]["to"]] for k in way["route"])]
            for pair in pairwise([end for end in ends if end in node_names]):
                number, _ = self._number_of[pair]
                path = self._network.links[number].path
                if isinstance(path, Satellites | OwnSatellites):
                    return LinkFields(
                        f"network.links.{number}.rate", "", "", path=f"network.links.{number}.path", path_now=path
                    )
        return None

    def satellite_delay_ps(self, flow: Resolved, path: object) -> int:
        """Returns the delay [ps] of the links that replace the one with a `path` over satellites on a flow's route.

        The route is the first one to the receiver, and the delay of a time-varying link that at the begin of its
        series; 0 without such a route.
        """
        between: tuple[str, ...] = _TRUNK
        if isinstance(self._network, Graph):
            between = next(link.between for link in self._network.links if link.path is path)
        links = self.resolved["links"]
        for way in (flow, *flow.get("rerouting", {}).get("changes", ())):
            route = [links[k] for k in way["route"]]
            names = [self._names[route[0]["from"]], *(self._names[link["to"]] for link in route)]
            if set(between) <= set(names) and self.resolved["nodes"][route[-1]["to"]]["kind"] == "host":
                first, last = sorted(names.index(name) for name in between)
                return sum(_begin_ps(link) for link in route[first:last])
        return 0

    def rate_of(self, k: int) -> str:
        """Returns the field that determines the rate of a directed link, or "" if its path or no field does."""
        if (rate := self._rates.get(k)) is None:
            fields = self.of_link(k)
            is_other = fields is None or "service" in self.resolved["links"][k].get("motion", {})
            rate = self._rates[k] = "" if fields is None or is_other else fields.rate
        return rate

    def proxy_buffer(self, node: str) -> tuple[str, str]:
        """Returns the field of the buffer of the proxy at a node, and its value."""
        if isinstance(self._network, Dumbbell):
            return "network.pep.buffer", str(self._network.pep and self._network.pep.buffer)
        number, proxy_node = next(
            (i, candidate) for i, candidate in enumerate(self._network.nodes) if candidate.name == node
        )
        return f"network.nodes.{number}.pep.buffer", str(proxy_node.pep and proxy_node.pep.buffer)

    def of_flow(self, flow: str, name: str) -> str:
        """Returns the field that determines a TCP field of a flow: its own, its group's, or the scenario's."""
        prefix, owner = self._owners.get(flow, ("", None))
        first = name.split(".")[0]
        if owner is not None and owner.tcp is not None and first in owner.tcp.model_fields_set:
            return f"{prefix}.tcp.{name}"
        return f"tcp.{name}"


def _begin_ps(link: Resolved) -> int:
    """Returns the delay [ps] of a directed link at the begin of its series."""
    series = link.get("motion", {}).get("delay")
    return int(link["delay_ps"] if series is None else series["knots_ps"][0][1])


def _paths_of(network: Dumbbell | Graph) -> list[tuple[tuple[str, str], object]]:
    """Returns the nodes of each link that may have a path, and the path."""
    if isinstance(network, Dumbbell):
        return [(_TRUNK, network.path)]
    return [(link.between, link.path) for link in network.links]


def _of_kind(
    common: LinkFields, path: Satellites | OwnSatellites, ends: tuple[str, str], places: Mapping[str, str]
) -> LinkFields:
    """Returns the fields of a link of a graph over satellites: those of its kind or station, or of the whole path."""
    station = ""
    if uplink := _UPLINK.fullmatch(ends[1]) or _UPLINK.fullmatch(ends[0]):
        kind, station = "uplink", uplink[1]
    elif downlink := _DOWNLINK.fullmatch(ends[1]) or _DOWNLINK.fullmatch(ends[0]):
        kind, station = "downlink", downlink[1] or ""
    else:
        kind = "crosslink"
    owners: list[tuple[str, object]] = [(f"{common.path}.{kind}", path)]
    for i, station_settings in enumerate(path.stations):
        if station_settings.place == places.get(station):
            owners.insert(0, (f"{common.path}.stations.{i}.{kind}", station_settings))
    prefix, settings = next(
        (
            (prefix, route_settings)
            for prefix, owner in owners
            if (route_settings := getattr(owner, kind, None)) is not None
        ),
        (f"{common.path}.{kind}", RouteLink.unchecked()),
    )
    own_names = {
        name: f"{prefix}.{name}" for name in ("rate", "buffer", "policy") if getattr(settings, name) is not None
    }
    return common._replace(
        **own_names,
        loss=f"{prefix}.loss",
        loss_now=settings.loss,
        conditioners=f"{prefix}.conditioners",
        conditioners_now=settings.conditioners,
        policy_now=settings.policy or common.policy_now,
        access="",
        access_now=None,
    )


def _of_dumbbell(network: Dumbbell, ends: tuple[str, str], policy: Policy) -> LinkFields:
    """Returns the fields of a dumbbell that determine the link between two nodes."""
    if ends == _TRUNK:
        return LinkFields(
            rate="network.trunk_rate",
            buffer="switch.buffer",
            policy="switch.policy",
            loss="network.trunk_loss",
            conditioners="network.conditioners",
            path="network.path",
            access="network.access",
            policy_now=policy,
            conditioners_now=network.conditioners,
            path_now=network.path,
            loss_now=network.trunk_loss,
            access_now=network.access,
        )
    if ends == _TRUNK[::-1]:
        own_path = network.return_path is not None
        return LinkFields(
            rate="network.trunk_rate" if network.return_rate is None else "network.return_rate",
            buffer="network.return_buffer",
            policy="network.return_policy",
            loss="network.return_loss",
            conditioners="network.return_conditioners",
            path="network.return_path" if own_path else "network.path",
            access="network.return_access",
            policy_now=network.return_policy or policy,
            conditioners_now=network.return_conditioners,
            path_now=network.return_path if own_path else _turned(network.path, is_back=True),
            loss_now=network.return_loss,
            access_now=network.return_access,
        )
    if not any(end.startswith(_HOSTS) for end in ends):
        # A link of the satellites between the switches.
        return LinkFields(
            "network.trunk_rate", "switch.buffer", "switch.policy", path="network.path", policy_now=policy
        )
    if ends[0] in _TRUNK:
        is_exit = ends[0] == _TRUNK[1]
        own_rate = is_exit and network.exit_rate is not None
        return LinkFields(
            "network.exit_rate" if own_rate else "network.access_rate",
            "switch.buffer",
            "switch.policy",
            access="network.exit_access",
            policy_now=policy,
            access_now=network.exit_access if is_exit else None,
        )
    is_exit = ends[1] == _TRUNK[1]
    rates = ("exit_return_rate", "exit_rate") if is_exit else ()
    own_rates = [rate for rate in rates if getattr(network, rate) is not None]
    return LinkFields(
        f"network.{[*own_rates, 'access_rate'][0]}",
        "network.host_buffer",
        "network.host_policy",
        access="network.exit_return_access",
        policy_now=network.host_policy or TailDrop(),
        access_now=network.exit_return_access if is_exit else None,
    )


def _turned(path: Any, *, is_back: bool) -> Any:  # noqa: ANN401 - a path of any kind
    """Returns the path of a direction of a link; a Starlink path describes both, which differ."""
    return path.opposite() if is_back and isinstance(path, Starlink) else path


def _owners(network: Dumbbell | Graph) -> Mapping[str, tuple[str, Any]]:
    """Returns, by flow, the dotted name of the group or flow with its own fields, and this group or flow."""
    if isinstance(network, Graph):
        return {flow.name: (f"network.flows.{i}", flow) for i, flow in enumerate(network.flows)}
    groups = enumerate(network.group or ())
    return {flow: (f"network.group.{i}", group) for i, group in groups for flow in group.flows}
