"""What kept each flow of a run from being faster, by what every run counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from longpipe.aal5 import CELL_BYTES
from longpipe.analysis.paths import Path, paths, port_name
from longpipe.units import TIME

if TYPE_CHECKING:
    from longpipe.scenario import Scenario
    from longpipe.scenario.buffers import Framing

# By part and name, as the core gives them.
Columns = Mapping[str, Mapping[str, Any]]
Limit = Literal["link", "window", "buffer", "loss", "timeouts", "marks", "slow start", "congestion", "application"]

# What a table's short names stand for.
MEANINGS: Final[Mapping[Limit, str]] = {
    "link": "its slowest link was busy",
    "window": "the receiver's window was full",
    "buffer": "a full buffer, or its policy, lost packets",
    "loss": "a link lost packets, by force or by bit errors",
    "timeouts": "timeouts that no loss of data explains",
    "marks": "a queue marked packets, and the window fell",
    "slow start": "the run is too short for its round trip",
    "congestion": "congestion control held back without a loss",
    "application": "there was nothing more to send",
}
# How the names of losses end that are a link's own.
BY_LINK: Final = ("_lost_forced", "_lost_errors")
# From here on a link has nothing left, and a window is in use throughout.
BUSY: Final = 0.9
IN_USE: Final = 0.9
# Without a loss little else holds a flow back for long.
MOSTLY: Final = 0.5
# Of a run's time, worth a line.
MUCH: Final = 0.05
# A web server that has sent less than this of what was asked for was behind.
SERVED: Final = 0.95
# Slow start is over sooner, whatever the window.
SLOW_START_ROUND_TRIPS: Final = 40


@dataclass(frozen=True)
class FlowLimit:
    """What limited a flow.

    `link` is the directed link that left it least, `link_busy` the share of the run's time in which that was sending,
    `window_used` the share of the receiver's window that was under way on average (estimated from rates, delays and
    mean queues), `idle` the share of its time after its last byte was delivered.
    """

    flow: str
    limited_by: Limit
    link: str
    link_busy: float
    window_used: float
    idle: float


def limits(scenario: Scenario, columns: Columns) -> list[FlowLimit]:
    """What limited each flow of a run, in their order; `columns` are those of its `Result`."""
    resolved = scenario.resolve()
    ports, duration_s = _Ports(columns["ports"], scenario.framing), TIME.parse(scenario.duration) / 1e12
    flows = {name: np.asarray(column).tolist() for name, column in columns["flows"].items()}
    served = _served(columns)
    found = []
    for i, path in enumerate(paths(resolved)):
        counted = {name: column[i] for name, column in flows.items()}
        start_s, end_s = counted["start_s"], counted["completion_s"]
        done = not (end_s is None or math.isnan(end_s))
        active_s = max((end_s if done else duration_s) - start_s, 1e-12)
        idle = 1 - active_s / max(duration_s - start_s, 1e-12) if done else 0.0
        name = port_name(resolved, path.bottleneck)
        ways = {port_name(resolved, k): resolved["links"][k]["rate_bps"] for k in path.route}
        round_trip_s = path.round_trip_s + sum(ports.delay_s(port, path, rate) for port, rate in ways.items())
        on_the_way = counted["sent_bytes"] / active_s * round_trip_s
        window_used = (
            0.0 if path.datagrams else min(1.0, on_the_way * path.packet_bytes / path.mss_bytes / path.window_bytes)
        )
        busy = min(1.0, ports.utilization[name] * (duration_s / active_s if done else 1.0))
        found.append(
            FlowLimit(
                flow=path.flow,
                limited_by="application"
                if path.datagrams
                else _limit(
                    busy=busy,
                    window_used=window_used,
                    events=counted["timeouts"] + counted["fast_retransmits"],
                    # Runs that were stored before there were marks have no such column.
                    marks=counted.get("mark_reductions", 0),
                    losses=ports.losses(ways),
                    served=served.get(path.flow, 0.0),
                    round_trips=active_s / round_trip_s,
                ),
                link=name,
                link_busy=ports.utilization[name],
                window_used=window_used,
                idle=idle,
            )
        )
    return found


def told(found: Iterable[FlowLimit]) -> list[str]:
    """A line for each limit, the most frequent first: what it is, and how many flows it held."""
    found = list(found)
    counts = Counter(one.limited_by for one in found)
    lines = [f"{limit}: {count} of {len(found)} flows, {MEANINGS[limit]}" for limit, count in counts.most_common()]
    idle = [one.idle for one in found if one.idle >= MUCH]
    if idle:
        lines.append(
            f"idle: {len(idle)} of {len(found)} flows, {sum(idle) / len(idle):.0%} of the time after their end"
        )
    return lines


def _limit(
    *,
    busy: float,
    window_used: float,
    events: int,
    marks: int,
    losses: tuple[int, int],
    served: float,
    round_trips: float,
) -> Limit:
    if served >= SERVED:
        return "application"
    if busy >= BUSY:
        return "link"
    if window_used >= IN_USE:
        return "window"
    if events:
        in_buffers, by_force = losses
        return "timeouts" if not (in_buffers or by_force) else "buffer" if in_buffers >= by_force else "loss"
    if marks:
        return "marks"
    if window_used >= MOSTLY:
        return "window"
    return "slow start" if round_trips < SLOW_START_ROUND_TRIPS else "congestion"


class _Ports:
    """What the ports of a run counted, by name."""

    def __init__(self, columns: Mapping[str, Any], framing: Framing) -> None:
        ports = {name: np.asarray(column).tolist() for name, column in columns.items()}
        self._unit = "packets" if framing == "ip" else "cells"
        self._names = {name: i for i, name in enumerate(ports["port"])}
        self._columns = ports
        self.utilization: dict[str, float] = dict(zip(ports["port"], ports["utilization"], strict=True))

    def delay_s(self, port: str, path: Path, rate_bps: int) -> float:
        """What the mean queue of a port keeps a packet waiting [s]."""
        queue = self._columns[f"mean_queue_{self._unit}"][self._names[port]]
        if queue is None or math.isnan(queue):
            return 0.0
        size = path.packet_bytes if self._unit == "packets" else CELL_BYTES
        return float(8 * size * queue / rate_bps)

    def losses(self, ports: Iterable[str]) -> tuple[int, int]:
        """What was lost at these ports in buffers, and by their links [packets or cells; frames with wrong bits]."""
        in_buffers = by_force = 0
        for port in ports:
            i = self._names[port]
            by_force += sum(self._columns[name][i] for name in self._columns if name.endswith(BY_LINK))
            in_buffers += sum(
                self._columns[name][i]
                for name in self._columns
                if name.startswith(f"{self._unit}_lost_") and not name.endswith(BY_LINK)
            )
        return in_buffers, by_force


def _served(columns: Columns) -> dict[str, float]:
    """Of each web flow, what its far end has of all that was asked for."""
    web, flows = columns["web"], columns["flows"]
    delivered = dict(zip(flows["flow"], np.asarray(flows["delivered_bytes"]).tolist(), strict=True))
    asked = zip(web.get("flow", ()), np.asarray(web.get("scheduled_bytes", ())).tolist(), strict=True)
    return {flow: delivered[flow] / bytes_ if bytes_ else 1.0 for flow, bytes_ in asked}
