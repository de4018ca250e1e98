"""Readable units of measures: throughput in Mbit/s, delays in ms."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from longpipe.errors import ScenarioError, nearest

if TYPE_CHECKING:
    from longpipe.measures.measure import Measure

# Measures between 0 and 1 that have no unit; `efficiency_back` exists if data are sent in both directions.
INDEXES: Final = ("efficiency", "efficiency_back", "fairness")
# Readable unit and divisor, by the suffix of a column's name.
_ENDINGS: Final = {
    "_bps": ("Mbit/s", 1e6),
    "_bytes": ("MB", 1e6),
    "_delay_s": ("ms", 1e-3),
    "_rtt_s": ("ms", 1e-3),
    "_s": ("s", 1.0),
}
# Suffixes of columns in base units.
_BASE_UNITS: Final = ("_bps", "_bytes", "_s")
# Units that users may request for measures in bit/s, bytes and s.
UNITS: Final = {
    **{f"{prefix}bit/s": scale for prefix, scale in (("k", 1e3), ("M", 1e6), ("G", 1e9))},
    **{f"{prefix}B/s": 8 * scale for prefix, scale in (("k", 1e3), ("M", 1e6), ("G", 1e9))},
    **{f"{prefix}B": scale for prefix, scale in (("k", 1e3), ("M", 1e6), ("G", 1e9))},
    "ms": 1e-3,
    "s": 1.0,
}


# Decimals of a value in a table, significant digits of small values, and their bound; number of decimals and value from
# which a value has significant digits instead of decimals.
_DECIMALS: Final = 4
_DIGITS: Final = 4
_SMALL: Final = 0.01
_MAX_DECIMALS: Final = 8
_LARGE: Final = 1e6


@dataclass(frozen=True)
class Readable:
    """A column in a readable unit: its name, unit, and the divisor that converts its values."""

    column: str
    name: str
    unit: str = ""
    scale: float = 1.0

    @property
    def head(self) -> str:
        """Name and unit for a column heading or an axis label."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


def column_of(measure: str, measures: Iterable[Measure] = ()) -> str:
    """Returns the column of a measure; the unit of throughput may be omitted unless a measure of that name exists."""
    named = any(expression.name == measure for expression in measures)
    return "throughput_bps" if measure == "throughput" and not named else measure


def readable(column: str, measures: Iterable[Measure] = (), unit: str | None = None) -> Readable:
    """Returns the readable form of a column, in the requested unit, or in the unit that its suffix implies.

    Raises ScenarioError for an unknown unit.
    """
    for measure in measures:
        if measure.name == column and unit is None:
            return Readable(column, _without_base_unit(column, measure.unit), measure.unit, measure.scale)
    ending = _ending(column, _ENDINGS)
    name = _without_base_unit(column, unit or ending).replace("_", " ")
    if unit is not None:
        if unit not in UNITS:
            raise ScenarioError(f"--unit: {unit!r}; {nearest(unit, UNITS)}")
        return Readable(column, name, unit, UNITS[unit])
    return Readable(column, name, *_ENDINGS[ending]) if ending else Readable(column, name)


def written(value: float, margin: float | None = None, decimals: int = _DECIMALS, sign: str = "") -> str:
    """Returns a value for a table, with "±" and its margin, the half-width of an interval, if that is known.

    Both have the same number of decimals: `decimals`, or more if a small value needs them for four significant digits,
    or a small margin for two. `sign` is "+" for values whose sign is always shown.
    """
    form = form_of(value, margin, decimals)
    has_margin = margin is not None and not math.isnan(margin)
    return f"{value:{sign}z{form}}" + (f" ±{margin:{form}}" if has_margin else "")


def form_of(value: float, margin: float | None = None, decimals: int = _DECIMALS) -> str:
    """Returns the format of a value and its margin, with at least this number of decimals; see `written`."""
    if 0 < abs(value) < _SMALL:
        decimals = max(decimals, _DIGITS - 1 - math.floor(math.log10(abs(value))))
    if margin and 0 < margin < 10**-decimals:
        decimals = 1 - math.floor(math.log10(margin))
    return f".{decimals}f" if decimals <= _MAX_DECIMALS and abs(value) < _LARGE else f".{_DIGITS}g"


def decimals_of(value: float, digits: int = _DIGITS) -> int:
    """Returns the number of decimals with which a value has a number of significant digits; 0 if it needs none."""
    return max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value and math.isfinite(value) else digits - 1


def _without_base_unit(column: str, unit: str) -> str:
    """Returns the name for a heading with a unit: without the suffix for bit/s, bytes or s, which may contradict it."""
    return column.removesuffix(_ending(column, _BASE_UNITS)) if unit else column


def _ending(column: str, endings: Iterable[str]) -> str:
    """Returns the suffix of a column's name that is one of these endings; "" if there is none.

    The name of an expression ends with its last term, whose suffix does not determine the expression's unit.
    """
    if set(column) & set("*/( "):
        return ""
    return next((ending for ending in endings if column.endswith(ending)), "")


def p_text(value: float) -> str:
    """Formats a p value with four decimals, as ".0123" or "<.0001"; "" for nan."""
    if math.isnan(value):
        return ""
    return "<.0001" if value < 1e-4 else f"{value:.4f}".removeprefix("0")
