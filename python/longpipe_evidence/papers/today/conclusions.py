"""The documents' conclusions as conditions on runs of today's designs, and verdicts on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from longpipe.analysis.claims import Claim, Conditions, Judgement, Verdict, judge


class Fate(StrEnum):
    """Verdict on a conclusion."""

    SURVIVES = "survives"
    IN_PART = "in part"
    UNDECIDED = "undecided"
    FAILS = "fails"
    INAPPLICABLE = "no longer applicable"


@dataclass(frozen=True)
class Question:
    """A document's conclusion as conditions on the runs of one design, with an explanation of the result."""

    # Id of the statement, as in "F2".
    statement: str
    design: str
    text: str
    conditions: Conditions
    reason: str


@dataclass(frozen=True)
class Answer:
    """Verdict on a statement; `judged` has the evidence, and is None for statements that do not apply today."""

    statement: str
    fate: Fate
    reason: str
    judged: Judgement | None = None


def answer(question: Question, runs: pd.DataFrame) -> Answer:
    """Judges a conclusion by the runs of its design."""
    claim = Claim(question.statement, question.text, question.conditions, published=False, note=question.reason)
    judged = judge(claim, runs[runs["design"] == question.design], runs.iloc[:0])
    return Answer(question.statement, fate(finding.verdict for finding in judged.findings), question.reason, judged)


def fate(verdicts: Iterable[Verdict]) -> Fate:
    """Returns SURVIVES if all conditions hold, UNDECIDED if none fails, IN_PART if some hold, otherwise FAILS.

    A condition fails if its 95 % interval lies outside a limit, so the runs show the contrary.
    """
    found = set(verdicts)
    if found == {Verdict.HOLDS}:
        return Fate.SURVIVES
    if Verdict.FAILS not in found:
        return Fate.UNDECIDED
    return Fate.IN_PART if Verdict.HOLDS in found else Fate.FAILS


def of_seeds(runs: pd.DataFrame, measure: Callable[[pd.DataFrame], float]) -> pd.Series:
    """Computes a number from the runs of each seed."""
    return pd.Series({seed: measure(of_seed) for seed, of_seed in runs.groupby("seed")})
