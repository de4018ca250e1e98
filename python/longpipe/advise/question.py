"""The question that `longpipe advise` answers: choices, objective, limits and uncertain inputs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np

from longpipe.advise.measured import Measured
from longpipe.advise.ranges import Uncertain, situations
from longpipe.design import Design, Factor
from longpipe.errors import ScenarioError
from longpipe.scenario import Scenario

_LIMIT: Final = re.compile(r"(.+?)\s*(<=|>=|<|>)\s*([^<>=]+)")
_OVER: Final = re.compile(r"(\d{1,2}(?:\.\d+)?)\s*%")
# Indifference zone of shares, and of other measures as a part of the best mean after the first replications.
ZONE_OF_SHARES: Final = 0.01
ZONE: Final = 0.02
# Tolerance of a limit as a part of the limit.
TOLERANCE: Final = 0.05


@dataclass(frozen=True)
class Limit:
    """A limit of the mean of a measure; `upper` if it must not be exceeded."""

    measure: Measured
    upper: bool
    value: float

    @classmethod
    def parse(cls, text: str, scenarios: Sequence[Scenario]) -> Limit:
        """Parses "datagrams:call.p95 < 60 ms" or "efficiency > 0.9"; raises ScenarioError."""
        match = _LIMIT.fullmatch(text.strip())
        if match is None:
            raise ScenarioError(f"--subject-to: {text!r}; accepts MEASURE < VALUE, as in 'datagrams:call.p95 < 60 ms'")
        measure = Measured.parse(match[1], scenarios)
        value, relative = measure.quantity(match[3], "--subject-to")
        if relative:
            raise ScenarioError(f"--subject-to: {text!r}; needs a value with the unit {measure.unit or 'of a number'}")
        return cls(measure, match[2][0] == "<", value)

    def margin(self, value: float) -> float:
        """Returns by how much a value satisfies the limit."""
        return self.value - value if self.upper else value - self.value

    def tolerance(self, text: str | None) -> float:
        """Returns the tolerance of feasibility: "5 %" of the limit, or a value in its unit."""
        if text is None:
            found = TOLERANCE * abs(self.value)
        else:
            # Percentages are of the limit, also for shares.
            percent = re.fullmatch(r"\s*([\d.]+)\s*%\s*", text)
            found = (
                float(percent[1]) / 100 * abs(self.value) if percent else self.measure.quantity(text, "--tolerance")[0]
            )
        if found <= 0:
            raise ScenarioError(f"--tolerance: {text or 'absent'}; {self} needs a value above 0, in its unit")
        return found

    def __str__(self) -> str:
        return f"{self.measure.name} {'<' if self.upper else '>'} {self.measure.text(self.value)}"


@dataclass(frozen=True)
class Question:
    """What to choose, for what, under which limits and over which uncertain inputs.

    `over` says which value of a replication counts if inputs are uncertain: the worst of all situations, their mean, or
    the value that a share of the situations reaches ("90 %").
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
        """Raises ScenarioError for what cannot be run, measured or read."""
        _ = self.measures
        for limit in self.bounds:
            limit.tolerance(self.tolerance)
        if self.zone is not None and self.goal.quantity(self.zone, "--zone")[0] <= 0:
            raise ScenarioError(f"--zone: {self.zone}; needs a value above 0")

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
            return tuple((one,) for one in alternatives)
        return tuple(tuple(self._situated(one, fields) for fields in self.situations) for one in alternatives)

    def _situated(self, alternative: Scenario, fields: dict[str, object]) -> Scenario:
        try:
            return alternative.with_(**fields)
        except ScenarioError as error:
            where = ", ".join(f"{name}={value}" for name, value in fields.items())
            raise ScenarioError(*(f"--uncertain: {where}: {problem}" for problem in error.problems)) from None

    @cached_property
    def goal(self) -> Measured:
        """The objective."""
        return Measured.parse(self.objective, [one for row in self.scenarios for one in row])

    @cached_property
    def bounds(self) -> tuple[Limit, ...]:
        """The limits."""
        every = [one for row in self.scenarios for one in row]
        return tuple(Limit.parse(text, every) for text in self.limits)

    @cached_property
    def measures(self) -> tuple[Measured, ...]:
        """The objective and the limited measures."""
        return (self.goal, *(limit.measure for limit in self.bounds))

    @cached_property
    def quantile(self) -> float | Literal["worst", "mean"]:
        """The share of situations that reach the value that counts, or "worst" or "mean"."""
        if self.over in ("worst", "mean"):
            return self.over  # type: ignore[return-value]
        match = _OVER.fullmatch(self.over.strip())
        if match is None or not 0 < float(match[1]) < 100:
            raise ScenarioError(
                f"--over: {self.over!r}; accepts worst, mean, or a share of the situations, as in '90 %'"
            )
        return float(match[1]) / 100

    def reduce(self, values: np.ndarray, *, larger_is_better: bool) -> float:
        """Returns the value of one replication from those of all situations; nan if one of them has none."""
        if len(values) == 1:
            return float(values[0])
        better = values if larger_is_better else -values
        if self.quantile == "mean":
            found = float(np.mean(better))
        elif self.quantile == "worst":
            found = float(np.min(better))
        else:
            found = float(np.quantile(better, 1 - self.quantile))
        return found if larger_is_better else -found

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
