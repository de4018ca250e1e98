"""`longpipe validate access`: compares medium access with closed forms and independent simulations."""

from pathlib import Path

import typer

from longpipe.cli.toolkit.console import terminal_table
from longpipe.cli.toolkit.safe import Console, echo

# Repeated from the module of the comparison, which takes a second to load.
FOLDER = Path("tests/data/access")
MISSES = 1


def access(
    folder: Path = typer.Argument(FOLDER, help="Folder of random-access.csv and delays.csv."),
    packets: int = typer.Option(20_000, min=1000, help="Number of datagrams at each load of random access."),
) -> None:
    """Print losses of random access, delays of requests and HARQ, and gains of fairness, beside independent numbers.

    The numbers are closed forms, and simulations of a collision channel without longpipe. The exit status is 1 if a
    number of the model differs by more than the tolerance and three standard errors.
    """
    # Imported here because NumPy and the engine take a second to load.
    from longpipe_evidence.validate.access import compare, rows

    table = terminal_table("number", "independent", "tolerance", "model", "", left=1)
    verdicts = []
    for compared in compare(rows(folder), packets):
        verdicts.append(compared.holds)
        model = f"{compared.model:.4g} ±{compared.error:.2g}"
        verdict = "hit" if compared.holds else "miss"
        table.add_row(compared.name, f"{compared.value:.4g}", f"{compared.tolerance:g}", model, verdict)
    Console(highlight=False, soft_wrap=True).print(table)
    echo(f"{sum(verdicts)} of {len(verdicts)} numbers are within their tolerance")
    if not all(verdicts):
        raise typer.Exit(MISSES)
