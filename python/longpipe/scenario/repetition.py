"""Bounds on repeated events that occur even if no packet is sent, so that every run ends."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol

from longpipe.aal5 import CELL_BITS
from longpipe.errors import ScenarioError
from longpipe.scenario.base import accepted
from longpipe.scenario.checks import policies, tcp_field
from longpipe.scenario.datagrams import HEADERS
from longpipe.scenario.loss import GilbertElliottTimeLoss
from longpipe.scenario.network import Dumbbell
from longpipe.scenario.policies import DualPi2, Pie
from longpipe.scenario.timers import Coarse
from longpipe.scenario.times import Pareto
from longpipe.scenario.topology import vbr_of
from longpipe.scenario.traffic import Bursts, SelfSimilar, Stream, Voice
from longpipe.scenario.vbr import OnOff
from longpipe.units import RATE, SIZE, TICKS, TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longpipe.scenario.network import Flow, Group, Network
    from longpipe.scenario.recorded import Traces
    from longpipe.scenario.switch import Switch
    from longpipe.scenario.tcp import Tcp
    from longpipe.scenario.topology import Topology
    from longpipe.scenario.traffic import Traffic, WriteBursts

# With PIE's default interval of 15 ms, a run can last up to 173 days.
MAX_REPETITIONS: Final = 10**9
# Maximum number of times that an RTO doubles: MAX_BACKOFF in crates/tcp/src/sender/retransmission_timer.rs.
MAX_BACKOFF: Final = 6


class Repeating(Protocol):
    """Part of a scenario on which repeated events depend."""

    duration: str
    network: Network
    switch: Switch
    traffic: Traffic
    traces: Traces


def check_repetition(scenario: Repeating, topology: Topology, tcps: Sequence[Tcp]) -> None:
    """Raises ScenarioError for an interval that fits into the run more than a billion times, and for endless bursts."""
    least_ps = -(-TIME.parse(scenario.duration) // MAX_REPETITIONS)
    for field, text, interval_ps in _intervals(scenario, topology, tcps):
        if interval_ps < least_ps:
            raise ScenarioError(
                f"{field}: {text}; needs at least {TIME.format(least_ps)}, a billionth of the duration, "
                f"{scenario.duration}"
            )
    for field, traffic, mss in _traffics(scenario, topology, tcps):
        if isinstance(traffic, Bursts | SelfSimilar | Voice):
            bursts = traffic.bursts() if isinstance(traffic, Voice) else traffic
            packet_ps = int(Fraction(8 * (SIZE.parse(bursts.payload) + HEADERS) * 10**12, RATE.parse(bursts.rate)))
            _check_bursts(field, bursts, packet_ps, "packet")
        elif isinstance(traffic, Stream) and traffic.bursts is not None:
            _check_bursts(f"{field}.bursts", traffic.bursts, _write_ps(traffic, mss), "write")
    network = scenario.network
    for i, (source, route) in enumerate(zip(vbr_of(network), topology.vbr_routes, strict=True)):
        if isinstance(network, Dumbbell):
            _check_vbr("network.vbr", source, network.access_rate)
        else:
            link = network.links[route[0] // 2]
            _check_vbr(f"network.vbr[{i}]", source, (link.return_rate if route[0] % 2 else None) or link.rate)


def _intervals(scenario: Repeating, topology: Topology, tcps: Sequence[Tcp]) -> Iterator[tuple[str, str, int]]:
    """Yields the field, its value, and the shortest interval [ps] of each repeated event."""
    for field, policy in policies(scenario.network, scenario.switch, topology):
        if isinstance(policy, Pie | DualPi2):
            yield f"{field}.update", policy.update, TIME.parse(policy.update)
    dumbbell = isinstance(scenario.network, Dumbbell)
    for i, link in topology.special_links:
        for name in ("loss", "return_loss"):
            loss = getattr(link, name)
            if isinstance(loss, GilbertElliottTimeLoss):
                own = "trunk_loss" if name == "loss" else name
                field = f"network.{own}" if dumbbell else f"network.links[{i}].{name}"
                yield f"{field}.good", loss.good, TIME.parse(loss.good) + TIME.parse(loss.bad)
    yield from _of_flows(scenario, topology, tcps)
    if scenario.traces.vc_queue:
        interval = scenario.traces.vc_queue_interval
        yield "traces.vc_queue_interval", interval, TIME.parse(interval)


def _of_flows(scenario: Repeating, topology: Topology, tcps: Sequence[Tcp]) -> Iterator[tuple[str, str, int]]:
    """Yields the repeated events of flows: requests, video chunks, video frames, and timeouts of TCP."""
    for field, traffic, mss in _traffics(scenario, topology, tcps):
        if isinstance(traffic, Stream):
            yield f"{field}.write", traffic.write or f"{mss}, the MSS,", _write_ps(traffic, mss)
        elif traffic.repeats is not None:
            text = getattr(traffic, traffic.repeats)
            yield f"{field}.{traffic.repeats}", text, TIME.parse(text)
    flows = topology.flows
    traffics = [flow.traffic or scenario.traffic for flow in flows]
    with_timer = {id(tcps[i]): i for i in _unlike(flows, tcps) if traffics[i].transport == "tcp"}
    for i in with_timer.values():
        timer = tcps[i].timer
        tick_ps = TIME.parse(timer.tick) if isinstance(timer, Coarse) else 1
        parse = TICKS.parse if isinstance(timer, Coarse) else TIME.parse
        for name, factor in (("initial_rto", 2**MAX_BACKOFF), ("max_rto", 1)):
            text = getattr(timer, name)
            field = tcp_field(topology, i, f"timer.{name}")
            yield field, text, factor * parse(text) * tick_ps


def _traffics(scenario: Repeating, topology: Topology, tcps: Sequence[Tcp]) -> Iterator[tuple[str, Traffic, str]]:
    """Yields the scenario's traffic and the flows' own traffic, each with its field and the MSS of its flow."""
    flows = topology.flows
    yield "traffic", scenario.traffic, tcps[next((i for i, flow in enumerate(flows) if flow.traffic is None), 0)].mss
    own = {(id(flows[i].traffic), tcps[i].mss): i for i in _unlike(flows, tcps)}
    for (_, mss), i in own.items():
        if (traffic := flows[i].traffic) is not None:
            yield f"{topology.flow_field(i)}.traffic", traffic, mss


def _unlike(flows: Sequence[Flow | Group], tcps: Sequence[Tcp]) -> list[int]:
    """Returns the number of the last flow for each combination of traffic and TCP; flows of a group share both."""
    both = ((id(flow.traffic), id(tcp)) for flow, tcp in zip(flows, tcps, strict=True))
    return sorted({key: i for i, key in enumerate(both)}.values())


def _write_ps(stream: Stream, mss: str) -> int:
    """Returns the time [ps] between two writes, rounded down."""
    return 8 * SIZE.parse(stream.write or mss) * 10**12 // RATE.parse(stream.rate)


def _check_bursts(field: str, bursts: Bursts | SelfSimilar | WriteBursts, packet_ps: int, of: str) -> None:
    """Raises ScenarioError if bursts follow each other faster than packets or writes at the peak rate."""
    cycle_ps = TIME.parse(bursts.on) + TIME.parse(bursts.off)
    if cycle_ps < packet_ps:
        raise ScenarioError(
            f"{field}.on: {bursts.on} and {bursts.off} off; needs at least {TIME.format(packet_ps)} in all, the time "
            f"of a "
            f"{of} at the rate"
        )
    if isinstance(bursts.times, Pareto):
        shape = bursts.times.shape
        if 100 * cycle_ps * ((shape - 1) / shape) < packet_ps:
            raise ScenarioError(
                f"{field}.times.shape: {shape}; needs more, so that the shortest time of on and off is a hundredth of "
                f"{TIME.format(packet_ps)}, the time of a {of} at the rate"
            )


def _check_vbr(field: str, source: OnOff, link_rate: str) -> None:
    """Raises ScenarioError if bursts of VBR follow each other in less than a cell time on the own link, or too late."""
    cell_ps = CELL_BITS * 10**12 // RATE.parse(link_rate)
    cycle_ps = round(TIME.parse(source.period) / Fraction(str(source.duty)))
    longest = accepted(OnOff, "period").high
    if cycle_ps - TIME.parse(source.period) > TIME.parse(longest):
        raise ScenarioError(
            f"{field}.duty: {source.duty:g}; needs a mean pause of at most {longest} after bursts of {source.period}"
        )
    if cycle_ps < cell_ps:
        raise ScenarioError(
            f"{field}.period: {source.period} of {TIME.format(cycle_ps)}; needs {TIME.format(cell_ps)} from burst to "
            f"burst, the time of a cell on its link of {link_rate}"
        )
