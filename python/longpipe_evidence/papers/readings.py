"""Readings of a paper: settings on which its text is silent, each judged by all of its statements and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from longpipe_evidence.papers.paper import Findings
from longpipe_evidence.papers.sensitivity import BASELINE
from longpipe_evidence.papers.statements import Judged, statements
from longpipe_evidence.papers.text import show_frames, text_of

if TYPE_CHECKING:
    from longpipe.study import Runner
    from longpipe_evidence.papers.paper import Paper

# Names of the tables: verdicts on statements, evidence of claims, distances from published tables, and every value.
STATED: Final = "reading-statements"
EVIDENCE: Final = "reading-evidence"
ERRORS: Final = "reading-errors"
VALUES: Final = "reading-values"
# Difference from a published value of a table, and ratio to a number of a text, within which it counts as close.
CLOSE: Final = 0.02
CLOSE_RATIO: Final = 0.1


@dataclass(frozen=True)
class _InMemory:
    """The files of a reproduction that were not written."""

    document: str
    found: Findings
    records: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def frame(self, name: str) -> pd.DataFrame:
        return pd.read_csv(StringIO(self.found.texts[f"{name}.csv"]), dtype={"table": str})


def of_readings(paper: Paper, seeds: int, runner: Runner) -> Findings:
    """Reproduces a paper under each of its readings with seeds 1 to `seeds`, and compares them."""
    named = {BASELINE.name: paper, **paper.readings}
    files = {name: _InMemory(paper.id, reading.reproduce(seeds, runner)) for name, reading in named.items()}
    claims = {name: json.loads(reading.found.texts["report.json"])["claims"] for name, reading in files.items()}
    stated, errors = _statements(paper, claims), _errors(paper, files)
    values = pd.concat([_values(reading).assign(reading=name) for name, reading in files.items()])
    close = values.groupby("reading", sort=False)["close"].agg(["sum", "size"]).reset_index()
    close.columns = pd.Index(["reading", "close", "of"])
    shown = partial(
        show_frames,
        {
            "verdicts on the statements": stated,
            "mean absolute errors": errors,
            f"published values within {CLOSE:g}, or {CLOSE_RATIO:.0%} of numbers of a text": close,
        },
    )
    frames = {STATED: stated, EVIDENCE: _evidence(claims), ERRORS: errors, VALUES: values}
    texts = {f"{name}.csv": frame.to_csv(index=False) for name, frame in frames.items()}
    texts["readings.txt"] = text_of(shown)
    return Findings(texts, shown, contents="The same, every value, and the evidence for each claim")


def _values(files: _InMemory) -> pd.DataFrame:
    """Returns every published value, with the simulated one and whether it is close."""
    if "numbers.csv" in files.found.texts:
        numbers = files.frame("numbers")
        return numbers.assign(close=numbers["error"].abs() <= CLOSE_RATIO)
    tables = files.frame("tables")
    return tables.assign(close=(tables["mean"] - tables["published"]).abs() <= CLOSE)


def _statements(paper: Paper, claims: Mapping[str, list[dict[str, Any]]]) -> pd.DataFrame:
    """Returns the verdict on each statement (rows) under each reading (columns)."""
    judged: dict[str, Judged] = {
        name: {str(claim["id"]): [c["verdict"] for c in claim["conditions"]] for claim in claims_of_reading}
        for name, claims_of_reading in claims.items()
    }
    rows = [
        {
            "statement": statement.id,
            **{name: statement.verdict(claims_of_reading) for name, claims_of_reading in judged.items()},
        }
        for statement in statements(paper.id)
        if statement.claims
    ]
    return pd.DataFrame(rows)


def _evidence(claims: Mapping[str, list[dict[str, Any]]]) -> pd.DataFrame:
    """Returns a row per reading, claim and condition, with the condition's verdict, mean and 95 % interval."""
    names = ("quantity", "verdict", "above", "below", "mean", "low", "high")
    return pd.DataFrame(
        {"reading": name, "claim": claim["id"], **{key: condition[key] for key in names}}
        for name, claims_of_reading in claims.items()
        for claim in claims_of_reading
        for condition in claim["conditions"]
    )


def _errors(paper: Paper, readings: Mapping[str, _InMemory]) -> pd.DataFrame:
    """Returns the mean absolute error of each table (rows) under each reading (columns)."""
    columns = {}
    for name, reading in readings.items():
        distances = [d for d in paper.distances(reading) if d.numbers.get("error") == d.numbers.get("error")]
        columns[name] = {(d.table, d.quantity): float(d.numbers["error"]) for d in distances}
    frame = pd.DataFrame(columns)
    frame.index = frame.index.set_names(["table", "of"]) if len(frame) else frame.index
    return frame.reset_index() if len(frame) else pd.DataFrame({"table": [], **{name: [] for name in readings}})
