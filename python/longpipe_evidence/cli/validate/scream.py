"""`longpipe validate scream`: compares SCReAMv2 beside TCP Prague with measurements of its authors."""

from pathlib import Path

import typer

from longpipe.cli.toolkit.console import terminal_table
from longpipe.cli.toolkit.safe import Console, echo

FILE = Path("tests/data/scream/published.csv")


def scream(
    file: Path = typer.Argument(FILE, help="CSV file of the published rates."),
    rules: str = typer.Option("2026-08", help="Text of the draft: 2026-08, 2025-03 or 2024-10."),
    runs: int = typer.Option(2, min=1, help="Number of runs of each cell, with different start times."),
) -> None:
    """Print the rate of SCReAMv2 beside flows of TCP Prague over DualPI2, and the authors' rates.

    A cell is close if the rates differ by at most 10 of 100 Mbit/s. Takes about a minute of CPU time. Exit status 0,
    because misses are results.
    """
    # Imported here because NumPy and the engine take a second to load.
    from longpipe_evidence.validate.scream import compare

    table = terminal_table("RTT [ms]", "flows of TCP", "longpipe [Mbit/s]", "published", "", left=0)
    cells = list(compare(file, runs, rules))
    for cell in cells:
        texts = f"{cell.model_mbps:.1f}", f"{cell.published_mbps:g}", "close" if cell.is_close else "miss"
        table.add_row(f"{cell.rtt_ms:g}", str(cell.tcp_flows), *texts)
    Console(highlight=False, soft_wrap=True).print(table)
    echo(f"{sum(cell.is_close for cell in cells)} of {len(cells)} rates differ by at most 10 Mbit/s")
