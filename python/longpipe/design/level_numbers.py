"""Levels as numbers in a common unit, for axes and for columns of tables."""

import re
from collections.abc import Sequence
from typing import Final

from longpipe.units import RATE, SIZE, TIME

_LEVEL: Final = re.compile(r"\s*([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(\S.*)?")
# Dimensions whose units may differ between levels.
_DIMENSIONS: Final = (RATE, TIME, SIZE)


def numbers_of(levels: Sequence[object]) -> tuple[list[float], str]:
    """Returns the levels as numbers, and their unit: that of the smallest level if they are rates, times or sizes.

    Returns no numbers if a level is no number, or if the units are not of one dimension.
    """
    matches = [_LEVEL.fullmatch(str(level)) for level in levels]
    if not all(matches) or any(isinstance(level, bool) for level in levels):
        return [], ""
    units = {match[2] or "" for match in matches if match}
    if len(units) == 1:
        return [float(match[1]) for match in matches if match], units.pop()
    for dimension in _DIMENSIONS:
        if all(map(dimension.knows, units)):
            quantities = [dimension.split(str(level)) for level in levels]
            values = [number * dimension.units[unit] for number, unit in quantities]
            unit = quantities[values.index(min(values))][1]
            return [float(value / dimension.units[unit]) for value in values], unit
    return [], ""
