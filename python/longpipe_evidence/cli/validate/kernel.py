"""`longpipe validate kernel`: compares this machine's TCP over a live path with a simulation."""

import typer

from longpipe.cli.toolkit.console import terminal_table
from longpipe.cli.toolkit.quantities import share
from longpipe.cli.toolkit.safe import Console
from longpipe.cli.toolkit.storing import SeedOption, SetOption

DIFFERENT = 1


def kernel(
    control: list[str] | None = typer.Option(
        None,
        metavar="NAME",
        help="Congestion control; repeat for more. \\[default: all that Linux and longpipe both have]",
    ),
    rate: str = typer.Option("50 Mbit/s", help="Rate of the bottleneck."),
    round_trip: str = typer.Option("40 ms", help="Round-trip propagation time, without queueing."),
    buffer: str = typer.Option("150 packets", help="Buffer of the bottleneck."),
    duration: str = typer.Option("20 s", help="Sending time of each control."),
    seed: SeedOption = 1,
    changes: SetOption = None,
    within: float = typer.Option(0.03, metavar="SHARE", parser=share, help="Accepted difference of the goodput."),
    queue_within: float = typer.Option(
        0.1, metavar="SHARE", parser=share, help="Accepted difference of the mean queue."
    ),
) -> None:
    """Send with the TCP of this machine's kernel over a live path, and simulate the same transfer in virtual time.

    The exit status is 1 if the goodput or the mean queue of a control differs by more than its tolerance. Linux only.
    """
    # Imported here because pandas and the engine take a second to load.
    from longpipe.cli.toolkit.naming import change
    from longpipe.live.machine import check_machine
    from longpipe_evidence.validate.kernel import ComparedQuantity, available, compare

    check_machine()
    fields = dict(change(text) for text in changes or [])
    console = Console(highlight=False, soft_wrap=True)
    heads = ("control", "", "goodput\n[Mbit/s]", "mean queue\n[packets]", "lost\n[packets]")
    table = terminal_table(*heads, left=2, no_wrap=False)
    different, late = False, []
    for name in control or available():
        comparison = compare(
            name, rate=rate, round_trip=round_trip, buffer=buffer, duration=duration, seed=seed, **fields
        )
        for simulator in ("kernel", "longpipe"):

            def of(quantity: ComparedQuantity, simulator: str = simulator) -> float:
                return float(getattr(quantity, simulator))

            table.add_row(
                name if simulator == "kernel" else "",
                simulator,
                f"{of(comparison.goodput_bps) / 1e6:.2f}",
                f"{of(comparison.queue_packets):.1f}",
                f"{of(comparison.lost_packets):.0f}",
            )
        table.add_row("", "apart", f"{comparison.goodput_bps.apart:+.1%}", f"{comparison.queue_packets.apart:+.1%}", "")
        different |= abs(comparison.goodput_bps.apart) > within or abs(comparison.queue_packets.apart) > queue_within
        late += [line for line in comparison.certificate.lines() if line.startswith("late by")]
    console.print(table)
    for line in late:
        console.print(line, markup=False)
    if different:
        raise typer.Exit(DIFFERENT)
