"""The result of every reader: a recording with its flows, paths or queues, and their series and counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
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
    `intervals_s` has a row (begin, end) for each value that holds over an interval; it is None for values at instants.
    """

    quantity: SeriesKind
    unit: str
    time_s: Numbers
    numbers: Numbers
    meaning: str
    intervals_s: Numbers | None = None

    @property
    def mean(self) -> float | None:
        """Returns the mean of the values, weighted by the lengths of their intervals; None if these have no length."""
        if not len(self.numbers):
            return None
        if self.intervals_s is None:
            return float(self.numbers.mean())
        lengths = self.intervals_s[:, 1] - self.intervals_s[:, 0]
        total = float(lengths.sum())
        return float((self.numbers * lengths).sum()) / total if total > 0 else None


@dataclass(frozen=True, eq=False)
class Subject:
    """A flow, path or queue of a recording: its series, and its counters as pairs (value, unit).

    `key` identifies a path or queue within a file if different ones may have the same `name`.
    """

    name: str
    kind: Literal["flow", "path", "queue"]
    series: tuple[Series, ...]
    counters: dict[str, tuple[float, str]] = field(default_factory=dict)
    # Facts that are not numbers, such as the congestion control.
    facts: dict[str, str] = field(default_factory=dict)
    key: str = ""

    def of(self, quantity: SeriesKind) -> Series | None:
        """Returns the series of a quantity; None if there is none."""
        return next((series for series in self.series if series.quantity == quantity), None)

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
                    "name": subject.name,
                    "kind": subject.kind,
                    "facts": subject.facts,
                    "counters": {name: {"value": v, "unit": unit} for name, (v, unit) in subject.counters.items()},
                    "series": [
                        {
                            "quantity": series.quantity,
                            "unit": series.unit,
                            "meaning": series.meaning,
                            "mean": series.mean,
                            "time_s": series.time_s.tolist(),
                            "intervals_s": None if series.intervals_s is None else series.intervals_s.tolist(),
                            "values": series.numbers.tolist(),
                        }
                        for series in subject.series
                    ],
                }
                for subject in self.subjects
            ],
            "unknown": list(self.unknown),
            "notes": list(self.notes),
        }


def series(
    quantity: SeriesKind,
    points: Iterable[tuple[float, ...]],
    meaning: str,
    unit: str | None = None,
    intervals: Iterable[tuple[float, float]] | None = None,
) -> Series:
    """Returns a series of (time [s], value) points in the quantity's unit, or in `unit` if it has several.

    `intervals` are the begins and ends [s] of the intervals over which the values hold, if they hold over intervals.
    """
    pairs = _rows(points)
    spans = None if intervals is None else _rows(intervals)
    return Series(quantity, unit or UNITS[quantity][0], pairs[:, 0].copy(), pairs[:, 1].copy(), meaning, spans)


def series_of(quantity: SeriesKind, times_s: Numbers, numbers: Numbers, meaning: str) -> Series:
    """Returns a series of values at instants, in the quantity's first unit."""
    return Series(quantity, UNITS[quantity][0], times_s, numbers, meaning)


def _rows(rows: Iterable[tuple[float, ...]], columns: int = 2) -> Numbers:
    """Returns rows of numbers as an array, without a list of them."""
    import numpy as np

    return np.fromiter(chain.from_iterable(rows), dtype=float).reshape(-1, columns)


def kept(*candidates: Series) -> tuple[Series, ...]:
    """Returns the series that have values."""
    return tuple(series for series in candidates if len(series.numbers))


# An interval's begin [s], its end [s], and the number of bytes that moved in it.
Moved = tuple[float, float, float]


def rates(moved: Iterable[Moved], meaning: str, quantity: Literal["rate", "sent rate"] = "rate") -> Series:
    """Returns the mean rates of intervals, each at the end of its interval; their products add up to all bytes.

    Every reader of bytes per interval computes its rates with this function. The intervals are in ascending order. The
    bytes of an interval without length are added to the interval before it or, if it is the first, after it.
    """
    intervals = _rows(_with_lengths(moved), 3)
    begins, ends, sizes = intervals.T
    return Series(
        quantity, UNITS[quantity][0], ends.copy(), 8 * sizes / (ends - begins), meaning, intervals[:, :2].copy()
    )  # fmt: skip


def _with_lengths(moved: Iterable[Moved]) -> Iterator[Moved]:
    pending, early = None, 0.0
    for begin, end, size in moved:
        if end > begin:
            if pending is not None:
                yield pending
            pending, early = (begin, end, size + early), 0.0
        elif pending is not None:
            pending = (pending[0], pending[1], pending[2] + size)
        else:
            early += size
    if pending is not None:
        yield pending


# Number of intervals over which a rate is averaged if it is computed from single packets.
_INTERVALS: Final = 200


def binned_rate(
    events: Iterable[tuple[float, ...]],
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
    pairs = _rows(events)
    if not len(pairs) or span_ns <= 0:
        return rates((), what, quantity)
    width_ns = -(-span_ns // (_INTERVALS * tick_ns)) * tick_ns
    count = -(-span_ns // width_ns)
    # Whole nanoseconds, because sums of rounded seconds would put events at an end into either interval.
    times_ns = np.rint((pairs[:, 0] - begin_s) * 1e9)
    slots = np.clip(np.ceil(times_ns / width_ns) - 1, 0, count - 1).astype(np.int64)
    sizes = np.bincount(slots, weights=pairs[:, 1], minlength=count).tolist()
    ends = [begin_s + min(k * width_ns, span_ns) / 1e9 for k in range(count + 1)]
    width = f"{width_ns / 1e9:.3g} s"
    return rates(
        zip(ends, ends[1:], sizes, strict=False),
        f"{what}, mean over the {width} that end at the time",
        quantity,
    )
