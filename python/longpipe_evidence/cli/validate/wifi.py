"""`longpipe validate wifi`: compares saturated Wi-Fi stations with Bianchi's closed form."""

import typer

from longpipe.cli.toolkit.console import terminal_table
from longpipe.cli.toolkit.quantities import seconds
from longpipe.cli.toolkit.safe import Console, echo


def wifi(
    duration: float = typer.Option(
        20,
        metavar="TIME",
        parser=seconds,
        show_default="20 s",
        help="Simulated time of each run; its first second is not counted.",
    ),
    runs: int = typer.Option(4, min=2, help="Number of runs of each case, each with its own seed."),
) -> None:
    """Print the goodput of 5, 10, 20 and 50 saturated stations beside Bianchi's closed form, with 95 % intervals.

    Takes about a minute of CPU time. Exit status 1 if a difference exceeds 1.5 %.
    """
    # Imported here because NumPy and the engine take a second to load.
    import numpy as np
    from scipy.stats import t

    from longpipe_evidence.validate.bianchi import MODES, goodput_mbps, saturated, simulated_mbps

    table = terminal_table("mode", "stations", "model [Mbit/s]", "Bianchi [Mbit/s]", "difference", left=1)
    largest = 0.0
    for name, mode in MODES.items():
        for stations in (5, 10, 20, 50):
            scenario = saturated(stations, mode, duration)
            goodputs_mbps = np.array([simulated_mbps(scenario, seed) for seed in range(runs)])
            half_width = float(t.ppf(0.975, runs - 1) * goodputs_mbps.std(ddof=1) / np.sqrt(runs))
            expected = goodput_mbps(stations, mode)
            difference = float(goodputs_mbps.mean()) / expected - 1
            largest = max(largest, abs(difference))
            cells = (f"{goodputs_mbps.mean():.2f} ±{half_width:.2f}", f"{expected:.2f}", f"{100 * difference:+.2f} %")
            table.add_row(name, str(stations), *cells)
    Console(highlight=False, soft_wrap=True).print(table)
    echo(f"largest difference: {100 * largest:.2f} %")
    if largest > 0.015:
        raise typer.Exit(1)
