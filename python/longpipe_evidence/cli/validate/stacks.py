"""`longpipe validate stacks`: compares CUBIC in longpipe, quinn and noq over random paths."""

import typer

from longpipe.cli.toolkit.outputs import check_output, is_stdout, write_output
from longpipe.cli.toolkit.quantities import seconds
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError


def stacks(
    cases: int = typer.Option(20, min=1, help="Number of paths."),
    seed: int = typer.Option(0, min=0, help="Number of the first path."),
    duration: float = typer.Option(
        30, metavar="TIME", parser=seconds, help="Duration of each run, at least 1 s.", show_default="30 s"
    ),
    csv: str | None = typer.Option(None, metavar="FILE|-", help="Write every path as CSV; - is stdout."),
) -> None:
    r"""Run CUBIC of longpipe, quinn and noq alone over the same random paths, and show which of them deviates.

    An implementation deviates if its goodput differs from the median of the three by more than 5 %. Needs
    longpipe\[stacks].
    """
    if duration < 1:
        raise ScenarioError(f"--duration: {duration:g} s; needs at least 1 s")
    check_output("--csv", csv)
    import pandas as pd

    from longpipe.cli.toolkit.console import show_table, terminal, terminal_table
    from longpipe.cli.toolkit.progress import RunBar
    from longpipe_evidence.validate.stacks import IMPLEMENTATIONS, run

    rows = []
    with RunBar("stacks") as bar:
        for row in run(range(seed, seed + cases), duration):
            rows.append(row)
            bar.update(len(rows) / cases)
    text = pd.DataFrame(rows).to_csv(index=False)
    if csv is not None:
        write_output(csv, text)
    if is_stdout(csv):
        return
    table = terminal_table("path", *IMPLEMENTATIONS, "deviating", left=len(IMPLEMENTATIONS) + 2)
    for row in rows:
        path = f"{row['rate_mbits']:g} Mbit/s, {row['round_trip_ms']:g} ms, {row['buffer_bdp']:g} BDP"
        cells = [f"{row[name]:.2f} ({100 * row[f'{name}_lost']:.2f} %)" for name in IMPLEMENTATIONS]
        table.add_row(path, *cells, row["deviating"])
    console = terminal()
    show_table(console, table)
    counts = ", ".join(f"{name} {sum(name in row['deviating'].split() for row in rows)}" for name in IMPLEMENTATIONS)
    echo(f"Goodput [Mbit/s] and lost packets. Paths with a deviation of more than 5 %, of {len(rows)}: {counts}")
    for row in rows:
        for name in IMPLEMENTATIONS:
            if row[f"{name}_closed"]:
                echo(f"path {row['seed']}: {name} lost its connection: {row[f'{name}_closed']}")
    if csv is not None:
        echo(f"Paths: {csv}")
