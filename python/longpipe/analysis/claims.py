"""Published conclusions as conditions on replicated results, tested with 95 % intervals."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Self

import numpy as np
import pandas as pd

from longpipe.analysis.intervals import estimate


class Verdict(StrEnum):
    """Verdict on a claim, based on the replications; from the best to the worst."""

    HOLDS = "holds"
    IN_PART = "in part"
    UNDECIDED = "undecided"
    FAILS = "fails"


def combined(verdicts: Iterable[Verdict]) -> Verdict:
    """Returns the verdict on conditions that belong together.

    "holds" if all hold, "undecided" if none fails, "in part" if some hold and others fail, and "fails" if some fail and
    none holds. A condition fails if its interval is outside its limits, so the contrary was measured.
    """
    distinct = set(verdicts)
    if Verdict.FAILS not in distinct:
        return Verdict.HOLDS if distinct == {Verdict.HOLDS} else Verdict.UNDECIDED
    return Verdict.IN_PART if Verdict.HOLDS in distinct else Verdict.FAILS


# Factors by which limits that a document does not state are multiplied, to show how far verdicts depend on them.
SCALES: Final = {"half": 0.5, "twice": 2.0}


@dataclass(frozen=True)
class Condition:
    """The condition `above` < quantity < `below` where the quantity is measured once per seed."""

    quantity: str
    by_seed: pd.Series
    above: float = -math.inf
    below: float = math.inf
    # Value without an effect, from which longpipe's own limits are measured, such as 1 for a ratio of at most 1.2; nan
    # for limits that the document states.
    neutral: float = math.nan

    def verdict(self) -> Verdict:
        """Returns "holds" if the mean's interval is within the limits, "fails" if it is outside, else "undecided"."""
        low, high = self.interval()
        if self.above < low and high < self.below:
            return Verdict.HOLDS
        if high <= self.above or low >= self.below:
            return Verdict.FAILS
        return Verdict.UNDECIDED

    def scaled(self, factor: float) -> Self:
        """Returns the condition with its limits at `factor` times their distance from `neutral`, if that is given."""
        if math.isnan(self.neutral):
            return self
        above, below = (self.neutral + factor * (limit - self.neutral) for limit in (self.above, self.below))
        return replace(self, above=above, below=below)

    def interval(self) -> tuple[float, float]:
        """Returns the 95 % confidence interval of the quantity's mean."""
        mean = estimate(self.by_seed)
        return mean.mean_low, mean.mean_high

    def evidence(self, compared: float | None = None, source: str = "published") -> str:
        """Formats the condition, the mean with its interval, and the reference value from `source`."""
        mean, (mean_low, mean_high) = estimate(self.by_seed), self.interval()
        low = f"{_number(self.above)} < " if math.isfinite(self.above) and math.isfinite(self.below) else ""
        high = f" < {_number(self.below)}" if math.isfinite(self.below) else f" > {_number(self.above)}"
        interval = "" if math.isnan(mean.mean_low) else f" [{_number(mean_low)}, {_number(mean_high)}]"
        paper = "" if compared is None or math.isnan(compared) else f", {source} {_number(compared)}"
        return f"{low}{self.quantity}{high}: {_number(mean.mean)}{interval}{paper}"

    def finding(self, compared: float = math.nan, source: str = "published") -> "Finding":
        """Returns condition, mean, interval and reference as numbers."""
        mean, verdict = estimate(self.by_seed).mean, self.verdict()
        half, twice = (self.scaled(factor).verdict() for factor in SCALES.values())
        return Finding(
            self.quantity,
            self.above,
            self.below,
            mean,
            *self.interval(),
            compared,
            source,
            verdict,
            self.neutral,
            half,
            twice,
        )


@dataclass(frozen=True)
class CorrelationCondition(Condition):
    """A condition on a correlation, whose interval is limited to -1..1.

    Student's t does not know these limits. Fisher's z does, but is infinite for a correlation of 1 or -1, which is
    frequent among ranks of a few values.
    """

    def interval(self) -> tuple[float, float]:
        """Returns the 95 % confidence interval of the mean, cut at -1 and 1."""
        low, high = np.clip(super().interval(), -1.0, 1.0)
        return float(low), float(high)


@dataclass(frozen=True)
class Exact(Condition):
    """A condition on deterministic runs, whose interval is a single value."""

    def interval(self) -> tuple[float, float]:
        """Returns the value as both ends of the interval."""
        value = float(self.by_seed.mean())
        return value, value


# A function of a data frame with one row per run, which contains factors, `seed` and metrics.
Conditions = Callable[[pd.DataFrame], Iterable[Condition]]


@dataclass(frozen=True)
class Claim:
    """A published conclusion and the conditions that express it.

    `conditions` takes a frame of runs (one row per run: factors, `seed`, metrics) and returns the conditions, all of
    which must hold.
    """

    id: str
    text: str
    conditions: Conditions
    # Whether the published tables contain all quantities that the conditions use.
    published: bool = True
    # Thresholds that the document does not state, and the explanation for a deviation; shown next to the verdict.
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """Evidence for one condition: mean, 95 % interval and limits; nan or infinite if there is none.

    `compared` is the published value, or the value from `source`.
    """

    quantity: str
    above: float
    below: float
    mean: float
    low: float
    high: float
    compared: float
    source: str
    verdict: Verdict
    # Value from which longpipe's own limits are measured; nan for limits that the document states.
    neutral: float
    # Verdicts with longpipe's own limits at half and at twice their distance; `verdict` for other limits.
    half: Verdict
    twice: Verdict


@dataclass(frozen=True)
class Judgement:
    """A claim with its verdict and the evidence for each condition, as text and as numbers."""

    id: str
    text: str
    verdict: Verdict
    evidence: tuple[str, ...]
    findings: tuple[Finding, ...]
    note: str = ""

    @property
    def scaled(self) -> str:
        """Describes the verdicts with longpipe's own limits at half and at twice their distance; empty without any."""
        return scaled_text([vars(finding) for finding in self.findings])

    def record(self) -> dict[str, Any]:
        """Returns the judgement as JSON-compatible data; missing limits, intervals and references are None."""
        conditions = [
            {
                **{n: None if isinstance(v, float) and not math.isfinite(v) else v for n, v in vars(finding).items()},
                "evidence": text,
            }
            for finding, text in zip(self.findings, self.evidence, strict=True)
        ]
        return {
            "id": self.id,
            "text": self.text,
            "verdict": self.verdict.value,
            "note": self.note,
            "scaled": self.scaled,
            "conditions": conditions,
        }


def judge(claim: Claim, runs: pd.DataFrame, published: pd.DataFrame, source: str = "published") -> Judgement:
    """Judges a claim by `combined` verdicts of its conditions.

    `runs` has one row per run. `published`, which holds the values from `source`, has the same columns as far as the
    paper reports them, and a single `seed`.
    """
    conditions = list(claim.conditions(runs))
    verdict = combined(condition.verdict() for condition in conditions)
    printed = [math.nan] * len(conditions)
    if claim.published:
        printed = [float(condition.by_seed.mean()) for condition in claim.conditions(published)]
    pairs = list(zip(conditions, printed, strict=True))
    return Judgement(
        claim.id,
        claim.text,
        verdict,
        tuple(condition.evidence(value, source) for condition, value in pairs),
        tuple(condition.finding(value, source) for condition, value in pairs),
        claim.note,
    )


def scaled_text(findings: Iterable[Mapping[str, Any]]) -> str:
    """Describes the verdicts with longpipe's own limits at half and at twice their distance; empty without any.

    `findings` are those of `Judgement`, or of its record.
    """
    listed = list(findings)
    if all(finding["neutral"] is None or math.isnan(finding["neutral"]) for finding in listed):
        return ""
    half, twice = (combined(Verdict(finding[name]) for finding in listed) for name in SCALES)
    return f"With longpipe's own limits at half their size: {half}; at twice: {twice}."


def mean_by_seed(runs: pd.DataFrame, metric: str, **factors: object) -> pd.Series:
    """Returns the mean of a metric over the runs with these factors, one value per common seed.

    Runs in which the metric is undefined do not count.
    """
    matching = runs
    for factor, level in factors.items():
        matching = matching[matching[factor] == level]
    if matching.empty:
        raise ValueError(f"no run has {', '.join(f'{name} = {level}' for name, level in factors.items())}")
    by_seed = matching.groupby("seed")[metric]
    runs_of_seed = by_seed.size()
    return by_seed.mean()[runs_of_seed == runs_of_seed.max()]


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 and value != round(value) else f"{value:.0f}"
