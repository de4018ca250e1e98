"""Verdicts on all conclusions of the documents, in their order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pandas as pd

from longpipe_evidence.papers.statements import statements
from longpipe_evidence.papers.today import bursts, long_lived, transfers, web
from longpipe_evidence.papers.today.conclusions import Answer, Question, answer
from longpipe_evidence.papers.today.inapplicable import REASONS

QUESTIONS: Final[dict[str, Question]] = {
    question.statement: question
    for question in (*long_lived.QUESTIONS, *bursts.QUESTIONS, *web.QUESTIONS, *transfers.QUESTIONS)
}


def conclusions(document: str) -> list[str]:
    """Returns the ids of a document's conclusions; definitions, settings and figures are not conclusions."""
    return [statement.id for statement in statements(document) if statement.claims]


def answers(documents: Iterable[str], runs: pd.DataFrame) -> dict[str, list[Answer]]:
    """Returns the verdict on each conclusion of these documents."""
    return {document: [_answer(conclusion, runs) for conclusion in conclusions(document)] for document in documents}


def _answer(statement: str, runs: pd.DataFrame) -> Answer:
    if statement in REASONS:
        return Answer(statement, REASONS[statement])
    return answer(QUESTIONS[statement], runs)
