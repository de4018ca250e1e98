"""`longpipe report`: one page with scenarios, results and data."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

import typer

from longpipe.cli.toolkit import completers
from longpipe.cli.toolkit.given import refuse
from longpipe.cli.toolkit.outputs import check_output, is_stdout, write_output
from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import StoreOption, opened
from longpipe.errors import ScenarioError
from longpipe_evidence.papers import IDS
from longpipe_evidence.papers.report.folder import RECORD

# Group of the command in `longpipe --help`.
GROUP: Final = "Evidence"

RESULTS: Final = Path("results")


def report(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STUDY|PAPER...]",
            help=f"A study in the store, or any of {', '.join(IDS)}. \\[default: all reproduced papers]",
            show_default=False,
            autocompletion=lambda incomplete: [*completers.among(IDS)(incomplete), *completers.study(incomplete)],
        ),
    ] = None,
    output: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        metavar="FILE|-",
        help="Output file; - is stdout. \\[default: report.html; for papers in DIR]",
    ),
    results: Path = typer.Option(
        RESULTS, "--results", metavar="DIR", help="Directory with the results of longpipe reproduce."
    ),
    responses: list[str] | None = typer.Option(
        None,
        "--response",
        metavar="COLUMN",
        help="Response of a study to analyse. Repeat for more. \\[default: the study's measures, or else "
        "efficiency and fairness]",
        autocompletion=completers.measure,
    ),
    statements: bool = typer.Option(
        False, "--statements", help="Print how many statements of each paper hold or fail, without writing a page."
    ),
    store: StoreOption = None,
) -> None:
    """Write an HTML report on a study, or on papers with claims and verdicts.

    longpipe report frr-96 gr-97

    The report is one file with tables, figures, sensitivities and data.
    """
    is_study = any(name not in IDS for name in names or ())
    if statements:
        refuse(context, ("--output", "-o", "--response", "--store"), "not with --statements, which writes no page")
    elif is_study:
        refuse(context, ("--results",), "not with a study, whose results are in the store")
    else:
        refuse(context, ("--response", "--store"), "not with papers; needs the name of a study")
    if statements:
        _statements(names or _reproduced(results), results, is_study=is_study)
        return
    output = output or (Path("report.html") if is_study else results / "report.html")
    check_output("--output", output)
    papers = names or _reproduced(results)
    # Imported here so that other commands start faster.
    from longpipe.cli.toolkit.progress import Waiting

    with Waiting(f"reporting on {', '.join(papers)}"):
        text = _study(papers, responses or [], store) if is_study else _papers(papers, results)
    write_output(output, text)
    if not is_stdout(output):
        echo(f"Report: {output}")


# Imported here because pandas, Matplotlib and the papers take a second to load.


def _reproduced(results: Path) -> list[str]:
    return [name for name in IDS if (results / name / RECORD).is_file()]


def _statements(names: list[str], results: Path, *, is_study: bool) -> None:
    """Prints the statements of papers with their verdicts."""
    if is_study:
        raise ScenarioError(f"--statements: {' '.join(names)}; needs papers: {', '.join(IDS)}")
    if not names:
        raise ScenarioError(f"--results: {results} has no paper; needs longpipe reproduce PAPER")
    from longpipe.cli.toolkit.safe import Console
    from longpipe_evidence.papers.report import statements
    from longpipe_evidence.papers.report.results import Results

    statements.show([Results(name, results / name) for name in dict.fromkeys(names)], Console())


def _papers(names: list[str], results: Path) -> str:
    if not names:
        raise ScenarioError(
            f"--results: {results} has no paper; needs longpipe reproduce PAPER, or the name of a study"
        )
    from longpipe_evidence.papers.report.page import page
    from longpipe_evidence.papers.report.results import Results

    return page(Results(name, results / name) for name in dict.fromkeys(names))


def _study(names: list[str], responses: list[str], store: str | None) -> str:
    """Returns the report on a study as HTML."""
    if len(names) > 1:
        raise ScenarioError(f"STUDY: {' '.join(names)}; needs one study, or papers alone: {', '.join(IDS)}")
    from longpipe.report.study import page
    from longpipe.study import Study

    with ExitStack() as stack:
        try:
            study = Study.open(names[0], stack.enter_context(opened(store, readonly=True)))
        except ScenarioError as error:
            papers = f"papers are {', '.join(IDS)}"
            raise ScenarioError(*(f"{problem}; {papers}" for problem in error.problems)) from None
        return page(study, responses)
