"""Output of each part of lbd-01's reproduction: files, figures and tables for the terminal."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from longpipe_evidence.papers.findings import csv
from longpipe_evidence.papers.lbd_01.numbers import gains
from longpipe_evidence.papers.lbd_01.page import LARGE_ERROR
from longpipe_evidence.papers.lbd_01.reproduction import TransferReproduction, scenarios
from longpipe_evidence.papers.lbd_01.transfers import BUFFERS, FLAVORS, FLAVORS_BEYOND
from longpipe_evidence.papers.paper import Findings
from longpipe_evidence.papers.text import show_claims, show_frames, text_of

if TYPE_CHECKING:
    from rich.console import Console

    from longpipe_evidence.papers.paper import Paper


def of_reproduction(paper: Paper, reproduction: TransferReproduction) -> Findings:
    """Returns the report, numbers, runs, gains and scenarios."""
    shown = partial(_show, paper, reproduction)
    tables = {
        "runs": reproduction.runs,
        "numbers": reproduction.numbers,
        "gains": gains(reproduction.runs),
        "scenarios": scenarios(),
    }
    return Findings(
        texts={"report.txt": text_of(shown), "report.json": reproduction.to_json(), **csv(tables)},
        show=shown,
        contents=f"{reproduction.seconds:.0f} s. Report, tables, runs and figures",
        figure_data=reproduction,
        record={"seconds": round(reproduction.seconds, 1), "runs": len(reproduction.runs)},
        tables={name: frame for name, frame in tables.items() if name != "scenarios"},
    )


def of_sensitivity(frame: pd.DataFrame) -> Findings:
    """Returns the numbers under every variant."""
    shown = partial(show_frames, {"numbers that the paper prints, under other settings": frame})
    return Findings(csv({"sensitivity": frame}), shown, contents="The same as sensitivity.csv")


def of_beyond(frame: pd.DataFrame) -> Findings:
    """Returns the runs of the extension."""
    shown = {"8 GB over 600 ms": _by_flavor(frame, ["rate_mbps", "w_star_packets", "buffer_bdp"])}
    return Findings(csv({"beyond": frame}), partial(show_frames, shown), contents="Runs and figure", figure_data=frame)


def _show(paper: Paper, reproduction: TransferReproduction, console: Console) -> None:
    """Prints the utilizations, the printed numbers beside the simulated ones, and the claims."""
    console.print(paper.title, style="bold", highlight=False)
    console.print(paper.conditions, style="dim", highlight=False)
    console.print()
    tables = {f"Figure 2: utilization, B = {b:g} W*": _utilization(reproduction.runs, b) for b in BUFFERS}
    tables["numbers printed in the paper, and simulated"] = _numbers(reproduction.numbers)
    for title, frame in tables.items():
        show_frames({title: frame}, console)
        console.print()
    close = int((reproduction.numbers["error"].abs() <= LARGE_ERROR).sum())
    console.print(f"{close} of {len(reproduction.numbers)} printed numbers are within 10 %.\n", highlight=False)
    show_claims(reproduction.claims, console, "Claims, judged by one run of each configuration")


def _numbers(numbers: pd.DataFrame) -> pd.DataFrame:
    """Returns the numbers as text, each with its published digits."""
    shown = numbers.astype(object).where(numbers.notna(), "")
    shown["quantity"] = numbers["quantity"].str.replace("_", " ")
    for name in ("published", "simulated"):
        shown[name] = [f"{value:.5g}" for value in numbers[name]]
    shown["error"] = [f"{100 * error:z.2f} %" for error in numbers["error"]]
    return shown


def _utilization(runs: pd.DataFrame, buffer: float) -> pd.DataFrame:
    return _by_flavor(runs[runs["buffer_bdp"] == buffer], ["w_star_packets"])


def _by_flavor(runs: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Returns the utilization, with a column per flavor."""
    wide = runs.pivot_table("utilization", index=keys, columns="tcp", sort=False)
    return wide[[*FLAVORS, *FLAVORS_BEYOND]].rename_axis(columns=None).reset_index()
