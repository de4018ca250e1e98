"""`longpipe validate c4`: compares C4, BBR and CUBIC with the published results of C4's test cases."""

from pathlib import Path

import typer

from longpipe.cli.toolkit.console import terminal_table
from longpipe.cli.toolkit.naming import change
from longpipe.cli.toolkit.outputs import check_output, write_output
from longpipe.cli.toolkit.safe import Console, echo

FILE = Path("tests/data/c4/published.csv")


def c4(
    file: Path = typer.Argument(FILE, help="CSV file of the published means."),
    runs: int = typer.Option(5, min=1, help="Number of runs of each case and control, with different start times."),
    changes: list[str] | None = typer.Option(
        None, "--set", metavar="FIELD=VALUE", help="Change a field of C4, such as tcp.congestion.rules=picoquic."
    ),
    stack: Path | None = typer.Option(
        None, metavar="FILE", help="Run picoquic's controls instead: target/ends/picoquic.so, by make stacks-picoquic."
    ),
    csv: Path | None = typer.Option(None, metavar="FILE", help="Write the table."),
) -> None:
    """Print completion times, RTTs and shares of C4, BBR and CUBIC beside those of draft-huitema-ccwg-c4-test.

    A published difference of two controls above 10 % is compared by its sign. Takes about 5 minutes of CPU time. Exit
    status 0, because misses are results.
    """
    # Imported here because NumPy and the engine take a second to load.
    import pandas as pd

    from longpipe_evidence.validate.c4 import CONTROLS, OMITTED, compare, read

    if csv is not None:
        check_output("--csv", csv)
    published, fields = read(file), dict(change(text) for text in changes or ())
    table = terminal_table("case", "quantity", *CONTROLS, "signs", left=2)
    rows, signs = [], []
    for compared in compare(published, fields, runs, lambda line: echo(line, err=True), stack):
        cells = [f"{compared.model[control]:.4g} ({compared.published[control]:.4g})" for control in CONTROLS]
        pairs = list(compared.pairs())
        verdicts = ", ".join(f"{a} - {b} {'hit' if agrees else 'miss'}" for a, b, agrees in pairs)
        table.add_row(compared.case, f"{compared.quantity} [{compared.unit}]", *cells, verdicts)
        signs += [(compared.quantity, agrees) for _, _, agrees in pairs]
        rows.append({"case": compared.case, "quantity": compared.quantity, **compared.model, "signs": verdicts})
    Console(highlight=False, soft_wrap=True).print(table)
    echo("Each cell has longpipe's mean and, in parentheses, the published one.")
    for quantity in dict.fromkeys(quantity for quantity, _ in signs):
        of_quantity = [agrees for other, agrees in signs if other == quantity]
        echo(f"{quantity}: {sum(of_quantity)} of {len(of_quantity)} differences have the published sign")
    for case, reason in OMITTED.items():
        if case in set(published["case"]):
            echo(f"{case}: not compared; {reason}")
    if csv is not None:
        write_output(csv, pd.DataFrame(rows).to_csv(index=False, float_format="%.4g", lineterminator="\n"))
