"""Runs the connections of RFC 9438's tables, compares their windows with the printed ones, and judges the claims."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from longpipe.analysis.claims import Judgement, judge
from longpipe_evidence.papers.reproduction import head, plain
from longpipe_evidence.papers.rfc_9438 import connections
from longpipe_evidence.papers.rfc_9438.claims import CLAIMS
from longpipe_evidence.papers.rfc_9438.connections import BASE, ID, SEED, connection, measure, published

# For type checking only, because processes that draw figures do not need the database.
if TYPE_CHECKING:
    from longpipe.study import Runner


@dataclass(frozen=True)
class TableReproduction:
    """Results of `reproduce`.

    `rows` has a row per number of Tables 1 to 3: `table`, `round_trip_ms`, `loss`, `control`, `published` and
    `simulated` (mean windows [segment]), `error` (relative) and `timeouts`; nan where the loss is too rare to be run.
    """

    seconds: float
    rows: pd.DataFrame
    claims: tuple[Judgement, ...]

    @property
    def run(self) -> pd.DataFrame:
        """Returns the rows that were run."""
        return self.rows[self.rows["simulated"].notna()]

    def to_json(self) -> str:
        """Returns the reproduction as JSON text; intervals, which do not exist for one run, are null."""
        report = {
            **head(ID, BASE.engine, 1, self.seconds),
            "tables": [
                {"table": str(table), "rows": [_row_json(row) for row in rows.to_dict("records")]}
                for table, rows in self.rows.groupby("table")
            ],
            "claims": [claim.record() for claim in self.claims],
        }
        return json.dumps(report, indent=2, allow_nan=False) + "\n"


def _row_json(row: dict[Any, Any]) -> dict[str, Any]:
    no_interval = dict.fromkeys(("low", "high", "mean_low", "mean_high"))
    mean = plain(row["simulated"])
    window = {"published": plain(row["published"]), "deterministic": mean, "mean": mean, **no_interval}
    # The loss rate is not rounded, because six decimals would not suffice.
    return {"round_trip_ms": row["round_trip_ms"], "loss": row["loss"], "control": row["control"], "window": window}


def reproduce(runner: Runner, tables: tuple[str, ...]) -> TableReproduction:
    """Runs the missing connections of some tables, and compares the results with the RFC."""
    began = time.monotonic()
    rows = published().rename(columns={"window": "published"})
    rows = rows[rows["table"].isin(tables)].reset_index(drop=True)
    jobs = {row: (simulated.scenario(), SEED) for row, simulated in _connections(rows)}
    runner.complete(jobs.values())
    measured = {row: measure(runner.require(*job), int(rows["round_trip_ms"][row])) for row, job in jobs.items()}
    rows["simulated"] = [measured.get(row, {}).get("window", np.nan) for row in rows.index]
    rows["error"] = rows["simulated"] / rows["published"] - 1
    rows["timeouts"] = [measured.get(row, {}).get("timeouts", np.nan) for row in rows.index]
    run = rows[rows["simulated"].notna()]
    # Claims compare several tables, so that they are judged only if all tables are reproduced.
    all_tables = set(rows["table"]) == set(published()["table"])
    return TableReproduction(
        seconds=time.monotonic() - began,
        rows=rows,
        claims=tuple(judge(claim, run, run) for claim in CLAIMS if all_tables),
    )


def _connections(rows: pd.DataFrame) -> list[tuple[int, connections.Connection]]:
    """Returns the connections that are simulated, each with the number of its row."""
    printed = enumerate(connection({**row, "window": row["published"]}) for row in rows.to_dict("records"))
    return [(row, candidate) for row, candidate in printed if candidate.loss >= connections.MIN_LOSS_RATE]


def scenarios(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the scenarios of `reproduce` for some rows: `scenario`, `digest`, `replicated`, `seeds`."""
    table = pd.DataFrame(
        {"scenario": scenario.name, "digest": scenario.digest(), "replicated": False, "seeds": SEED}
        for scenario in (simulated.scenario() for _, simulated in _connections(rows))
    )
    return table.drop_duplicates("digest")
