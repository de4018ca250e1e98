"""Clock of a capture, checked against itself and against the senders' TCP timestamps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Final

from longpipe.measured.headers import Other, Segment

# Packets from several queues may be recorded out of order, by less than this time.
_OUT_OF_ORDER_NS: Final = 1_000_000
# Minimum size of a jump, relative to a sender's timestamps, that is reported.
_JUMP_NS: Final = 500_000_000
# Distance between the compared points of a sender's clock.
_STEP_NS: Final = 100_000_000
_LEAST_POINTS: Final = 8
_MOST_SENDERS: Final = 1000


@dataclass
class Clocks:
    """First and last time [ns] of a capture, and the jumps of its clock."""

    first_ns: int = 0
    last_ns: int = 0
    _previous: int | None = None
    _back: list[tuple[int, int]] = field(default_factory=list)
    # Points of each sender's clock: packet number, time and TSval.
    _points: dict[bytes, list[tuple[int, int, int]]] = field(default_factory=dict)

    def add(self, number: int, now: int, segment: Segment | Other) -> None:
        """Processes the time of a packet."""
        if self._previous is None:
            self.first_ns = self.last_ns = now
        elif self._previous - now > _OUT_OF_ORDER_NS:
            self._back.append((number, self._previous - now))
        self._previous = now
        self.first_ns, self.last_ns = min(self.first_ns, now), max(self.last_ns, now)
        if isinstance(segment, Segment) and segment.timestamps:
            points = self._points.get(segment.source)
            if points is None:
                if len(self._points) < _MOST_SENDERS:
                    self._points[segment.source] = [(number, now, segment.timestamps[0])]
            elif abs(now - points[-1][1]) >= _STEP_NS:
                points.append((number, now, segment.timestamps[0]))

    def notes(self) -> Iterator[str]:
        """Yields a line about backward jumps, and one about forward jumps that the senders' clocks did not make."""
        if self._back:
            number, size = self._back[0]
            times = "once" if len(self._back) == 1 else f"{len(self._back)} times"
            where = f"first by {size / 1e9:.3g} s at packet {number}"
            yield f"the clock jumps back {times}, {where}: RTTs and rates around it are wrong"
        ahead = sorted({jump for points in self._points.values() for jump in _ahead(points)})
        if ahead:
            number, size = ahead[0]
            yield f"the clock jumps ahead by {size / 1e9:.3g} s at packet {number}, unlike the sender's timestamps"


def _ahead(points: list[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
    """Yields packet and size of forward jumps of the capture's clock relative to a sender with a regular clock."""
    steps = [
        (number, now - before, (stamp - previous) % (1 << 32))
        for (_, before, previous), (number, now, stamp) in pairwise(points)
    ]
    rates = [ticks / taken for _, taken, ticks in steps if taken > 0 and ticks]
    if len(rates) < _LEAST_POINTS:
        return
    usual = median(rates)
    for number, taken, ticks in steps:
        if taken > 0 and taken - ticks / usual > _JUMP_NS:
            yield number, round(taken - ticks / usual)
