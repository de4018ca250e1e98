"""Measures of runs, given as a name, "flow:bulk.throughput", an expression, "file.py:function", or a function.

Every option and argument that takes a measure parses it here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from longpipe.errors import ScenarioError, nearest, shortened
from longpipe.measures import expressions
from longpipe.measures.dimensions import BITS, BITS_PER_SECOND, NUMBER, Dimension, shown_in, text_of
from longpipe.measures.expressions import Expression
from longpipe.measures.functions import TARGET, FunctionMeasure
from longpipe.measures.named import GRAMMAR, NAME, OF, QUANTITIES, NamedMeasure
from longpipe.measures.readable import INDEXES

if TYPE_CHECKING:
    from longpipe.result import Result
    from longpipe.scenario import Scenario

# A measure as text, or as a function of a result.
Specification = str | Callable[[Any], Any]

# Measures of every run, except those that exist only for ATM or only for IP; `throughput` is short for
# `throughput_bps`.
_STANDARD: Final[Mapping[str, Dimension]] = {
    **dict.fromkeys(INDEXES, NUMBER),
    "throughput_bps": BITS_PER_SECOND,
    **{f"{unit}_lost": NUMBER for unit in ("packets", "cells")},
    **{f"peak_queue_{unit}": NUMBER for unit in ("packets", "cells")},
    "retransmitted_bytes": BITS,
    "timeouts": NUMBER,
    "fast_retransmits": NUMBER,
}


class Measure(Protocol):
    """A quantity that is computed for each run.

    `str` returns a text that `parse` accepts. A value multiplied by `factor` is in powers of bit and second, as
    `dimension` states; a value divided by `scale` is in `unit`.
    """

    @property
    def name(self) -> str:
        """Name of the column that contains the measure."""

    @property
    def unit(self) -> str:
        """Unit in table headings; "" for a plain number."""

    @property
    def scale(self) -> float:
        """Divisor that converts a value to `unit`."""

    @property
    def dimension(self) -> Dimension:
        """Dimension of a value."""

    @property
    def factor(self) -> float:
        """Factor that converts a value to bits and seconds."""

    def check(self, scenario: Scenario) -> None:
        """Raises ScenarioError if the scenario's runs do not have the measure."""

    def __call__(self, result: Result) -> float:
        """Returns the measure's value for a run; NaN if the run has none."""


@dataclass(frozen=True)
class StandardMeasure:
    """A measure that every run has: see `measures.defaults`."""

    name: str

    @property
    def dimension(self) -> Dimension:
        """Dimension of a value."""
        return _STANDARD[self.name]

    @property
    def factor(self) -> float:
        """Factor that converts a value to bits and seconds."""
        return 8.0 if self.name.endswith("_bytes") else 1.0

    @property
    def unit(self) -> str:
        """Unit in table headings."""
        return shown_in(self.dimension)[0]

    @property
    def scale(self) -> float:
        """Divisor that converts a value to `unit`."""
        return shown_in(self.dimension)[1] / self.factor

    def __str__(self) -> str:
        return self.name

    def check(self, scenario: Scenario) -> None:
        """Raises ScenarioError for a measure that exists only for the other framing, or only for dumbbells."""
        from longpipe.measures.defaults import names

        defaults = names(scenario)
        if self.name not in defaults:
            raise ScenarioError(
                f"measure: {self.name!r} does not exist in this scenario; {nearest(self.name, defaults)}"
            )

    def __call__(self, result: Result) -> float:
        """Returns the value; NaN if the scenario has none."""
        from longpipe.measures.defaults import measure

        return measure(result).get(self.name, float("nan"))


@dataclass(frozen=True, eq=False)
class ExpressionMeasure:
    """A measure computed from other measures; values are in powers of bit and second."""

    name: str
    expression: Expression
    terms: Mapping[str, Measure]

    @property
    def dimension(self) -> Dimension:
        """Dimension of a value."""
        return self.expression.dimension({name: term.dimension for name, term in self.terms.items()})

    @property
    def factor(self) -> float:
        """Factor that converts a value to bits and seconds."""
        return 1.0

    @property
    def unit(self) -> str:
        """Unit of the first term with the measure's dimension, otherwise the default unit of the dimension."""
        return self._shown[0]

    @property
    def scale(self) -> float:
        """Divisor that converts a value to `unit`."""
        return self._shown[1]

    @property
    def _shown(self) -> tuple[str, float]:
        dimension = self.dimension
        for term in self.terms.values():
            if term.dimension == dimension and term.dimension not in (None, NUMBER):
                return term.unit, term.scale * term.factor
        return shown_in(dimension)

    def __str__(self) -> str:
        return self.name if self.name == self.expression.text else f"{self.name}={self.expression.text}"

    def check(self, scenario: Scenario) -> None:
        """Raises ScenarioError if the scenario's runs lack any of the terms."""
        for term in self.terms.values():
            term.check(scenario)

    def __call__(self, result: Result) -> float:
        """Returns the measure's value for a run; NaN if the run has none."""
        return float(self.expression.value({name: term.factor * term(result) for name, term in self.terms.items()}))


def parse(what: Specification, defined: Iterable[Measure] = (), field: str = "measure") -> Measure:
    """Returns the measure that a text or function specifies; expressions may use `known` measures by name.

    Raises a ScenarioError that names `field` for text that cannot be parsed and for names that are not measures.
    """
    if not isinstance(what, str):
        return FunctionMeasure.of(what)
    names = {measure.name: measure for measure in defined}
    text = what.strip()
    if text in names:
        return names[text]
    left, equals, right = text.partition("=")
    # The = of <=, >=, != and == does not separate a name from a definition.
    has_name = bool(equals) and not left.rstrip().endswith(("<", ">", "!")) and not right.startswith("=")
    name, definition = (left.strip(), right.strip()) if has_name else ("", text)
    if not definition or (has_name and not NAME.fullmatch(name)):
        raise ScenarioError(f"{field}: {shortened(what, 80)!r}; {GRAMMAR}")
    if (match := TARGET.fullmatch(definition)) is not None:
        if match["module"] in OF:
            raise ScenarioError(f"{field}: {shortened(what, 80)!r} names no quantity; {GRAMMAR}")
        return FunctionMeasure.parse(name, match[0])
    expression = expressions.parse(definition, field)
    terms = {term: _term(term, names, field) for term in expression.names}
    if len(terms) == 1 and (term := terms.get(definition)) is not None:
        # The definition is one measure, not an expression over several.
        if isinstance(term, NamedMeasure):
            return NamedMeasure(name or definition, term.kind, term.pattern, term.quantity)
        if not name or name == term.name:
            return term
    if expression.constant:
        raise ScenarioError(f"{field}: {shortened(what, 80)!r} names no measure; {GRAMMAR}")
    expression.dimension({measure: term.dimension for measure, term in terms.items()}, field)
    return ExpressionMeasure(name or definition, expression, terms)


def unit_of_values(column: str, measures: Iterable[Measure] = ()) -> str:
    """Returns the unit of the numbers in a column of runs, without a scale, as in "bit/s" or "packets"; "" if none."""
    measure = next((candidate for candidate in measures if candidate.name == column), None)
    if measure is None:
        if column not in _STANDARD:
            return ""
        measure = StandardMeasure(column)
    if measure.dimension == NUMBER:
        return next(
            (unit for unit in ("packets", "cells") if measure.name in (f"{unit}_lost", f"peak_queue_{unit}")), ""
        )
    unit = text_of(measure.dimension)
    return {1.0: unit, 8.0: unit.replace("bit", "B")}.get(measure.factor, "")


def is_of_columns(measure: Measure, columns: Collection[str]) -> bool:
    """Returns whether a measure is an expression over columns of a table of runs."""
    return isinstance(measure, ExpressionMeasure) and all(term.name in columns for term in measure.terms.values())


def of_columns(measure: Measure, columns: Mapping[str, Any]) -> npt.NDArray[np.float64]:
    """Returns the values of an expression over columns, one per run."""
    assert isinstance(measure, ExpressionMeasure)  # noqa: S101 - callers check `is_of_columns` first
    values = {name: np.asarray(columns[term.name], dtype=float) * term.factor for name, term in measure.terms.items()}
    return np.asarray(measure.expression.value(values), dtype=float)


def parse_all(texts: Iterable[Specification]) -> tuple[Measure, ...]:
    """Parses measures, each of which may refer to earlier ones by name."""
    parsed: list[Measure] = []
    for text in texts:
        parsed.append(parse(text, parsed))
    return tuple(parsed)


def _term(text: str, defined: Mapping[str, Measure], field: str) -> Measure:
    """Returns the measure that a name in an expression refers to."""
    if text in defined:
        return defined[text]
    if "." in text or ":" in text:
        return NamedMeasure.parse(text)
    name = "throughput_bps" if text == "throughput" else text
    if name in _STANDARD:
        return StandardMeasure(name)
    accepted = nearest(text, [*defined, *_STANDARD])
    # The word may be a quantity without the name of its flow, or a flow without a quantity.
    example = f"call.{text}" if text in QUANTITIES else f"{text}.throughput"
    raise ScenarioError(
        f"{field}: {text!r} is not a measure; {accepted}, or a measure of a flow, as in {example}; see docs/analysis.md"
    )
