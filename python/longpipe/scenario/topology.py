"""Routes through a graph as indexes of directed links, and the checks of networks."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import cached_property
from itertools import repeat
from operator import itemgetter
from typing import Any, Final

import orjson

from longpipe import _core
from longpipe.errors import ScenarioError
from longpipe.scenario.base import Model
from longpipe.scenario.identity_cache import by_identity
from longpipe.scenario.network import Dumbbell, Flow, Graph, Link, Node
from longpipe.scenario.vbr import VbrFlow


def as_graph(network: Dumbbell | Graph) -> Graph:
    """Returns the network as a graph with all nodes, links and flows."""
    if isinstance(network, Graph):
        return network
    return _kept_graph(network) if _is_small(network) else _graph(network)


def _is_small(network: Dumbbell | Graph) -> bool:
    """Returns whether the graph of a network is kept as long as the network."""
    return isinstance(network, Dumbbell) and network.sources <= _MAX_KEPT


def _graph(network: Dumbbell) -> Graph:
    numbers = range(1, network.sources + 1)

    # Copies the nodes without validating them again, because there may be ten thousand of them.
    pep = network.pep
    switches = [
        Node.unchecked(name=name, kind="switch", pep=pep if pep and pep.at == name else None)
        for name in ("switch1", "switch2")
    ]
    host = Node.unchecked(name="source1", kind="host", send_jitter=network.send_jitter)
    hosts = {role: [host.model_copy(update={"name": f"{role}{i}"}) for i in numbers] for role in ("source", "sink")}
    own = _own(network)
    entry, leave = [], []
    for i, (first, last) in zip(numbers, _host_links(network), strict=True):
        entry.append(first.model_copy(update={"between": (f"source{i}", "switch1")}))
        leave.append(last.model_copy(update={"between": ("switch2", f"sink{i}")}))
    trunk = Link.unchecked(
        between=("switch1", "switch2"),
        rate=network.trunk_rate,
        delay=network.trunk_delay,
        loss=network.trunk_loss,
        return_loss=network.return_loss,
        return_rate=network.return_rate,
        return_delay=network.return_delay,
        return_buffer=network.return_buffer,
        return_policy=network.return_policy,
        conditioners=network.conditioners,
        return_conditioners=network.return_conditioners,
        path=network.path,
        return_path=network.return_path,
        access=network.access,
        return_access=network.return_access,
    )
    flow = Flow.unchecked(name="flow1", from_="source1", to="sink1")
    flows = []
    for i, (name, fields), back in zip(numbers, own, network.sent_back, strict=True):
        way = (f"source{i}", "switch1", "switch2", f"sink{i}")
        way = way[::-1] if back else way
        ends = {"name": name, "from_": way[0], "to": way[-1], "route": way}
        flows.append(flow.model_copy(update=fields | ends))
    nodes = [*hosts["source"], *switches, *hosts["sink"]]
    links = [*entry, trunk, *leave]
    vbr: list[VbrFlow] = []
    if (source := network.vbr) is not None:
        nodes += [Node.unchecked(name=name, kind="host") for name in ("vbr-source", "vbr-sink")]
        links.append(
            Link.unchecked(between=("vbr-source", "switch1"), rate=network.access_rate, delay=network.access_delay)
        )
        links.append(
            Link.unchecked(between=("switch2", "vbr-sink"), rate=network.access_rate, delay=network.exit_delay)
        )
        vbr.append(VbrFlow.unchecked(name="vbr", from_="vbr-source", to="vbr-sink", **dict(source)))
    return Graph.unchecked(nodes=tuple(nodes), links=tuple(links), flows=tuple(flows), vbr=tuple(vbr))


_kept_graph: Final = by_identity(_graph)


def _host_links(network: Dumbbell) -> Iterator[tuple[Link, Link]]:
    """Yields the links of each flow's source and sink. Their delays may differ between groups."""
    at_hosts = {
        "rate": network.access_rate, "host_policy": network.host_policy, "host_buffer": network.host_buffer,
    }  # fmt: skip
    # Groups with the same delays share the links.
    made: dict[tuple[str, str], tuple[Link, Link]] = {}
    for group in network.group or (None,):
        delays = network.access_delay, network.exit_delay
        if group is not None:
            delays = group.access_delay or delays[0], group.exit_delay or delays[1]
        if (links := made.get(delays)) is None:
            first = Link.unchecked(between=("source1", "switch1"), delay=delays[0], **at_hosts)
            last = Link.unchecked(between=("switch2", "sink1"), delay=delays[1], **at_hosts)
            made[delays] = links = (first, last)
        yield from repeat(links, network.sources if group is None else group.count)


def _own(network: Dumbbell) -> list[tuple[str, dict[str, object]]]:
    """Returns the name and the own fields of each flow of a dumbbell."""
    if network.group is None:
        return [(f"flow{i}", {}) for i in range(1, network.sources + 1)]
    flows: list[tuple[str, dict[str, object]]] = []
    for group in network.group:
        own: dict[str, object] = {
            "tcp": group.tcp,
            "traffic": group.traffic,
            "start": group.start,
            "stop": group.stop,
            "class_": group.class_,
            "service": group.service,
        }
        flows += ((name, own) for name in group.flows)
    return flows


# Maximum number of sources of a dumbbell of which the graph is kept; a large graph takes more memory than time.
_MAX_KEPT: Final = 100
# Maximum number of reported problems of a network.
MAX_PROBLEMS: Final = 10


# Fields that most links leave at their defaults: queues, conditioners and losses.
_RARE: Final = (
    "policy", "return_policy", "host_policy", "host_buffer", "loss", "return_loss",
    "conditioners", "return_conditioners", "access", "return_access",
)  # fmt: skip
_DEFAULTS: Final = tuple(Link.model_fields[name].default for name in _RARE)
_rare_of: Final = itemgetter(*_RARE)
# Fields of a link that are parts, or lists of parts; the core gets their numbers.
_PARTS: Final = ("policy", "return_policy", "host_policy", "loss", "return_loss")
_LISTS: Final = ("conditioners", "return_conditioners")
_TEXTS: Final = ("rate", "return_rate", "delay", "return_delay", "buffer", "return_buffer", "host_buffer")
# Kinds of policies and conditioners that send at a rate of their own.
_SHAPERS: Final = ("tbf", "cake")
_settings_of: Final = itemgetter(*_TEXTS, *_PARTS, *_LISTS)


# Distinct fields of directed links; nodes of each directed link, with the number of its fields; windows [bytes].
Ports = tuple[list[dict[str, Any]], list[tuple[int, int, int]], list[int]]


class Topology:
    """A checked graph; link k consists of the directed links 2k (as written) and 2k + 1 (reverse).

    `parts` contains the policies, losses and conditioners of links, to which `directed_links` refers by number.
    """

    def __init__(self, graph: Graph, network: Dumbbell | Graph | None = None) -> None:
        """Checks the graph of a network, and finds the routes. Raises ScenarioError with a line for each problem."""
        self.graph = graph
        self.kinds = {node.name: node.kind for node in graph.nodes}
        self.parts: list[Model] = []
        with _problems():
            self._core = _core.Topology(_json(self._written(network)))
        ways, number_of, self.vbr_routes = self._core.routes()
        # Flows between the same hosts share their routes.
        self.routes = [ways[number] for number in number_of]

    @classmethod
    def of(cls, graph: Graph, network: Dumbbell | Graph) -> "Topology":
        """Returns the topology of a network whose graph may have changed. Raises ScenarioError."""
        if isinstance(network, Dumbbell) and _is_small(network) and graph is as_graph(network):
            return _kept_topology(network)
        return cls(graph, network)

    def _written(self, network: Dumbbell | Graph | None) -> dict[str, object]:
        """Returns the graph as crates/scenario reads it; links with equal settings share them."""
        graph, numbers = self.graph, dict[int, int]()

        def number(part: Model | None) -> int | None:
            if part is None:
                return None
            if (known := numbers.get(id(part))) is None:
                numbers[id(part)] = known = len(self.parts)
                self.parts.append(part)
            return known

        # Values are compared by identity, because the graph keeps them alive and equal strings are usually the same
        # object.
        known: dict[tuple[int, ...], int] = {}
        settings, links = list[dict[str, object]](), list[tuple[str, str, int]]()
        for link in graph.links:
            fields = link.__dict__
            key = tuple(map(id, _settings_of(fields)))
            if (index := known.get(key)) is None:
                known[key] = index = len(settings)
                settings.append(
                    {name: fields[name] for name in _TEXTS}
                    | {name: number(fields[name]) for name in _PARTS}
                    | {name: [number(part) for part in fields[name]] for name in _LISTS}
                )
            links.append((*link.between, index))
        groups = network.group if isinstance(network, Dumbbell) else None
        return {
            "dumbbell": isinstance(network, Dumbbell),
            "groups": [group.count for group in groups or ()],
            "nodes": [(node.name, node.kind, node.send_jitter) for node in graph.nodes],
            "links": links,
            "settings": settings,
            "parts": [facts_of(part) for part in self.parts],
            "flows": [
                (
                    flow.name,
                    flow.from_,
                    flow.to,
                    flow.route,
                    flow.return_route,
                    flow.class_,
                    getattr(flow.service, "mcr", None),
                )
                for flow in graph.flows
            ],
            "vbr": [
                {
                    "name": source.name,
                    "from": source.from_,
                    "to": source.to,
                    **{name: getattr(source, name) for name in ("route", "rate", "period", "phase")},
                    "duty": f"{Decimal(str(source.duty)):f}",
                }
                for source in graph.vbr
            ],
        }

    @cached_property
    def rates(self) -> list[str]:
        """Returns the rate of each directed link."""
        return [rate for link in self.graph.links for rate in (link.rate, link.return_rate or link.rate)]

    @cached_property
    def special_links(self) -> list[tuple[int, Link]]:
        """Returns the links, with their numbers, that have a policy, a host buffer, conditioners, access or losses."""
        return [(i, link) for i, link in enumerate(self.graph.links) if _rare_of(link.__dict__) != _DEFAULTS]

    def slowest_rate(self, route: list[int]) -> str:
        """Returns the lowest rate among the links of a route."""
        return self._core.slowest_rate(route)

    def problems(self, framing: str) -> list[str]:
        """Returns the problems of routes with too much propagation delay, and of queues at hosts."""
        return self._core.network_problems(framing == "aal5")

    def check_classes(self, policy: Model) -> None:
        """Raises ScenarioError for a flow whose class does not exist at a port; `policy` is that of the switches."""
        with _problems():
            self._core.check_classes(_json(facts_of(policy)))

    def check_guarantees(self, framing: str) -> None:
        """Raises ScenarioError if a flow cannot have its guaranteed rate, or the guarantees exceed a link's rate."""
        with _problems():
            self._core.check_guarantees(framing == "aal5")

    def vbr(self, scheduler: str) -> list[dict[str, Any]]:
        """Returns routes, rates and times of VBR sources for the core.

        Raises ScenarioError if switches have no VBR queue, or a source shares its host or exceeds a link's rate.
        """
        with _problems():
            text = self._core.vbr(scheduler)
        sources: list[dict[str, Any]] = orjson.loads(text)
        return sources

    def directed_links(self, ports: dict[str, Any]) -> Ports:
        """Returns the distinct fields of directed links, the links, and automatic windows: see crates/scenario.

        Raises ScenarioError for the first buffer that does not fit its port.
        """
        with _problems():
            fields, links, windows = self._core.directed_links(_json(ports))
        distinct: list[dict[str, Any]] = orjson.loads(fields)
        return distinct, links, windows


@by_identity
def _kept_topology(network: Dumbbell) -> Topology:
    return Topology(as_graph(network), network)


@contextmanager
def _problems() -> Iterator[None]:
    """Converts the core's exception."""
    try:
        yield
    except _core.ScenarioError as error:
        raise ScenarioError(*str(error).splitlines()) from None


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def facts_of(part: Model) -> tuple[object, ...]:
    """Returns the kind of a part, the rate of a shaper, the mean delay of jitter, and the number of classes."""
    fields = part.__dict__
    kind = fields["kind"]
    classes = (
        len(fields["weights"])
        if kind == "weighted-priority"
        else fields["classes"]
        if kind == "strict-priority"
        else None
    )
    return kind, fields["rate"] if kind in _SHAPERS else None, fields["delay"] if kind == "jitter" else None, classes
