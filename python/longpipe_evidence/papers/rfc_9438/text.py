"""Output of each part of RFC 9438's reproduction: files, figures and tables for the terminal."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

import pandas as pd

from longpipe_evidence.papers.findings import csv
from longpipe_evidence.papers.paper import Findings
from longpipe_evidence.papers.rfc_9438.beyond import SEEDS, spread
from longpipe_evidence.papers.rfc_9438.connections import NAMES
from longpipe_evidence.papers.rfc_9438.page import TITLES
from longpipe_evidence.papers.rfc_9438.reproduction import TableReproduction, scenarios
from longpipe_evidence.papers.text import show_claims, show_frames, text_of

if TYPE_CHECKING:
    from rich.console import Console

    from longpipe_evidence.papers.paper import Paper


# Minimum window that is printed without decimals [segment].
LARGE: Final = 1000


def of_reproduction(paper: Paper, reproduction: TableReproduction) -> Findings:
    """Returns the report, numbers, tables and scenarios."""
    shown = partial(_show, paper, reproduction)
    tables = {"tables": reproduction.rows, "scenarios": scenarios(reproduction.rows)}
    by_name = {f"Table {table}": rows.reset_index(drop=True) for table, rows in reproduction.rows.groupby("table")}
    return Findings(
        texts={"report.txt": text_of(shown), "report.json": reproduction.to_json(), **csv(tables)},
        show=shown,
        contents=f"{reproduction.seconds:.0f} s. Report, tables and figures",
        figure_data=reproduction,
        record={"seconds": round(reproduction.seconds, 1), "runs": len(tables["scenarios"])},
        tables=by_name,
    )


def of_sensitivity(frame: pd.DataFrame) -> Findings:
    """Returns the mean windows under every variant."""
    shown = partial(show_frames, {"mean windows of Table 1 [segment], under other settings": frame})
    return Findings(csv({"sensitivity": frame}), shown, contents="The same as sensitivity.csv")


def of_beyond(frame: pd.DataFrame) -> Findings:
    """Returns the sweep of loss rates."""
    title = (
        f"Goodput [Mbit/s] by the share of packets lost, 100 Mbit/s and 100 ms: mean and range of {len(SEEDS)} seeds"
    )
    shown = {title: _losses(spread(frame))}
    return Findings(csv({"beyond": frame}), partial(show_frames, shown), contents="Runs and figure", figure_data=frame)


def _losses(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(loss=[f"{loss:g}" for loss in frame["loss"]])


def _show(paper: Paper, reproduction: TableReproduction, console: Console) -> None:
    console.print(paper.title, style="bold", highlight=False)
    console.print(paper.conditions, style="dim", highlight=False)
    for table, rows in reproduction.rows.groupby("table"):
        console.print()
        show_frames({TITLES[str(table)]: _wide(rows)}, console)
    if reproduction.claims:
        console.print()
        show_claims(reproduction.claims, console, paper.claims_title)


def _window(segments: float) -> str:
    if math.isnan(segments):
        return "-"
    return f"{segments:.0f}" if segments >= LARGE else f"{segments:.4g}"


def _wide(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns printed and simulated windows as text: a row per loss, two columns per control; "-" if not simulated."""
    lines: dict[float, dict[str, str]] = {}
    for row in rows.to_dict("records"):
        line = lines.setdefault(float(row["loss"]), {"loss": f"{row['loss']:g}"})
        name = NAMES[str(row["control"])]
        line[f"{name} printed"] = f"{row['published']:g}"
        line[f"{name} simulated"] = _window(float(row["simulated"]))
    return pd.DataFrame(lines.values()).fillna("")
