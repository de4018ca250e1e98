"""Dimensions of measures as powers of bit and second, and the units in which numbers can be written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from longpipe.errors import ScenarioError, shortened
from longpipe.units import RATE, SIZE, TIME

# Powers of bit and second; None if the unit is unknown; None is compatible with every other dimension.
Dimension = tuple[float, float] | None

NUMBER: Final = (0.0, 0.0)
BITS: Final = (1.0, 0.0)
SECONDS: Final = (0.0, 1.0)
BITS_PER_SECOND: Final = (1.0, -1.0)

# Unit in which a value of a dimension is shown, and its divisor.
_SHOWN: Final[Mapping[Dimension, tuple[str, float]]] = {
    NUMBER: ("", 1.0),
    BITS: ("MB", 8e6),
    SECONDS: ("s", 1.0),
    BITS_PER_SECOND: ("Mbit/s", 1e6),
}
# Units of counts, which have no dimension.
_COUNTS: Final = ("packets", "packet", "cells", "cell", "segments", "segment")


def _units() -> dict[str, tuple[float, Dimension]]:
    """Returns each unit with its conversion factor to bits and seconds and its dimension."""
    units: dict[str, tuple[float, Dimension]] = {"%": (0.01, NUMBER), **dict.fromkeys(_COUNTS, (1.0, NUMBER))}
    for quantity, base, dimension in (
        (TIME, 1e-12, SECONDS), (SIZE, 8.0, BITS), (RATE, 1.0, BITS_PER_SECOND),
    ):  # fmt: skip
        for written in quantity.names():
            # A unit without "per second", such as Mbit, is a unit of sizes, although a scenario accepts it as the unit
            # of a rate.
            if dimension is BITS_PER_SECOND and not written.endswith(("/s", "ps")):
                continue
            number, unit = quantity.split(f"1 {written}")
            units.setdefault(written, (float(number * quantity.units[unit]) * base, dimension))
    return units


_UNITS: Final = _units()


def unit_pattern() -> str:
    """Returns a regular expression that matches the units, the longest first."""
    return "|".join(re.escape(name) for name in sorted(_UNITS, key=len, reverse=True))


def unit_named(name: str | None) -> tuple[float, Dimension]:
    """Returns the factor of a unit to bits and seconds, and its dimension; 1 for None, which means no unit."""
    return _UNITS[name] if name else (1.0, NUMBER)


def shown_in(dimension: Dimension) -> tuple[str, float]:
    """Returns the unit in which values of a dimension are shown, and its divisor."""
    return _SHOWN[dimension] if dimension in _SHOWN else (text_of(dimension), 1.0)


def text_of(dimension: Dimension) -> str:
    """Formats a dimension: "bit/s", "bit s^2", "no unit"."""
    if dimension is None:
        return ""
    bits, seconds = dimension
    if dimension == BITS_PER_SECOND:
        return "bit/s"
    parts = [f"{name}^{power:g}" if power != 1 else name for name, power in (("bit", bits), ("s", seconds)) if power]
    return " ".join(parts) or "no unit"


def same_dimension(dimensions: Sequence[Dimension], text: str, field: str = "measure") -> Dimension:
    """Returns the common dimension of terms. Raises a ScenarioError that names `field` and `text` if they differ."""
    distinct = list(dict.fromkeys(dimension for dimension in dimensions if dimension is not None))
    if len(distinct) > 1:
        names = " and ".join(map(text_of, distinct[:2]))
        advice = "; a number needs a unit, as in 60 ms" if NUMBER in distinct else ""
        raise ScenarioError(
            f"{field}: {shortened(text, 80)!r} combines {names}; needs terms with the same unit in sums, comparisons, "
            f"min "
            f"and max{advice}"
        )
    return distinct[0] if distinct else None
