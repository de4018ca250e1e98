"""Remaining time of a campaign, with its uncertainty, from the runs that have ended."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from longpipe.study.progress import Progress

# Number of groups of successive runs whose times are compared (twice as many are merged), and minimum number of groups
# for a range.
GROUPS: Final = 8
MIN_GROUPS: Final = 4
# Two-sided 95 % quantiles of Student's t for 3, 4, ... degrees of freedom; the last one also serves for more.
_T_QUANTILES: Final = (3.18, 2.78, 2.57, 2.45, 2.36)


@dataclass(frozen=True)
class _Group:
    """Successive runs: their work, in the units of `design.cost`, their time and their number."""

    work: float = 0.0
    seconds: float = 0.0
    runs: float = 0.0

    def __add__(self, other: _Group) -> _Group:
        return _Group(self.work + other.work, self.seconds + other.seconds, self.runs + other.runs)


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
        # Complete groups, merged in pairs whenever there are too many, and the group to which runs are added.
        self._groups: list[_Group] = []
        self._open = _Group()
        self._runs_per_group = 1

    def update(self, now: Progress) -> None:
        """Adds what has ended since the previous call. A campaign that grows begins a new series of runs."""
        previous, at_s = self._last, self._clock()
        if previous is None or now.stored != previous.stored or _ended(now) < _ended(previous):
            self._last, self._since_s = now, at_s
            return
        if _ended(now) > _ended(previous):
            seconds = at_s - self._since_s - (now.waited_s - previous.waited_s)
            self._add(_Group(_work(now) - _work(previous), max(seconds, 0.0), _ended(now) - _ended(previous)))
            self._since_s = at_s
            self._last = now
        else:
            # Waiting time is subtracted when the next run ends.
            self._last = replace(now, waited_s=previous.waited_s)

    def _add(self, group: _Group) -> None:
        """Adds runs to the open group, and closes it if it is complete."""
        self._open += group
        if self._open.runs < self._runs_per_group:
            return
        self._groups.append(self._open)
        self._open = _Group()
        if len(self._groups) == 2 * GROUPS:
            self._groups = [a + b for a, b in zip(self._groups[::2], self._groups[1::2], strict=True)]
            self._runs_per_group *= 2

    def left(self) -> Left | None:
        """Returns the remaining time from now on; None before the first run has ended."""
        total = sum(self._groups, self._open)
        if self._last is None or total.work <= 0:
            return None
        # Runs in progress are half done on average.
        work_in_progress = min(0.5 * self._last.executing * total.work / total.runs, _left(self._last))
        # Remaining work as a multiple of the work that is done.
        ratio = (_left(self._last) - work_in_progress) / (total.work + work_in_progress)
        expected_s = total.seconds * ratio
        low_s, high_s = (expected_s * factor for factor in self._last.spread)
        margin = 1 + (self._margin(ratio) if ratio > 0 else 0.0)
        # A part of this time has passed since the last run ended.
        passed_s = self._clock() - self._since_s
        return Left(
            expected_s=max(expected_s - passed_s, 0.0),
            low_s=max(low_s / margin - passed_s, 0.0),
            high_s=max(high_s * margin - passed_s, 0.0),
            runs_per_s=total.runs / total.seconds if total.seconds else math.inf,
        )

    def _margin(self, ratio: float) -> float:
        """Returns the relative margin of the remaining time if `ratio` times the work so far remains; 0 if unknown."""
        groups = len(self._groups)
        total_s = sum(group.seconds for group in self._groups)
        if groups < MIN_GROUPS or not total_s:
            return 0.0
        s_per_work = total_s / sum(group.work for group in self._groups)
        squares = sum((group.seconds - s_per_work * group.work) ** 2 for group in self._groups)
        # Standard deviation of the remaining time divided by `ratio`: from the remaining groups, and from `s_per_work`.
        deviation_s = math.sqrt(groups * squares / (groups - 1) * (1 + 1 / ratio))
        return _T_QUANTILES[min(groups - MIN_GROUPS, len(_T_QUANTILES) - 1)] * deviation_s / total_s


def _ended(now: Progress) -> int:
    """Returns the number of runs that have ended."""
    return now.done + now.failed


def _work(now: Progress) -> float:
    """Returns the work of the runs that have ended; their number if the campaign has no measure of work."""
    return now.worked or float(_ended(now))


def _left(now: Progress) -> float:
    """Returns the remaining work, or number of runs."""
    return now.left if now.worked else float(now.wanted - now.ended)
