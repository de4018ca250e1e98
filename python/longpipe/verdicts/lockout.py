"""Warnings after a run about flows that a flow with the port's own rate locks out of a full tail-drop queue."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from longpipe.metrics.warm_up import begin_s
from longpipe.scenario.paths import Path, paths, port_name
from longpipe.units import RATE, TIME
from longpipe.verdicts.loads import active_time

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

# Mean length of a queue, as a fraction of its peak, from which the queue counts as full in most of the run.
_FULL: Final = 0.5
# Share of the greedy flows' throughput that one flow has at least if it locks the others out.
_NEARLY_ALL: Final = 0.9
# Throughput of a flow that is locked out, as a fraction of an equal share of the port's rate, is below this value.
_STARVED: Final = 0.02
# Number of round trips after which a flow that was not locked out has a larger share.
_ROUND_TRIPS: Final = 40


def locked_out(scenario: Scenario, columns: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yields a line per tail-drop port at which a greedy flow starves other ones, because their packets are in phase.

    A flow whose host sends at exactly the port's rate fills each place in the queue when it becomes free. While its
    packets wait in the host's unlimited queue, it loses none, and the packets of other flows find the queue full.
    """
    resolved, flows, ports = scenario.resolved, columns["flows"], columns["ports"]
    if resolved["framing"] != "ip" or len(flows["flow"]) < 2:
        return
    links, nodes = resolved["links"], resolved["nodes"]
    # Paths of greedy flows by the ports on them, without the host's own port.
    greedy: dict[int, list[Path]] = {}
    for path in paths(resolved):
        if path.endless:
            for port in path.route[1:]:
                greedy.setdefault(port, []).append(path)
    # Computed for the first port that needs them.
    throughputs_bps: dict[str, float] = {}
    for port, at_port in greedy.items():
        if len(at_port) < 2 or not _is_mostly_full(links[port], ports, port):
            continue
        throughputs_bps = throughputs_bps or _throughputs_bps(scenario, columns)
        largest = max(at_port, key=lambda path: throughputs_bps.get(path.flow, 0.0))
        # The link through which the packets of the largest flow reach the port.
        feeder = largest.route[largest.route.index(port) - 1]
        if (
            nodes[links[feeder]["from"]]["kind"] != "host"
            or "motion" in links[feeder]
            or links[feeder]["rate_bps"] != links[port]["rate_bps"]
        ):
            continue
        total_bps = sum(throughputs_bps.get(path.flow, 0.0) for path in at_port)
        starved_bps = _STARVED * links[port]["rate_bps"] / len(at_port)
        # A flow without a throughput was active too briefly to count as starved.
        starved = [path for path in at_port if throughputs_bps.get(path.flow, math.inf) < starved_bps]
        if not starved or throughputs_bps[largest.flow] < _NEARLY_ALL * total_bps:
            continue
        rate, flow, link = RATE.format(links[port]["rate_bps"]), largest.flow, port_name(resolved, feeder)
        is_dumbbell = scenario.network.kind == "dumbbell"
        faster = "network.access_rate above network.trunk_rate" if is_dumbbell else f"a faster link {link}"
        buffer = "network.host_buffer" if is_dumbbell else "its host_buffer"
        locked_out_flows = f"{len(starved)} of {len(at_port)} flows"
        yield (
            f"{port_name(resolved, port)}: {flow} locks out {locked_out_flows}, an artifact of equal "
            f"rates: {link} also has {rate}, so packets of {flow} take each place in the full buffer when it becomes "
            f"free; needs {faster}, or {buffer}"
        )


def _is_mostly_full(link: Mapping[str, Any], ports: Mapping[str, Sequence[Any]], port: int) -> bool:
    """Returns whether a static link has a tail-drop queue that overflowed and was full in most of the run."""
    if link["policy"]["kind"] != "tail-drop" or not link["buffer"] or "motion" in link:
        return False
    peak, mean = ports["peak_queue_packets"][port], ports["mean_queue_packets"][port]
    return bool(ports["packets_lost_overflow"][port] and mean >= _FULL * peak)


def _throughputs_bps(scenario: Scenario, columns: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Returns the throughput [bit/s] of each flow that was active for enough round trips, while it was active."""
    begin, flows = begin_s(columns), columns["flows"]
    duration_s = TIME.parse(scenario.duration) / 1e12 - begin
    throughputs_bps = {}
    rows = zip(*(flows[name] for name in ("start_s", "completion_s", "delivered_bytes")), strict=True)
    for path, (start_s, completion_s, delivered_bytes) in zip(paths(scenario.resolved), rows, strict=True):
        start, end = active_time(start_s, completion_s, begin, duration_s)
        if end - start >= _ROUND_TRIPS * path.round_trip_s:
            throughputs_bps[path.flow] = 8 * delivered_bytes / (end - start)
    return throughputs_bps
