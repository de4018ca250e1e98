"""Routes through a graph, as indexes of directed links; every mistake in a network is found here."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from longpipe.errors import ScenarioError, nearest
from longpipe.scenario.network import Dumbbell, Flow, Graph, Link, Node
from longpipe.scenario.vbr import VbrFlow
from longpipe.units import RATE, TIME


def as_graph(network: Dumbbell | Graph) -> Graph:
    """The same network with every node, link and flow written out."""
    if isinstance(network, Graph):
        return network
    numbers = range(1, network.sources + 1)

    def link(a: str, b: str, rate: str, delay: str) -> Link:
        return Link(between=(a, b), rate=rate, delay=delay)

    # Copies of one that is checked, for there may be ten thousand.
    pep = network.pep
    switches = [
        Node(name=name, kind="switch", pep=pep if pep and pep.at == name else None) for name in ("switch1", "switch2")
    ]
    host = Node(name="source1", kind="host", send_jitter=network.send_jitter)
    hosts = {role: [host.model_copy(update={"name": f"{role}{i}"}) for i in numbers] for role in ("source", "sink")}
    first = link("source1", "switch1", network.access_rate, network.access_delay)
    entry = [first.model_copy(update={"between": (f"source{i}", "switch1")}) for i in numbers]
    trunk = link("switch1", "switch2", network.trunk_rate, network.trunk_delay).model_copy(
        update={
            "loss": network.trunk_loss,
            "return_loss": network.return_loss,
            "return_rate": network.return_rate,
            "return_delay": network.return_delay,
            "return_buffer": network.return_buffer,
            "return_policy": network.return_policy,
            "path": network.path,
            "return_path": network.return_path,
        }
    )
    last = link("switch2", "sink1", network.access_rate, network.exit_delay)
    leave = [last.model_copy(update={"between": ("switch2", f"sink{i}")}) for i in numbers]
    flow = Flow(name="flow1", from_="source1", to="sink1")
    flows = []
    for i, (name, own), back in zip(numbers, _own(network), network.sent_back, strict=True):
        way = (f"source{i}", "switch1", "switch2", f"sink{i}")
        way = way[::-1] if back else way
        ends = {"name": name, "from_": way[0], "to": way[-1], "route": way}
        flows.append(flow.model_copy(update={**own, **ends}))
    nodes = [*hosts["source"], *switches, *hosts["sink"]]
    links = [*entry, trunk, *leave]
    vbr: list[VbrFlow] = []
    if (source := network.vbr) is not None:
        nodes += [Node(name=name, kind="host") for name in ("vbr-source", "vbr-sink")]
        links.append(Link(between=("vbr-source", "switch1"), rate=network.access_rate, delay=network.access_delay))
        links.append(Link(between=("switch2", "vbr-sink"), rate=network.access_rate, delay=network.exit_delay))
        vbr.append(VbrFlow(name="vbr", from_="vbr-source", to="vbr-sink", **source.model_dump()))
    return Graph(nodes=tuple(nodes), links=tuple(links), flows=tuple(flows), vbr=tuple(vbr))


def _own(network: Dumbbell) -> list[tuple[str, Mapping[str, object]]]:
    """Name of each flow of a dumbbell, and what it has of its own."""
    if network.group is None:
        return [(f"flow{i}", {}) for i in range(1, network.sources + 1)]
    if not network.group:
        raise ScenarioError("network.group: empty; needs at least one group")
    flows: list[tuple[str, Mapping[str, object]]] = []
    for group in network.group:
        own = {"tcp": group.tcp, "traffic": group.traffic, "start": group.start, "class_": group.class_}
        flows += ((name, own) for name in group.flows)
    if len(flows) != network.sources:
        raise ScenarioError(f"network.sources: {network.sources}; its groups have {len(flows)}, needs that or nothing")
    return flows


class Topology:
    """A checked graph; link k of the graph is the directed links 2k (as written) and 2k + 1 (back)."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.kinds = {node.name: node.kind for node in graph.nodes}
        self.position = {name: i for i, name in enumerate(self.kinds)}
        for find in (self._node_problems, self._link_problems, self._flow_problems):
            if problems := list(find()):
                raise ScenarioError(*problems)
        self.index: dict[tuple[str, str], int] = {}
        self.neighbours: dict[str, list[str]] = {name: [] for name in self.kinds}
        for k, (a, b) in enumerate(link.between for link in graph.links):
            self.index |= {(a, b): 2 * k, (b, a): 2 * k + 1}
            self.neighbours[a].append(b)
            self.neighbours[b].append(a)
        # Flows between the same hosts take the same way.
        known: dict[tuple[object, ...], tuple[list[int], list[int]]] = {}
        self.routes = []
        for i, flow in enumerate(graph.flows):
            way = (flow.from_, flow.to, flow.route, flow.return_route)
            if way not in known:
                known[way] = self._routes(i, flow)
            self.routes.append(known[way])
        self.vbr_routes = [self._vbr_route(f"network.vbr[{i}]", source) for i, source in enumerate(graph.vbr)]

    @cached_property
    def longest_round_trip_ps(self) -> int:
        """Propagation there and back, of the flow for which it takes longest."""
        return max(sum(self.delays_ps[k] for k in (*there, *back)) for there, back in self.routes)

    @cached_property
    def delays_ps(self) -> list[int]:
        """Propagation over each directed link."""
        both = ((link.delay, link.return_delay or link.delay) for link in self.graph.links)
        return [TIME.parse(delay) for delays in both for delay in delays]

    @cached_property
    def rates(self) -> list[str]:
        """Rate of each directed link."""
        return [rate for link in self.graph.links for rate in (link.rate, link.return_rate or link.rate)]

    def slowest_rate(self, route: Iterable[int]) -> str:
        """The lowest rate of the links of a route."""
        return min((self.rates[k] for k in route), key=RATE.parse)

    def _vbr_route(self, field: str, source: VbrFlow) -> list[int]:
        route = source.route or self._shortest(field, source.from_, source.to)
        self._check_route(f"{field}.route", route, source.from_, source.to)
        if len(route) == 2:
            raise ScenarioError(f"{field}.route: {' -> '.join(route)}; needs a switch between its two hosts")
        return self._links(route)

    def _routes(self, i: int, flow: Flow) -> tuple[list[int], list[int]]:
        there = flow.route or self._shortest(f"network.flows[{i}]", flow.from_, flow.to)
        back = flow.return_route or tuple(reversed(there))
        self._check_route(f"network.flows[{i}].route", there, flow.from_, flow.to)
        self._check_route(f"network.flows[{i}].return_route", back, flow.to, flow.from_)
        return self._links(there), self._links(back)

    def _links(self, route: Iterable[str]) -> list[int]:
        return [self.index[hop] for hop in pairwise(route)]

    def _shortest(self, field: str, first: str, last: str) -> tuple[str, ...]:
        """Fewest hops through switches; among equals the link written first."""
        came_from = {first: first}
        queue = deque([first])
        while queue and last not in came_from:
            here = queue.popleft()
            for neighbour in self.neighbours[here]:
                if neighbour not in came_from and (neighbour == last or self.kinds[neighbour] == "switch"):
                    came_from[neighbour] = here
                    queue.append(neighbour)
        if last not in came_from:
            raise ScenarioError(f"{field}: no path from {first!r} to {last!r}; needs links through switches")
        path = [last]
        while path[-1] != first:
            path.append(came_from[path[-1]])
        return tuple(reversed(path))

    def _check_route(self, field: str, route: Sequence[str], first: str, last: str) -> None:
        shown = " -> ".join(route)
        if len(route) < 2 or (route[0], route[-1]) != (first, last):
            raise ScenarioError(f"{field}: {shown or 'empty'}; needs to lead from {first!r} to {last!r}")
        for a, b in pairwise(route):
            if (a, b) not in self.index:
                raise ScenarioError(f"{field}: {shown}; does not connect, there is no link between {a!r} and {b!r}")
        if len(set(route)) < len(route):
            raise ScenarioError(f"{field}: {shown}; needs to visit each node once")
        for name in route[1:-1]:
            if self.kinds[name] == "host":
                raise ScenarioError(f"{field}: {shown}; {name!r} is a host, only switches pass cells on")

    def _node_problems(self) -> Iterator[str]:
        if not self.graph.nodes:
            yield "network.nodes: empty; needs at least two hosts"
        yield from _duplicates("network.nodes", [node.name for node in self.graph.nodes])
        for i, node in enumerate(self.graph.nodes):
            if node.kind == "switch" and not node.send_jitter.startswith("0 "):
                yield f"network.nodes[{i}].send_jitter: {node.send_jitter}; only hosts delay packets, needs '0 s'"

    def _link_problems(self) -> Iterator[str]:
        seen: set[frozenset[str]] = set()
        for i, link in enumerate(self.graph.links):
            field = f"network.links[{i}]"
            for name in link.between:
                if name not in self.kinds:
                    yield f"{field}.between: {name!r} is not a node; {nearest(name, self.kinds)}"
            ends = frozenset(link.between)
            if len(ends) == 1:
                yield f"{field}.between: {link.between[0]!r} twice; needs two different nodes"
            elif ends in seen:
                yield f"{field}.between: {' and '.join(link.between)} are linked already; needs each pair once"
            seen.add(ends)
            if (link.buffer or link.return_buffer or link.policy or link.return_policy) and all(
                self.kinds.get(name) == "host" for name in ends
            ):
                yield f"{field}: buffer or policy between two hosts; needs a switch at one end"

    def _flow_problems(self) -> Iterator[str]:
        hosts = {name: None for name, kind in self.kinds.items() if kind == "host"}
        if not self.graph.flows:
            yield "network.flows: empty; needs at least one flow"
        ends = {
            "network.flows": [(flow.name, flow.from_, flow.to) for flow in self.graph.flows],
            "network.vbr": [(source.name, source.from_, source.to) for source in self.graph.vbr],
        }
        for field, flows in ends.items():
            yield from _duplicates(field, [name for name, *_ in flows])
            for i, (_, first, last) in enumerate(flows):
                for end, name in (("from", first), ("to", last)):
                    if name not in hosts:
                        yield f"{field}[{i}].{end}: {name!r} is not a host; {nearest(name, hosts)}"
                if first == last:
                    yield f"{field}[{i}].to: {last!r} is the sender too; needs another host"


def _duplicates(field: str, names: Sequence[str]) -> Iterator[str]:
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if first.setdefault(name, i) != i:
            yield f"{field}[{i}].name: {name!r} is the name of {field}[{first[name]}]; needs a name of its own"
