"""`longpipe validate starlink`: compares the Starlink path with published measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import typer

from longpipe.cli.toolkit.console import show_table, terminal_table
from longpipe.cli.toolkit.outputs import check_output, write_output
from longpipe.cli.toolkit.safe import Console, echo
from longpipe.system.files import check_directory

if TYPE_CHECKING:
    from longpipe_evidence.validate.starlink_distances import Distance

# Repeated from the module of the comparison, which takes a second to load.
FILE = Path("tests/data/starlink/measured.csv")
# Tests in each batch with which the distances are computed: a sampling error would add to them.
_TESTS_OF_DISTANCES = 2000


def starlink(
    file: Path = typer.Argument(FILE, help="CSV file of the measured numbers."),
    batches: int = typer.Option(
        4, min=2, help="Number of batches of tests without a transport protocol, each with its own seed."
    ),
    tests: int = typer.Option(250, min=20, help="Number of tests in each batch."),
    runs: int = typer.Option(12, min=2, help="Number of runs of each congestion control and transfer."),
    csv: Path | None = typer.Option(None, metavar="FILE", help="Write the numbers of the model."),
    figures: Path | None = typer.Option(None, metavar="DIR", help="Write the figures of docs/starlink.md."),
) -> None:
    """Print each published number on Starlink beside that of the path of kind starlink, with its 95 % interval.

    A number for calibration determined parameters of the model, one for judgement is independent of them. Takes about a
    minute of CPU time. Exit status 0, because misses are results.
    """
    # Imported here because NumPy and the engine take a second to load.
    import pandas as pd

    from longpipe_evidence.validate.starlink import Effort, compare, goodputs_of_controls, read
    from longpipe_evidence.validate.starlink_distances import distances
    from longpipe_evidence.validate.starlink_figures import figures as drawn

    if csv is not None:
        check_output("--csv", csv)
    rows = read(file)
    table = terminal_table("number", "measured", "model", "criterion", "", "use", left=1)
    effort = Effort(batches, tests, runs)
    count: dict[str, list[bool]] = {}
    numbers = []
    for comparison in compare(rows, effort, lambda line: echo(line, err=True)):
        row, verdict = comparison.row, {True: "hit", False: "miss", None: ""}[comparison.holds]
        interval = f" ±{comparison.half_width:.3g}" if comparison.half_width == comparison.half_width else ""
        unit = f" {row['unit']}" if isinstance(row["unit"], str) else ""
        cells = (f"{row['value']:g}{unit}", f"{comparison.model:.4g}{interval}", str(row["criterion"]), verdict)
        table.add_row(str(row["id"]), *cells, str(row["use"]))
        model = {"model": f"{comparison.model:.4g}", "half_width": f"{comparison.half_width:.2g}", "verdict": verdict}
        numbers.append({"id": row["id"], "value": row["value"], **model})
        if comparison.holds is not None:
            count.setdefault(str(row["use"]), []).append(comparison.holds)
    show_table(Console(highlight=False), table)
    means = {name: fmean(values) for name, values in goodputs_of_controls(effort).items()}
    ordered = sorted(means.items(), key=lambda item: -item[1])
    echo("goodput of one flow down [Mbit/s]: " + ", ".join(f"{name} {mbps:.1f}" for name, mbps in ordered))
    _show_distances(distances(rows, replace(effort, tests=_TESTS_OF_DISTANCES)))
    for use, verdicts in count.items():
        echo(f"{use}: {sum(verdicts)} of {len(verdicts)} numbers meet their criterion")
    table_of_model = pd.DataFrame(numbers)
    if csv is not None:
        write_output(csv, table_of_model.drop(columns="value").to_csv(index=False, lineterminator="\n"))
    if figures is not None:
        check_directory("--figures", figures)
        for name, figure in drawn(table_of_model.astype({"model": float})):
            figure.savefig(figures / f"{name}.png", dpi=120)


def _show_distances(distances: Sequence[Distance]) -> None:
    """Prints the distances to the measured quartiles, of the example before version 0.3 and of the model."""
    table = terminal_table("distance to WetLinks' quartiles", "before", "model", "ratio", left=1)
    for row in distances:
        for name, (before, now), unit in (
            ("Kolmogorov-Smirnov", row.kolmogorov_smirnov, ""), ("Wasserstein", row.wasserstein, f" {row.unit}"),
        ):  # fmt: skip
            table.add_row(f"{row.quantity}, {name}", f"{before:.3g}{unit}", f"{now:.3g}{unit}", f"{before / now:.3g}")
    show_table(Console(highlight=False), table)
