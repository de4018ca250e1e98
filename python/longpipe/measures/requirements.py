"""Requirements on measures: "call.p95 < 60 ms", "bulk.throughput / throughput >= 20 %"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from longpipe.errors import ScenarioError, shortened
from longpipe.measures import expressions
from longpipe.measures.dimensions import Dimension, same_dimension
from longpipe.measures.measure import Measure, parse

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

# Sign of a comparison whose sides are exchanged.
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Requirement:
    """A condition that a measure is below or above a limit, which is in the unit of the measure's values.

    For a comparison of two measures, `measure` is their difference, and the limit is 0.
    """

    text: str
    measure: Measure
    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str, defined: Iterable[Measure] = (), field: str = "requirement") -> Requirement:
        """Parses a comparison with <, <=, > or >=; expressions may use `known` measures by name.

        Raises a ScenarioError that names `field` for other text, unknown measures, and sides with different units.
        """
        defined = tuple(defined)
        left, sign, right = expressions.split_comparison(text, field)
        limits = [_limit(side, field) for side in (left, right)]
        if limits[0] is not None and limits[1] is not None:
            raise ScenarioError(f"{field}: {shortened(text, 80)!r} names no measure; needs one, as in call.p95 < 60 ms")
        if limits[0] is not None:
            left, sign, limits = right, _MIRRORED[sign], limits[::-1]
        if (limit := limits[1]) is None:
            return cls(text, parse(f"({left}) - ({right})", defined, field), sign, 0.0)
        measure = parse(left, defined, field)
        same_dimension([measure.dimension, limit[1]], text, field)
        return cls(text, measure, sign, limit[0] / measure.factor)

    def check(self, scenario: Scenario) -> None:
        """Raises ScenarioError if the scenario's runs do not have the measure."""
        self.measure.check(scenario)

    def holds(self, value: float) -> bool:
        """Returns whether a value of the measure meets the requirement; NaN does not."""
        return expressions.COMPARISONS[self.sign](value, self.limit)

    def margin(self, value: float) -> float:
        """Returns the margin by which a value meets the requirement, in the unit of the values.

        The margin is negative if the value does not meet it.
        """
        return self.limit - value if self.sign in ("<", "<=") else value - self.limit


def _limit(text: str, field: str) -> tuple[float, Dimension] | None:
    """Returns the value and dimension of a comparison's side that contains no measures; None for any other side."""
    if not text:
        return None
    side = expressions.parse(text, field)
    return (float(side.value({})), side.dimension({}, field)) if side.constant else None
