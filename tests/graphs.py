"""Dumbbells as graphs, flow by flow: the reference for the copies of flows that the core makes."""

from collections.abc import Iterator
from itertools import repeat

from longpipe.scenario.network import Dumbbell, Flow, Graph, Link, Network, Node
from longpipe.scenario.vbr import VbrFlow


def as_graph(network: Network) -> Graph:
    """Returns a dumbbell as a graph with all of its nodes, links and flows."""
    assert isinstance(network, Dumbbell)
    numbers = range(1, network.sources + 1)

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
