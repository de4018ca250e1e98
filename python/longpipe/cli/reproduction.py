"""What `longpipe reproduce` does: runs, files, figures, tables."""

import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Final

import pandas as pd
from rich.console import Console

from longpipe.cli.progress import Bar
from longpipe.cli.reproduction_tables import show, show_beyond, show_sensitivity
from longpipe.errors import ScenarioError
from longpipe.files import write_text
from longpipe.papers import PAPERS, Paper, lbd_01
from longpipe.papers.reproduction import reproduce, reproduce_beyond, scenarios
from longpipe.papers.sensitivity import closest, explained, explanations, sensitivity, summary
from longpipe.report.folder import Folder, Part, records
from longpipe.study import Runner

REPORT_WIDTH = 100
# What a sensitivity run makes of `outside.csv`.
EXPLAINED: Final = "explained.csv"

# The modules whose `figures` draws a reproduction, and `beyond_figures` the summaries of what goes past the paper.
PLOTS: Final = {
    "frr-96": "longpipe.plot",
    "gr-97": "longpipe.plot_gr_97",
    "buf-97": "longpipe.plot_buf_97",
    "www-98": "longpipe.plot_www_98",
}


def run(paper: Paper, seeds: int, out: Path, runner: Runner, *, json: str | None) -> None:
    """Reproduces a paper into a directory and onto the terminal; `json` is a file, or - for stdout alone."""
    with Bar(paper.id) as bar:
        found = reproduce(paper, seeds, runner.telling(bar.update))
    report = StringIO()
    show(found, Console(file=report, width=REPORT_WIDTH))
    folder = Folder(out, Part.REPRODUCTION, paper.id, seeds, paper.seeds)
    texts = {"report.txt": report.getvalue(), "report.json": found.to_json()}
    frames = {"tables": found.rows, "runs": found.runs, **found.summaries, "scenarios": scenarios(paper, seeds)}
    texts |= {f"{name}.csv": frame.to_csv(index=False) for name, frame in frames.items()}
    for name, text in texts.items():
        folder.text(name, text)
    # Claims hold functions within functions, which can't be sent to a process.
    folder.figures(PLOTS[paper.id], replace(found, paper=replace(paper, claims=())))
    folder.close(seconds=round(found.seconds, 1), runs=len(found.runs))
    if json == "-":
        sys.stdout.write(found.to_json())
        return
    if json is not None:
        write_text(Path(json), found.to_json())
    console = report_console()
    show(found, console)
    console.print(f"\n{found.seconds:.0f} s. Report, tables, runs and figures: {out}", markup=False, highlight=False)


def run_sensitivity(paper: Paper, seeds: int, out: Path, runner: Runner) -> None:
    """Runs a paper's variants into a directory and onto the terminal."""
    with Bar(f"{paper.id} variants") as bar:
        found = sensitivity(paper, seeds, runner.telling(bar.update))
    folder = Folder(out, Part.SENSITIVITY, paper.id, seeds, seeds)
    outside = _outside(paper, out)
    summaries = {}
    if outside is not None:
        rows = explained(paper, outside, found)
        folder.text(EXPLAINED, rows.to_csv(index=False))
        title = f"published values outside what the seeds span, one by one in {EXPLAINED}"
        summaries[title] = explanations(paper, rows)
    report = StringIO()
    show_sensitivity(paper, found, summaries, Console(file=report, width=REPORT_WIDTH))
    folder.text("sensitivity.txt", report.getvalue())
    folder.text("sensitivity-rows.csv", found.to_csv(index=False))
    folder.text("sensitivity.csv", summary(paper, found).to_csv())
    folder.text("closest.csv", closest(paper, found).to_csv(index=False))
    folder.close()
    console = report_console()
    show_sensitivity(paper, found, summaries, console)
    if outside is None and "outside" in paper.summaries:
        hint = f"After longpipe reproduce {paper.id} into {out} this explains each value outside what the seeds span."
        console.print(f"\n{hint}", markup=False, highlight=False)
    console.print(f"\nThe same as sensitivity.csv and .txt: {out}", markup=False, highlight=False)


def _outside(paper: Paper, folder: Path) -> pd.DataFrame | None:
    """The published values that a folder's reproduction does not span; None if it has none."""
    file = folder / "outside.csv"
    if "outside" not in paper.summaries or Part.REPRODUCTION not in records(folder) or not file.exists():
        return None
    return pd.read_csv(file, dtype={"table": str})


def run_beyond(paper: Paper, seeds: int | None, out: Path, runner: Runner) -> None:
    """Runs what goes past a paper into a directory and onto the terminal."""
    if paper.beyond is None:
        have = [*(name for name, other in PAPERS.items() if other.beyond), lbd_01.ID]
        raise ScenarioError(f"--beyond: {paper.id} has nothing past the paper; has: {', '.join(have)}")
    seeds = seeds or paper.beyond.seeds
    with Bar(f"{paper.id} and beyond") as bar:
        runs = reproduce_beyond(paper, paper.beyond, seeds, runner.telling(bar.update))
    summaries = {name: summarize(runs) for name, summarize in paper.beyond.summaries.items()}
    folder = Folder(out, Part.BEYOND, paper.id, seeds, paper.beyond.seeds)
    for name, frame in {"beyond": runs, **summaries}.items():
        folder.text(f"{name}.csv", frame.to_csv(index=False))
    folder.figures(PLOTS[paper.id], summaries, "beyond_figures")
    folder.close()
    console = report_console()
    show_beyond(summaries, console)
    console.print(f"\nRuns, tables and figures: {out}", markup=False, highlight=False)


def report_console() -> Console:
    """The terminal as wide as it is; a file or a pipe as wide as a report."""
    return Console(width=None if sys.stdout.isatty() else REPORT_WIDTH)
