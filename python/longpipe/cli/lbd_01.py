"""What `longpipe reproduce lbd-01` does: runs, files, figures, tables."""

import sys
from io import StringIO
from pathlib import Path
from typing import Final

import pandas as pd
from rich.console import Console

from longpipe.cli.progress import Bar
from longpipe.cli.reproduction import REPORT_WIDTH, report_console
from longpipe.cli.reproduction_tables import show_beyond, show_claims
from longpipe.files import write_text
from longpipe.papers.lbd_01 import BUFFERS, CONDITIONS, FLAVORS, FLAVORS_BEYOND, ID, SEED, TITLE
from longpipe.papers.lbd_01_beyond import reproduce_beyond
from longpipe.papers.lbd_01_numbers import gains
from longpipe.papers.lbd_01_reproduction import TransferReproduction, reproduce, scenarios
from longpipe.papers.lbd_01_variants import sensitivity
from longpipe.report.folder import Folder, Part
from longpipe.study import Runner

PLOT: Final = "longpipe.plot_lbd_01"


def run(out: Path, runner: Runner, *, json: str | None) -> None:
    """Reproduces the paper into a directory and onto the terminal; `json` is a file, or - for stdout alone."""
    with Bar(ID) as bar:
        found = reproduce(runner.telling(bar.update))
    report = StringIO()
    _show(found, Console(file=report, width=REPORT_WIDTH))
    texts = {"report.txt": report.getvalue(), "report.json": found.to_json()}
    frames = {"runs": found.runs, "numbers": found.numbers, "gains": gains(found.runs), "scenarios": scenarios()}
    texts |= {f"{name}.csv": frame.to_csv(index=False) for name, frame in frames.items()}
    folder = _folder(out, Part.REPRODUCTION)
    for name, text in texts.items():
        folder.text(name, text)
    folder.figures(PLOT, found)
    folder.close(seconds=round(found.seconds, 1), runs=len(found.runs))
    if json == "-":
        sys.stdout.write(found.to_json())
        return
    if json is not None:
        write_text(Path(json), found.to_json())
    console = report_console()
    _show(found, console)
    console.print(f"\n{found.seconds:.0f} s. Report, tables, runs and figures: {out}", markup=False, highlight=False)


def run_sensitivity(out: Path, runner: Runner) -> None:
    """Runs the variants into a directory and onto the terminal."""
    with Bar(f"{ID} variants") as bar:
        found = sensitivity(runner.telling(bar.update))
    folder = _folder(out, Part.SENSITIVITY)
    folder.text("sensitivity.csv", found.to_csv(index=False))
    folder.close()
    console = report_console()
    show_beyond({"numbers that the paper prints, under other settings": found}, console)
    console.print(f"\nThe same as sensitivity.csv: {out}", markup=False, highlight=False)


def run_beyond(out: Path, runner: Runner) -> None:
    """Runs what goes past the paper into a directory and onto the terminal."""
    with Bar(f"{ID} and beyond") as bar:
        found = reproduce_beyond(runner.telling(bar.update))
    folder = _folder(out, Part.BEYOND)
    folder.text("beyond.csv", found.to_csv(index=False))
    folder.figures(PLOT, found, "beyond_figures")
    folder.close()
    console = report_console()
    show_beyond({"8 GB over 600 ms": _by_flavor(found, ["rate_mbps", "w_star_packets", "buffer_bdp"])}, console)
    console.print(f"\nRuns and figure: {out}", markup=False, highlight=False)


def _folder(out: Path, part: Part) -> Folder:
    return Folder(out, part, ID, SEED, SEED)


def _show(found: TransferReproduction, console: Console) -> None:
    console.print(TITLE, style="bold", highlight=False)
    console.print(CONDITIONS, style="dim", highlight=False)
    console.print()
    tables = {f"Figure 2: utilization, B = {b:g} W*": _utilization(found.runs, b) for b in BUFFERS}
    tables["numbers printed in the paper, and simulated"] = _numbers(found.numbers)
    for title, frame in tables.items():
        show_beyond({title: frame}, console)
        console.print()
    show_claims(found.claims, console, "Claims, judged by one run of each configuration")


def _numbers(numbers: pd.DataFrame) -> pd.DataFrame:
    """The numbers as text, each with the digits that it has."""
    shown = numbers.astype(object).where(numbers.notna(), "")
    shown["quantity"] = numbers["quantity"].str.replace("_", " ")
    for name in ("published", "simulated"):
        shown[name] = [f"{value:.5g}" for value in numbers[name]]
    shown["error"] = [f"{100 * error:z.2f} %" for error in numbers["error"]]
    return shown


def _utilization(runs: pd.DataFrame, buffer: float) -> pd.DataFrame:
    return _by_flavor(runs[runs["buffer_bdp"] == buffer], ["w_star_packets"])


def _by_flavor(runs: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Utilization, a column per flavor."""
    wide = runs.pivot_table("utilization", index=keys, columns="tcp", sort=False)
    return wide[[*FLAVORS, *FLAVORS_BEYOND]].rename_axis(columns=None).reset_index()
