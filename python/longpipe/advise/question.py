"""The question that `longpipe advise` answers: choices, objective, limits and uncertain inputs."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Final, Literal

import numpy as np

from longpipe.advise.quantities import head, quantity
from longpipe.advise.ranges import Uncertain, situations
from longpipe.design import Design, Factor
from longpipe.errors import ScenarioError
from longpipe.measures.measure import Measure, parse
from longpipe.measures.requirements import Requirement
from longpipe.scenario import Scenario
from longpipe.scenario.overrides import overridden

_PERCENT: Final = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*")
_OVER: Final = re.compile(r"(\d{1,2}(?:\.\d+)?)\s*%")
# Indifference zone of shares, and of other measures as a fraction of the best mean after the first replications.
ZONE_OF_SHARES: Final = 0.01
ZONE: Final = 0.02
# Columns of tables other than factors, uncertain inputs and measures; designs reserve additional names.
COLUMNS: Final = ("runs", "front", "result")
# Tolerance of a limit, as a fraction of the limit.
TOLERANCE: Final = 0.05


def tolerance(limit: Requirement, text: str | None) -> float:
    """Returns the tolerance of a limit: 5 % of the limit, or the given fraction or value."""
    # Percentages are relative to the limit, even if the limit is a share.
    percent = _PERCENT.fullmatch(text) if text is not None else None
    if text is None or percent is not None:
        tolerance_ = (TOLERANCE if percent is None else float(percent[1]) / 100) * abs(limit.limit)
    else:
        value, is_part = quantity(limit.measure, text, "--tolerance")
        tolerance_ = value * abs(limit.limit) if is_part else value
    if tolerance_ <= 0:
        raise ScenarioError(f"--tolerance: {text or 'absent'}; {limit.text!r} needs a number above 0, in its unit")
    return tolerance_


@dataclass(frozen=True)
class Question:
    """A question: factors to choose, objective, limits and uncertain inputs.

    `over` selects the value of a replication if inputs are uncertain: the worst of all situations, their mean, or the
    value that a share of the situations reaches ("90 %").
    """

    base: Scenario
    factors: tuple[Factor, ...]
    objective: str
    maximise: bool = True
    limits: tuple[str, ...] = ()
    uncertain: tuple[Uncertain, ...] = ()
    over: str = "worst"
    zone: str | None = None
    tolerance: str | None = None
    error: float = 0.05
    first: int = 10
    first_seed: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.error < 0.5:
            raise ScenarioError(f"--error: {self.error}; needs a probability above 0 and below 0.5")
        _ = self.quantile

    def check(self) -> None:
        """Raises ScenarioError for settings that cannot be run, measured or parsed."""
        self._check_names()
        for uncertain in self.uncertain:
            ignored = [overridden(alternative, uncertain.field) for alternative in self.design.scenarios]
            if all(ignored):
                raise ScenarioError(f"--uncertain: {ignored[0]}")
        for scenario in (scenario for row in self.scenarios for scenario in row):
            for measure in self.measures:
                measure.check(scenario)
        for limit in self.bounds:
            tolerance(limit, self.tolerance)
        if self.zone is not None:
            quantity(self.goal, self.zone, "--zone")

    def _check_names(self) -> None:
        """Raises ScenarioError if two columns of tables have the same name, or if two options set one field."""
        column_names = {*COLUMNS, *(name for measure in self.measures for name in (measure.name, head(measure)))}
        for factor in self.factors:
            if factor.name in column_names:
                raise ScenarioError(f"--choose: {factor.name!r} is the name of another column; needs NAME:FIELD=...")
        set_fields = {field for factor in self.factors for changes in factor.levels.values() for field in changes}
        for uncertain in self.uncertain:
            if uncertain.field in set_fields:
                raise ScenarioError(f"--uncertain: {uncertain.field!r} has other values by --choose or --uncertain")
            set_fields.add(uncertain.field)

    @cached_property
    def digest(self) -> str:
        """A hash that differs between questions if any of their settings differs."""
        settings = {field.name: getattr(self, field.name) for field in fields(self)} | {"base": self.base.digest()}
        return hashlib.sha256(repr(list(settings.items())).encode()).hexdigest()

    @cached_property
    def design(self) -> Design:
        """The alternatives, as a full factorial design."""
        return Design.full_factorial(self.base, self.factors)

    @cached_property
    def situations(self) -> tuple[dict[str, object], ...]:
        """Values of the uncertain inputs, one set of fields per situation."""
        return situations(self.uncertain, corners=self.over == "worst")

    @cached_property
    def scenarios(self) -> tuple[tuple[Scenario, ...], ...]:
        """The scenarios of each alternative, one per situation; raises ScenarioError for invalid ones."""
        alternatives = self.design.scenarios
        if not self.uncertain:
            return tuple((scenario,) for scenario in alternatives)
        return tuple(tuple(self._situated(scenario, fields) for fields in self.situations) for scenario in alternatives)

    def _situated(self, alternative: Scenario, fields: dict[str, object]) -> Scenario:
        try:
            return alternative.with_(**fields)
        except ScenarioError as error:
            situation = ", ".join(f"{name}={value}" for name, value in fields.items())
            raise ScenarioError(*(f"--uncertain: {situation}: {problem}" for problem in error.problems)) from None

    @cached_property
    def goal(self) -> Measure:
        """The objective."""
        return parse(self.objective, field="--maximise" if self.maximise else "--minimise")

    @cached_property
    def bounds(self) -> tuple[Requirement, ...]:
        """The limits."""
        return tuple(Requirement.parse(text, field="--subject-to") for text in self.limits)

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """The objective and the limited measures."""
        return (self.goal, *(limit.measure for limit in self.bounds))

    @cached_property
    def quantile(self) -> float | Literal["worst", "mean"]:
        """The share of situations that must reach the value of a replication, or "worst" or "mean"."""
        if self.over in ("worst", "mean"):
            return self.over  # type: ignore[return-value]
        match = _OVER.fullmatch(self.over.strip())
        if match is None or not 0 < float(match[1]) < 100:
            raise ScenarioError(
                f"--over: {self.over!r}; accepts worst, mean, or a share of the situations, as in '90 %'"
            )
        return float(match[1]) / 100

    def reduce(self, values: np.ndarray, *, larger_is_better: bool) -> float:
        """Returns the value of one replication, given the values of all situations; nan if a situation has no value."""
        if len(values) == 1:
            return float(values[0])
        better = values if larger_is_better else -values
        if self.quantile == "mean":
            reduced = float(np.mean(better))
        elif self.quantile == "worst":
            reduced = float(np.min(better))
        else:
            reduced = float(np.quantile(better, 1 - self.quantile))
        return reduced if larger_is_better else -reduced

    def name(self, alternative: int) -> str:
        """Returns the levels of an alternative as text."""
        return self.design.scenarios[alternative].name

    def levels(self, alternative: int) -> dict[str, object]:
        """Returns the level of each factor."""
        return dict(self.design.levels(alternative + 1))

    def changes(self, alternative: int) -> dict[str, object]:
        """Returns the fields that an alternative sets."""
        point = self.design.points[alternative]
        return {
            name: value
            for factor, level in zip(self.factors, point, strict=True)
            for name, value in factor.levels[level].items()
        }
