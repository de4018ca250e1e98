"""The documents' conclusions as conditions on runs of today's designs, and verdicts on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pandas as pd

from longpipe.analysis.claims import Claim, Conditions, Judgement, Verdict, judge

# What stands in place of a verdict for conclusions that do not apply today.
INAPPLICABLE: Final = "no longer applicable"
# Verdicts on conclusions, and INAPPLICABLE, in the order in which they are counted.
ANSWERS: Final = (*map(str, Verdict), INAPPLICABLE)
# Differences of efficiency or fairness of at most this size count as none; longpipe's own limit.
SMALL: Final = 0.01


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
    reason: str
    judged: Judgement | None = None

    @property
    def verdict(self) -> str:
        """Returns the verdict, or "no longer applicable"."""
        return INAPPLICABLE if self.judged is None else str(self.judged.verdict)


def answer(question: Question, runs: pd.DataFrame) -> Answer:
    """Judges a conclusion by the runs of its design."""
    claim = Claim(question.statement, question.text, question.conditions, published=False, note=question.reason)
    judged = judge(claim, runs[runs["design"] == question.design], runs.iloc[:0])
    return Answer(question.statement, question.reason, judged)


def of_seeds(runs: pd.DataFrame, measure: Callable[[pd.DataFrame], float]) -> pd.Series:
    """Computes a number from the runs of each seed."""
    return pd.Series({seed: measure(of_seed) for seed, of_seed in runs.groupby("seed")})
