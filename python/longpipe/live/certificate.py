"""What a live run can vouch for: how late its packets were, and what the machine could not do."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from longpipe.live.stolen import shown

_SHARES: Final = {"0.5": "median", "0.95": "95 %", "0.99": "99 %", "0.999": "99.9 %", "1": "worst"}


@dataclass(frozen=True)
class Certificate:
    """What a live run counted; times in seconds."""

    elapsed_s: float
    entered: int
    delivered: int
    marked: int
    on_path: int
    # Packets that the path lost, by cause.
    lost: dict[str, int]
    # Packets that never entered: to no host, of no IP or too long, dropped by a device that was full.
    no_way: int
    unfit: int
    overrun: int
    # Packets that a kernel did not take when they were due.
    refused: int
    # How much later than due packets left: the values that shares of them do not exceed, None if there was no packet.
    lateness_s: dict[str, float | None]
    # By how much one was there before it was due, at most.
    earliest_s: float
    late: int
    limit_s: float
    longest_pause_s: float
    # A hash of every decision; a replay of the record has the same.
    decisions: str
    # "SCHED_FIFO", or why not.
    priority: str
    # Whether idle processors halt, and why.
    halting: str
    # What the host of a virtual machine took of all processors, None if that is not counted.
    stolen_s: float | None
    devices: tuple[str, ...]
    ports: dict[str, Any]

    @property
    def holds(self) -> bool:
        """Whether no packet was later than the limit, and none was lost but by the path."""
        return self.late == 0 and self.overrun == 0 and self.refused == 0

    def to_json(self) -> str:
        """All of it as JSON text."""
        fields = asdict(self)
        # Columns of the ports come as arrays.
        columns = {name: getattr(column, "tolist", lambda found=column: found)() for name, column in self.ports.items()}
        return json.dumps({**fields, "ports": columns, "holds": self.holds}, indent=1).replace("NaN", "null") + "\n"

    def lines(self) -> Iterable[str]:
        """In words."""
        yield (
            f"{self.elapsed_s:.1f} s, {self.entered} packets entered, {self.delivered} delivered, "
            f"{sum(self.lost.values())} lost, {self.marked} marked, {self.on_path} on the path"
        )
        if any(self.lost.values()):
            yield "lost by " + ", ".join(f"{cause} {count}" for cause, count in self.lost.items() if count)
        told = [f"{name} {_shown(self.lateness_s[share])}" for share, name in _SHARES.items()]
        early = f", earliest {_shown(self.earliest_s)} before it was due" if self.earliest_s else ""
        yield "late by " + ", ".join(told) + f"; {self.late} later than {_shown(self.limit_s)}{early}"
        yield f"longest time without a look at the devices {_shown(self.longest_pause_s)}; {self.priority}"
        yield self.halting + shown(self.stolen_s, self.elapsed_s)
        if self.overrun or self.refused:
            yield f"the machine dropped {self.overrun} packets before they entered and {self.refused} that were due"
        if self.unfit:
            yield f"{self.unfit} packets were longer than the path carries, or no IP"
        yield f"decisions {self.decisions}"


def _shown(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"
