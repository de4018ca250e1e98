"""What commands say, before they run it, of a scenario that can't show what it seems to ask."""

from collections.abc import Iterable
from typing import Final

import typer

from longpipe.analysis.paths import most_held_bytes, window_warnings
from longpipe.memory import limit_bytes, shown
from longpipe.scenario import Scenario

# Lines about one scenario.
MOST: Final = 3


def warn(scenario: Scenario) -> None:
    """Warns on stderr of windows that fill neither pipe nor buffer."""
    found = window_warnings(scenario)
    for line in found[:MOST]:
        typer.echo(f"warning: {line}", err=True)
    if len(found) > MOST:
        typer.echo(f"warning: and {len(found) - MOST} ports more", err=True)


def warn_of_memory(scenario: Scenario, memory: str | None) -> None:
    """Likewise of windows that hold more than there is memory for, `memory` or what the machine has."""
    needed, limit = most_held_bytes(scenario.resolve()), limit_bytes(memory)
    if needed > limit:
        typer.echo(
            f"warning: memory: full windows take {shown(round(needed))}, {shown(limit)} are there; "
            "the run ends where it would take more",
            err=True,
        )


def warn_of_points(scenarios: Iterable[Scenario]) -> None:
    """Likewise of the points of a design: the first that has such windows, and how many do."""
    scenarios = list(scenarios)
    found = [(scenario, lines) for scenario in scenarios if (lines := window_warnings(scenario))]
    if found:
        first, lines = found[0]
        typer.echo(f"warning: {len(found)} of {len(scenarios)} points, as {first.name}: {lines[0]}", err=True)
