"""`longpipe validate linux ends`: compares Linux as an end over longpipe's queue with Linux's own queue."""

from typing import TYPE_CHECKING, get_args

import typer
from rich.table import Table

from longpipe.cli.toolkit.outputs import check_output, is_stdout, write_output
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError, nearest
from longpipe_evidence.validate.linux import LinuxControl

if TYPE_CHECKING:
    from longpipe_evidence.validate.linux_ends import EndComparison

DIFFERENT = 1


def ends(
    control: list[str] | None = typer.Option(
        None, metavar="NAME", help="Congestion control; default: twelve of the kernel's."
    ),
    draws: int = typer.Option(3, min=1, help="Number of runs of a control that draws random numbers."),
    csv: str | None = typer.Option(None, metavar="FILE|-", help="Write every run as CSV; - is stdout."),
) -> None:
    """Send with Linux's TCP over longpipe's tail-drop queue, and over the same guest's own queue, in turn.

    The path has 10 Mbit/s, 100 ms and 100 packets; goodput and median RTT are measured from 20 to 60 s. The exit
    status is 1 if a control's goodput differs by more than 0.6 %, its RTT by more than 2 %, or its losses by more than
    15 %. Needs Debian's package user-mode-linux.
    """
    check_output("--csv", csv)
    # Imported here because pandas and the engine take a second to load.
    import pandas as pd

    from longpipe.cli.toolkit.console import show_table, terminal
    from longpipe.cli.toolkit.progress import RunBar
    from longpipe_evidence.validate.linux_ends import CONTROLS, compare, runs

    controls: list[LinuxControl] = []
    for name in control or CONTROLS:
        if name not in get_args(LinuxControl):
            raise ScenarioError(f"--control: {name!r}; {nearest(name, get_args(LinuxControl))}")
        controls.append(name)  # type: ignore[arg-type]
    comparisons, count = [], len(runs(controls, draws))
    with RunBar("ends") as bar:
        for comparison in compare(controls, draws):
            comparisons.append(comparison)
            bar.update(len(comparisons) / count)
    text = pd.DataFrame([comparison.row() for comparison in comparisons]).to_csv(index=False)
    if csv is not None:
        write_output(csv, text)
    if not is_stdout(csv):
        show_table(terminal(), _table(comparisons))
        used_s = [sum(getattr(comparison, side).cpu_s for comparison in comparisons) for side in ("longpipe", "own")]
        echo("longpipe's queue, and Linux's own in parentheses")
        echo(f"CPU time: {used_s[0]:.0f} s, {used_s[0] / used_s[1]:.2f} times that over Linux's own queue")
        if csv is not None:
            echo(f"Runs: {csv}")
    if not all(comparison.agrees for comparison in comparisons):
        raise typer.Exit(DIFFERENT)


def _table(comparisons: "list[EndComparison]") -> Table:
    """Returns the table of longpipe's results as ends of Linux's path, with Linux's own results in parentheses."""
    from longpipe.cli.toolkit.console import terminal_table

    heads = ("control", "goodput [Mbit/s]", "median RTT [ms]", "lost packets", "CPU [s]")
    table = terminal_table(*heads, no_wrap=False)
    table.add_column()
    for comparison in comparisons:
        longpipe_queue, linux_queue = comparison.longpipe, comparison.own
        table.add_row(
            comparison.control,
            f"{longpipe_queue.goodput_mbits:.3f} ({linux_queue.goodput_mbits:.3f})",
            f"{longpipe_queue.srtt_ms:.1f} ({linux_queue.srtt_ms:.1f})",
            f"{longpipe_queue.drops} ({linux_queue.drops})",
            f"{longpipe_queue.cpu_s:.1f} ({linux_queue.cpu_s:.1f})",
            "" if comparison.agrees else "differs",
        )
    return table
