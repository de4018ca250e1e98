"""Warnings before a run about scenarios whose results may not answer the user's question."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from longpipe.cli.toolkit.notes import notes_shown
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError
from longpipe.scenario import Scenario
from longpipe.scenario.paths import max_memory_bytes
from longpipe.system.memory import limit_bytes
from longpipe.system.memory import shown as bytes_shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from longpipe.design import Design
    from longpipe.result import Result
    from longpipe.study import Study

# Maximum number of warnings before one run or several compared runs.
MOST: Final = 10


def warn(*scenarios: Scenario) -> None:
    """Prints on stderr which files were read, and the most important warnings of `cautions`, each once."""
    from longpipe.cautions.cautions import cautions
    from longpipe.cautions.files import read_from_files

    for line in dict.fromkeys(line for scenario in scenarios for line in read_from_files(scenario)):
        echo(f"read: {line}", err=True)
    lines = list(dict.fromkeys(line for scenario in scenarios for line in cautions(scenario)))
    for line in lines[:MOST]:
        echo(f"warning: {line}", err=True)
    if len(lines) > MOST:
        echo(f"warning: {len(lines) - MOST} more; `longpipe run --json -` prints all of them in `warnings`", err=True)


def warn_of_memory(scenario: Scenario, memory: str | None) -> None:
    """Warns on stderr of windows that exceed the memory limit `memory` or the available memory."""
    needed, limit = max_memory_bytes(scenario.resolved), limit_bytes(memory)
    if needed > limit:
        echo(
            f"warning: memory: full windows need {bytes_shown(round(needed))}, {bytes_shown(limit)} are available; the "
            f"run fails if it needs more",
            err=True,
        )


def warn_of_replaced(result: Result) -> None:
    """Warns on stderr of invalid values of loaded congestion controllers that were replaced."""
    for line in result.replaced:
        echo(f"warning: {line}", err=True)


def warn_of_changes(designs: Mapping[str, Design], changed: Iterable[str]) -> None:
    """Warns on stderr of fields of `--set` that have no effect in the designs, given by name; see `ineffective`.

    If a field has an effect in some of the designs, the warning names the others.
    """
    from longpipe.design.ineffective import ineffective

    for field in dict.fromkeys(changed):
        reasons = {name: why for name, design in designs.items() if (why := ineffective(design, field)) is not None}
        if len(reasons) == len(designs):
            echo(f"warning: --set {next(iter(reasons.values()))}", err=True)
        elif reasons:
            echo(
                f"warning: --set {field}: no effect in {', '.join(reasons)}, because their factors or groups set it",
                err=True,
            )


def warn_of_replaced_changes(design: Design, changed: Iterable[str]) -> None:
    """Calls `warn_of_changes` for a design whose base is from `scenario_with`, which has warned of what groups set."""
    from longpipe.scenario.overrides import overridden

    warn_of_changes(
        {design.base.name: design}, (change for change in changed if overridden(design.base, change) is None)
    )


def changes_shown() -> AbstractContextManager[None]:
    """Prints on stderr which changed files cause runs of a study to be repeated."""
    from longpipe.study import ChangedInputWarning

    return notes_shown(ChangedInputWarning)


def note_changes(study: Study) -> None:
    """Prints on stderr which files have changed since the runs of a study, whose stored results are shown."""
    from longpipe.study.changes import text_of_changes

    try:
        changes = study.changes()
    except ScenarioError as error:
        echo(f"note: study {study.name!r}: shown as stored; {'; '.join(error.problems)}", err=True)
        return
    if changes:
        echo(
            f"note: study {study.name!r}: {text_of_changes(changes)}; shown as stored, "
            f"`longpipe study run {study.name}` repeats these runs",
            err=True,
        )


def warn_of_design(design: Design) -> None:
    """Prints `Design.warnings` on stderr."""
    for line in design.warnings:
        echo(f"warning: {line}", err=True)
