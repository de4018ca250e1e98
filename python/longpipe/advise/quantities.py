"""Numbers in the units of measures: indifference zones, tolerances, and values in text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longpipe.errors import ScenarioError
from longpipe.measures import expressions
from longpipe.measures.dimensions import NUMBER, same_dimension
from longpipe.measures.measure import Measure
from longpipe.measures.readable import INDEXES
from longpipe.report.parts import number

if TYPE_CHECKING:
    from longpipe.measures.requirements import Requirement


def is_share(measure: Measure) -> bool:
    """Returns whether the values of a measure lie between 0 and 1."""
    return measure.unit == "share" or measure.name.rpartition(".")[2] in INDEXES


def unit(measure: Measure) -> str:
    """Returns the unit of a measure in text; "" for shares and other plain numbers."""
    return "" if measure.unit in ("", "share") else measure.unit


def head(measure: Measure) -> str:
    """Returns the name of a measure with its unit, for a column."""
    return f"{measure.name} [{unit(measure)}]" if unit(measure) else measure.name


def shown(measure: Measure, value: float) -> str:
    """Formats a value of a measure in its unit."""
    text = number(value / measure.scale)
    return f"{text} {unit(measure)}" if unit(measure) else text


def limit_text(limit: Requirement) -> str:
    """Formats a limit: "datagrams:call.p95 < 30 ms"."""
    return f"{limit.measure.name} {limit.sign} {shown(limit.measure, limit.limit)}"


def quantity(measure: Measure, text: str, option: str) -> tuple[float, bool]:
    """Parses a positive number. Returns it in the unit of a measure's values, and whether it is relative.

    "2 %" is relative to another value, unless the measure itself is a share. Raises ScenarioError, which names
    `option`, for other text.
    """
    side = expressions.parse(text, option)
    is_part = text.rstrip().endswith("%") and not is_share(measure)
    if not side.constant:
        raise ScenarioError(f"{option}: {text!r} names a measure; needs a number, {_example(measure)}")
    if not is_part:
        same_dimension([measure.dimension, side.dimension({}, option)], text, option)
    value = float(side.value({}))
    if value <= 0:
        raise ScenarioError(f"{option}: {text!r}; needs a number above 0, {_example(measure)}")
    return (value, True) if is_part else (value / measure.factor, False)


def _example(measure: Measure) -> str:
    if measure.dimension in (None, NUMBER):
        return "as in 0.01 or '1 %'"
    return f"as in '1 {unit(measure)}' or '2 %'"
