"""Clock of a capture, checked against itself and against the senders' TCP timestamps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from longpipe.measured.headers import Other, Segment

# Packets from several queues may be recorded out of order, by less than this time.
_OUT_OF_ORDER_NS: Final = 1_000_000
# Minimum size of a jump, relative to a sender's timestamps, that is reported.
_JUMP_NS: Final = 500_000_000
# Share by which the rate of a sender's clock may be wrong, because packets are delayed before they are captured.
_INEXACT: Final = 0.1
# Multiple of a clock's usual rate beyond which two timestamps belong to different connections.
_OTHER_CLOCK: Final = 10
# Distance between the compared points of a sender's clock.
_STEP_NS: Final = 100_000_000
# Minimum number of points for the rate of a sender's clock, and maximum number of senders whose points are kept.
_MIN_POINTS: Final = 8
_MAX_SENDERS: Final = 1000


class _Point(NamedTuple):
    """A packet's number, its time of capture [ns], and the TSval of its sender."""

    number: int
    at_ns: int
    tsval: int


@dataclass
class Clocks:
    """First and last time [ns] of a capture, and the jumps of its clock."""

    first_ns: int = 0
    last_ns: int = 0
    _previous: int | None = None
    # Jumps back: number of the packet after each, and its size [ns].
    _back: list[tuple[int, int]] = field(default_factory=list)
    # Pauses between consecutive packets that a jump may explain: number of the packet after each, and its length [ns].
    _pauses: list[tuple[int, int]] = field(default_factory=list)
    # Points of the clock of each sender at each interface.
    _points: dict[tuple[bytes, int], list[_Point]] = field(default_factory=dict)

    def add(self, number: int, now: int, interface: int, segment: Segment | Other) -> None:
        """Processes the time of a packet at an interface.

        Interfaces are separate because packets that are captured twice have the same TSval at two times.
        """
        if self._previous is None:
            self.first_ns = self.last_ns = now
        elif self._previous - now > _OUT_OF_ORDER_NS:
            self._back.append((number, self._previous - now))
        elif now - self._previous > _JUMP_NS:
            self._pauses.append((number, now - self._previous))
        self._previous = now
        self.first_ns, self.last_ns = min(self.first_ns, now), max(self.last_ns, now)
        if isinstance(segment, Segment) and segment.timestamps:
            points = self._points.get((segment.source, interface))
            if points is None:
                if len(self._points) < _MAX_SENDERS:
                    self._points[segment.source, interface] = [_Point(number, now, segment.timestamps[0])]
            elif abs(now - points[-1].at_ns) >= _STEP_NS:
                points.append(_Point(number, now, segment.timestamps[0]))

    def notes(self) -> Iterator[str]:
        """Yields a line about backward jumps, and one about forward jumps that the senders' clocks did not make."""
        if self._back:
            number, size = self._back[0]
            times = "once" if len(self._back) == 1 else f"{len(self._back)} times"
            location = f"first by {size / 1e9:.3g} s at packet {number}"
            yield f"the clock jumps back {times}, {location}: RTTs and rates around it are wrong"
        jump = self._jump_ahead()
        if jump is not None:
            number, size = jump
            yield f"the clock jumps ahead by {size / 1e9:.3g} s at packet {number}, unlike the sender's timestamps"

    def _jump_ahead(self) -> tuple[int, int] | None:
        """Returns packet and size [ns] of the first pause that no sender's clock explains.

        Each sender that sent before and after a pause shows how much time passed. The jump is the smallest difference,
        because packets can wait in queues before they are captured.
        """
        clocks = [(points, rate) for points in self._points.values() if (rate := _rate(points)) is not None]
        for number, pause in self._pauses:
            sizes = []
            for points, rate in clocks:
                index = bisect_left(points, (number,))
                if 0 < index < len(points):
                    before, after = points[index - 1], points[index]
                    # One tick more than counted may have passed, because a TSval is rounded down.
                    passed_ns = ((after.tsval - before.tsval) % (1 << 32) + 1) / rate
                    sizes.append(after.at_ns - before.at_ns - passed_ns)
            if sizes and max(_JUMP_NS, _INEXACT * pause) < min(sizes) <= (1 + _INEXACT) * pause:
                return number, round(min(sizes))
        return None


def _rate(points: list[_Point]) -> float | None:
    """Returns the rate of a sender's clock [ticks/ns], apart from pauses; None if there are too few points."""
    steps = [
        (after.at_ns - before.at_ns, (after.tsval - before.tsval) % (1 << 32)) for before, after in pairwise(points)
    ]
    rates = [ticks / step_ns for step_ns, ticks in steps if 0 < step_ns <= _JUMP_NS and ticks]
    if len(rates) < _MIN_POINTS:
        return None
    # A step at several times the usual rate is a new connection of the same port, whose timestamps begin elsewhere.
    highest = _OTHER_CLOCK * median(rates)
    regular = [(step_ns, ticks) for step_ns, ticks in steps if 0 < step_ns <= _JUMP_NS and ticks <= highest * step_ns]
    return sum(ticks for _, ticks in regular) / sum(step_ns for step_ns, _ in regular)
