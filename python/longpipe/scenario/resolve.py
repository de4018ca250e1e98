"""The resolved scenario, as the core requires it: every field present, every quantity an integer."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from longpipe._core import Ports, misplaced
from longpipe.errors import ScenarioError
from longpipe.scenario.base import AUTO, Model
from longpipe.scenario.buffers import Framing
from longpipe.scenario.checks import check, check_flow_arrivals, check_network, fields_of_flows
from longpipe.scenario.congestion import Aimd, Vegas
from longpipe.scenario.constellations import Crossings, crossings
from longpipe.scenario.core import core_fields
from longpipe.scenario.datagrams import HEADERS, longest_bytes
from longpipe.scenario.directed import directed_links, ports_of
from longpipe.scenario.ecn import EcnAccurate, EcnDctcp
from longpipe.scenario.flow_arrivals import core_flow_arrivals
from longpipe.scenario.identity_cache import by_identity
from longpipe.scenario.module import Module, core_module
from longpipe.scenario.network import Dumbbell, Flow, Graph, Group, Link
from longpipe.scenario.own_class import Python, core_class
from longpipe.scenario.own_stack import OwnStack, own_stack_tcp
from longpipe.scenario.profile_options import by_rules, has_initial_rtt
from longpipe.scenario.repetition import MAX_REPETITIONS, check_repetition
from longpipe.scenario.route_links import RouteLink
from longpipe.scenario.series import Series, series
from longpipe.scenario.source import STACKS
from longpipe.scenario.spread import ByKind, spread
from longpipe.scenario.stack import Stack, stack_tcp
from longpipe.scenario.stack_path import StackPath, check_stack_paths
from longpipe.scenario.starlink import Starlink
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.topology import Topology, links_of, vbr_of
from longpipe.scenario.traffic import Arrivals, FlowArrivals, Traffic
from longpipe.scenario.variations import Coded, File, Moving
from longpipe.scenario.warm_up import resolved_warm_up
from longpipe.units import TIME

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

# Fields of links that the settings of a kind of links replace.
_OF_KIND: Final = ("rate", "buffer", "policy", "loss", "conditioners")
# Fields that the core lacks or represents differently.
_OF_SCENARIO: Final = ("name", "defaults", "network", "switch", "tcp", "traffic", "start", "stop", "warm_up")
_OF_SWITCH: Final = ("buffer", "policy", "scheduler")
_OF_FLOWS: Final = tuple({*Flow.model_fields, *Group.model_fields} - {"class_", "service"})
_OF_VBR: Final = ("from_", "to", "route", "period", "duty", "phase", "rate")


def resolve(scenario: "Scenario") -> dict[str, Any]:
    """Returns the scenario as the core requires it. Raises ScenarioError if fields contradict each other."""
    network = scenario.network
    written, moving, over = _with_series(scenario)
    topology = Topology.of(network, scenario.traffic, written)
    tcps = _merged(scenario, topology.flows)
    traffics = _traffics(scenario.traffic, (flow.traffic for flow in topology.flows))
    datagrams = _datagrams([flow.traffic or scenario.traffic for flow in topology.flows], traffics)
    ports = ports_of(scenario, tcps, datagrams)
    links = None
    if any(tcp.receiver_window == AUTO for tcp in tcps):
        # The window is computed from the links, which have to be valid.
        check_network(scenario, topology, tcps, ports)
        links, tcps = directed_links(scenario, topology, tcps, ports)
    check(scenario, topology, tcps, ports)
    topology.check_flows(ports)
    _check_vbr(network, topology, moving)
    check_repetition(scenario, topology, tcps, ports)
    if links is None:
        links, _ = directed_links(scenario, topology, tcps, ports)
    for link, one in moving.items():
        links[link] |= _moving(one, links[link], scenario.framing)
    resolved = {
        **core_fields(scenario, without=_OF_SCENARIO),
        **resolved_warm_up(scenario.warm_up, scenario.duration),
        **core_fields(scenario.switch, without=_OF_SWITCH),
        "nodes": topology.all_nodes(),
        "links": links,
        "flows": _flows(scenario, topology, tcps, traffics),
        "vbr": list(_vbr(network, topology, ports)),
    }
    if any((flow.traffic or scenario.traffic).transport in STACKS for flow in topology.flows):
        # Every external packet needs an event.
        resolved["engine"] = "reference"
    if over.paths:
        resolved = spread(resolved, over, _by_kind(scenario, topology, tcps, ports, over))
    check_flow_arrivals(network, resolved)
    check_stack_paths(fields_of_flows(network, "traffic"), resolved["flows"])
    return resolved


def _by_kind(scenario: "Scenario", topology: Topology, tcps: Sequence[Tcp], ports: Ports, over: Crossings) -> ByKind:
    """Returns the directed links with the settings of each kind of links of graphs over satellites.

    Raises ScenarioError for settings that links cannot have.
    """
    by_kind = dict[tuple[str, str], Sequence[dict[str, Any]]]()
    for kind, place, settings in over.kinds():
        where = f"{next(iter(over.where.values()))}.{kind}"
        links = {i: _with_settings(where, link, settings.get(i), scenario) for i, link in topology.links.items()}
        try:
            own = Topology(scenario.network, scenario.traffic, links) if settings else topology
            check_network(scenario, own, tcps, ports)
            rows, _ = directed_links(scenario, own, tcps, ports)
        except ScenarioError as error:
            raise ScenarioError(f"{where}: {error}") from None
        for i, of_link in settings.items():
            if of_link.variation is not None:
                varied = _variation(f"{where}.variation", of_link.variation, scenario.duration)
                for k in (2 * i, 2 * i + 1):
                    rows[k] |= _moving(varied, rows[k], scenario.framing)
        by_kind[kind, place] = rows
    return by_kind


def _with_settings(where: str, link: Link, settings: RouteLink | None, scenario: "Scenario") -> Link:
    """Returns a link with the settings of a kind of links of a graph. Raises ScenarioError for an unsuitable queue."""
    if settings is None:
        return link
    if settings.policy is not None:
        unit = getattr(settings.policy, "unit", None)
        if problem := misplaced(scenario.framing == "aal5", settings.policy.kind, unit):
            raise ScenarioError(f"{where}.policy{problem}")
        for name, problem in settings.policy.problems():
            raise ScenarioError(f"{where}.policy.{name}: {problem}")
    own = {name: value for name in _OF_KIND if (value := getattr(settings, name)) is not None}
    back = {"return_loss": settings.loss, "return_conditioners": settings.conditioners}
    return link.model_copy(update={"path": None, **own, **back})


def _variation(where: str, variation: Moving | File | Coded, duration: str) -> Series:
    """Returns a series of rates, losses and outages. Raises ScenarioError for one with delays."""
    varied = series(where, variation, duration)
    if varied.max_delay_ps is not None:
        raise ScenarioError(f"{where}: with delays; needs none, because they follow from the orbits")
    return varied


def _with_series(scenario: "Scenario") -> tuple[Mapping[int, Link], dict[int, Series], Crossings]:
    """Returns the links, the series of the time-varying ones, which have their maximum delays, and satellite paths."""
    written, moving = links_of(scenario.network), dict[int, Series]()
    links = dict(written)
    known: dict[tuple[int, bool], Series] = {}
    over = crossings(scenario.network, links, scenario.framing, scenario.duration, scenario.switch.buffer)
    for i, longest_ps in over.longest_ps.items():
        links[i] = links[i].model_copy(update={"delay": TIME.format(longest_ps)})
    varying = [i for i, link in links.items() if link.path is not None or link.return_path is not None]
    for i in varying:
        if i in over.longest_ps:
            continue
        link = links[i]
        for back, name in enumerate(("path", "return_path")):
            # The return direction varies like the forward direction unless return_path is set.
            path = link.return_path or link.path if back else link.path
            if path is None:
                continue
            # A Starlink path describes both directions, which differ.
            is_opposite = back == 1 and link.return_path is None and isinstance(path, Starlink)
            where = f"network.{name}" if isinstance(scenario.network, Dumbbell) else f"network.links[{i}].{name}"
            # Both directions of a link share one path, and its series may be long.
            if (one := known.get((id(path), is_opposite))) is None:
                turned = path.opposite() if is_opposite and isinstance(path, Starlink) else path
                known[id(path), is_opposite] = one = series(where, turned, scenario.duration)
            moving[2 * i + back] = one
            if scenario.framing == "aal5":
                _check_cells(where, one.motion)
            if (delay_ps := one.max_delay_ps) is not None:
                field = "return_delay" if back else "delay"
                kept = {} if back or link.return_delay is not None else {"return_delay": link.delay}
                links[i] = links[i].model_copy(update={**kept, field: TIME.format(delay_ps)})
    return links if moving or over.paths else written, moving, over


def _check_cells(where: str, motion: dict[str, Any]) -> None:
    """Raises ScenarioError for a variation that ATM links do not support."""
    if motion.get("service", {}).get("kind") == "opportunities":
        raise ScenarioError(f"{where}: a schedule of packet transmissions; needs framing 'ip'")
    if motion["order"] != "fifo":
        raise ScenarioError(
            f"{where}.order: free; needs 'fifo' under AAL5, because the cells of a circuit keep their order"
        )


def _check_vbr(network: Dumbbell | Graph, topology: Topology, moving: Collection[int]) -> None:
    """Raises ScenarioError if a VBR source, whose peak rate must always be available, crosses a time-varying link."""
    for source, route in zip(vbr_of(network), topology.vbr_routes, strict=True):
        if any(link in moving for link in route):
            raise ScenarioError(f"network.vbr: {source.name} crosses a time-varying link; needs static links")


def _moving(series: Series, link: dict[str, Any], framing: Framing) -> dict[str, Any]:
    """Returns the additional fields of a time-varying link in the core."""
    if framing == "ip" and link["loss"]["kind"] == "bit-errors":
        raise ScenarioError("loss: bit-errors; with a path needs losses of another kind")
    scheduled = series.motion.get("service", {}).get("kind") == "opportunities"
    if scheduled and any(conditioner["kind"] == "aggregation" for conditioner in link.get("conditioners", ())):
        raise ScenarioError("conditioners: aggregation; not together with a schedule, whose transmissions are batches")
    fields: dict[str, Any] = {"motion": series.motion}
    if framing == "ip" and series.policy is not None and link["policy"]["kind"] == "tail-drop":
        # A queue discipline that the scenario selects replaces the queue of the path.
        fields["policy"] = series.policy
    if series.loss is None:
        return fields
    if link["loss"]["kind"] != "none":
        raise ScenarioError(f"loss: {link['loss']['kind']}; its path also has losses; needs one of them")
    return {**fields, "loss": series.loss}


def _datagrams(traffics: Sequence[Traffic], known: Mapping[int, dict[str, Any]]) -> list[int]:
    """Returns the longest payload [bytes] of each flow's datagrams; empty if a flow uses TCP.

    `known` contains the fields of each traffic in the core, by its identity.
    """
    if any(traffic.transport != "datagrams" for traffic in traffics):
        return []
    return [longest_bytes(known[key]) - HEADERS for key in set(map(id, traffics))]


def _merged(scenario: "Scenario", flows: Sequence[Flow | Group]) -> list[Tcp]:
    """Returns the TCP settings of each flow; flows whose own parameters are equal share one object.

    Real stacks do not use them.
    """
    tcp = scenario.tcp
    owns = {id(flow.tcp): flow.tcp for flow in flows}
    merged = {key: tcp if own is None else _with_own(tcp, own) for key, own in owns.items()}
    traffics = {flow.name: flow.traffic or scenario.traffic for flow in flows}
    return [_tcp_of(traffics[flow.name], merged[id(flow.tcp)], traffics) for flow in flows]


def _tcp_of(traffic: Traffic, tcp: Tcp, traffics: Mapping[str, Traffic]) -> Tcp:
    """Returns the TCP settings of a flow with this traffic; a path has the settings of its connection's flow."""
    if isinstance(traffic, StackPath):
        connection = traffics.get(traffic.of)
        return stack_tcp(connection) if isinstance(connection, Stack) else tcp
    if isinstance(traffic, Stack):
        return stack_tcp(traffic)
    return own_stack_tcp(traffic) if isinstance(traffic, OwnStack) else tcp


def _with_own(tcp: Tcp, own: Tcp) -> Tcp:
    fields = {name: getattr(own, name) for name in own.model_fields_set}
    if "congestion" in fields:
        # Fields of the controller that the flow does not set follow the flow's profile, or else the scenario's profile.
        fields["congestion"] = by_rules(fields.get("profile", tcp.profile), own.congestion)
    # A handshake and a known RTT exclude each other; the flow's own setting replaces the scenario's.
    if "handshake" not in fields and has_initial_rtt(fields.get("initial_rtt")):
        fields["handshake"] = False
    elif "initial_rtt" not in fields and fields.get("handshake"):
        fields["initial_rtt"] = Tcp.model_fields["initial_rtt"].default
    return tcp.model_copy(update=fields)


def _flows(
    scenario: "Scenario", topology: Topology, tcps: list[Tcp], known: Mapping[int, dict[str, Any]]
) -> list[dict[str, Any]]:
    shared = {key: _tcp(tcp) for key, tcp in {id(tcp): tcp for tcp in tcps}.items()}
    least_gap_ps = -(-TIME.parse(scenario.duration) // MAX_REPETITIONS)
    # Flows with the same TCP, traffic, class and service category share these fields.
    made: dict[tuple[int, int, int, int], dict[str, Any]] = {}
    common: list[dict[str, Any]] = []
    for i, (flow, tcp) in enumerate(zip(topology.flows, tcps, strict=True)):
        traffic = flow.traffic or scenario.traffic
        key = (id(tcp), id(traffic), flow.class_, id(flow.service))
        if (fields := made.get(key)) is None:
            own = core_fields(flow, without=_OF_FLOWS)
            made[key] = fields = {**own, "tcp": shared[id(tcp)], "traffic": known[id(traffic)], **_marks(tcp, traffic)}
        if isinstance(traffic, FlowArrivals):
            field = f"{topology.flow_field(i)}.traffic" if flow.traffic else "traffic"
            slowest_bps = topology.slowest_bps(i)
            arrivals = core_flow_arrivals(traffic, fields["tcp"], slowest_bps, least_gap_ps, field)
            fields = {**fields, "traffic": arrivals}
        common.append(fields)
    return topology.all_flows(scenario.duration, scenario.start, scenario.stop, common)


def _marks(tcp: Tcp, traffic: Traffic) -> dict[str, Any]:
    """Returns the fields that mark a flow's packets as scalable, or as sent by a real stack; empty for other flows."""
    found = {}
    if _has_ect1(tcp):
        found["scalable"] = True
    if traffic.transport in STACKS:
        found["foreign"] = True
    return found


def _traffics(common: Traffic, own: Iterable[Traffic | None]) -> dict[int, dict[str, Any]]:
    """Converts each distinct traffic object for the core, and returns the fields by the object's identity.

    A file that several flows name is read once.
    """
    distinct = {id(traffic): traffic for traffic in (common, *own) if traffic is not None}
    files: dict[str, dict[str, Any]] = {}
    made: dict[int, dict[str, Any]] = {}
    for key, traffic in distinct.items():
        if not isinstance(traffic, Arrivals):
            made[key] = traffic.core()
        elif traffic.file in files:
            made[key] = files[traffic.file]
        else:
            made[key] = files[traffic.file] = traffic.core()
    return made


def _tcp(tcp: Tcp) -> dict[str, Any]:
    # Modules and classes are loaded again, because their files may have changed.
    if isinstance(tcp.congestion, Module):
        return {**_tcp_fields(tcp), "congestion": core_module(tcp.congestion, tcp.hz)}
    if isinstance(tcp.congestion, Python):
        return {**_tcp_fields(tcp), "congestion": core_class(tcp.congestion, tcp.hz)}
    return _tcp_fields(tcp)


@by_identity
def _tcp_fields(tcp: Tcp) -> dict[str, Any]:
    scale = tcp.window_scale if isinstance(tcp.window_scale, int) else tcp.least_window_scale
    fields = {**core_fields(tcp, without=("profile",)), **_flat_options(tcp.congestion), "window_scale": scale}
    if _has_ect1(tcp):
        # ECT(1) selects the low-latency queue of DualPI2: a property of the flow's packets, not a rule of TCP.
        del fields["ecn"]["ect"]
    return fields


def _has_ect1(tcp: Tcp) -> bool:
    return isinstance(tcp.ecn, EcnDctcp | EcnAccurate) and tcp.ecn.ect == 1


def _flat_options(control: Model) -> dict[str, Any]:
    """Returns the fields that contain the options of AIMD and Vegas, whichever control is selected."""
    aimd = control if isinstance(control, Aimd) else Aimd.unchecked()
    vegas = control if isinstance(control, Vegas) else Vegas.unchecked()
    return {"byte_counting": aimd.byte_counting, "vegas": core_fields(vegas, without=("kind",))}


def _vbr(network: Dumbbell | Graph, topology: Topology, ports: Ports) -> Iterator[dict[str, Any]]:
    for source, resolved in zip(vbr_of(network), topology.vbr(ports), strict=True):
        yield {**core_fields(source, without=_OF_VBR), **resolved}
