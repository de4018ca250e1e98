"""Remaining time of a campaign, with its uncertainty, from the runs that have ended."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from longpipe.study.progress import Progress

# Number of groups of successive runs whose times are compared, and minimum number of groups for a range.
GROUPS: Final = 8
FEWEST: Final = 4
# Two-sided 95 % quantiles of Student's t for 3, 4, ... degrees of freedom; the last one also serves for more.
_T: Final = (3.18, 2.78, 2.57, 2.45, 2.36)
# Work, time and number of some runs.
_Group = tuple[float, float, float]
_NOTHING: Final[_Group] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Left:
    """The remaining time [s] with its range, and the runs per second; after too few runs, both ends equal the time."""

    expected_s: float
    low_s: float
    high_s: float
    runs_per_s: float


class Remaining:
    """Estimates the remaining time from the time that each unit of work has taken.

    The work of a run comes from `design.cost`, so runs are weighted by their length; only the ratio of time to work is
    measured. The range follows from the variation of this ratio between groups of successive runs: it combines the
    variance of the remaining runs with that of the ratio so far (a ratio estimator, Cochran 1977, section 6.3). Its
    ends are the remaining time multiplied and divided by the same factor, so it never begins at 0.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: Progress | None = None
        # Work, time and number of successive runs, merged in pairs whenever there are too many groups.
        self._groups: list[_Group] = []
        self._open = _NOTHING
        self._per_group = 1

    def update(self, now: Progress) -> None:
        """Adds what has ended since the previous call. A campaign that grows begins a new series of runs."""
        before, at_s = self._last, self._clock()
        if before is None or now.stored != before.stored or _ended(now) < _ended(before):
            self._last, self._since_s = now, at_s
            return
        if _ended(now) > _ended(before):
            seconds = at_s - self._since_s - (now.waited_s - before.waited_s)
            self._add((_work(now) - _work(before), max(seconds, 0.0), _ended(now) - _ended(before)))
            self._since_s = at_s
            self._last = now
        else:
            # Waiting time is subtracted when the next run ends.
            self._last = replace(now, waited_s=before.waited_s)

    def _add(self, group: _Group) -> None:
        self._open = _sum(self._open, group)
        if self._open[2] < self._per_group:
            return
        self._groups.append(self._open)
        self._open = _NOTHING
        if len(self._groups) == 2 * GROUPS:
            self._groups = [_sum(a, b) for a, b in zip(self._groups[::2], self._groups[1::2], strict=True)]
            self._per_group *= 2

    def left(self) -> Left | None:
        """Returns the remaining time from now on; None before the first run has ended."""
        done, seconds, runs = self._open
        for group in self._groups:
            done, seconds, runs = _sum((done, seconds, runs), group)
        if self._last is None or done <= 0:
            return None
        # Runs in progress are half done on average.
        half = min(0.5 * self._last.executing * done / runs, _left(self._last))
        done += half
        share = (_left(self._last) - half) / done
        expected = seconds * share
        low, high = (expected * factor for factor in self._last.spread)
        margin = 1 + (self._margin(share) if share > 0 else 0.0)
        # A part of this time has passed since the last run ended.
        passed_s = self._clock() - self._since_s
        expected, low, high = (max(one - passed_s, 0.0) for one in (expected, low / margin, high * margin))
        return Left(expected, low, high, runs / seconds if seconds else math.inf)

    def _margin(self, share: float) -> float:
        """Returns the relative margin of the remaining time if `share` times the work so far remains; 0 if unknown."""
        groups = len(self._groups)
        total = sum(seconds for _, seconds, _ in self._groups)
        if groups < FEWEST or not total:
            return 0.0
        ratio = total / sum(work for work, _, _ in self._groups)
        squares = sum((seconds - ratio * work) ** 2 for work, seconds, _ in self._groups)
        # Standard deviation of the remaining time divided by `share`: from the remaining groups, and from the ratio.
        deviation = math.sqrt(groups * squares / (groups - 1) * (1 + 1 / share))
        return _T[min(groups - FEWEST, len(_T) - 1)] * deviation / total


def _sum(one: _Group, other: _Group) -> _Group:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _ended(now: Progress) -> int:
    return now.done + now.failed


def _work(now: Progress) -> float:
    return now.worked or float(_ended(now))


def _left(now: Progress) -> float:
    return now.left if now.worked else float(now.wanted - now.ended)
