"""`longpipe validate stacks-live`: compares quinn in real time with quinn in virtual time."""

from typing import TYPE_CHECKING

import typer
from rich.table import Table

from longpipe.cli.toolkit.outputs import check_output, is_stdout, write_output
from longpipe.cli.toolkit.quantities import seconds
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError

if TYPE_CHECKING:
    from longpipe_evidence.validate.stacks_live import LiveComparison

DIFFERENT = 1
# Share of the paths that must agree.
ASKED = 0.9


def stacks_live(
    cases: int = typer.Option(10, min=1, help="Number of paths."),
    first: int = typer.Option(0, min=0, help="Number of the first path, and its seed."),
    duration: float = typer.Option(
        60,
        metavar="TIME",
        parser=seconds,
        help="Transmission time of the data of each path at the link's rate, at least 1 s.",
        show_default="60 s",
    ),
    csv: str | None = typer.Option(None, metavar="FILE|-", help="Write every path as CSV; - is stdout."),
) -> None:
    r"""Send with quinn over live paths in real time, and with the same quinn in five simulations of each path.

    The exit status is 1 if the goodput differs by more than 1 %, or the losses by more than 5 %, on more than one of
    ten paths. Needs longpipe\[stacks] and the rights that `longpipe live` needs.
    """
    if duration < 1:
        raise ScenarioError(f"--duration: {duration:g} s; needs at least 1 s")
    check_output("--csv", csv)
    # Imported here because pandas and the engine take a second to load.
    import pandas as pd

    from longpipe.cli.toolkit.console import show_table, terminal
    from longpipe.cli.toolkit.progress import RunBar
    from longpipe.live.machine import check_machine
    from longpipe.stacks import transfer
    from longpipe_evidence.validate.stacks_live import compare, draw

    transfer()
    check_machine()
    comparisons: list[LiveComparison] = []
    with RunBar("stacks-live") as bar:
        for number in range(first, first + cases):
            comparisons.append(compare(draw(number), duration))
            bar.update(len(comparisons) / cases)
    text = pd.DataFrame([comparison.row() for comparison in comparisons]).to_csv(index=False)
    agree = sum(comparison.agrees for comparison in comparisons)
    if csv is not None:
        write_output(csv, text)
    if not is_stdout(csv):
        show_table(terminal(), _table(comparisons))
        for comparison in comparisons:
            for name, transferred in (("live", comparison.live), ("simulated", comparison.simulated)):
                if transferred.closed:
                    echo(f"path {comparison.path.number}, {name}: connection lost: {transferred.closed}")
        echo(f"Goodput within 1 % and losses within 5 %: {agree} of {len(comparisons)} paths")
        if csv is not None:
            echo(f"Paths: {csv}")
    if agree < ASKED * len(comparisons):
        raise typer.Exit(DIFFERENT)


def _table(comparisons: "list[LiveComparison]") -> Table:
    """Returns the table that compares real transfers with simulated ones."""
    from longpipe.cli.toolkit.console import terminal_table

    compared = ("\nsimulated", "\napart")
    heads = ("goodput [Mbit/s]\nlive", *compared, "lost [packets]\nlive", *compared)
    table = terminal_table("path", *heads, "99 % of the packets\nlate by [ms]", no_wrap=False)
    for comparison in comparisons:
        path, row = comparison.path, comparison.row()
        table.add_row(
            f"{path.number}: {path.control}, {path.rate_mbits:g} Mbit/s, {path.round_trip_ms:g} ms, "
            f"{path.buffer_packets} packets",
            f"{comparison.live.goodput_mbits:.3f}",
            f"{comparison.simulated.goodput_mbits:.3f}",
            f"{comparison.goodput_apart:+.2%}",
            f"{comparison.live.drops}",
            f"{comparison.simulated.drops:g}",
            f"{comparison.drops_apart:+.1%}",
            f"{row['p99_late_ms']:.2f}",
        )
    return table
