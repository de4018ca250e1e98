"""Ranges of numbers and quantities as levels: "0.05..4 BDP", with a number of levels "1..40 / 9"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from longpipe.errors import ScenarioError

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

_NUMBER: Final = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
# Lower number, its unit, upper number, its unit, number of levels; all but the numbers are optional.
_RANGE: Final = re.compile(
    rf"({_NUMBER})\s*([^\d\s.][^.]*?)?\s*\.\.\s*({_NUMBER})\s*([^\d\s./][^\d]*?)?\s*(?:/\s*(\d+))?"
)
# Number of levels of a range, unless it is given as in "0.05..4 BDP / 9".
LEVELS: Final = 7
MAX_LEVELS: Final = 100
# Minimum ratio of the ends of a range at which its levels have equal ratios instead of equal differences.
GEOMETRIC: Final = 4.0


@dataclass(frozen=True)
class Range:
    """A range from `low` to `high` of a number, or of a quantity with a unit such as "BDP".

    If the range is `whole`, its levels are rounded to whole numbers.
    """

    low: float
    high: float
    unit: str
    whole: bool
    levels: int = LEVELS

    @classmethod
    def parse(cls, text: str, option: str) -> Range | None:
        """Parses "0.05..4 BDP", "20 Mbit/s..100 Mbit/s" or "1..40"; None if the text is not a range."""
        match = _RANGE.fullmatch(text.strip())
        if match is None:
            return None
        first, unit_of_first, last, unit_of_last, levels = match.groups()
        low, high = float(first), float(last)
        unit = (unit_of_last or unit_of_first or "").strip()
        if unit_of_first and unit_of_last and unit_of_first.strip() != unit_of_last.strip():
            raise ScenarioError(f"{option}: {text!r}; needs equal units at both ends")
        if low >= high:
            raise ScenarioError(f"{option}: {text!r}; needs a smaller number before the larger one")
        count = int(levels) if levels else LEVELS
        if not 2 <= count <= MAX_LEVELS:
            raise ScenarioError(f"{option}: {text!r}; needs 2 to {MAX_LEVELS} levels")
        is_whole = not unit and not set(first + last) & set(".eE")
        return cls(low, high, unit, is_whole, count)

    @property
    def geometric(self) -> bool:
        """Whether levels divide the range by equal ratios instead of equal differences."""
        return self.low > 0 and self.high / self.low >= GEOMETRIC

    def at(self, position: float) -> float:
        """Returns the number at a relative position in the range, from 0 (`low`) to 1 (`high`)."""
        if self.geometric:
            return float(self.low * (self.high / self.low) ** position)
        return self.low + position * (self.high - self.low)

    def value(self, number: float, digits: int = 3) -> object:
        """Returns a number of the range as a value of a field, rounded to significant digits."""
        if self.whole:
            return round(number)
        rounded = float(f"{number:.{digits}g}")
        return f"{rounded:.12g} {self.unit}" if self.unit else rounded

    def grid(self) -> list[object]:
        """Returns the levels of the range, rounded to two significant digits; the ends are exact."""
        positions = [i / (self.levels - 1) for i in range(self.levels)]
        inner = [self.value(self.at(position), 2) for position in positions[1:-1]]
        return list(dict.fromkeys([self.value(self.low, 12), *inner, self.value(self.high, 12)]))

    def levels_of(self, base: Scenario, field: str) -> list[object]:
        """Returns the levels at which the scenario `base`, with the range's `field` set, gives different runs.

        Of several BDPs that are the same number of packets, only the first is kept.
        """
        level_by_digest: dict[str, object] = {}
        for level in self.grid():
            level_by_digest.setdefault(base.with_(**{field: level}).digest(), level)
        return list(level_by_digest.values())
