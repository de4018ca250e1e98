"""`longpipe live measure`: timing accuracy of this machine."""

import os

import typer

from longpipe.cli.toolkit.quantities import seconds
from longpipe.cli.toolkit.safe import Console
from longpipe.errors import ScenarioError, nearest

MISSED = 1
# Minimum duration of a measurement.
MIN_S = 0.5


def measure(
    names: list[str] | None = typer.Argument(
        None,
        metavar="[MEASURE ...]",
        help="machine, echo, 100-mbit, 1-gbit, small, beside, replay or kill; default: all.",
    ),
    duration: float = typer.Option(
        10.0,
        "--seconds",
        metavar="TIME",
        parser=seconds,
        help="Duration of each measurement, at least 0.5 s.",
        show_default="10 s",
    ),
    device: str = typer.Option("any", metavar="WAY", help="Device: any, tun or packet, as for `longpipe live`."),
    no_real_time: bool = typer.Option(False, "--no-real-time", help="Do not request real-time priority."),
    let_halt: bool = typer.Option(
        False, "--let-halt", help="Let idle processors halt, which saves power and adds latency."
    ),
) -> None:
    """Measure how precisely this machine carries real packets, and compare it with what an idle machine should reach.

    The exit status is 1 if a requirement is missed.
    """
    from longpipe.live.carrier import Settings
    from longpipe.live.machine import check_machine
    from longpipe.live.measures import MEASURES

    for name in names or []:
        if name not in MEASURES:
            raise ScenarioError(f"MEASURE: {name!r}; {nearest(name, MEASURES)}")
    if device not in ("any", "tun", "packet"):
        raise ScenarioError(f"--device: {device!r}; {nearest(device, ('any', 'tun', 'packet'))}")
    if duration < MIN_S:
        raise ScenarioError(f"--seconds: {duration:g} s; needs at least {MIN_S:g} s")
    check_machine()
    settings = Settings(device=device, real_time=not no_real_time, awake=not let_halt)  # type: ignore[arg-type]
    console = Console(highlight=False, soft_wrap=True)
    missed = False
    for name in names or MEASURES:
        done = MEASURES[name](settings, duration)
        missed |= not done.is_met
        judged = "" if done.target is None else f"; asked {done.target}: {'reached' if done.is_met else 'missed'}"
        console.print(f"{done.name}: {done.value}{judged}")
        for line in done.details:
            console.print(f"  {line}", markup=False)
    load, cores = os.getloadavg()[0], os.cpu_count()
    console.print(f"on {cores} cores with a load of {load:.1f} over the last minute")
    if missed:
        raise typer.Exit(MISSED)
