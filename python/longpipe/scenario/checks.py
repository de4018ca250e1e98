"""What the parts of a scenario, each right by itself, can't be together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from longpipe.errors import ScenarioError
from longpipe.scenario.network import Dumbbell, flow_field
from longpipe.scenario.queues import ACTIVE, CodelOptions, Red
from longpipe.scenario.schedulers import CHOOSING, DualPi2, StrictPriority, WeightedPriority
from longpipe.scenario.switch import Fifo
from longpipe.units import RATE, TIME

if TYPE_CHECKING:
    from longpipe.scenario.buffers import Framing
    from longpipe.scenario.network import Flow, Network
    from longpipe.scenario.switch import Policy, Switch
    from longpipe.scenario.tcp import Tcp
    from longpipe.scenario.topology import Topology

_OF_CELLS: Final = "tail-drop, partial-packet-discard, epd, selective-drop, fba, red"
_OF_PACKETS: Final = (
    "tail-drop, selective-drop, fba, red, pie, step-marking, blue, codel, fq-codel, drr, sfq, fq, strict-priority, "
    "weighted-priority, dualpi2, ack-filter"
)
# With the longest run, as far as 64 bits of picoseconds reach: crates/network/src/scenario/bounds.rs.
LONGEST_PATH_PS: Final = TIME.parse("1000000 s")


def check(framing: Framing, network: Network, switch: Switch, topology: Topology, tcps: Sequence[Tcp]) -> None:
    """ScenarioError for connections and framing that can't be; `tcps` are those of the flows, in their order."""
    # What differs in nothing is looked at once.
    distinct = {id(tcp): (i, tcp) for i, tcp in enumerate(tcps)}
    problems = [
        f"{_tcp_field(network, i, topology.graph.flows[i], name)}: {problem}"
        for i, tcp in distinct.values()
        for name, problem in tcp.problems()
    ]
    problems += [
        f"{_tcp_field(network, i, topology.graph.flows[i], 'ecn')}: {tcp.ecn.kind}; needs off under AAL5, whose cells "
        "carry no marks of IP"
        for i, tcp in distinct.values()
        if framing == "aal5" and tcp.ecn.kind != "off"
    ]
    problems += _framing_problems(framing, network, switch, topology)
    problems += _path_problems(topology)
    if problems:
        raise ScenarioError(*dict.fromkeys(problems))


def _path_problems(topology: Topology) -> Iterator[str]:
    ways = [(f"network.flows[{i}].route", there) for i, (there, _) in enumerate(topology.routes)]
    ways += [(f"network.flows[{i}].return_route", back) for i, (_, back) in enumerate(topology.routes)]
    ways += [(f"network.vbr[{i}].route", route) for i, route in enumerate(topology.vbr_routes)]
    for field, route in ways:
        if (delay := sum(topology.delays_ps[link] for link in route)) > LONGEST_PATH_PS:
            shown = f"{len(route)} links of {delay / 10**12:.0f} s in all"
            yield f"{field}: {shown}; needs at most {TIME.format(LONGEST_PATH_PS)}"


def check_classes(network: Network, switch: Switch, topology: Topology) -> None:
    """ScenarioError for a flow whose class is beyond those of a port on its way."""
    graph = topology.graph
    for i, (flow, ways) in enumerate(zip(graph.flows, topology.routes, strict=True)):
        for link in (link for way in ways for link in way):
            a, b = graph.links[link // 2].between[:: -1 if link % 2 else 1]
            own = graph.links[link // 2]
            policy = (own.return_policy if link % 2 else None) or own.policy or switch.policy
            classes = _classes(policy)
            if topology.kinds[a] == "switch" and classes is not None and flow.class_ >= classes:
                field = f"{flow_field(network, i)}.class"
                raise ScenarioError(
                    f"{field}: {flow.class_}; needs less than {classes}, the classes of {policy.kind} at {a}->{b}"
                )


def _classes(policy: Policy) -> int | None:
    """How many a policy tells apart, if it does."""
    if isinstance(policy, StrictPriority):
        return policy.classes
    return len(policy.weights) if isinstance(policy, WeightedPriority) else None


def check_begin(duration: str, field: str, at_ps: int) -> int:
    """The instant, if something can begin then; else ScenarioError."""
    if at_ps >= TIME.parse(duration):
        raise ScenarioError(f"{field}: {TIME.format(at_ps)}; needs less than the duration, {duration}")
    return at_ps


def check_vbr(network: Network, switch: Switch, topology: Topology) -> None:
    """ScenarioError unless switches have a queue for VBR, and each source a host and a rate that suit it."""
    graph = topology.graph
    if graph.vbr and isinstance(switch.scheduler, Fifo):
        raise ScenarioError("switch.scheduler: fifo has no queue for VBR; needs priority or guaranteed-rate")
    used = {link for there, back in topology.routes for link in (*there, *back)}
    first_links = [route[0] for route in topology.vbr_routes]
    for i, (source, route) in enumerate(zip(graph.vbr, topology.vbr_routes, strict=True)):
        field = "network.vbr" if isinstance(network, Dumbbell) else f"network.vbr[{i}]"
        if route[0] in used or first_links.count(route[0]) > 1:
            raise ScenarioError(f"{field}.from: {source.from_!r} sends other cells too; needs a host of its own")
        slowest = topology.slowest_rate(route)
        if source.rate is not None and RATE.parse(source.rate) > RATE.parse(slowest):
            raise ScenarioError(f"{field}.rate: {source.rate}; needs at most the rate of its slowest link, {slowest}")


def _tcp_field(network: Network, i: int, flow: Flow, name: str) -> str:
    own = flow.tcp is not None and name.partition(".")[0] in flow.tcp.model_fields_set
    return f"{flow_field(network, i)}.tcp.{name}" if own else f"tcp.{name}"


def _policies(network: Network, switch: Switch, topology: Topology) -> Iterator[tuple[str, Policy]]:
    """Each that is written, with its field."""
    yield "switch.policy", switch.policy
    for i, link in enumerate(topology.graph.links):
        back = "network.return_policy" if isinstance(network, Dumbbell) else f"network.links[{i}].return_policy"
        owns = ((f"network.links[{i}].policy", link.policy), (back, link.return_policy))
        yield from ((field, own) for field, own in owns if own is not None)


def _misplaced(framing: Framing, policy: Policy) -> str | None:
    """What is wrong with a policy where links carry this, behind the name of its field."""
    if isinstance(policy, Red):
        if (framing == "aal5") == (policy.unit == "cells"):
            return None
        if framing == "aal5":
            return f".unit: {policy.unit}; is for IP packets, ATM switches count cells"
        return ".unit: cells; is for ATM switches, IP routers count packets or bytes"
    if framing == "aal5" and isinstance(policy, (*ACTIVE, *CHOOSING)):
        return f": {policy.kind}; is for IP packets, ATM switches accept {_OF_CELLS}"
    if framing == "ip" and policy.kind in ("partial-packet-discard", "epd"):
        return f": {policy.kind}; is for cells, IP routers accept {_OF_PACKETS}"
    return None


def _framing_problems(framing: Framing, network: Network, switch: Switch, topology: Topology) -> Iterator[str]:
    policies = list(_policies(network, switch, topology))
    for field, policy in policies:
        if isinstance(policy, Red | CodelOptions | DualPi2):
            yield from (f"{field}.{name}: {problem}" for name, problem in policy.problems())
        if (misplaced := _misplaced(framing, policy)) is not None:
            yield f"{field}{misplaced}"
    if framing == "aal5":
        return
    if switch.scheduler.kind != "fifo":
        yield f"switch.scheduler: {switch.scheduler.kind}; serves cells, IP routers accept fifo"
    if switch.ties == "rotating":
        yield "switch.ties: rotating; turns every cell time, IP routers accept port-order, random"
    if topology.graph.vbr:
        yield "network.vbr: sends cells, which IP links do not carry; needs framing 'aal5'"
