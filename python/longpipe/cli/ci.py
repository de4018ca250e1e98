"""`longpipe ci`: regression tests of congestion controls and protocol stacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from longpipe.cli.toolkit.help import App
from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import Execution, typed_command
from longpipe.cli.toolkit.structs import with_structs
from longpipe.errors import RunError, ScenarioError
from longpipe.system.files import check_directory, check_file, write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longpipe.ci.verdicts import Comparison

app = App(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Test whether a changed congestion control or stack is worse than before.",
)


@app.command()
def init(
    sender: str | None = typer.Argument(
        None,
        metavar="[SENDER]",
        help="Sender to test: stack:quinn-bbr, own-stack:FILE.so, own-stack:FILE.py, own-stack:FILE.so:NAME-CONTROL, "
        "module:FILE.c, python:FILE.py:CLASS, or the name of a control.",
    ),
    folder: Path = typer.Option(Path(), "--dir", metavar="DIR", help="Folder of the repository."),
    stack: str | None = typer.Option(
        None,
        "--stack",
        metavar="STACK",
        help="Instead of a sender: quinn or noq, which a crate compiles with your changes.",
    ),
    clone: Path | None = typer.Option(
        None,
        "--clone",
        metavar="DIR",
        help="Clone of longpipe that the crate uses. \\[default: the clone that this longpipe was built from]",
    ),
) -> None:
    """Write longpipe.toml, the plan of a regression test, and a workflow that runs it on GitHub.

    longpipe ci init own-stack:target/release/libmine.so

    longpipe ci init --stack quinn
    """
    from longpipe.ci.files import WORKFLOW, crate_folder, crate_sender, crate_texts, plan_text, workflow_text
    from longpipe.ci.plan import FILE
    from longpipe.fairness.controls import Sender

    if (sender is None) == (stack is None):
        raise ScenarioError("SENDER: needs either a sender or --stack")
    if clone is not None and stack is None:
        raise ScenarioError("--clone: not without --stack")
    crate = {} if stack is None else crate_texts(stack, clone)
    tested = sender or crate_sender(stack or "")
    Sender.parse(tested, "SENDER")
    texts = {folder / FILE: plan_text(tested), folder / WORKFLOW: workflow_text()}
    texts |= {folder / file: text for file, text in crate.items()}
    for file in texts:
        if file.exists():
            raise ScenarioError(f"--dir: {file} exists; remove it, or edit it")
        check_directory("--dir", file.parent)
    for file, text in texts.items():
        write_text(file, text)
        echo(f"Written: {file}")
    if stack is not None:
        echo(f"Next: cargo build --release --manifest-path {folder / crate_folder(stack) / 'Cargo.toml'}")
    echo("Next: longpipe ci run --update writes the baseline, which belongs into the repository")


@app.command()
@with_structs
def run(
    plan_file: Path = typer.Argument(Path("longpipe.toml"), metavar="[FILE.toml]", help="Plan of the test."),
    base: str | None = typer.Option(
        None, "--base", metavar="SENDER", help="Sender to compare with, instead of the baseline's measures."
    ),
    new: str | None = typer.Option(None, "--new", metavar="SENDER", help="Sender to test, instead of the plan's."),
    update: bool = typer.Option(False, "--update", help="Write the measures of the sender to the baseline."),
    junit: Path | None = typer.Option(None, "--junit", metavar="FILE.xml", help="File for the results as JUnit XML."),
    page: Path | None = typer.Option(None, "--page", metavar="FILE.html", help="File for the results as a page."),
    *,
    execution: Execution,
) -> None:
    """Compare a sender with its baseline, run by run with equal seeds. Exit status 1 if a measure has regressed.

    longpipe ci run --base own-stack:base.so --new own-stack:changed.so

    Measures are the time of the transfers, the 95th percentile of the queueing delay, and the share of packets that
    are retransmitted; a connection that ends early is a regression.
    """
    from longpipe.ci import baseline
    from longpipe.ci.plan import RegressionPlan
    from longpipe.ci.runs import runs_of
    from longpipe.ci.verdicts import compare
    from longpipe.cli.toolkit.progress import Bar
    from longpipe.fairness.controls import Sender

    if update and (base is not None or new is not None or junit is not None or page is not None):
        raise ScenarioError("--update: not with --base, --new, --junit or --page; it only writes the baseline")
    plan = RegressionPlan.read(plan_file)
    written = plan.baseline if update else None
    for option, file in (("--junit", junit), ("--page", page), (f"{plan_file}: baseline", written)):
        if file is not None:
            check_file(option, file)
    tested = plan.sender if new is None else new
    senders = {tested: Sender.parse(tested, f"{plan_file}: sender" if new is None else "--new")}
    if base is not None:
        senders[base] = Sender.parse(base, "--base")
    baseline_runs = baseline.read(plan) if base is None and not update else {}
    with execution.runner(needs_store=False) as runner, Bar("regression test") as bar:
        runs = {name: runs_of(plan, sender, runner.telling(bar.update)) for name, sender in senders.items()}
    if update:
        baseline.write(plan, runs[tested])
        echo(f"Baseline of {tested}: {plan.baseline}")
        return
    compared = compare(baseline_runs if base is None else runs[base], runs[tested], plan.margin)
    _show(compared)
    names = (f"the baseline {plan.baseline}" if base is None else base, tested)
    if junit is not None:
        from longpipe.ci.page import cases
        from longpipe.report.junit import write_junit

        write_junit(junit, typed_command(), cases(compared))
    if page is not None:
        from longpipe.ci.page import page as rendered

        write_text(page, rendered(plan, compared, names))
    _end(compared)


def _show(compared: Sequence[Comparison]) -> None:
    """Prints a row per scenario and measure."""
    from rich.markup import escape

    from longpipe.ci.verdicts import Verdict
    from longpipe.cli.toolkit.console import show_table, terminal, terminal_table

    styles = {Verdict.REGRESSED: "red", Verdict.INCONCLUSIVE: "yellow", Verdict.IMPROVED: "green"}
    table = terminal_table("scenario", "measure", "base", "changed", "change [%]", "verdict")
    for row in compared:
        change = row.change
        style = styles.get(row.verdict)
        table.add_row(
            escape(row.scenario),
            f"{row.measure.name} [{row.measure.unit}]".replace("[", r"\["),
            f"{row.base:.4g}",
            f"{row.new:.4g}",
            f"{100 * change.mean:+.1f} ±{50 * (change.mean_high - change.mean_low):.1f}",
            str(row.verdict) if style is None else f"[{style}]{row.verdict}[/]",
        )
    show_table(terminal(), table)


def _end(compared: Sequence[Comparison]) -> None:
    """Prints deaths and the summary. Raises RunError, which ends the command with status 1, if a measure regressed."""
    from longpipe.ci.verdicts import Verdict

    for line in dict.fromkeys(line for row in compared for line in row.deaths):
        echo(line)
    counts = {verdict: sum(row.verdict == verdict for row in compared) for verdict in Verdict}
    if open_rows := counts[Verdict.INCONCLUSIVE]:
        echo(f"inconclusive measures: {open_rows}; more seeds make their intervals smaller")
    regressed = dict.fromkeys(row.scenario for row in compared if row.verdict == Verdict.REGRESSED)
    if regressed:
        scenarios = {row.scenario for row in compared}
        raise RunError(f"regressed in {len(regressed)} of {len(scenarios)} scenarios: {', '.join(regressed)}")
    echo("No measure has regressed.")
