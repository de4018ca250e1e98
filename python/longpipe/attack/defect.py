"""Defects: comparisons of measures of two runs, "efficiency <= 30 %", "throughput < 0.5 * reference(throughput)"."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from longpipe.errors import ScenarioError, shortened
from longpipe.measures import expressions
from longpipe.measures.dimensions import Dimension, same_dimension
from longpipe.measures.measure import ExpressionMeasure, Measure, parse

if TYPE_CHECKING:
    from longpipe.result import Result
    from longpipe.scenario import Scenario

_CALL: Final = "reference("
_OPTION: Final = "--defect"
# Bound of the logarithm of a ratio of two sides; also used if there is no ratio, or a run has no value.
MAX_EXCESS: Final = 5.0


@dataclass(frozen=True, eq=False)
class OfReference:
    """A measure of the reference's run, with the name that represents it in an expression."""

    name: str
    measure: Measure

    @property
    def unit(self) -> str:
        """Unit in table headings."""
        return self.measure.unit

    @property
    def scale(self) -> float:
        """Divisor that converts a value to `unit`."""
        return self.measure.scale

    @property
    def dimension(self) -> Dimension:
        """Dimension of a value."""
        return self.measure.dimension

    @property
    def factor(self) -> float:
        """Factor that converts a value to bits and seconds."""
        return self.measure.factor

    def check(self, scenario: Scenario) -> None:
        """Raises ScenarioError if the scenario's runs do not have the measure."""
        self.measure.check(scenario)

    def __call__(self, result: Result) -> float:
        """Returns the measure's value for a run of the reference."""
        return self.measure(result)


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison: a measure of both runs, or a constant in base units."""

    text: str
    measure: Measure | None
    constant: float = math.nan

    def value(self, control: Result, reference: Result) -> float:
        """Returns the value for two runs in base units; nan if a run has none."""
        return self.constant if self.measure is None else _value(self.measure, control, reference)

    def check(self, control: Scenario, reference: Scenario) -> None:
        """Raises ScenarioError for measures that the runs do not have."""
        for measure in _terms(self.measure):
            measure.check(reference if isinstance(measure, OfReference) else control)


@dataclass(frozen=True, eq=False)
class Defect:
    """A comparison that holds for the means of the runs of control and reference if the control performs badly."""

    text: str
    left: Side
    sign: str
    right: Side

    @classmethod
    def parse(cls, text: str) -> Defect:
        """Parses a comparison in which `reference(...)` encloses measures of the reference's run.

        Raises ScenarioError for other text, unknown measures, and sides of different units.
        """
        inner, outer = _without_references(text)
        of_reference = [OfReference(name, parse(inside, field=_OPTION)) for name, inside in inner.items()]
        try:
            left, sign, right = expressions.split_comparison(outer, _OPTION)
            sides = [_side(text_of_side, of_reference) for text_of_side in (left, right)]
            same_dimension([dimension for _, dimension in sides], outer, _OPTION)
        except ScenarioError as error:
            raise ScenarioError(*(_restored(problem, inner) for problem in error.problems)) from None
        if all(side.measure is None for side, _ in sides):
            raise ScenarioError(
                f"{_OPTION}: {shortened(text, 80)!r} names no measure; needs one, as in efficiency < 30 %"
            )
        (first, _), (second, _) = ((_named(side, inner), dimension) for side, dimension in sides)
        return cls(text, first, sign, second)

    def check(self, control: Scenario, reference: Scenario) -> None:
        """Raises ScenarioError for measures that the runs do not have."""
        for side in (self.left, self.right):
            side.check(control, reference)

    def values(self, control: Result, reference: Result) -> tuple[float, float]:
        """Returns the values of both sides in base units."""
        return self.left.value(control, reference), self.right.value(control, reference)

    def holds(self, left: float, right: float) -> bool:
        """Returns whether the comparison holds; it does not if a value is nan."""
        return expressions.COMPARISONS[self.sign](left, right)

    def excess(self, left: float, right: float) -> float:
        """Returns the logarithm of the ratio by which the comparison holds, negative if it does not."""
        low, high = (left, right) if self.sign in ("<", "<=") else (right, left)
        if not (math.isfinite(low) and math.isfinite(high)):
            return -MAX_EXCESS
        if low > 0 and high > 0:
            return max(-MAX_EXCESS, min(MAX_EXCESS, math.log(high / low)))
        return MAX_EXCESS if high > low else -MAX_EXCESS if high < low else 0.0


def score(defects: Sequence[Defect], values: Sequence[Sequence[float]]) -> float:
    """Returns by how much all comparisons hold; if some fail, a negative number: by how much these fail.

    `values` contains both sides of each comparison.
    """
    excesses = [defect.excess(*sides) for defect, sides in zip(defects, values, strict=True)]
    missing = sum(min(excess, 0.0) for excess in excesses)
    return min(excesses) if missing == 0 else missing


def _without_references(text: str) -> tuple[dict[str, str], str]:
    """Replaces each `reference(...)` by a name; returns the measure of each name, and the text."""
    inner: dict[str, str] = {}
    while (begin := text.find(_CALL)) >= 0:
        end, depth = begin + len(_CALL), 1
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if depth:
            raise ScenarioError(f"{_OPTION}: {shortened(text, 80)!r}; needs a closing parenthesis of {_CALL}")
        inside = text[begin + len(_CALL) : end - 1]
        if _CALL in inside:
            raise ScenarioError(f"{_OPTION}: {shortened(text, 80)!r}; needs {_CALL}...) without a nested {_CALL}...)")
        name = f"reference_{len(inner)}"
        inner[name] = inside
        text = text[:begin] + name + text[end:]
    return inner, text


def _restored(text: str, inner: dict[str, str]) -> str:
    """Replaces each name by the `reference(...)` that it represents."""
    # The last name is replaced first, because reference_1 is the beginning of reference_10.
    for name, inside in reversed(inner.items()):
        text = text.replace(name, f"{_CALL}{inside})")
    return text


def _side(text: str, of_reference: Sequence[OfReference]) -> tuple[Side, Dimension]:
    side = expressions.parse(text, _OPTION)
    if side.constant:
        return Side(text, None, float(side.value({}))), side.dimension({}, _OPTION)
    measure = parse(text, of_reference, _OPTION)
    return Side(text, measure), measure.dimension


def _named(side: Side, inner: dict[str, str]) -> Side:
    return Side(_restored(side.text, inner), side.measure, side.constant)


def _terms(measure: Measure | None) -> Iterator[Measure]:
    if isinstance(measure, ExpressionMeasure):
        for term in measure.terms.values():
            yield from _terms(term)
    elif measure is not None:
        yield measure


def _value(measure: Measure, control: Result, reference: Result) -> float:
    if isinstance(measure, OfReference):
        return measure.factor * measure(reference)
    if isinstance(measure, ExpressionMeasure):
        values = {name: _value(term, control, reference) for name, term in measure.terms.items()}
        return float(measure.expression.value(values))
    return measure.factor * measure(control)
