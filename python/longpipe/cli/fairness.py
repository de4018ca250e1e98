"""`longpipe fairness`: pairs of congestion controls on one link."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import Execution, SetOption, typed_command
from longpipe.errors import ScenarioError
from longpipe.fairness import SEEDS
from longpipe.measures.readable import written
from longpipe.system.files import check_directory, write_text

if TYPE_CHECKING:
    from rich.table import Table

    from longpipe.fairness.pairs import Pair

# Fields that options of the command set in every run, so that --set may not; with these options.
OPTIONS: Final = {
    "duration": "--duration",
    "network.trunk_rate": "--rate",
    "network.trunk_delay": "--rtt",
    "switch.buffer": "--buffer",
    "tcp.congestion": "--controls",
}


def fairness(
    controls: str = typer.Option(
        metavar="CONTROL,...",
        help="Congestion controls: names, module:FILE, python:FILE.py:CLASS, package.module:CLASS, stack:quinn-bbr, "
        "or own-stack:FILE.so:NAME.",
    ),
    rates: str = typer.Option("8 Mbit/s,50 Mbit/s", "--rate", metavar="RATE,...", help="Rates of the link."),
    rtts: str = typer.Option("50 ms", "--rtt", metavar="TIME,...", help="Round-trip times."),
    buffers: str = typer.Option("4 BDP", "--buffer", metavar="SIZE,...", help="Buffers of the link."),
    duration: str = typer.Option(
        "60 s", metavar="TIME", help="Simulated time of each run; both flows start within its first second."
    ),
    seeds: int = typer.Option(
        SEEDS, min=1, help="Replications of each pair, in which the flows take turns to start first."
    ),
    changes: SetOption = None,
    out: Path = typer.Option(
        Path("results/fairness"), "--out", "-o", metavar="DIR", help="Directory for page and tables."
    ),
    *,
    execution: Execution,
) -> None:
    """Compare congestion controls pair by pair: shares, harm, losses and delays.

    longpipe fairness --controls cubic,bbr,bbr3 --rate '8 Mbit/s,50 Mbit/s' --buffer '0.5 BDP,4 BDP'

    Each run is stored as soon as it is complete: the same command continues after an interruption.
    """
    # Imported here because designs, the database and pandas take a second to load.
    from longpipe.cli.toolkit.naming import change
    from longpipe.cli.toolkit.progress import Bar
    from longpipe.cli.toolkit.warnings import warn_of_changes
    from longpipe.fairness import pairs as fairness_pairs
    from longpipe.fairness.controls import senders
    from longpipe.fairness.page import page
    from longpipe.scenario.overrides import is_within

    fields = dict(change(text) for text in changes or ())
    for field, option in OPTIONS.items():
        for name, value in fields.items():
            if is_within(name, field):
                raise ScenarioError(f"--set: {name}={value}; needs the option {option}")
    scenario = fairness_pairs.base(duration, fields)
    paths = fairness_pairs.Paths(*(tuple(word.strip() for word in text.split(",")) for text in (rates, rtts, buffers)))
    designs = fairness_pairs.designs(scenario, senders(controls), paths, seeds)
    scenarios = fairness_pairs.scenarios(designs.pairs)
    # Creating the scenarios rejects invalid ones before the first run.
    _ = designs.alone.scenarios
    check_directory("--out", out)
    warn_of_changes(designs._asdict(), fields)
    frames = {}
    with execution.runner() as runner:
        for name, design in designs._asdict().items():
            with Bar(f"fairness, {name}") as bar:
                frames[name] = fairness_pairs.run(design, runner.telling(bar.update))
    pairs = fairness_pairs.matrix(frames["pairs"], frames["alone"])
    command = typed_command()
    tables = {"pairs.csv": fairness_pairs.table(pairs), "runs.csv": frames["pairs"], "alone.csv": frames["alone"]}
    for name, frame in tables.items():
        write_text(out / name, frame.to_csv(index=False))
    write_text(out / "report.html", page(pairs, tables, scenarios, seeds, command, fields))
    _print(pairs, seeds)
    echo(f"Page, and tables of pairs and runs: {out}")


def _print(pairs: Sequence[Pair], seeds: int) -> None:
    """Prints the shares on each path, and how to read them."""
    from longpipe.cli.design.means import FEW
    from longpipe.cli.toolkit.console import show_table, terminal
    from longpipe.fairness.pairs import ENDED

    console = terminal()
    for path in dict.fromkeys(pair.path for pair in pairs):
        console.print(f"{path}: share of the row's flow in competition with the column's", style="bold", markup=False)
        show_table(console, _table([pair for pair in pairs if pair.path == path]))
        console.print()
    if 1 < seeds < FEW:
        console.print(f"{seeds} seeds make wide intervals; --seeds {SEEDS} adds runs", markup=False, style="dim")
    if any(pair.died for pair in pairs):
        console.print(ENDED, markup=False)
    console.print("The share of equal controls is that of the flow that starts first.", markup=False)
    console.print("Harm, losses, delays and the scenarios of the pairs are in the page.", markup=False)


def _table(pairs: Sequence[Pair]) -> Table:
    """Returns the shares of a path as a matrix."""
    from rich.markup import escape

    from longpipe.cli.toolkit.console import terminal_table
    from longpipe.fairness.pairs import half_width

    names = list(dict.fromkeys(pair.row for pair in pairs))
    table = terminal_table("", *names)
    shares = {(pair.row, pair.column): pair.share for pair in pairs}
    died = {(pair.row, pair.column): pair.died for pair in pairs}
    for row in names:
        cells = []
        for column in names:
            estimate = shares[row, column]
            mark = ", died" if died[row, column] else ""
            cells.append(written(estimate.mean, half_width(estimate), 2) + mark)
        table.add_row(escape(row), *cells)
    return table
