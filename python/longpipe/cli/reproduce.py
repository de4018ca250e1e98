"""`longpipe reproduce`: a paper's tables, simulated again and judged."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from longpipe.cli.storing import (
    ExecutorOption,
    NoStoreOption,
    StoreOption,
    WorkersOption,
    opened_if_wanted,
    repeatable,
)
from longpipe.errors import ScenarioError, nearest
from longpipe.files import check_directory, check_file, write_text
from longpipe.report.folder import Part, is_current, records

if TYPE_CHECKING:
    from longpipe.study import Runner

DOCUMENTS: Final = ("frr-96", "gr-97", "buf-97", "www-98", "lbd-01")
TRANSFERS: Final = DOCUMENTS[-1]
DEFAULT_VARIANT_SEEDS: Final = 2


def reproduce(
    papers: Annotated[list[str], typer.Argument(metavar="PAPER...", help=f"Any of {', '.join(DOCUMENTS)}.")],
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of replications. [default: the paper's own, 10 or 20; "
            f"{DEFAULT_VARIANT_SEEDS} with --sensitivity; lbd-01 has nothing random and one run of each]",
            show_default=False,
        ),
    ] = None,
    json: Annotated[str | None, typer.Option(metavar="FILE|-", help="Write the numbers as JSON; - is stdout.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where tables and figures go; of several papers, to DIR/PAPER. [default: results/PAPER]",
            show_default=False,
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what is stored already.")] = False,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Show what each choice that the paper leaves open decides.")
    ] = False,
    beyond: Annotated[
        bool, typer.Option("--beyond", help="Go past what the paper did instead: buf-97, lbd-01.")
    ] = False,
    executor: ExecutorOption = None,
    workers: WorkersOption = None,
    store: StoreOption = None,
    no_store: NoStoreOption = False,
) -> None:
    """Simulate a paper's experiments; show its tables beside ours, and what becomes of its claims.

    Each run is stored as it finishes: after an interruption the same command goes on from there. What DIR holds
    already, made by the same version from the same seeds, is shown again as it is.
    """
    _check(papers, json, sensitivity=sensitivity, beyond=beyond)
    if seeds is not None and set(papers) == {TRANSFERS}:
        raise ScenarioError(f"--seeds: {seeds}; {TRANSFERS} has nothing random and one run of each, leave it out")
    if executor is not None or workers is not None:
        from longpipe.executors import executor_for

        executor_for(executor, workers)
    if json not in (None, "-"):
        check_file("--json", Path(str(json)))
    folders = {paper: _folder(paper, out, alone=len(papers) == 1) for paper in papers}
    for folder in folders.values():
        check_directory("--out", folder)
    for paper, folder in folders.items():
        anew = beyond or sensitivity or fresh
        if not anew and is_current(folder, Part.REPRODUCTION, paper, None if paper == TRANSFERS else seeds):
            _show_again(folder, json)
            continue
        with opened_if_wanted(store, no_store=no_store) as kept, repeatable(kept):
            from longpipe.study import Runner

            runner = Runner(kept, executor, workers, fresh)
            if beyond:
                _beyond(paper, seeds, folder, runner)
            elif sensitivity:
                _sensitivity(paper, seeds or DEFAULT_VARIANT_SEEDS, folder, runner)
            else:
                _reproduce(paper, seeds, folder, runner, json=json)


def _check(papers: list[str], json: str | None, *, sensitivity: bool, beyond: bool) -> None:
    if sensitivity and json is not None:
        raise ScenarioError("--json: not with --sensitivity, which writes sensitivity.csv")
    if beyond and (sensitivity or json is not None):
        raise ScenarioError("--beyond: not with --sensitivity or --json; it writes CSV files and figures")
    if json is not None and len(papers) > 1:
        raise ScenarioError(f"--json: {len(papers)} papers; needs one")
    for paper in papers:
        if paper not in DOCUMENTS:
            raise ScenarioError(f"PAPER: {paper!r}; {nearest(paper, DOCUMENTS)}")


def _folder(paper: str, out: Path | None, *, alone: bool) -> Path:
    if out is None:
        return Path("results") / paper
    return out if alone else out / paper


def _show_again(folder: Path, json: str | None) -> None:
    """Shows what a folder holds."""
    report = (folder / "report.json").read_text(encoding="utf-8")
    if json == "-":
        sys.stdout.write(report)
        return
    if json is not None:
        write_text(Path(json), report)
    sys.stdout.write((folder / "report.txt").read_text(encoding="utf-8"))
    finished = records(folder)[Part.REPRODUCTION]["finished_at"]
    typer.echo(f"\nUnchanged since {finished}. Report, tables, runs and figures: {folder}")


# The database, pandas and SciPy take a second to load; other commands need not wait for them.


def _reproduce(paper: str, seeds: int | None, out: Path, runner: "Runner", *, json: str | None) -> None:
    if paper == TRANSFERS:
        from longpipe.cli import lbd_01

        lbd_01.run(out, runner, json=json)
    else:
        from longpipe.cli import reproduction
        from longpipe.papers import PAPERS

        reproduction.run(PAPERS[paper], seeds or PAPERS[paper].seeds, out, runner, json=json)


def _sensitivity(paper: str, seeds: int, out: Path, runner: "Runner") -> None:
    if paper == TRANSFERS:
        from longpipe.cli import lbd_01

        lbd_01.run_sensitivity(out, runner)
    else:
        from longpipe.cli import reproduction
        from longpipe.papers import PAPERS

        reproduction.run_sensitivity(PAPERS[paper], seeds, out, runner)


def _beyond(paper: str, seeds: int | None, out: Path, runner: "Runner") -> None:
    if paper == TRANSFERS:
        from longpipe.cli import lbd_01

        lbd_01.run_beyond(out, runner)
    else:
        from longpipe.cli import reproduction
        from longpipe.papers import PAPERS

        reproduction.run_beyond(PAPERS[paper], seeds, out, runner)
