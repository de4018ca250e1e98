"""Actions of `longpipe reproduce`: runs, files, figures, tables."""

import sys
from pathlib import Path
from typing import Final

from longpipe.cli.toolkit.outputs import is_stdout, write_output
from longpipe.cli.toolkit.progress import Bar
from longpipe.cli.toolkit.safe import Console
from longpipe.errors import ScenarioError
from longpipe.study import Runner
from longpipe_evidence.papers import PAPERS
from longpipe_evidence.papers.paper import Findings, Paper
from longpipe_evidence.papers.readings import of_readings
from longpipe_evidence.papers.report.folder import Folder, Part
from longpipe_evidence.papers.text import REPORT_WIDTH

VARIANT_SEEDS: Final = 2
# Label of the progress bar after the paper's name.
TITLES: Final = {
    Part.REPRODUCTION: "",
    Part.SENSITIVITY: " variants",
    Part.READINGS: " readings",
    Part.BEYOND: " and beyond",
}


def run(paper: Paper, part: Part, seeds: int | None, out: Path, runner: Runner, *, json: str | None = None) -> None:
    """Runs a part of a paper and writes it to a directory and the terminal; `seeds` defaults to the paper's number.

    The numbers of a reproduction are also written to the file `json`; "-" writes them to stdout instead of the terminal
    output.
    """
    default = _default_seeds(paper, part, seeds)
    seed_count = default if paper.seeds is None else seeds or default
    with Bar(f"{paper.id}{TITLES[part]}") as bar:
        findings = _find(paper, part, seed_count, out, runner.telling(bar.update))
    folder = Folder(out, part, paper.id, seed_count, default)
    for name, text in findings.texts.items():
        folder.text(name, text)
    if findings.figure_data is not None:
        function = "beyond_figures" if part is Part.BEYOND else "figures"
        folder.figures(f"{paper.package}.figures", findings.figure_data, function)
    folder.close(**findings.record)
    if json is not None:
        write_output(json, findings.texts["report.json"])
    if is_stdout(json):
        return
    target = console()
    findings.show(target)
    if findings.hint:
        target.print(f"\n{findings.hint}", markup=False, highlight=False)
    target.print(f"\n{findings.contents}: {out}", markup=False, highlight=False, soft_wrap=True)


def show_table(paper: Paper, table: int, seeds: int | None, runner: Runner) -> None:
    """Runs the experiments of one table and shows it."""
    table_only = paper.only(table)
    with Bar(f"{paper.id} table {table}") as bar:
        findings = table_only.reproduce(
            seeds or _default_seeds(paper, Part.REPRODUCTION, None), runner.telling(bar.update)
        )
    findings.show(console())


def console() -> Console:
    """Returns a console with the width of the terminal, or for files and pipes with the width of a report."""
    return Console(width=None if sys.stdout.isatty() else REPORT_WIDTH)


def _default_seeds(paper: Paper, part: Part, seeds: int | None) -> int:
    """Returns the default number of seeds of a part; deterministic experiments run once."""
    if part is Part.BEYOND and paper.beyond_seeds is None:
        have = ", ".join(name for name, other in PAPERS.items() if other.beyond_seeds)
        raise ScenarioError(f"--beyond: {paper.id} has no extension; needs one of: {have}")
    if part is Part.READINGS and not paper.readings:
        have = ", ".join(name for name, other in PAPERS.items() if other.readings)
        raise ScenarioError(f"--readings: {paper.id} has no other reading; needs one of: {have}")
    if paper.seeds is None:
        return 1
    # The record of variants contains only the seeds that were run.
    default_of = {Part.REPRODUCTION: paper.seeds, Part.READINGS: paper.seeds, Part.BEYOND: paper.beyond_seeds}
    return default_of.get(part) or seeds or VARIANT_SEEDS


def _find(paper: Paper, part: Part, seeds: int, out: Path, runner: Runner) -> Findings:
    if part is Part.SENSITIVITY:
        return paper.sensitivity(seeds, runner, out)
    if part is Part.READINGS:
        return of_readings(paper, seeds, runner)
    return paper.go_beyond(seeds, runner) if part is Part.BEYOND else paper.reproduce(seeds, runner)
