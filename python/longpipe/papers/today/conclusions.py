"""The documents' conclusions as questions to the designs of today, and what becomes of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from longpipe.analysis.claims import Claim, Conditions, Judgement, Verdict, judge


class Fate(StrEnum):
    """What becomes of a conclusion."""

    SURVIVES = "survives"
    IN_PART = "in part"
    UNDECIDED = "undecided"
    FAILS = "fails"
    INAPPLICABLE = "no longer applicable"


@dataclass(frozen=True)
class Question:
    """A document's conclusion as a question to the runs of one design, and a sentence on what explains the answer."""

    # Of the statement in the document's list: "F2".
    statement: str
    design: str
    text: str
    conditions: Conditions
    reason: str


@dataclass(frozen=True)
class Answer:
    """What becomes of a statement; `judged` has the evidence, and is None where nothing of today can be asked."""

    statement: str
    fate: Fate
    reason: str
    judged: Judgement | None = None


def answer(question: Question, runs: pd.DataFrame) -> Answer:
    """Judges a question by the runs of its design."""
    claim = Claim(question.statement, question.text, question.conditions, published=False, note=question.reason)
    judged = judge(claim, runs[runs["design"] == question.design], runs.iloc[:0])
    return Answer(question.statement, fate(finding.verdict for finding in judged.findings), question.reason, judged)


def fate(verdicts: Iterable[Verdict]) -> Fate:
    """Survives if all conditions hold, undecided if none fails, in part if some hold and some fail, else fails.

    A condition fails if its 95 % interval lies beyond a limit, so that the contrary is measured.
    """
    found = set(verdicts)
    if found == {Verdict.HOLDS}:
        return Fate.SURVIVES
    if Verdict.FAILS not in found:
        return Fate.UNDECIDED
    return Fate.IN_PART if Verdict.HOLDS in found else Fate.FAILS


def of_seeds(runs: pd.DataFrame, measure: Callable[[pd.DataFrame], float]) -> pd.Series:
    """A number from the runs of each seed."""
    return pd.Series({seed: measure(of_seed) for seed, of_seed in runs.groupby("seed")})
