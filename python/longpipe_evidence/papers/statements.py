"""Statements of each document, and the claims by which the simulation judges them.

A reproduction of a document (`reproduce`) evaluates claims, which are conditions on simulated results. Each document's
`statements.csv` lists what the document says and which claims test it.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Final

from longpipe.analysis.claims import Verdict, combined
from longpipe_evidence.papers import package_of

FILE: Final = "statements.csv"
NOT_TESTABLE: Final = "not testable"
NO_VERDICT: Final = "no verdict"

# Verdicts of the conditions of each claim, by the claim's id, as `longpipe.analysis.claims` computes them.
Judged = Mapping[str, Sequence[str]]


class Cause(StrEnum):
    """Why a statement fails."""

    # The document contradicts itself, its own numbers contradict the statement, or they need settings that it omits.
    DOCUMENT = "the document"
    # The simulated numbers meet the statement within wider limits than longpipe's own.
    LIMIT = "a limit of longpipe"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Statement:
    """A statement of a document in longpipe's words, with its place and the claims that judge it.

    A statement without claims is not testable, and `reason` explains why; otherwise `reason` adds information. If the
    statement fails, `cause` is the kind of its cause, and `reason` the cause in a sentence.
    """

    id: str
    place: str
    text: str
    claims: tuple[str, ...]
    # Claims under settings other than the document's: their verdicts are shown but do not count.
    beside: tuple[str, ...]
    cause: Cause | None
    reason: str

    def verdict(self, judged: Judged) -> str:
        """Returns the combined verdict on the conditions of all of its claims.

        "not testable" if the statement has no claims, "no verdict" if one of them is not judged.
        """
        if not self.claims:
            return NOT_TESTABLE
        if not all(judged.get(claim) for claim in self.claims):
            return NO_VERDICT
        return combined(Verdict(verdict) for claim in self.claims for verdict in judged[claim])


@cache
def statements(paper: str) -> tuple[Statement, ...]:
    """Returns the statements of a paper by its id, in the paper's order; empty if there is no list."""
    file = resources.files(package_of(paper)) / FILE
    if not file.is_file():
        return ()
    with file.open(encoding="utf-8") as rows:
        return tuple(
            Statement(
                row["id"],
                row["place"],
                row["statement"],
                tuple(row["claims"].split()),
                tuple(row["beside"].split()),
                Cause(row["cause"]) if row["cause"] else None,
                row["reason"],
            )
            for row in csv.DictReader(rows)
        )


def counts(paper: str, judged: Judged) -> dict[str, int]:
    """Counts the statements of a paper by verdict; "no verdict" counts those with a claim that was not judged."""
    verdicts = [statement.verdict(judged) for statement in statements(paper)]
    return {name: verdicts.count(name) for name in (*map(str, Verdict), NOT_TESTABLE, NO_VERDICT)}
