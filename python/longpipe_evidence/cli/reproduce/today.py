"""`longpipe reproduce PAPER... --today`: which conclusions survive with today's senders, queues, links and pages."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from longpipe.cli.toolkit.progress import Bar
from longpipe.store import engine_version
from longpipe.study import Runner
from longpipe_evidence.cli.reproduce.parts import console
from longpipe_evidence.papers.report.folder import Folder, Part
from longpipe_evidence.papers.text import text_of
from longpipe_evidence.papers.today import results as of_today
from longpipe_evidence.papers.today.answers import answers
from longpipe_evidence.papers.today.experiments import SEEDS
from longpipe_evidence.papers.today.page import page
from longpipe_evidence.papers.today.text import show

PAGE: Final = "today.html"


def run(documents: list[str], seeds: int | None, out: Path, runner: Runner) -> None:
    """Writes the page of the given documents, and prints their conclusions on the terminal.

    Without `seeds` it shows the results that come with longpipe; with `seeds` it simulates the missing runs.
    """
    if seeds is None:
        results = of_today.frozen()
    else:
        with Bar("today") as bar:
            results = of_today.simulated(seeds, runner.telling(bar.update), engine_version())
    conclusions = answers(documents, results.runs)
    shown = partial(show, conclusions)
    folder = Folder(out, Part.TODAY, "today", int(results.record["seeds"]), SEEDS)
    folder.text(PAGE, page(results, conclusions))
    folder.text("today.txt", text_of(shown))
    folder.text(f"{of_today.RUNS}.csv", results.runs.to_csv(index=False, float_format="%.6g"))
    folder.close(**{name: results.record[name] for name in ("command", "engine")})
    target = console()
    shown(target)
    target.print(f"\nPage, answers and runs: {out / PAGE}", markup=False, highlight=False, soft_wrap=True)
