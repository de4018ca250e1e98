"""A value with its interval."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FitEstimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def shifted(self, by: float) -> FitEstimate:
        """Returns the estimate of a quantity that is larger by the known number `by`."""
        return FitEstimate(self.value + by, self.low + by, self.high + by)

    def __contains__(self, truth: float) -> bool:
        return self.low <= truth <= self.high
