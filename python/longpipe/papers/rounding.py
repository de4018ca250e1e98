"""How numbers of a paper's tables are rounded, on a terminal and on the page alike."""

import math
from typing import Final

# Decimals of published numbers, unless a paper says otherwise.
DECIMALS: Final = 2
# A difference that a reader should stop at.
LARGE_DIFFERENCE: Final = 0.1
# Halves go up, though binary has them a little too low.
_HALF: Final = 1e-9


def rounded(value: float, decimals: int = DECIMALS) -> float:
    """A number to its decimals, halves up."""
    return float(f"{value + _HALF:z.{decimals}f}")


def difference(mean: float, published: float, decimals: int = DECIMALS) -> float:
    """A mean less what was published, rounded once, of the exact numbers."""
    return math.copysign(rounded(abs(mean - published), decimals), mean - published)
