"""Uncertain inputs, which are only known to lie in a range ("20..100 Mbit/s"), and situations that cover them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from longpipe.design.ranges import Range
from longpipe.errors import ScenarioError

# Minimum number of situations from which means and quantiles are computed, and minimum per uncertain input.
SITUATIONS: Final = 16
SITUATIONS_PER_INPUT: Final = 4
# Maximum number of uncertain inputs for which the worst case is searched among the corners, of which there are
# 2 to the power of this number.
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
    """Returns situations that cover the ranges of the inputs: values by field, without any if there are no inputs.

    If `corners` is true and there are at most `MAX_CORNERS` ranges, the situations are the corners and the center of
    the ranges, because monotonic measures have their extremes at corners. Otherwise they are points of a Sobol
    sequence.
    """
    if not uncertain:
        return ({},)
    if corners and len(uncertain) <= MAX_CORNERS:
        # Relative positions in the ranges, from 0 to 1.
        points = [*product((0.0, 1.0), repeat=len(uncertain)), (0.5,) * len(uncertain)]
    else:
        from scipy.stats import qmc

        # Sobol sequences are balanced for powers of two.
        count = max(SITUATIONS, 2 ** math.ceil(math.log2(SITUATIONS_PER_INPUT * len(uncertain))))
        # Unscrambled coordinates are multiples of 1/count and include 0. They are shifted to the middle between two
        # multiples instead of being scrambled, so that the situations do not depend on a seed.
        sequence = qmc.Sobol(len(uncertain), scramble=False).random(count) + 0.5 / count
        points = [tuple(map(float, point)) for point in sequence]
    return tuple(
        {
            uncertain_field.field: uncertain_field.range.value(uncertain_field.range.at(position))
            for uncertain_field, position in zip(uncertain, point, strict=True)
        }
        for point in points
    )
