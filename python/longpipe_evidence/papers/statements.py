"""Statements of each document, and the claims that judge them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from longpipe_evidence.papers import package_of

FILE: Final = "statements.csv"
NOT_TESTABLE: Final = "not testable"
# Verdicts from the worst to the best: a statement has the worst verdict of its claims.
ORDER: Final = ("fails", "undecided", "holds")


@dataclass(frozen=True)
class Statement:
    """A statement of a document in longpipe's words, with its place and the claims that judge it.

    A statement without claims is not testable, and `reason` explains why; otherwise `reason` adds information.
    """

    id: str
    place: str
    text: str
    claims: tuple[str, ...]
    # Claims under settings other than the document's: their verdicts are shown but do not count.
    beside: tuple[str, ...]
    reason: str

    def verdict(self, verdicts: Mapping[str, str]) -> str | None:
        """Returns the worst verdict of its claims, "not testable" if it has none, or None if a claim is not judged."""
        if not self.claims:
            return NOT_TESTABLE
        found = [verdicts.get(claim) for claim in self.claims]
        return None if None in found else min((str(one) for one in found), key=ORDER.index)


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
                row["reason"],
            )
            for row in csv.DictReader(rows)
        )


def counts(paper: str, verdicts: Mapping[str, str]) -> dict[str, int]:
    """Counts the statements of a paper by verdict; "no verdict" counts those with a claim that was not judged."""
    names = [*reversed(ORDER), NOT_TESTABLE, "no verdict"]
    found = [one.verdict(verdicts) or "no verdict" for one in statements(paper)]
    return {name: found.count(name) for name in names}
