"""`longpipe analyse`: analysis of variation of a table of runs."""

from pathlib import Path

import typer

from longpipe.cli.toolkit import completers
from longpipe.cli.toolkit.outputs import check_output, json_option
from longpipe.cli.toolkit.quantities import share
from longpipe.system.files import check_directory


def analyse(
    file: Path = typer.Argument(
        metavar="FILE.csv", help="CSV file with a header, a row per run, and a column per factor."
    ),
    response: str = typer.Option(
        metavar="COLUMN",
        help="Response: a numeric column, or an expression such as 'a / (a + b)'.",
        autocompletion=completers.column,
    ),
    factors: str = typer.Option(
        metavar="COLUMN,...", help="Factors: columns of levels.", autocompletion=completers.column
    ),
    unit: str | None = typer.Option(
        None,
        help="Unit of the response in the output, such as Mbit/s, MB or ms. "
        "\\[default: according to the column's name; throughput_bps in Mbit/s]",
    ),
    level: float = typer.Option(0.9, metavar="SHARE", parser=share, help="Confidence level of the intervals, 0 to 1."),
    order: int | None = typer.Option(
        None, help="Highest order of interactions. \\[default: number of factors; without replications, one less]"
    ),
    blocks: str | None = typer.Option(
        None, metavar="COLUMN", help="Blocking column: the seed, if runs share seeds.", autocompletion=completers.column
    ),
    where: list[str] | None = typer.Option(None, metavar="COLUMN=VALUE", help="Keep only the rows with this value."),
    compare: list[str] | None = typer.Option(
        None, metavar="COLUMN,...", help="Compare all levels of these factors with Tukey's test."
    ),
    robust: bool = typer.Option(
        False, "--robust", help="Add bootstrap intervals and rank tests, which do not assume normal errors."
    ),
    saturated: bool = typer.Option(
        False,
        "--saturated",
        help="Allow a model without an error term: it gives shares of the variation, but no tests.",
    ),
    json: str | None = json_option("the analysis"),
    csv: Path | None = typer.Option(None, metavar="DIR", help="Write every table as a CSV file."),
    figures: Path | None = typer.Option(None, metavar="DIR", help="Draw effects, interactions, residuals."),
) -> None:
    """Analyse the variation of a measured response over the factors of an experiment.

    longpipe analyse runs.csv --response efficiency --factors buffer,cc --blocks seed

    Shows the allocation of variation to factors and interactions, the effect of each level, and checks of the
    assumptions. The output of --json and --csv is in the unit of the column.
    """
    # Imported here because pandas and SciPy take a second to load.
    from longpipe.cli.analyse import answer

    question = answer.Question(
        response=response,
        unit=unit,
        factors=answer.columns("--factors", factors),
        level=level,
        order=order,
        blocks=blocks,
        where=tuple(where or ()),
        compare=tuple(answer.columns("--compare", text) for text in compare or ()),
        robust=robust,
        saturated=saturated,
    )
    check_output("--json", json)
    for option, directory in (("--csv", csv), ("--figures", figures)):
        if directory is not None:
            check_directory(option, directory)
    answer.run(file, question, json=json, csv=csv, figures=figures)
