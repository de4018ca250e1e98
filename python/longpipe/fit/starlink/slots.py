"""Slots of Starlink in measurements: the parts of tests in each slot, and the probes of each slot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.fit.starlink.observed import Probes, Test

    Numbers = NDArray[np.float64]
    Whole = NDArray[np.int64]

SLOT_S: Final = 15.0
PHASE_S: Final = 12.0
# Intervals longer than this [s] are means over slots instead of values within one.
_LONG_S: Final = 2.5
# Time [s] at both ends of a slot that is not counted: the first or last second, and the error of the clock.
_MARGIN_S: Final = 2.0
# Least number of intervals of a test in a slot, and of probes in one.
_LEAST: Final = 3
# Greatest number of slots in a mean, and of probes of a slot that are used.
_MOST_SLOTS: Final = 8
_MOST_PROBES: Final = 30
_SECONDS: Final = 15
# Share of the median rate below which there was an outage in a second.
_OUTAGE: Final = 0.4
# Time [s] at both ends of a slot without probes that are counted.
_EDGE_S: Final = 0.6


def slot_of(times_s: Numbers) -> Whole:
    """Returns the numbers of the slots of some Unix times."""
    return np.floor((times_s - PHASE_S) / SLOT_S).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SlotParts:
    """Values [bit/s or s], each over a part of one slot or over several slots.

    Row i of `weights` has the shares of the slots of value i, and `counts` the number of seconds of which it is the
    median, or the mean if it is over several slots (`is_mean`). `groups` are numbers of the tests.
    """

    values: Numbers
    time_s: Numbers
    weights: Numbers
    counts: Whole
    is_mean: NDArray[np.bool_]
    groups: Whole


def parts(tests: Sequence[Test], first: float, last: float) -> SlotParts:
    """Returns the parts of tests in each slot: medians of short intervals, and means of long ones.

    `first` and `last` are the factors of the rate in the first and the last second of a slot.
    """
    rows = [row for number, test in enumerate(tests) for row in _of_test(test, number, first, last)]
    return joined(rows)


def joined(rows: Sequence[tuple[float, float, Sequence[float], int, bool, int]]) -> SlotParts:
    """Returns the parts of rows: value, time [s], weights, count, whether the value is a mean, and group."""
    weights = np.zeros((len(rows), max((len(row[2]) for row in rows), default=1)))
    for place, row in enumerate(rows):
        weights[place, : len(row[2])] = row[2]
    columns = [[row[k] for row in rows] for k in (0, 1, 3, 4, 5)]
    return SlotParts(
        np.array(columns[0], dtype=float), np.array(columns[1], dtype=float), weights,
        np.array(columns[2], dtype=np.int64), np.array(columns[3], dtype=bool), np.array(columns[4], dtype=np.int64),
    )  # fmt: skip


def _of_test(
    test: Test, number: int, first: float, last: float
) -> Iterator[tuple[float, float, Sequence[float], int, bool, int]]:
    lengths = test.end_s - test.begin_s
    for begin, end, bps in zip(
        *(column[lengths > _LONG_S] for column in (test.begin_s, test.end_s, test.bps)), strict=True
    ):
        weights = shares(begin, end, first, last)
        if len(weights) <= _MOST_SLOTS:
            yield float(bps), float(begin + end) / 2, weights, max(1, round(end - begin)), True, number
    slots = slot_of(test.begin_s)
    since = test.begin_s - PHASE_S - SLOT_S * slots
    is_inner = (lengths <= _LONG_S) & (since >= _MARGIN_S) & (since + lengths <= SLOT_S - _MARGIN_S)
    for slot in np.unique(slots[is_inner]):
        inner = is_inner & (slots == slot)
        if (count := int(inner.sum())) >= _LEAST:
            middle = float(test.begin_s[inner].mean())
            yield float(np.median(test.bps[inner])), middle, (1.0,), count, False, number


def shares(begin: float, end: float, first: float = 1.0, last: float = 1.0) -> list[float]:
    """Returns the weights of the slots in the mean of an interval: overlaps, times the factors of their seconds."""
    slots = np.arange(int(np.floor((begin - PHASE_S) / SLOT_S)), int(np.floor((end - PHASE_S) / SLOT_S)) + 1)
    factors = np.ones(_SECONDS)
    factors[0], factors[-1] = first, last
    seconds = PHASE_S + SLOT_S * slots[:, None] + np.arange(_SECONDS)
    overlap = np.clip(np.minimum(end, seconds + 1) - np.maximum(begin, seconds), 0, None)
    weights: list[float] = ((overlap * factors).sum(axis=1) / (end - begin)).tolist()
    return weights


def variations(tests: Sequence[Test]) -> Numbers:
    """Returns a row for each part of a test with intervals of a second: mean squares of its changes over 1 and 2 s.

    They are relative to the square of the mean. A second of the test lies in two seconds of UTC, so that successive
    rates depend on each other; with independent deviations of variance v of the seconds of UTC, 1.5 times the second
    mean square less the first has the mean v, whichever shares the two seconds have.
    """
    rows = []
    # The goodput of a connection also varies with its window.
    for test in (test for test in tests if test.transport is None):
        lengths = test.end_s - test.begin_s
        slots = slot_of(test.begin_s)
        since = test.begin_s - PHASE_S - SLOT_S * slots
        inner = (lengths > 0.9) & (lengths < 1.1) & (since >= _MARGIN_S) & (since + lengths <= SLOT_S - _MARGIN_S)
        for slot in np.unique(slots[inner]):
            bps = test.bps[inner & (slots == slot)]
            # An outage would count as a deviation.
            if len(bps) > 2 * _LEAST and bps.min() > _OUTAGE * np.median(bps):
                changes = ((bps[k:] - bps[:-k]) / bps.mean() for k in (1, 2))
                rows.append([float((change**2).mean()) for change in changes])
    return np.array(rows).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Slots:
    """Probes within slots: `since_s` (time since the start of the slot) and `rtt_s`, a row per slot, NaN behind it."""

    number: Whole
    since_s: Numbers
    rtt_s: Numbers

    @property
    def levels_s(self) -> Numbers:
        """Returns the median round trip of each slot [s]."""
        medians: Numbers = np.nanmedian(self.rtt_s, axis=1)
        return medians


def slots(probes: Sequence[Probes]) -> Slots:
    """Returns the probes in the middle of each slot that has enough of them; means over intervals are omitted."""
    single = [series for series in probes if series.spans_s is None]
    times = np.concatenate([series.time_s for series in single] or [np.zeros(0)])
    rtts = np.concatenate([series.rtt_s for series in single] or [np.zeros(0)])
    order = np.argsort(times, kind="stable")
    times, rtts = times[order], rtts[order]
    numbers = slot_of(times)
    since = times - PHASE_S - SLOT_S * numbers
    inner = (since >= _EDGE_S) & (since <= SLOT_S - _EDGE_S)
    numbers, since, rtts = numbers[inner], since[inner], rtts[inner]
    unique, begins, counts = np.unique(numbers, return_index=True, return_counts=True)
    enough = counts >= _LEAST
    unique, begins, counts = unique[enough], begins[enough], counts[enough]
    columns = min(_MOST_PROBES, int(counts.max(initial=0)))
    # Evenly spaced ones of the probes of a slot.
    steps = np.maximum(1.0, counts / max(columns, 1))
    places = np.floor(np.arange(columns) * steps[:, None]).astype(np.int64)
    is_there = places < counts[:, None]
    places = np.where(is_there, places, 0) + begins[:, None]
    missing = np.where(is_there, 0.0, np.nan)
    if not len(unique):
        return Slots(unique, np.zeros((0, 1)), np.zeros((0, 1)))
    return Slots(unique, since[places] + missing, rtts[places] + missing)
