"""Certificate of a live run: how late its packets were, and the machine's restrictions."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from longpipe.live import flow_limits, starved
from longpipe.live.flow_limits import RealFlow
from longpipe.live.stolen import shown

# Quantiles of the lateness that the text shows, with their names.
_SHARES: Final = {"0.5": "median", "0.95": "95 %", "0.99": "99 %", "0.999": "99.9 %", "1": "worst"}


@dataclass(frozen=True)
class Certificate:
    """Counters of a live run; times are in seconds."""

    elapsed_s: float
    entered: int
    delivered: int
    marked: int
    on_path: int
    # Number of packets that the path lost, by cause.
    lost: dict[str, int]
    # Numbers of packets that did not enter the path: those for an unknown destination, those that are not IP or too
    # long, and those that were dropped because the device was full.
    no_way: int
    unfit: int
    overrun: int
    # Number of packets that the kernel did not accept when they were due.
    refused: int
    # Quantiles of the lateness of packets, or None if there were none.
    lateness_s: dict[str, float | None]
    # Maximum time by which a packet was early.
    earliest_s: float
    # Number of packets whose lateness exceeded `limit_s`.
    late: int
    limit_s: float
    # Share of the packets that may be late: 0 if none may be.
    late_share: float
    longest_pause_s: float
    # Hash of all decisions about packets; a replay of the record has the same hash.
    decisions: str
    # "SCHED_FIFO", or the reason why the thread has another priority.
    priority: str
    # Whether idle processors halt, with the reason.
    halting: str
    # CPU time that the host took from a virtual machine (steal time); None if it is not counted.
    stolen_s: float | None
    # Time in which some task of the machine waited for a processor; None if it is not counted.
    waited_s: float | None
    devices: tuple[str, ...]
    # TCP connections of real programs, with what limited each.
    flows: tuple[RealFlow, ...]
    ports: dict[str, Any]

    @property
    def holds(self) -> bool:
        """Returns whether the timing of the path holds: `problems` is empty."""
        return not any(self.problems())

    def problems(self) -> Iterator[str]:
        """Yields why the run is no valid measurement of the simulated path."""
        limit = _shown(self.limit_s)
        if self.late > self.late_share * self.entered:
            tolerance = f", {100 * self.late_share:g} % may be" if self.late_share else ""
            yield f"{self.late} of {self.entered} packets were later than {limit}{tolerance}"
        if self.late_share == 0 and self.longest_pause_s > self.limit_s:
            yield f"longpipe did not run for up to {_shown(self.longest_pause_s)}, more than {limit}"
        if self.overrun or self.refused:
            yield f"the machine dropped {self.overrun} packets before they entered and {self.refused} that were due"

    def to_json(self) -> str:
        """Returns the certificate as JSON."""
        fields = asdict(self)
        # The columns of ports are arrays.
        columns = {
            name: getattr(column, "tolist", lambda values=column: values)() for name, column in self.ports.items()
        }
        flows = [{**asdict(flow), "limited_by": flow.limited_by, "shares": flow.shares} for flow in self.flows]
        content = {**fields, "flows": flows, "ports": columns, "holds": self.holds}
        return json.dumps(content, indent=1).replace("NaN", "null") + "\n"

    def lines(self) -> Iterable[str]:
        """Returns the certificate as lines of text."""
        yield (
            f"{self.elapsed_s:.1f} s, {self.entered} packets entered, {self.delivered} delivered, "
            f"{sum(self.lost.values())} lost, {self.marked} marked, {self.on_path} on the path"
        )
        if any(self.lost.values()):
            yield "lost by " + ", ".join(f"{cause} {count}" for cause, count in self.lost.items() if count)
        yield from flow_limits.lines(self.flows)
        if self.delivered:
            yield self.lateness_line()
        yield f"longest time between two polls of the devices {_shown(self.longest_pause_s)}; {self.priority}"
        yield self.halting + shown(self.stolen_s, self.elapsed_s)
        if (line := starved.shown(self.waited_s, self.elapsed_s)) is not None:
            yield line
        if self.unfit:
            yield f"{self.unfit} packets were longer than the path's MTU, or not IP"
        if not self.holds:
            yield f"THE TIMING DOES NOT HOLD: {'; '.join(self.problems())}"
        yield f"decisions {self.decisions}"

    def lateness_line(self) -> str:
        """Returns the quantiles of the lateness of packets in one line."""
        quantiles = ", ".join(f"{name} {_shown(self.lateness_s[share])}" for share, name in _SHARES.items())
        early = f", earliest {_shown(self.earliest_s)} before it was due" if self.earliest_s else ""
        return f"late by {quantiles}; {self.late} later than {_shown(self.limit_s)}{early}"


def _shown(seconds: float | None) -> str:
    """Formats a time in microseconds or milliseconds; "-" if there is none."""
    if seconds is None:
        return "-"
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"
