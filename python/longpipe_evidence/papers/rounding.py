"""Rounding of the numbers in a paper's tables, equal on terminals and pages."""

import math
from typing import Final

# Default number of decimals of published numbers.
DECIMALS: Final = 2
# Difference that is large enough to be highlighted.
LARGE_DIFFERENCE: Final = 0.1
# Tolerance for halves, whose binary representation may be slightly too small.
_HALF: Final = 1e-9


def rounded(value: float, decimals: int = DECIMALS) -> float:
    """Rounds a number to the given number of decimals; halves are rounded up."""
    return float(f"{value + _HALF:z.{decimals}f}")


def difference(mean: float, published: float, decimals: int = DECIMALS) -> float:
    """Returns a mean minus the published value, computed exactly and rounded once."""
    return math.copysign(rounded(abs(mean - published), decimals), mean - published)
