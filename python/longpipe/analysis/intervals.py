"""Means and confidence intervals of replicated measurements (Student's t)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike

from longpipe.analysis.quantiles import t_quantile

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE: Final = 0.95
# Tolerance for sums of the same numbers in a different order, relative to the largest number.
ROUNDING: Final = 1e-12


@dataclass(frozen=True)
class Estimate:
    """The mean of n independent measurements with its interval, in their unit.

    `mean_low` to `mean_high` contains the true mean, and `low` to `high` contains a further measurement, each with the
    requested confidence level, 95 % by default; all four are nan for a single measurement.
    """

    mean: float
    low: float
    high: float
    mean_low: float
    mean_high: float


def deviation(values: ArrayLike) -> float:
    """Returns the sample standard deviation of at least two values; 0 if they differ only by rounding errors."""
    x = np.asarray(values, dtype=float)
    is_rounding = np.isfinite(x).all() and np.ptp(x) <= ROUNDING * np.abs(x).max()
    return 0.0 if is_rounding else float(np.std(x, ddof=1))


def estimate(
    values: ArrayLike, bounds: Sequence[float] = (-math.inf, math.inf), *, level: float = CONFIDENCE
) -> Estimate:
    """Returns the estimate from one value per seed, shape (n,), at confidence `level`; `bounds` limit the values."""
    x = np.asarray(values, dtype=float)
    mean = float(np.mean(x))
    if x.size < 2:
        return Estimate(mean, math.nan, math.nan, math.nan, math.nan)
    # Rounding can move the mean of equal values away from them.
    mean = float(np.clip(mean, x.min(), x.max()))
    spread = deviation(x)
    t = t_quantile(level, x.size - 1)
    of_mean = t * spread / math.sqrt(x.size)
    of_one = t * spread * math.sqrt(1 + 1 / x.size)
    low, high = max(mean - of_one, bounds[0]), min(mean + of_one, bounds[1])
    return Estimate(mean, low, high, mean - of_mean, mean + of_mean)


def estimate_average(measured: Sequence[Mapping[int, float]], *, level: float = CONFIDENCE) -> Estimate:
    """Returns the mean of the means of several configurations, each with one value for each of its own seeds.

    Configurations with a seed in common have common random numbers, so their means are not independent: the covariance
    of each pair is estimated from the seeds that they share, and the degrees of freedom are those of the smallest
    number of seeds. If all have the same seeds, the result equals `estimate` of the averages for each seed. There is no
    interval for a further measurement.
    """
    mean = float(np.mean([np.mean(list(values.values())) for values in measured]))
    fewest = min(map(len, measured))
    if fewest < 2:
        return Estimate(mean, math.nan, math.nan, math.nan, math.nan)
    # Each unordered pair is computed once, because that takes most of the time of a table with many configurations.
    numbers = range(len(measured))
    covariances = {(i, j): _covariance_of_means(measured[i], measured[j]) for i in numbers for j in numbers if i <= j}
    variance = 0.0
    for i in numbers:
        for j in numbers:
            variance += covariances[min(i, j), max(i, j)]
    margin = t_quantile(level, fewest - 1) * math.sqrt(max(variance, 0.0)) / len(measured)
    return Estimate(mean, math.nan, math.nan, mean - margin, mean + margin)


def _covariance_of_means(first: Mapping[int, float], second: Mapping[int, float]) -> float:
    """Returns the covariance of two configurations' means, estimated from the seeds that they share."""
    shared = [seed for seed in first if seed in second]
    x, y = ([values[seed] for seed in shared] for values in (first, second))
    if len(shared) < 2 or not deviation(x) or not deviation(y):
        return 0.0
    return float(np.cov(x, y)[0, 1]) * len(shared) / (len(first) * len(second))


def copies(runs: pd.DataFrame) -> str:
    """Returns a warning if all replications of every point have identical measures, otherwise "".

    `runs` is a study's frame.
    """
    measures = [name for name in runs.select_dtypes("number") if name not in ("point", "block", "replication", "seed")]
    points = runs.groupby("point")[measures]
    if not measures or points.size().min() < 2:
        return ""
    spread = (points.max() - points.min()).fillna(0.0)
    if (spread > ROUNDING * points.max().abs()).to_numpy().any():
        return ""
    return "the replications of each point are identical: nothing that affects them is random"
