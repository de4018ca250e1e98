"""Routes through a graph as indexes of directed links, and the checks of networks."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, pairwise, repeat
from operator import itemgetter
from typing import Final

from longpipe.errors import ScenarioError, nearest
from longpipe.scenario.conditioners import Jitter
from longpipe.scenario.network import Dumbbell, Flow, Graph, Link, Node
from longpipe.scenario.routes import ShortestRoutes
from longpipe.scenario.vbr import VbrFlow
from longpipe.units import RATE, TIME


def as_graph(network: Dumbbell | Graph) -> Graph:
    """Returns the network as a graph with all nodes, links and flows."""
    if isinstance(network, Graph):
        return network
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


# Maximum number of reported problems of a network.
MOST_PROBLEMS: Final = 10
# Maximum number of names per problem.
MOST_NAMED: Final = 12


# Fields that most links leave at their defaults: queues, conditioners and losses.
_RARE: Final = (
    "policy", "return_policy", "host_policy", "host_buffer", "loss", "return_loss",
    "conditioners", "return_conditioners",
)  # fmt: skip
_DEFAULTS: Final = tuple(Link.model_fields[name].default for name in _RARE)
_rare_of: Final = itemgetter(*_RARE)


class Topology:
    """A checked graph; link k consists of the directed links 2k (as written) and 2k + 1 (reverse)."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.kinds = {node.name: node.kind for node in graph.nodes}
        self.position = {name: i for i, name in enumerate(self.kinds)}
        for find in (self._node_problems, self._link_problems, self._flow_problems):
            if problems := list(islice(find(), MOST_PROBLEMS)):
                raise ScenarioError(*problems)
        self.index: dict[tuple[str, str], int] = {}
        neighbours: dict[str, list[str]] = {name: [] for name in self.kinds}
        for k, link in enumerate(graph.links):
            a, b = link.between
            self.index[a, b] = 2 * k
            self.index[b, a] = 2 * k + 1
            neighbours[a].append(b)
            neighbours[b].append(a)
        self._shortest = ShortestRoutes(self.kinds, neighbours)
        # Flows between the same hosts have the same route.
        known: dict[tuple[object, ...], tuple[list[int], list[int]]] = {}
        self.routes = []
        for i, flow in enumerate(graph.flows):
            way = (flow.from_, flow.to, flow.route, flow.return_route)
            if (routes := known.get(way)) is None:
                known[way] = routes = self._routes(i, flow)
            self.routes.append(routes)
        self.vbr_routes = [self._vbr_route(i, source) for i, source in enumerate(graph.vbr)]

    @cached_property
    def propagation_ps(self) -> list[tuple[int, int]]:
        """Returns the propagation delays of each flow, forward and return."""
        delays = self.delays_ps
        return [(sum([delays[k] for k in there]), sum([delays[k] for k in back])) for there, back in self.routes]

    @cached_property
    def longest_round_trip_ps(self) -> int:
        """Returns the longest RTT of all flows without queues: propagation, and the mean delay of jitter."""
        if not self._jitter_ps:
            return max(there + back for there, back in self.propagation_ps)
        delays = self.delays_ps.copy()
        for link, jitter_ps in self._jitter_ps.items():
            delays[link] += jitter_ps
        return max(sum([delays[k] for k in (*there, *back)]) for there, back in self.routes)

    @cached_property
    def _jitter_ps(self) -> dict[int, int]:
        """Returns the mean delays of the directed links that have jitter."""
        return {
            2 * i + back: TIME.parse(one.delay)
            for i, link in self.special_links
            for back, conditioners in enumerate((link.conditioners, link.return_conditioners))
            for one in conditioners
            if isinstance(one, Jitter)
        }

    @cached_property
    def delays_ps(self) -> list[int]:
        """Returns the propagation delay of each directed link."""
        both = ((link.delay, link.return_delay or link.delay) for link in self.graph.links)
        return [TIME.parse(delay) for delays in both for delay in delays]

    @cached_property
    def rates(self) -> list[str]:
        """Returns the rate of each directed link."""
        return [rate for link in self.graph.links for rate in (link.rate, link.return_rate or link.rate)]

    @cached_property
    def special_links(self) -> list[tuple[int, Link]]:
        """Returns the links, with their numbers, that have a policy, a host buffer, conditioners or losses."""
        return [(i, link) for i, link in enumerate(self.graph.links) if _rare_of(link.__dict__) != _DEFAULTS]

    def slowest_rate(self, route: Iterable[int]) -> str:
        """Returns the lowest rate among the links of a route."""
        return min((self.rates[k] for k in route), key=RATE.parse)

    def _vbr_route(self, i: int, source: VbrFlow) -> list[int]:
        field = f"network.vbr[{i}]"
        route = source.route or self._fewest_hops(field, source.from_, source.to)
        links = self._links(f"{field}.route", route, source.from_, source.to)
        if len(links) == 1:
            raise ScenarioError(f"{field}.route: {' -> '.join(route)}; needs a switch between its two hosts")
        return links

    def _routes(self, i: int, flow: Flow) -> tuple[list[int], list[int]]:
        if flow.route:
            there = self._links(f"network.flows[{i}].route", flow.route, flow.from_, flow.to)
        else:
            there = self._along(self._fewest_hops(f"network.flows[{i}]", flow.from_, flow.to))
        if flow.return_route is None:
            # The numbers of a link's two directions differ in the last bit.
            return there, [k ^ 1 for k in reversed(there)]
        return there, self._links(f"network.flows[{i}].return_route", flow.return_route, flow.to, flow.from_)

    def _fewest_hops(self, field: str, first: str, last: str) -> tuple[str, ...]:
        if (route := self._shortest.find(first, last)) is None:
            raise ScenarioError(f"{field}: no path from {first!r} to {last!r}; needs links through switches")
        return route

    def _links(self, field: str, route: Sequence[str], first: str, last: str) -> list[int]:
        """Checks a route and returns its directed links."""
        self._check_route(field, route, first, last)
        return self._along(route)

    def _along(self, route: Sequence[str]) -> list[int]:
        """Returns the directed links of a route."""
        index = self.index
        return [index[hop] for hop in pairwise(route)]

    def _check_route(self, field: str, route: Sequence[str], first: str, last: str) -> None:
        if len(route) < 2 or (route[0], route[-1]) != (first, last):
            shown = " -> ".join(route) or "empty"
            raise ScenarioError(f"{field}: {shown}; needs to lead from {first!r} to {last!r}")
        for a, b in pairwise(route):
            if (a, b) not in self.index:
                shown = " -> ".join(route)
                raise ScenarioError(f"{field}: {shown}; is not connected, there is no link between {a!r} and {b!r}")
        if len(set(route)) < len(route):
            raise ScenarioError(f"{field}: {' -> '.join(route)}; needs to visit each node once")
        for name in route[1:-1]:
            if self.kinds[name] == "host":
                shown = " -> ".join(route)
                raise ScenarioError(f"{field}: {shown}; {name!r} is a host, only switches forward")

    def _node_problems(self) -> Iterator[str]:
        if not self.graph.nodes:
            yield "network.nodes: empty; needs at least two hosts"
        if len(self.kinds) < len(self.graph.nodes):
            yield from duplicates("network.nodes", [node.name for node in self.graph.nodes])
        for i, node in enumerate(self.graph.nodes):
            if node.kind == "switch" and not node.send_jitter.startswith("0 "):
                yield f"network.nodes[{i}].send_jitter: {node.send_jitter}; only hosts delay packets, needs '0 s'"

    def _link_problems(self) -> Iterator[str]:
        kinds = self.kinds
        seen: set[tuple[str, str]] = set()
        for i, link in enumerate(self.graph.links):
            a, b = link.between
            for name in link.between:
                if name not in kinds:
                    yield f"network.links[{i}].between: {name!r} is not a node; {nearest(name, kinds, MOST_NAMED)}"
            if a == b:
                yield f"network.links[{i}].between: both are {a!r}; needs two different nodes"
            elif (pair := (a, b) if a < b else (b, a)) in seen:
                yield f"network.links[{i}].between: {a} and {b} are already linked; needs each pair once"
            else:
                seen.add(pair)
            if kinds.get(a) == kinds.get(b) == "host" and (
                link.buffer or link.return_buffer or link.policy or link.return_policy
            ):
                yield f"network.links[{i}]: buffer or policy between two hosts; needs a switch at one end"

    def _flow_problems(self) -> Iterator[str]:
        hosts = {name: None for name, kind in self.kinds.items() if kind == "host"}
        if not self.graph.flows:
            yield "network.flows: empty; needs at least one flow"
        streams: dict[str, Sequence[Flow | VbrFlow]] = {
            "network.flows": self.graph.flows,
            "network.vbr": self.graph.vbr,
        }
        for field, flows in streams.items():
            yield from duplicates(field, [flow.name for flow in flows])
            for i, flow in enumerate(flows):
                first, last = flow.from_, flow.to
                if first not in hosts:
                    yield f"{field}[{i}].from: {first!r} is not a host; {nearest(first, hosts, MOST_NAMED)}"
                if last not in hosts:
                    yield f"{field}[{i}].to: {last!r} is not a host; {nearest(last, hosts, MOST_NAMED)}"
                if first == last:
                    yield f"{field}[{i}].to: {last!r} is also the sender; needs another host"


def duplicates(field: str, names: Sequence[str]) -> Iterator[str]:
    """Yields a problem for each name that occurs earlier in its list."""
    if len(set(names)) == len(names):
        return
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if first.setdefault(name, i) != i:
            yield f"{field}[{i}].name: {name!r} is the name of {field}[{first[name]}]; needs a unique name"
