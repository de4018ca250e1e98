"""The network of a scenario as crates/scenario resolves it: nodes, links, routes, ports, and the starts of flows."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar

import orjson

from longpipe import _core
from longpipe.errors import ScenarioError
from longpipe.scenario.base import Model
from longpipe.scenario.connections import facts
from longpipe.scenario.core import core_fields
from longpipe.scenario.identity_cache import by_identity
from longpipe.scenario.jitter import FromTable
from longpipe.scenario.loss import NoLoss
from longpipe.scenario.medium_access import MediumAccess
from longpipe.scenario.network import Dumbbell, Flow, Graph, Group, Link
from longpipe.scenario.pep import Pep
from longpipe.scenario.policies import TailDrop
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.traffic import Greedy, Traffic
from longpipe.scenario.vbr import VbrFlow

P = TypeVar("P")


def links_of(network: Dumbbell | Graph) -> Mapping[int, Link]:
    """Returns the links of a network by number. Of a dumbbell, it is the trunk, with the queues of the hosts' links."""
    return _trunk(network) if isinstance(network, Dumbbell) else dict(enumerate(network.links))


@by_identity
def _trunk(network: Dumbbell) -> Mapping[int, Link]:
    common = {name: getattr(network, name) for name in Link.model_fields if name in Dumbbell.model_fields}
    ends, rate, delay = ("switch1", "switch2"), network.trunk_rate, network.trunk_delay
    return {network.sources: Link.unchecked(between=ends, rate=rate, delay=delay, loss=network.trunk_loss, **common)}


def first_flows(network: Dumbbell | Graph) -> Sequence[Flow | Group]:
    """Returns the flows of a graph, or the first flow of each group of a dumbbell."""
    return _first_of_groups(network) if isinstance(network, Dumbbell) else network.flows


@by_identity
def _first_of_groups(network: Dumbbell) -> Sequence[Group]:
    groups = network.group or (Group.unchecked(name="flow1"),)
    return [group if group.count == 1 else group.model_copy(update={"name": f"{group.name}1"}) for group in groups]


def vbr_of(network: Dumbbell | Graph) -> Sequence[VbrFlow]:
    """Returns the VBR sources of a network; the core knows the hosts of a dumbbell's source."""
    if isinstance(network, Graph):
        return network.vbr
    return () if network.vbr is None else (VbrFlow.unchecked(name="vbr", from_="", to="", **dict(network.vbr)),)


def _peps_of(network: Dumbbell | Graph) -> dict[str, Pep]:
    """Returns the proxies of a network by the name of their switch."""
    if isinstance(network, Dumbbell):
        return {} if network.pep is None else {network.pep.at: network.pep}
    return {node.name: node.pep for node in network.nodes if node.pep is not None}


# Maximum number of groups of a dumbbell whose topology is cached; a larger one would save little time for its memory.
_MAX_KEPT: Final = 100

# Fields that most links leave at their defaults: queues, conditioners and losses.
_RARE: Final = (
    "policy", "return_policy", "host_policy", "host_buffer", "loss", "return_loss",
    "conditioners", "return_conditioners", "access", "return_access",
)  # fmt: skip
_DEFAULTS: Final = tuple(Link.model_fields[name].default for name in _RARE)
_rare_of: Final = itemgetter(*_RARE)
# Fields of a link that are parts, or lists of parts; the core gets their numbers.
_PARTS: Final = ("policy", "return_policy", "host_policy", "loss", "return_loss", "access", "return_access")
_LISTS: Final = ("conditioners", "return_conditioners")
_TEXTS: Final = ("rate", "return_rate", "delay", "return_delay", "buffer", "return_buffer", "host_buffer")
_settings_of: Final = itemgetter(*_TEXTS, *_PARTS, *_LISTS, "path", "return_path")
# Fields of a dumbbell that are parts of its links other than the trunk, and fields whose parts may depend on files.
_EXITS: Final = ("exit_access", "exit_return_access")
_FROM_FILES: Final = (*_LISTS, "access", "return_access", *_EXITS)


class Numbered(Generic[P]):
    """Different parts, by number; the same object has one number."""

    def __init__(self, *parts: P) -> None:
        """Numbers some parts, in their order."""
        self.parts = list(parts)
        self._numbers = {id(part): i for i, part in enumerate(parts)}

    def of(self, part: P) -> int:
        """Returns the number of a part."""
        if (known := self._numbers.get(id(part))) is None:
            self._numbers[id(part)] = known = len(self.parts)
            self.parts.append(part)
        return known


@dataclass(frozen=True)
class ResolvedNetwork:
    """What the core resolves of a scenario; flows and links that have equal fields share them.

    `links` are both nodes of each link, and the number of its `fields`, which those of the opposite direction follow.
    `tcps` are the settings of TCP, of which each of the topology's flows has the number in `tcp_of`. `flows` are the
    number of the topology's flow, that of its routes in `ways`, and other fields.
    """

    nodes: list[dict[str, Any]]
    fields: list[dict[str, Any]]
    links: list[tuple[int, int, int]]
    tcps: list[dict[str, Any]]
    tcp_of: list[int]
    ways: list[tuple[list[int], list[int]]]
    flows: list[tuple[int, int, dict[str, Any]]]
    vbr: list[dict[str, Any]]


class Topology:
    """A checked network with `links` by number: link k consists of the directed links 2k (as written) and 2k + 1.

    `flows` are the first flows of groups, and a copy of a flow for each additional part of its connection that a proxy
    splits off. `parts` are the policies, losses, conditioners and accesses to which links refer by number. `tcps` and
    `traffics` are those of the flows, after None for those of the scenario.
    """

    def __init__(self, network: Dumbbell | Graph, traffic: Traffic, links: Mapping[int, Link]) -> None:
        """Checks a network, and finds the routes; `traffic` is that of flows without own traffic.

        Raises ScenarioError with a line for each problem.
        """
        self.links, self._flow_field = links, "group" if isinstance(network, Dumbbell) else "flows"
        # The core refers to the first two.
        self._numbered = Numbered[Model](TailDrop.unchecked(), NoLoss.unchecked())
        self._tcps, self._traffics = Numbered[Tcp | None](None), Numbered[Traffic | None](None)
        peps = _peps_of(network)
        with _problems():
            self._core = _core.Topology(_json(self._written(network, traffic, peps)))
        self._of = self._core.parts() if peps else []
        flows = first_flows(network)
        self.flows = [flows[of] for of, _ in self._of] if peps else flows
        self.parts = self._numbered.parts
        self.tcps, self.traffics = self._tcps.parts, self._traffics.parts

    @classmethod
    def of(cls, network: Dumbbell | Graph, traffic: Traffic, links: Mapping[int, Link]) -> "Topology":
        """Returns the topology of a network, which is kept if it depends on the network alone. Raises ScenarioError."""
        is_kept = isinstance(network, Dumbbell) and network.pep is None and links is links_of(network)
        if is_kept and isinstance(network, Dumbbell) and len(network.group or ()) <= _MAX_KEPT:
            has_parts_from_files = any(getattr(network, name) for name in _FROM_FILES)
            return cls(network, traffic, links) if has_parts_from_files else _kept_topology(network)
        return cls(network, traffic, links)

    def _written(self, network: Dumbbell | Graph, traffic: Traffic, peps: Mapping[str, Pep]) -> dict[str, object]:
        """Returns the network as crates/scenario reads it; links with equal settings share them."""

        def number(part: Model | None) -> int | None:
            return None if part is None else self._numbered.of(part)

        # Values are compared by identity, because the network keeps them alive and equal strings are usually the same
        # object.
        known: dict[tuple[int, ...], int] = {}
        settings, links = list[dict[str, object]](), list[tuple[str, str, int]]()
        for link in self.links.values():
            fields = link.__dict__
            key = tuple(map(id, _settings_of(fields)))
            if (index := known.get(key)) is None:
                known[key] = index = len(settings)
                settings.append(
                    {name: fields[name] for name in _TEXTS}
                    | {name: number(fields[name]) for name in _PARTS}
                    | {name: [number(part) for part in fields[name]] for name in _LISTS}
                    | {"varies": fields["path"] is not None}
                    | {"return_varies": (fields["return_path"] or fields["path"]) is not None}
                )
            links.append((*link.between, index))
        nodes = network.nodes if isinstance(network, Graph) else ()
        exits = {name: number(getattr(network, name, None)) for name in _EXITS}
        return {
            "dumbbell": None if isinstance(network, Graph) else _dumbbell(network) | exits,
            "nodes": [(node.name, node.kind, node.send_jitter) for node in nodes],
            "links": links if nodes else [],
            "settings": settings,
            "parts": [(_core_without_table(part), list(part.problems()), plain(part)) for part in self._numbered.parts],
            "flows": [self._row_of(flow, traffic, is_split=bool(peps)) for flow in first_flows(network)],
            "vbr": [source.model_dump(by_alias=True) for source in vbr_of(network)],
            "peps": [(name, pep.buffer, self._tcps.of(pep.tcp)) for name, pep in peps.items()],
        }

    def flow_field(self, i: int) -> str:
        """Returns the name of the field of a flow; a part of a split connection has that of its flow."""
        return f"network.{self._flow_field}[{self._of[i][0] if self._of else i}]"

    @cached_property
    def special_links(self) -> list[tuple[int, Link]]:
        """Returns the links, with their numbers, that have a policy, a host buffer, conditioners, access or losses."""
        return [(i, link) for i, link in self.links.items() if _rare_of(link.__dict__) != _DEFAULTS]

    def slowest_bps(self, flow: int) -> int:
        """Returns the lowest rate [bit/s] among the links of a flow's route."""
        return self._core.slowest_bps(flow) or 0

    def resolve(self, settings: str) -> ResolvedNetwork:
        """Resolves a scenario with these settings besides the network.

        Raises ScenarioError with a line for each problem.
        """
        with _problems():
            links, ways, tcp_of, text = self._core.resolve(facts(), settings)
        return ResolvedNetwork(**orjson.loads(text) | {"links": links, "ways": ways, "tcp_of": tcp_of})

    def violated(self, settings: str, names: Sequence[Sequence[str]]) -> list[tuple[int, list[str]]]:
        """Returns the numbers of constraints of TCP that connections violate.

        Each has its `names`, which are names of fields of TCP, as names of fields of the scenario.
        """
        return self._core.violated(facts(), settings, names)

    def _row_of(self, flow: Flow | Group, traffic: Traffic, *, is_split: bool) -> tuple[object, ...]:
        """Returns the fields of a flow; hosts and routes are empty for groups, because the core determines them."""
        fields = flow.__dict__
        row = _of_flow(fields) if isinstance(flow, Flow) else (flow.name, "", "", None, None, flow.class_)
        row = (*row, self._tcps.of(fields["tcp"]), self._traffics.of(fields["traffic"]))
        service, start, stop = fields["service"], fields["start"], fields["stop"]
        if service is None and start is None and stop is None and not is_split:
            return row
        own = flow.traffic or traffic
        splits = is_split and flow.split and own.transport == "tcp" and not own.stands_for_udp
        return (*row, getattr(service, "mcr", None), values_of(start), values_of(stop), splits)


_of_flow: Final = itemgetter("name", "from_", "to", "route", "return_route", "class_")


def plain(part: Model) -> dict[str, object]:
    """Returns the fields of a part that are text, as the scenario sets them."""
    return {name: value for name, value in part.__dict__.items() if isinstance(value, str)}


def core_part(part: Model) -> dict[str, Any]:
    """Converts a part of a link for the core. Raises ScenarioError with the line of an invalid file."""
    return part.core() if isinstance(part, FromTable | MediumAccess) else core_fields(part)


def _core_without_table(part: Model) -> dict[str, Any]:
    """Converts a part of a link for the core, but without the table of a distribution."""
    return core_fields(part) if isinstance(part, FromTable) else core_part(part)


@by_identity
def _kept_topology(network: Dumbbell) -> Topology:
    # The traffic only matters to proxies.
    return Topology(network, Greedy.unchecked(), links_of(network))


def _dumbbell(network: Dumbbell) -> dict[str, object]:
    """Returns the fields of a dumbbell other than those of its trunk."""
    names = ("name", "count", "direction", "access_delay", "exit_delay")
    groups = None if network.group is None else [[getattr(group, name) for name in names] for group in network.group]
    own = ("sources", "access_rate", "access_delay", "exit_delay", "exit_rate", "exit_return_rate", "send_jitter")
    return {"groups": groups, **{name: getattr(network, name) for name in own}}


def values_of(part: Model | None) -> list[object] | None:
    """Returns the kind of a start or stop, and its times."""
    return None if part is None else list(part.__dict__.values())


@contextmanager
def _problems() -> Iterator[None]:
    """Converts the core's exception."""
    try:
        yield
    except _core.ScenarioError as error:
        raise ScenarioError(*str(error).splitlines()) from None


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
