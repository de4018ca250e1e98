"""Truncation of the initial transient of a series by MSER-5 (White, Cobb and Spratt 2000)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

# Number of observations per batch.
BATCH: Final = 5


def truncation(series: ArrayLike) -> tuple[int, bool]:
    """Returns the number of observations to discard, and whether the rest is stationary.

    The number is a multiple of `BATCH` and at most half of the series. It minimizes the squared standard error of the
    mean of the remaining batch means. A minimum at half of the series means that the transient may last longer, so the
    series is not stationary. Raises ValueError for a series of fewer than 4 batches.
    """
    values = np.asarray(series, dtype=float)
    count = values.size // BATCH
    if count < 4:
        raise ValueError(f"series: {values.size} observations; needs at least {4 * BATCH}")
    batches = values[: count * BATCH].reshape(count, BATCH).mean(axis=1)
    # Each sum is over the batches from one of them to the last.
    first, squares = (
        np.cumsum(terms[::-1])[::-1] for terms in (batches - batches.mean(), (batches - batches.mean()) ** 2)
    )
    left = np.arange(count, 0, -1, dtype=float)
    errors = (np.maximum(squares - first**2 / left, 0) / left**2)[: count // 2 + 1]
    # Equal errors may differ by rounding; the earliest of them discards the fewest observations.
    best = int(np.flatnonzero(errors <= errors.min() * (1 + 1e-9) + 1e-300)[0])
    return best * BATCH, best < count // 2
