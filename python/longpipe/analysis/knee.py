"""The knee of a saturating curve."""

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

# Default fraction of the maximum.
ENOUGH: Final = 0.95


def knee(x: ArrayLike, y: ArrayLike, *, enough: float = ENOUGH) -> float:
    """Returns the smallest x at which y reaches the fraction `enough` of its maximum; NaN if y is 0 everywhere.

    `x` is positive and increasing; x and y have shape (n,). Between two points, y is interpolated linearly in log x.
    """
    log_x, values = np.log(np.asarray(x, dtype=float)), np.asarray(y, dtype=float)
    target = enough * float(values.max())
    if target <= 0:
        return math.nan
    first = int(np.argmax(values >= target))
    if first == 0:
        return float(np.exp(log_x[0]))
    low, high = values[first - 1], values[first]
    fraction = (target - low) / (high - low)
    return float(np.exp(log_x[first - 1] + fraction * (log_x[first] - log_x[first - 1])))
