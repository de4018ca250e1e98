"""`longpipe suite`: the scenarios of a document, run and reported."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.markup import escape
from rich.table import Table

from longpipe.cli.toolkit.completers import among
from longpipe.cli.toolkit.given import refuse
from longpipe.cli.toolkit.naming import change
from longpipe.cli.toolkit.outputs import check_output
from longpipe.cli.toolkit.storing import Execution, SetOption
from longpipe.errors import ScenarioError, nearest
from longpipe.measures.readable import written
from longpipe.system.files import check_directory, write_text
from longpipe_evidence.suites import IDS, SUITES

if TYPE_CHECKING:
    from rich.console import Console

    from longpipe.report.parts import Report
    from longpipe_evidence.suites.outcome import PartOutcome
    from longpipe_evidence.suites.suite import Suite

# Group of the command in `longpipe --help`.
GROUP: Final = "Evidence"

# Exit status if the control under test fails a condition.
FAILED: Final = 1
# Options that --list does not use.
NOT_LISTED: Final = ("--out", "-o", "--junit", "--executor", "--workers", "--memory", "--store", "--no-store")


def suite(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SUITE", help=f"Any of {', '.join(IDS)}.", autocompletion=among(IDS))],
    parts: list[str] | None = typer.Argument(
        None, metavar="[PART...]", help="Sections of the document. \\[default: all]"
    ),
    control: str | None = typer.Option(
        None,
        metavar="CONTROL",
        help="Congestion control under test, for rfc-9743: a name, module:FILE.c, module:FILE.so or "
        "python:FILE.py:CLASS. \\[default: cubic]",
    ),
    listed: bool = typer.Option(False, "--list", help="Show the parts and their cost without running them."),
    seeds: int | None = typer.Option(
        None, min=1, help="Replications of each point. \\[default: the suite's own, 2 or 3]"
    ),
    changes: SetOption = None,
    out: Path | None = typer.Option(
        None, "--out", "-o", metavar="DIR", help="Directory for the report and tables. \\[default: results/SUITE]"
    ),
    junit: Path | None = typer.Option(
        None, metavar="FILE", help="Write the verdicts on the control under test as JUnit XML, for rfc-9743."
    ),
    *,
    execution: Execution,
) -> None:
    r"""Run the test scenarios of a document on queues, TCP, a congestion control, or media.

    longpipe suite rfc-9743 --control bbr3

    rfc-7928: queue disciplines. tcpeval: the TCP evaluation suite. rfc-9743 --control CONTROL: the report card of a
    congestion control in competition with CUBIC, Reno and BBR. rfc-8867: WebRTC media. bbr-draft: BBRv3 of longpipe and
    noq. The last two need longpipe\[stacks].

    Each run is stored as soon as it is complete: the same command continues after an interruption. Exit status of
    rfc-9743: 1 if the control under test fails a condition or has no value.
    """
    if name not in IDS:
        raise ScenarioError(f"SUITE: {name!r}; {nearest(name, IDS)}")
    # Imported here because designs, the database and pandas take a second to load.
    from longpipe.cli.toolkit.console import terminal
    from longpipe.cli.toolkit.progress import Bar
    from longpipe.cli.toolkit.warnings import warn_of_changes
    from longpipe_evidence.suites.criteria import fails
    from longpipe_evidence.suites.outcome import run
    from longpipe_evidence.suites.page import UNCHANGED, report

    selected = _asked(name, control, junit)
    fields, count = dict(change(text) for text in changes or ()), seeds or selected.seeds
    designs = [(part, part.design(count, fields)) for part in selected.only(parts or [])]
    warn_of_changes({part.id: design for part, design in designs}, fields)
    console = terminal()
    if listed:
        refuse(context, NOT_LISTED, "not with --list, which runs nothing")
        for part, design in designs:
            console.print(f"{part.id:<9} {part.title}\n{'':<9} {design.cost()}", markup=False, highlight=False)
        return
    folder = out or Path("results") / name
    check_directory("--out", folder)
    if junit is not None:
        check_output("--junit", junit)
    outcomes = []
    with execution.runner() as runner:
        for part, design in designs:
            with Bar(f"{name} {part.id}") as bar:
                outcome = run(part, design, runner.telling(bar.update))
            outcomes.append(outcome)
            _show(console, outcome)
    for field, value in fields.items():
        console.print(f"Changed in every run: {field} = {value}. {UNCHANGED}", markup=False, highlight=False)
    _write(folder, junit, selected, outcomes, report(selected, outcomes, count, fields))
    console.print(f"Page, and a row for each run: {folder}", markup=False, highlight=False, soft_wrap=True)
    if selected.of_control is not None and fails(outcomes):
        raise typer.Exit(FAILED)


def _asked(name: str, control: str | None, junit: Path | None) -> Suite:
    """Returns the suite, for the control under test if one is given; raises ScenarioError if the suite tests none."""
    selected = SUITES[name]
    for option, value in (("--control", control), ("--junit", junit and str(junit))):
        if value is not None and selected.of_control is None:
            raise ScenarioError(f"{option}: {value!r}; the suite {name} tests no congestion control; needs rfc-9743")
    if control is not None and selected.of_control is not None:
        return selected.of_control(control)
    return selected


def _write(folder: Path, junit: Path | None, suite: Suite, outcomes: list[PartOutcome], report: Report) -> None:
    """Writes the report as HTML and Markdown, a table of runs for each part, and the verdicts as JUnit XML."""
    from longpipe.report import markdown
    from longpipe.report.junit import write_junit
    from longpipe.report.page import render
    from longpipe.report.svg import Palette
    from longpipe_evidence.suites.criteria import cases
    from longpipe_evidence.suites.page import file_name

    write_text(folder / "report.html", render(report, Palette()))
    write_text(folder / "report.md", markdown.render(report))
    for outcome in outcomes:
        write_text(folder / f"{file_name(outcome)}.csv", outcome.runs.to_csv(index=False))
    if junit is not None:
        write_junit(junit, suite.title, cases(suite.id, outcomes))


def _show(console: Console, outcome: PartOutcome) -> None:
    """Prints the means, criteria and note of a part."""
    from longpipe.cli.toolkit.console import show_table
    from longpipe_evidence.suites.criteria import verdicts

    part = outcome.part
    console.print(f"{part.id} {part.title}", style="bold", markup=False, highlight=False)
    show_table(console, _table(outcome), len(outcome.design.factors))
    for criterion in part.criteria:
        console.print(f"Proposed: {criterion.text}", markup=False, highlight=False)
        for verdict in verdicts(criterion, outcome):
            console.print(f"  {verdict.control}: {verdict.words}", markup=False, highlight=False)
    console.print(f"{part.note}\n", style="dim", markup=False, highlight=False)


def _table(outcome: PartOutcome) -> Table:
    """Returns the means of a part, each with the half-width of its interval."""
    means = outcome.means()
    heads = [str(head) for head in means.columns if not str(head).startswith("± ")]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        table.add_column(escape(head), justify="left" if head in outcome.factors else "right", no_wrap=True)
    for row in means.to_dict("records"):
        table.add_row(*(_shown(row, head) for head in heads))
    return table


def _shown(row: dict[Any, Any], head: str) -> str:
    value = row[head]
    if not isinstance(value, float):
        return escape(str(value))
    from longpipe_evidence.suites.outcome import margin

    return "-" if math.isnan(value) else written(value, margin(row, head), 3)
