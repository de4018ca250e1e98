"""Inputs that are only known to lie in a range: "20..100 Mbit/s"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from longpipe.design.ranges import Range
from longpipe.errors import ScenarioError

# Number of situations for means and quantiles, and maximum number of uncertain inputs for which the worst case is
# searched among the corners.
SITUATIONS: Final = 16
MAX_CORNERS: Final = 3


@dataclass(frozen=True)
class Uncertain:
    """An input that is only known to lie in a range."""

    field: str
    range: Range

    @classmethod
    def parse(cls, text: str) -> Uncertain:
        """Parses FIELD=A..B; raises ScenarioError."""
        name, equals, span = text.partition("=")
        range_ = Range.parse(span, "--uncertain") if equals and name.strip() else None
        if range_ is None:
            raise ScenarioError(
                f"--uncertain: {text!r}; accepts FIELD=LOW..HIGH, as in network.trunk_rate=20..100 Mbit/s"
            )
        return cls(name.strip(), range_)


def situations(uncertain: Sequence[Uncertain], *, corners: bool) -> tuple[dict[str, object], ...]:
    """Returns values of uncertain inputs that cover their ranges; one empty set if there are none.

    With `corners`, the corners and the centre of at most three ranges, where monotonic measures have their extremes;
    otherwise, and for more ranges, points of a Sobol sequence.
    """
    if not uncertain:
        return ({},)
    if corners and len(uncertain) <= MAX_CORNERS:
        places = [*product((0.0, 1.0), repeat=len(uncertain)), (0.5,) * len(uncertain)]
    else:
        from scipy.stats import qmc

        count = max(SITUATIONS, 2 ** math.ceil(math.log2(4 * len(uncertain))))
        # The points are not scrambled but shifted to the centres of cells, so the situations do not depend on a seed.
        points = qmc.Sobol(len(uncertain), scramble=False).random(count) + 0.5 / count
        places = [tuple(map(float, point)) for point in points]
    return tuple(
        {
            uncertain_field.field: uncertain_field.range.value(uncertain_field.range.at(place))
            for uncertain_field, place in zip(uncertain, point, strict=True)
        }
        for point in places
    )
