"""`longpipe report`: one page of what was run and what came of it."""

from pathlib import Path
from typing import Annotated, Final

import typer

from longpipe.cli.reproduce import DOCUMENTS
from longpipe.errors import ScenarioError, nearest
from longpipe.files import check_file, write_text
from longpipe.report.folder import RECORD

RESULTS: Final = Path("results")


def report(
    documents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAPER...]",
            help=f"Any of {', '.join(DOCUMENTS)}. [default: all that have been reproduced]",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The page. [default: DIR/report.html]", show_default=False),
    ] = None,
    results: Annotated[
        Path, typer.Option("--results", metavar="DIR", help="Where longpipe reproduce has left a folder for each.")
    ] = RESULTS,
) -> None:
    """Write one self-contained HTML page: what was run, tables, figures, claims and verdicts, sensitivity, data."""
    chosen = documents or [name for name in DOCUMENTS if (results / name / RECORD).is_file()]
    for name in chosen:
        if name not in DOCUMENTS:
            raise ScenarioError(f"PAPER: {name!r}; {nearest(name, DOCUMENTS)}")
    if not chosen:
        raise ScenarioError(f"--results: {results} has no document; needs longpipe reproduce PAPER")
    output = output or results / "report.html"
    check_file("--output", output)

    # Pandas and the papers take a second to load; other commands need not wait for them.
    from longpipe.report.documents import page
    from longpipe.report.results import Results

    write_text(output, page(Results(name, results / name) for name in dict.fromkeys(chosen)))
    typer.echo(f"Report: {output}")
