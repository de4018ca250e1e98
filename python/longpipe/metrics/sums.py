"""Sums of floating-point numbers without NumPy, which takes longer to load than a short run."""

from collections.abc import Sequence
from typing import Final

# Number of accumulators of NumPy's summation, and number of values that it adds without recursion.
_LANES: Final = 8
_BLOCK: Final = 128


def total(values: Sequence[float]) -> float:
    """Returns the sum of float64 values, bit-identical to that of `numpy.sum`, which adds pairwise.

    Up to `_BLOCK` values are added in `_LANES` interleaved partial sums; more values are halved first, recursively
    (NumPy, `pairwise_sum` in loops_utils.h.src).
    """
    count = len(values)
    if count > _BLOCK:
        half = count // 2 // _LANES * _LANES
        return total(values[:half]) + total(values[half:])
    whole = count // _LANES * _LANES
    sum_ = 0.0
    if whole:
        a, b, c, d, e, f, g, h = (_in_order(values[lane:whole:_LANES]) for lane in range(_LANES))
        sum_ = ((a + b) + (c + d)) + ((e + f) + (g + h))
    return _in_order([sum_, *values[whole:]])


def _in_order(values: Sequence[float]) -> float:
    # `sum` is not used because it compensates rounding from Python 3.12 on.
    sum_ = 0.0
    for value in values:
        sum_ += value
    return float(sum_)
