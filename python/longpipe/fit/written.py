"""Rates of a path from the data that an application wrote to its socket.

A socket accepts data in steps: iperf3 writes blocks of 128 KiB, and Linux wakes a writer when a third of the send
buffer is free. The data of an interval are therefore a multiple of a step that can be longer than the interval. The sum
of the intervals is exact within one step, so the rate is the slope of this sum over time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.fit.estimate import FitEstimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

# Number of halvings of an interval in a search: the rates are then exact to 1e-9 of the fastest.
_HALVINGS: Final = 30
# Share by which refills of a send buffer differ.
_UNEVEN: Final = 0.05
# Number of step sizes that `step_bytes` examines.
_SIZES: Final = 1000


@dataclass(frozen=True, eq=False)
class Writes:
    """How an application wrote its data: lengths in bytes on the wire.

    `block` is the length of a write (0 if unknown), `longest` that of the longest step, `window` the maximum window.
    Losses were repaired in intervals that end at the times `repairs`, each within `repair_s` seconds.
    """

    block: float
    longest: float
    window: float
    repairs: Numbers
    repair_s: float

    def lag(self, times: Numbers) -> Numbers:
        """Returns by how many bytes the data written until each of these times may lag behind for a repair."""
        last = np.searchsorted(self.repairs, np.append(times[1:], times[-1]), side="right") - 1
        since = times - np.append(-np.inf, self.repairs)[last + 1]
        return np.where(since <= self.repair_s, self.window, 0.0)


def step_bytes(amounts: Numbers, block: float, longest: float) -> float:
    """Returns the longest step [bytes] of which all amounts per interval can be multiples, and at least a block.

    Each step may be up to a block and 5 % shorter or longer than the others. No step is longer than `longest`, the data
    that the socket can hold.
    """
    largest = min(float(amounts.max()), longest)
    for size in np.linspace(largest, block, _SIZES) if largest > block else ():
        steps = np.maximum(np.round(amounts / size), amounts > block)
        if (np.abs(amounts - steps * size) <= (block + _UNEVEN * size) * steps).all():
            return float(size)
    return block


def rate(times: Numbers, rates: Numbers, busy: NDArray[np.bool_], step: float, lag: Numbers) -> FitEstimate:
    """Returns the rate [bit/s] of the busy intervals that end at `times`, the first of which only marks a beginning.

    The bytes written until a time differ from a line over time by at most one step of `step` bytes. While a loss is
    repaired, they may be below the line by another `lag` bytes, because nothing new is acknowledged. The estimate is
    the middle of the slopes of all such lines. If the sums are further from every line, the interval contains the
    slopes of all lines that are at most one more step away than the nearest line.
    """
    spans = list(_spans(times, rates, busy))

    def distance(slope: float) -> float:
        return max(
            float((written - slope * at).max() - (written + lag[first : first + len(at)] - slope * at).min())
            for first, at, written in spans
        )

    top = 2 * float(rates[busy].max()) / 8
    nearest = _lowest(distance, top)
    least = distance(nearest)
    allowed = step if least <= step else least + step
    low = _edge(distance, allowed, nearest, 0.0)
    high = _edge(distance, allowed, nearest, top)
    return FitEstimate(4 * (low + high), 8 * low, 8 * high)


def _spans(times: Numbers, rates: Numbers, busy: NDArray[np.bool_]) -> Iterator[tuple[int, Numbers, Numbers]]:
    """Yields contiguous busy intervals: place and times of their ends, and the bytes written since the first start."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], busy, [False]))))
    for first, after in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        at = times[first - 1 : after]
        yield first - 1, at, np.concatenate(([0.0], np.cumsum(rates[first:after] / 8 * np.diff(at))))


def _lowest(distance: Callable[[float], float], top: float) -> float:
    """Returns the minimum of a convex function between 0 and `top`."""
    low, high = 0.0, top
    for _ in range(2 * _HALVINGS):
        left, other = low + (high - low) / 3, high - (high - low) / 3
        if distance(left) <= distance(other):
            high = other
        else:
            low = left
    return (low + high) / 2


def _edge(distance: Callable[[float], float], allowed: float, inside: float, outside: float) -> float:
    """Returns the value between `inside` and `outside` from which on the distance exceeds what is allowed."""
    if distance(outside) <= allowed:
        return outside
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if distance(middle) <= allowed:
            inside = middle
        else:
            outside = middle
    return inside
