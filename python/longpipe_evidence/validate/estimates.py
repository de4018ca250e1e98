"""Estimates of quantities that runs give, for comparison with numbers of other sources."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple


class Estimate(NamedTuple):
    """A quantity with its unit, its value, and the standard error of the value, which is 0 if it is exact."""

    quantity: str
    value: float
    standard_error: float = 0.0

    @classmethod
    def of_runs(cls, quantity: str, values: Sequence[float]) -> Estimate:
        """Returns the mean over runs with different seeds."""
        return cls(quantity, fmean(values), stdev(values) / math.sqrt(len(values)))
