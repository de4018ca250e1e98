"""`longpipe fields`: what a scenario may hold."""

from __future__ import annotations

import difflib
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated

import typer

from longpipe.absent import known as known_name
from longpipe.cli import completers
from longpipe.errors import ScenarioError

if TYPE_CHECKING:
    from longpipe.scenario.reference import Field


def fields(
    pattern: Annotated[
        str | None,
        typer.Argument(
            metavar="[PATTERN]",
            help="Part of a name, or a pattern as of a shell: window, 'switch.*'.",
            autocompletion=completers.field,
        ),
    ] = None,
) -> None:
    """List the fields of a scenario: unit, default, source, and what each accepts, with all kinds of a part."""
    # Other commands begin faster without it.
    from rich.console import Console

    from longpipe.scenario.reference import all_fields

    known = all_fields()
    found = [field for field in known if pattern is None or _fits(field, pattern)]
    if not found:
        last = {field.name.rpartition(".")[2]: field.name for field in reversed(known)}
        if (said := known_name(str(pattern), ())) is not None:
            raise ScenarioError(f"PATTERN: {pattern!r}; {said}; longpipe fields lists all {len(known)}")
        close = difflib.get_close_matches(str(pattern).rpartition(".")[2], last, n=3)
        meant = f"did you mean {' or '.join(last[name] for name in close)}? " if close else ""
        raise ScenarioError(
            f"PATTERN: {pattern!r} is in no field's name; {meant}longpipe fields lists all {len(known)}"
        )
    console = Console(highlight=False, soft_wrap=True)
    for number, field in enumerate(found):
        if number:
            console.print()
        of_kind = f" (of {field.kind})" if field.kind else ""
        unit = f" [{field.unit}]" if field.unit else ""
        console.print(f"{field.name}{of_kind}{unit}", style="bold", markup=False)
        console.print(f"  {field.meaning}.", markup=False)
        console.print(f"  default: {field.default}", markup=False)
        console.print(f"  accepts: {field.accepts}", markup=False)
        if field.source:
            console.print(f"  source: {field.source}", markup=False, style="dim")


def _fits(field: Field, pattern: str) -> bool:
    return pattern in field.name or pattern in (field.kind or "") or fnmatchcase(field.name, pattern)
