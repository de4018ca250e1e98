"""Confidence intervals of quantiles over replications, from order statistics, for any distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from longpipe.errors import ScenarioError


def ranks(count: int, share: float, level: float = 0.95) -> tuple[int, int] | None:
    """Returns the ranks (from 1) of the values between which a quantile lies with confidence `level`.

    They are the closest pair of `count` independent values with P(X_(l) <= q <= X_(u)) >= level; this is the sum of the
    binomial probabilities from l to u - 1 (David and Nagaraja, Order Statistics, 2003, section 7.1). If several pairs
    are equally close, the one with the highest confidence is used. Returns None if there are too few values.
    """
    from scipy import special

    # Element k: probability that fewer than k values lie below the quantile. The confidence of the ranks l and u is the
    # difference of elements u and l.
    fewer_than = np.concatenate([[0.0], special.bdtr(np.arange(count), count, share)])
    # Candidates in the order of preference: distance of the ranks, negative confidence, lower and upper rank.
    best: tuple[int, float, int, int] | None = None
    for low in range(1, count):
        # Confidence grows with the upper rank, so that the closest one that suffices is found by bisection.
        confidences = fewer_than[low + 1 :] - fewer_than[low]
        high = low + 1 + int(np.searchsorted(confidences, level * (1 - 1e-12)))
        if high <= count:
            confidence = float(fewer_than[high] - fewer_than[low])
            best = min(best or (count, 0.0, 0, 0), (high - low, -confidence, low, high))
    return None if best is None else best[2:]


def fewest(share: float, level: float = 0.95) -> int:
    """Returns the smallest sample size whose minimum and maximum enclose a quantile with confidence `level`."""
    count = 2
    while 1 - share**count - (1 - share) ** count < level:
        count += 1
    return count


def quantile_interval(
    name: str, values: ArrayLike, share: float = 0.5, level: float = 0.95
) -> tuple[float, float, float]:
    """Returns the quantile of values, one per replication, and an interval that contains the true quantile.

    Raises a ScenarioError that names the measure if a value is not finite or there are too few replications.
    """
    x = np.sort(np.asarray(values, dtype=float))
    if not np.isfinite(x).all():
        raise ScenarioError(f"{name}: {int((~np.isfinite(x)).sum())} of {x.size} runs have no value; needs one in each")
    interval_ranks = ranks(x.size, share, level) if x.size > 1 else None
    if interval_ranks is None:
        raise ScenarioError(
            f"{name}: {x.size} replications are too few for an interval of its {100 * share:g} % quantile at "
            f"{100 * level:g} %; needs at least {fewest(share, level)}"
        )
    middle = x[max(math.ceil(share * x.size), 1) - 1] if share != 0.5 else np.median(x)
    return float(middle), float(x[interval_ranks[0] - 1]), float(x[interval_ranks[1] - 1])
