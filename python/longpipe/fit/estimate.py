"""A value with its interval."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FitEstimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def __contains__(self, truth: float) -> bool:
        return self.low <= truth <= self.high
