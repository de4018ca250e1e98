"""Published conclusions as conditions on replicated results, judged by 95 % intervals."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from longpipe.analysis.intervals import estimate


class Verdict(StrEnum):
    """What the replications say of a claim."""

    HOLDS = "holds"
    UNDECIDED = "undecided"
    FAILS = "fails"


@dataclass(frozen=True)
class Condition:
    """`above` < quantity < `below`, for a quantity measured once per seed."""

    quantity: str
    by_seed: pd.Series
    above: float = -math.inf
    below: float = math.inf

    def verdict(self) -> Verdict:
        """Holds if the interval of the mean lies between the limits, fails if it lies beyond one of them."""
        found = estimate(self.by_seed)
        if self.above < found.mean_low and found.mean_high < self.below:
            return Verdict.HOLDS
        if found.mean_high <= self.above or found.mean_low >= self.below:
            return Verdict.FAILS
        return Verdict.UNDECIDED

    def evidence(self) -> str:
        """The quantity, its interval and its limits."""
        found = estimate(self.by_seed)
        interval = "" if math.isnan(found.mean_low) else f" [{_number(found.mean_low)}, {_number(found.mean_high)}]"
        limits = [f"> {_number(self.above)}"] * math.isfinite(self.above)
        limits += [f"< {_number(self.below)}"] * math.isfinite(self.below)
        return f"{self.quantity} = {_number(found.mean)}{interval}, needs {' and '.join(limits)}"


@dataclass(frozen=True)
class Claim:
    """A conclusion and the conditions that it stands for.

    `conditions` takes a frame of runs (one row per run: factors, `seed`, metrics) and gives those that must all hold.
    """

    id: str
    text: str
    conditions: Callable[[pd.DataFrame], Iterable[Condition]]


@dataclass(frozen=True)
class Judgement:
    """A claim with its verdict and the numbers behind it."""

    id: str
    text: str
    verdict: Verdict
    evidence: str


def judge(claim: Claim, runs: pd.DataFrame) -> Judgement:
    """Holds if all conditions do, fails if one does, else undecided; `runs` has one row per run."""
    conditions = list(claim.conditions(runs))
    verdicts = [condition.verdict() for condition in conditions]
    if Verdict.FAILS in verdicts:
        verdict = Verdict.FAILS
    else:
        verdict = Verdict.UNDECIDED if Verdict.UNDECIDED in verdicts else Verdict.HOLDS
    return Judgement(claim.id, claim.text, verdict, "; ".join(condition.evidence() for condition in conditions))


def mean_by_seed(runs: pd.DataFrame, metric: str, **factors: object) -> pd.Series:
    """Mean of a metric over the runs with these factors, one value per seed."""
    chosen = runs
    for factor, level in factors.items():
        chosen = chosen[chosen[factor] == level]
    if chosen.empty:
        raise ValueError(f"no run has {', '.join(f'{name} = {level}' for name, level in factors.items())}")
    return chosen.groupby("seed")[metric].mean()


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 and value != round(value) else f"{value:.0f}"
