"""Quantiles of a level per slot from values that are medians or means over slots, by matching simulated values.

The level of a slot is drawn from quantiles at the probabilities of the path. What is measured has further variation,
such as that of single seconds or waits for grants. The quantiles are changed until simulated values, which have this
variation too, have the measured quantiles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.scenario.starlink_draws import PROBABILITIES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.fit.starlink.slots import SlotParts

    Numbers = NDArray[np.float64]
    # Function from quantiles of the level to simulated values.
    Simulated = Callable[[Numbers], Numbers]

# Probabilities of the quantiles that measurements determine: those between the least and the greatest.
INNER: Final = np.array(PROBABILITIES[1:-1])
_STEPS: Final = 10
# Least number of simulated values.
_SIMULATED: Final = 10_000
# Least quantile of a level.
_LEAST: Final = 1e-6


@dataclass(frozen=True)
class Ends:
    """Distances of the least and the greatest quantile as multiples of those of their neighbors to the quartiles.

    Few measurements have values near them, so that they are extrapolated in the ratios of the year's parameters.
    """

    low: float
    high: float

    @classmethod
    def of(cls, quantiles: Numbers) -> Ends:
        """Returns the ratios of seven quantiles."""
        low = (quantiles[1] - quantiles[0]) / max(quantiles[2] - quantiles[1], _LEAST)
        high = (quantiles[6] - quantiles[5]) / max(quantiles[5] - quantiles[4], _LEAST)
        return cls(float(low), float(high))

    def whole(self, inner: Numbers) -> Numbers:
        """Returns seven quantiles from the inner five, which are made to increase."""
        inner = np.maximum.accumulate(np.maximum(inner, _LEAST))
        least = max(_LEAST, float(inner[0] - self.low * (inner[1] - inner[0])))
        return np.array([least, *inner, inner[-1] + self.high * (inner[-1] - inner[-2])])


def matched(measured: Numbers, simulated: Simulated, ends: Ends, begin: Numbers | None = None) -> Numbers:
    """Returns the inner quantiles of the level whose simulated values have the measured inner quantiles."""
    inner = measured.copy() if begin is None else begin.copy()
    for _ in range(_STEPS):
        off = measured - np.quantile(simulated(ends.whole(inner)), INNER)
        inner = np.maximum.accumulate(np.maximum(inner + off, _LEAST))
        if np.abs(off).max() < 2e-3 * abs(measured[2]):
            break
    return inner


def simulated_parts(parts: SlotParts, noise: float, change: float, random: np.random.Generator) -> Simulated:
    """Returns a function that simulates the values of parts, with fixed random numbers.

    `noise` is the half-width of the uniform deviation of a second, and `change` the probability of a new satellite.
    """
    rows = np.tile(np.arange(len(parts.values)), -(-_SIMULATED // len(parts.values)))
    weights, counts, is_mean = parts.weights[rows], parts.counts[rows], parts.is_mean[rows]
    levels = random.random(weights.shape)
    for place in range(1, weights.shape[1]):
        is_kept = random.random(len(rows)) >= change
        levels[is_kept, place] = levels[is_kept, place - 1]
    seconds = random.uniform(-noise, noise, (len(rows), int(counts.max())))
    seconds[np.arange(seconds.shape[1]) >= counts[:, None]] = np.nan
    deviations = 1 + np.where(is_mean, np.nanmean(seconds, axis=1), np.nanmedian(seconds, axis=1))

    def simulate(quantiles: Numbers) -> Numbers:
        values: Numbers = (np.interp(levels, PROBABILITIES, quantiles) * weights).sum(axis=1) * deviations
        return values

    return simulate


def resampled(groups: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Returns the places of the values of as many random groups, with repetition, as there are groups."""
    order = np.argsort(groups, kind="stable")
    _, begins, counts = np.unique(groups[order], return_index=True, return_counts=True)
    resample = random.integers(0, len(begins), len(begins))
    return np.concatenate([order[begins[group] : begins[group] + counts[group]] for group in resample])
