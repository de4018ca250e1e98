"""Pass conditions of a suite, judged from runs that may be paired with CUBIC's, and their table, the report card."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from longpipe.analysis.intervals import Estimate, estimate
from longpipe.report.junit import Case
from longpipe.report.parts import NOTHING, Cell, Column, Grid, Section

if TYPE_CHECKING:
    from longpipe_evidence.suites.outcome import PartOutcome
    from longpipe_evidence.suites.suite import Criterion

# Factor whose levels are judged, and its reference level if the suite has one.
CONTROL: Final = "control"
BASELINE: Final = "cubic"
# Verdict if a run at some point has no value, for example because a file of the run was not completed.
NO_VALUE: Final = "no value"
_WORST_FIRST: Final = ("fails", NO_VALUE, "undecided", "holds")


@dataclass(frozen=True)
class Verdict:
    """The verdict on a criterion for one control over all points of a part."""

    control: str
    # "fails" if a 95 % interval of a margin is entirely below 0; otherwise NO_VALUE if a run has no value; otherwise
    # "undecided" if an interval reaches below 0, or if there is none; otherwise "holds".
    verdict: str
    # The point that determines the verdict, with the smallest margin, and that margin's mean and interval.
    point: str
    margin: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """Returns the verdict, the smallest margin and its point as a short text."""
        where = f" at {self.point}" if self.point else ""
        if self.verdict == NO_VALUE:
            return f"{self.verdict} (a run{where} has none)"
        interval = "one run" if math.isnan(self.low) else f"{self.low:.3g} to {self.high:.3g}"
        return f"{self.verdict} (margin {self.margin:.3g}, {interval}{where})"


def verdicts(criterion: Criterion, outcome: PartOutcome) -> list[Verdict]:
    """Computes the verdict on a criterion for each level of the control."""
    conditions = [name for name in outcome.factors if name != CONTROL]
    runs = outcome.runs.set_index([*conditions, "seed"]).sort_index()
    by_control = {str(control): runs[runs[CONTROL] == control] for control in outcome.runs[CONTROL].unique()}
    baseline = by_control.get(BASELINE)
    return [
        _judged(criterion, control, rows, rows if baseline is None else baseline.loc[rows.index], conditions)
        for control, rows in by_control.items()
    ]


def _judged(
    criterion: Criterion, control: str, rows: pd.DataFrame, baseline: pd.DataFrame, conditions: Sequence[str]
) -> Verdict:
    """Returns the verdict on a control: the worst one at any level of the other factors."""
    margins = criterion.margin(rows, baseline)
    points = margins.groupby(level=list(conditions)) if conditions else [("", margins)]
    estimates = [(point, estimate(values.to_numpy())) for point, values in points]
    kinds = [_kind(interval) for _, interval in estimates]
    verdict = next(kind for kind in _WORST_FIRST if kind in kinds)
    deciding = [pair for pair, kind in zip(estimates, kinds, strict=True) if kind == verdict]
    point, least = min(deciding, key=lambda pair: _least(pair[1]))
    names = point if isinstance(point, tuple) else (point,)
    where = ", ".join(f"{name} {value!s}" for name, value in zip(conditions, names, strict=False))
    return Verdict(control, verdict, where, least.mean, least.mean_low, least.mean_high)


def _kind(margin: Estimate) -> str:
    if math.isnan(margin.mean):
        return NO_VALUE
    # A single run has no interval.
    if math.isnan(margin.mean_low):
        return "undecided"
    if margin.mean_low >= 0:
        return "holds"
    return "fails" if margin.mean_high < 0 else "undecided"


def _least(margin: Estimate) -> float:
    """Returns the lower end of an interval, or the mean if there is no interval."""
    return margin.mean if math.isnan(margin.mean_low) else margin.mean_low


def card(outcomes: Sequence[PartOutcome], judgement: str) -> Section:
    """Returns the report card: with a row per criterion and a column per control.

    `judgement` explains the conditions.
    """
    rows: list[tuple[Cell, ...]] = []
    controls: list[str] = []
    for criterion, verdicts_of_criterion in judged(outcomes):
        controls = controls or [verdict.control for verdict in verdicts_of_criterion]
        by_control = {verdict.control: verdict for verdict in verdicts_of_criterion}
        cells = [_cell(by_control.get(control)) for control in controls]
        rows.append((Cell(criterion.section), Cell(criterion.text), *cells))
    columns = (Column("section"), Column("proposed condition"), *(Column(control) for control in controls))
    return Section(
        "card", "Report card", (judgement,), (Grid("report-card", "Criteria", columns, tuple(rows), stacked=True),)
    )


def judged(outcomes: Sequence[PartOutcome]) -> Iterator[tuple[Criterion, list[Verdict]]]:
    """Yields each criterion with its verdicts by control, starting with the control under test."""
    for outcome in outcomes:
        for criterion in outcome.part.criteria:
            yield criterion, verdicts(criterion, outcome)


def cases(suite: str, outcomes: Sequence[PartOutcome]) -> Iterator[Case]:
    """Yields a JUnit case per criterion with the verdict on the control under test.

    A run without a value counts as a failure, an undecided criterion as skipped.
    """
    for criterion, (verdict, *_) in judged(outcomes):
        yield Case(
            f"{suite}.{criterion.section}",
            criterion.text,
            failure=verdict.words if verdict.verdict in ("fails", NO_VALUE) else None,
            skipped=verdict.words if verdict.verdict == "undecided" else None,
        )


def fails(outcomes: Sequence[PartOutcome]) -> bool:
    """Returns whether the control under test fails a criterion, or has runs without a value."""
    return any(case.failure is not None for case in cases("", outcomes))


def _cell(verdict: Verdict | None) -> Cell:
    if verdict is None:
        return Cell(NOTHING)
    return Cell(verdict.words, mark="not-testable" if verdict.verdict == NO_VALUE else verdict.verdict)


def compared(column: str, *, factor: float = 1.0, plus: float = 0.0, scale: float = 1.0) -> Any:  # noqa: ANN401 - a margin
    """Returns the margin of a measure that may be at most `factor` times CUBIC's, plus `plus`, in units of `scale`."""
    return lambda rows, cubic: (factor * cubic[column] + plus - rows[column]) / scale


def not_less(column: str, *, factor: float = 1.0, minus: float = 0.0, scale: float = 1.0) -> Any:  # noqa: ANN401 - a margin
    """Returns the margin of a measure that must be at least `factor` * CUBIC's - `minus`, in units of `scale`."""
    return lambda rows, cubic: (rows[column] - factor * cubic[column] + minus) / scale


def at_least(column: str, least: float, *, of: float = 1.0) -> Any:  # noqa: ANN401 - a margin
    """Returns the margin of a measure that must be at least `least` times `of`, in units of `of`."""
    return lambda rows, cubic: rows[column] / of - least


def at_most(column: str, limit: float) -> Any:  # noqa: ANN401 - a margin
    """Returns the margin of a measure that must be at most `limit`."""
    return lambda rows, _cubic: limit - rows[column]
