"""Warnings before a run about scenarios whose results may not answer the user's question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longpipe.analysis.cautions import cautions
from longpipe.analysis.files import read_from_files
from longpipe.analysis.paths import max_memory_bytes
from longpipe.cli.safe import echo
from longpipe.memory import limit_bytes, shown
from longpipe.scenario import Scenario

if TYPE_CHECKING:
    from longpipe.design import Design
    from longpipe.result import Result

# Maximum number of lines for one scenario.
MOST: Final = 3


def warn(scenario: Scenario) -> None:
    """Prints on stderr which files were read, and the warnings of `cautions`."""
    for line in read_from_files(scenario):
        echo(f"read: {line}", err=True)
    found = cautions(scenario)
    for line in found[:MOST]:
        echo(f"warning: {line}", err=True)
    if len(found) > MOST:
        echo(f"warning: and {len(found) - MOST} more", err=True)


def warn_of_memory(scenario: Scenario, memory: str | None) -> None:
    """Warns on stderr of windows that exceed the memory limit `memory` or the available memory."""
    needed, limit = max_memory_bytes(scenario.resolved), limit_bytes(memory)
    if needed > limit:
        echo(
            f"warning: memory: full windows need {shown(round(needed))}, {shown(limit)} are available; the run fails "
            f"if it needs more",
            err=True,
        )


def warn_of_replaced(result: Result) -> None:
    """Warns on stderr of invalid values of loaded congestion controllers that were replaced."""
    for line in result.replaced:
        echo(f"warning: {line}", err=True)


def warn_of_design(design: Design) -> None:
    """Prints `Design.warnings` on stderr."""
    for line in design.warnings:
        echo(f"warning: {line}", err=True)
