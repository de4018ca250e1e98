"""The result of every reader: a recording with its flows, paths or queues, and their series and counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from longpipe.errors import shortened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

SeriesKind = Literal[
    "rate",
    "sent rate",
    "delivery rate",
    "pacing rate",
    "rtt",
    "smoothed rtt",
    "delay up",
    "delay down",
    "delay",
    "losses",
    "retransmissions",
    "cwnd",
    "in flight",
    "backlog",
]
# Unit of each quantity. The congestion window and the backlog are in bytes or in packets, as the tool reports them.
UNITS: Final[dict[str, tuple[str, ...]]] = {
    "rate": ("bit/s",),
    "sent rate": ("bit/s",),
    "delivery rate": ("bit/s",),
    "pacing rate": ("bit/s",),
    "rtt": ("s",),
    "smoothed rtt": ("s",),
    "delay up": ("s",),
    "delay down": ("s",),
    "delay": ("s",),
    "losses": ("packets",),
    "retransmissions": ("packets", "bytes"),
    "cwnd": ("bytes", "packets"),
    "in flight": ("bytes",),
    "backlog": ("bytes", "packets"),
}
# Latest time that is shown as a date: the end of the year 9999.
_LATEST_NS: Final = 253402300799 * 10**9


@dataclass(frozen=True, eq=False)
class Series:
    """Values of one quantity over time, in seconds since the beginning of the recording.

    `meaning` describes the values, as in "mean over the interval that ends at the time" or "one per lost packet".
    """

    quantity: SeriesKind
    unit: str
    time_s: Numbers
    numbers: Numbers
    meaning: str


@dataclass(frozen=True, eq=False)
class Subject:
    """A flow, path or queue of a recording: its series, and its counters as pairs (value, unit)."""

    name: str
    kind: Literal["flow", "path", "queue"]
    series: tuple[Series, ...]
    counters: dict[str, tuple[float, str]] = field(default_factory=dict)
    # Facts that are not numbers, such as the congestion control.
    facts: dict[str, str] = field(default_factory=dict)

    def of(self, quantity: SeriesKind) -> Series | None:
        """Returns the series of a quantity; None if there is none."""
        return next((one for one in self.series if one.quantity == quantity), None)

    @property
    def rates(self) -> Series | None:
        """The rates or, if the file does not contain them, those at which the subject sent; None without either."""
        return self.of("rate") or self.of("sent rate")


@dataclass(frozen=True, eq=False)
class Recording:
    """Contents of a file: its format, the tool that wrote it, and its subjects.

    `begin_ns` is the Unix time [ns] of the beginning, or None if the file has none. `unknown` has a line for each
    property that the file lacks, and `notes` has a line for each defect and each doubtful value in the file.
    """

    file: str
    format: str
    tool: str
    version: str | None
    begin_ns: int | None
    duration_s: float
    subjects: tuple[Subject, ...]
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def begin(self) -> str | None:
        """Beginning of the recording as an ISO 8601 date in UTC; None if the file has no absolute time."""
        if self.begin_ns is None or not 0 <= self.begin_ns <= _LATEST_NS:
            return None
        date = datetime.fromtimestamp(self.begin_ns // 10**9, UTC)
        return f"{date:%Y-%m-%dT%H:%M:%S}.{self.begin_ns % 10**9 // 1000:06d}Z"

    def source(self, longest: int) -> str:
        """Returns the format and the tool, whose name has at most `longest` characters; a name in both occurs once."""
        if self.tool in self.format and not self.version:
            return self.format
        return f"{self.format} of {shortened(self.tool, longest)}"

    def as_json(self) -> dict[str, Any]:
        """Returns the recording as plain, JSON-compatible values."""
        return {
            "file": self.file,
            "format": self.format,
            "tool": self.tool,
            "version": self.version,
            "begin": self.begin,
            "duration_s": self.duration_s,
            "subjects": [
                {
                    "name": one.name,
                    "kind": one.kind,
                    "facts": one.facts,
                    "counters": {name: {"value": v, "unit": unit} for name, (v, unit) in one.counters.items()},
                    "series": [
                        {
                            "quantity": series.quantity,
                            "unit": series.unit,
                            "meaning": series.meaning,
                            "time_s": series.time_s.tolist(),
                            "values": series.numbers.tolist(),
                        }
                        for series in one.series
                    ],
                }
                for one in self.subjects
            ],
            "unknown": list(self.unknown),
            "notes": list(self.notes),
        }


def series(
    quantity: SeriesKind, points: Iterable[tuple[float, float]], meaning: str, unit: str | None = None
) -> Series:
    """Returns a series of (time [s], value) points in the quantity's unit, or in `unit` if it has several."""
    import numpy as np

    pairs = np.array(list(points), dtype=float).reshape(-1, 2)
    return Series(quantity, unit or UNITS[quantity][0], pairs[:, 0].copy(), pairs[:, 1].copy(), meaning)


def kept(*found: Series) -> tuple[Series, ...]:
    """Returns the series that have values."""
    return tuple(one for one in found if len(one.numbers))


# Number of intervals over which a rate is averaged if it is computed from single packets.
_INTERVALS: Final = 200


def binned_rate(
    events: Sequence[tuple[float, float]],
    begin_s: float,
    end_s: float,
    what: str,
    quantity: Literal["rate", "sent rate"] = "rate",
    tick_ns: int = 1,
) -> Series:
    """Returns the mean rates of (time [s], bytes) events over about 200 equal intervals, at the end of each interval.

    An event at the end of an interval belongs to it. Intervals are multiples of `tick_ns`, the resolution of the times,
    because intervals with different numbers of ticks would have different rates if the events are regular; the last
    interval may be shorter. `what` names the bytes that are counted, such as "payload acknowledged".
    """
    import numpy as np

    span_ns = round((end_s - begin_s) * 1e9)
    if not events or span_ns <= 0:
        return series(quantity, (), what)
    width_ns = -(-span_ns // (_INTERVALS * tick_ns)) * tick_ns
    count = -(-span_ns // width_ns)
    pairs = np.array(events, dtype=float)
    # Whole nanoseconds, because sums of rounded seconds would put events at an end into either interval.
    times_ns = np.rint((pairs[:, 0] - begin_s) * 1e9).astype(np.int64)
    slots = np.clip((times_ns - 1) // width_ns, 0, count - 1)
    bits = 8 * np.bincount(slots, weights=pairs[:, 1], minlength=count)
    ends_ns = np.minimum(np.arange(1, count + 1) * width_ns, span_ns)
    rates: Numbers = bits / np.diff(ends_ns, prepend=0) * 1e9
    width = f"{width_ns / 1e9:.3g} s"
    return Series(
        quantity, "bit/s", begin_s + ends_ns / 1e9, rates, f"{what}, mean over the {width} that end at the time"
    )
