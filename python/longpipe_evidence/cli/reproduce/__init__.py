"""`longpipe reproduce`: reproduces the tables of papers and judges their claims."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from longpipe.cli.toolkit.completers import among
from longpipe.cli.toolkit.given import refuse
from longpipe.cli.toolkit.outputs import check_output, is_stdout, json_option, write_output
from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import Execution
from longpipe.errors import ScenarioError, nearest
from longpipe.system.files import check_directory
from longpipe_evidence.papers import FOUNDING, IDS, PAPERS
from longpipe_evidence.papers.report.folder import Part, in_use, is_current, records

# Default directory of --today.
TODAY: Final = Path("results/today")
# Options of simulations.
SIMULATING: Final = ("--fresh", "--executor", "--workers", "--memory", "--store", "--no-store")


# Group of the command in `longpipe --help`.
GROUP: Final = "Evidence"


def reproduce(
    context: typer.Context,
    papers: Annotated[
        list[str],
        typer.Argument(metavar="PAPER...", help=f"Any of {', '.join(IDS)}.", autocompletion=among(IDS)),
    ],
    seeds: int | None = typer.Option(
        None,
        min=1,
        help="Number of replications. \\[default: the paper's own, 10 or 20; 2 with --sensitivity; "
        "1 if nothing is random]",
    ),
    json: str | None = json_option("the numbers"),
    out: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Directory for tables and figures; with several papers DIR/PAPER. \\[default: results/PAPER]",
    ),
    fresh: bool = typer.Option(False, "--fresh", help="Repeat runs that are stored already."),
    sensitivity: bool = typer.Option(
        False, "--sensitivity", help="Show the effect of each choice that the paper leaves open."
    ),
    readings: bool = typer.Option(
        False, "--readings", help="Compare other interpretations of the paper's text with its statements and tables."
    ),
    beyond: bool = typer.Option(
        False, "--beyond", help="Run the extension beyond the paper instead, where there is one."
    ),
    today: bool = typer.Option(
        False,
        "--today",
        help="Show which conclusions of the five documents survive with today's TCP, queues, links and web pages, "
        "from results that come with longpipe; with --seeds N simulate them instead.",
    ),
    table: int | None = typer.Option(
        None, min=1, help="Show only this table of the paper, by its number, and write no files."
    ),
    *,
    execution: Execution,
) -> None:
    """Simulate the experiments of a paper, compare its tables and judge its claims.

    longpipe reproduce frr-96 --table 1

    Each run is stored as soon as it is complete: the same command continues after an interruption. Results in DIR from
    the same version and the same seeds are shown without simulation.
    """
    if today:
        has_others = any((sensitivity, readings, beyond, table is not None, json is not None))
        _check_today(context, papers, seeds, has_other_options=has_others)
        folder = out or TODAY
        check_directory("--out", folder)
        # Without --seeds nothing is simulated, and no store is needed.
        with execution.runner(fresh=fresh, needs_store=seeds is not None) as runner:
            from longpipe_evidence.cli.reproduce import today as of_today

            of_today.run(papers, seeds, folder, runner)
        return
    options = {Part.SENSITIVITY: sensitivity, Part.READINGS: readings, Part.BEYOND: beyond}
    selected = [part for part, is_selected in options.items() if is_selected]
    _check(papers, json, selected)
    if table is not None and (len(papers) > 1 or selected or json is not None or out is not None):
        raise ScenarioError(
            "--table: shows one table on the terminal; not with --sensitivity, --readings, --beyond, --json, --out"
        )
    # Papers without random inputs, for which a number of seeds has no meaning.
    fixed = [] if seeds is None else [paper for paper in dict.fromkeys(papers) if PAPERS[paper].seeds is None]
    if fixed and set(fixed) == set(papers):
        raise ScenarioError(
            f"--seeds: {seeds}; {', '.join(fixed)} has no random inputs, so one run of each suffices; omit the option"
        )
    execution.check()
    check_output("--json", json)
    if table is not None:
        with execution.runner(fresh=fresh) as runner:
            from longpipe_evidence.cli.reproduce import parts

            parts.show_table(PAPERS[papers[0]], table, seeds, runner)
        return
    folders = {paper: _folder(paper, out, alone=len(papers) == 1) for paper in papers}
    for folder in folders.values():
        check_directory("--out", folder)
    part = selected[0] if selected else Part.REPRODUCTION
    for paper, folder in folders.items():
        seed_count = None if paper in fixed else seeds
        if part is Part.REPRODUCTION and not fresh and _show_stored(paper, seed_count, folder, json):
            continue
        with execution.runner(fresh=fresh) as runner:
            # Imported here because the database, pandas and SciPy take a second to load.
            from longpipe_evidence.cli.reproduce import parts

            parts.run(PAPERS[paper], part, seed_count, folder, runner, json=json)


def _check(papers: list[str], json: str | None, selected: list[Part]) -> None:
    """Raises ScenarioError for unknown papers and for options that exclude each other."""
    if selected and json is not None:
        raise ScenarioError(f"--json: not with --{selected[0]}, which writes CSV files")
    if len(selected) > 1:
        raise ScenarioError(f"--{selected[-1]}: not with --{selected[0]}; needs one of them")
    if json is not None and len(papers) > 1:
        raise ScenarioError(f"--json: {len(papers)} papers; needs one")
    for paper in papers:
        if paper not in IDS:
            raise ScenarioError(f"PAPER: {paper!r}; {nearest(paper, IDS)}")


def _check_today(context: typer.Context, papers: list[str], seeds: int | None, *, has_other_options: bool) -> None:
    """Raises ScenarioError for options that --today does not have."""
    if has_other_options:
        raise ScenarioError(
            "--today: not with --sensitivity, --readings, --beyond, --table or --json; it writes a page and CSV files"
        )
    if seeds is None:
        refuse(context, SIMULATING, "not with --today alone, which simulates nothing; needs --seeds N")
    for paper in papers:
        if paper not in FOUNDING:
            raise ScenarioError(f"--today: {paper!r}; {nearest(paper, FOUNDING)}")


def _folder(paper: str, out: Path | None, *, alone: bool) -> Path:
    if out is None:
        return Path("results") / paper
    return out if alone else out / paper


def _show_stored(paper: str, seeds: int | None, folder: Path, json: str | None) -> bool:
    """Shows the results of a folder; returns False if the results are outdated."""
    with in_use(folder):
        if not is_current(folder, Part.REPRODUCTION, paper, seeds):
            return False
        report, text = ((folder / name).read_text(encoding="utf-8") for name in ("report.json", "report.txt"))
        finished = records(folder)[Part.REPRODUCTION]["finished_at"]
    if json is not None:
        write_output(json, report)
    if is_stdout(json):
        return True
    sys.stdout.write(text)
    echo(f"\nUnchanged since {finished}. Report, tables, runs and figures: {folder}")
    return True
