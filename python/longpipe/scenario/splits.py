"""Split connections for the core: a host next to each proxy's switch, and a flow per part of a connection."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.scenario.network import Dumbbell, Flow, Graph, Link, Network, Node
from longpipe.scenario.network_base import FlowFields
from longpipe.scenario.policies import TailDrop
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.topology import Topology
from longpipe.scenario.traffic import Traffic
from longpipe.units import SIZE, UNLIMITED

# Link between a switch and its proxy; the two nodes represent one machine.
_RATE: Final = "10 Tbit/s"
_DELAY: Final = "0 s"
# A connection needs space for a segment while another segment is not yet acknowledged.
_MIN_SEGMENTS: Final = 2


@dataclass(frozen=True)
class Split:
    """A graph whose own flows are followed by the other parts of split connections.

    An own flow is the last part of its connection. `of` contains the flow to which each additional part belongs, and
    `fields` maps the index of a flow to its additional fields for the core.
    """

    graph: Graph
    of: dict[int, int] = field(default_factory=dict)
    fields: dict[int, dict[str, Any]] = field(default_factory=dict)


def split(network: Network, traffic: Traffic, graph: Graph) -> Split:
    """Splits the flows of a graph at its proxies. Raises ScenarioError if a proxy cannot split a flow."""
    peps = {node.name: node.pep for node in graph.nodes if node.pep is not None}
    for i, node in enumerate(graph.nodes):
        if node.pep is not None and node.kind == "host":
            raise ScenarioError(f"network.nodes[{i}].pep: at a host; splits passing connections, needs a switch")
    if not peps:
        return Split(graph)
    nodes = [node.model_copy(update={"pep": None}) for node in graph.nodes]
    nodes += [Node(name=_host(name), kind="host") for name in peps]
    links = [
        Link(between=(name, _host(name)), rate=_RATE, delay=_DELAY, buffer=UNLIMITED, policy=TailDrop())
        for name in peps
    ]
    split = Split(graph.model_copy(update={"nodes": tuple(nodes), "links": (*graph.links, *links)}))
    topology, tcps = Topology(graph), dict[tuple[int, int], Tcp | None]()
    flows, added = list(graph.flows), list[Flow]()
    for i, flow in enumerate(graph.flows):
        there, back = (_names(graph, way) for way in topology.routes[i])
        at = [name for name in there[1:-1] if name in peps]
        # Proxies forward only data that are available from the start.
        if not at or not (flow.traffic or traffic).at_once:
            continue
        if [name for name in back if name in at] != at[::-1]:
            field = f"{FlowFields(network).of(i)}.return_route"
            raise ScenarioError(f"{field}: {' -> '.join(back)}; also needs to pass {' and '.join(at[::-1])}")
        owns = [flow.tcp]
        for name in at:
            own = peps[name].tcp
            owns.append(tcps.setdefault((id(flow.tcp), id(own)), _over(flow.tcp, own)))
        parts = [
            part.model_copy(update={"tcp": own}) for part, own in zip(_parts(flow, at, there, back), owns, strict=True)
        ]
        first = len(flows) + len(added)
        numbers = [*range(first, first + len(at)), i]
        flows[i] = parts[-1]
        added += parts[:-1]
        split.of.update(dict.fromkeys(numbers[:-1], i))
        for name, (part, following) in zip(at, pairwise(numbers), strict=True):
            onward = {"flow": following, "buffer_bytes": SIZE.parse(peps[name].buffer)}
            split.fields.setdefault(part, {})["onward"] = onward
            split.fields.setdefault(following, {})["relayed"] = True
    return replace(split, graph=split.graph.model_copy(update={"flows": (*flows, *added)}))


def _names(graph: Graph, way: list[int]) -> list[str]:
    """Returns the nodes of a route."""
    return [graph.links[way[0] // 2].between[way[0] % 2], *(graph.links[k // 2].between[1 - k % 2] for k in way)]


def check_buffers(network: Network, split: Split, tcps: list[Tcp]) -> None:
    """Raises ScenarioError if a proxy's buffer is too small; `tcps` are those of all flows."""
    for i, own in split.fields.items():
        if (onward := own.get("onward")) is None:
            continue
        minimum = _MIN_SEGMENTS * SIZE.parse(tcps[i].mss)
        if onward["buffer_bytes"] < minimum:
            at = split.graph.flows[i].to.removesuffix(_host(""))
            pep = "network.pep" if isinstance(network, Dumbbell) else f"pep of node {at!r}"
            text = f"{onward['buffer_bytes']} B"
            raise ScenarioError(f"{pep}.buffer: {text}; needs at least two full segments ({minimum} B)")


def _host(switch: str) -> str:
    """Returns the name of the host that represents a switch's proxy."""
    return f"{switch}-pep"


def _parts(flow: Flow, at: list[str], there: list[str], back: list[str]) -> Iterator[Flow]:
    """Yields the connections of a flow, in order."""
    ends = [there[0], *at, there[-1]]
    for number, (first, last) in enumerate(pairwise(ends)):
        way = there[there.index(first) : there.index(last) + 1]
        home = back[back.index(last) : back.index(first) + 1]
        if first in at:
            way, home = [_host(first), *way], [*home, _host(first)]
        if last in at:
            way, home = [*way, _host(last)], [_host(last), *home]
        name = flow.name if number == len(at) else f"{flow.name}-to-{last}"
        yield flow.model_copy(
            update={"name": name, "from_": way[0], "to": way[-1], "route": tuple(way), "return_route": tuple(home)}
        )


def _over(tcp: Tcp | None, own: Tcp | None) -> Tcp | None:
    """Returns a flow's own TCP fields, overridden by those of its proxy."""
    if tcp is None or own is None:
        return own or tcp
    return tcp.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})
