"""Shell completion of papers, examples, fields, levels, measures and studies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from longpipe.errors import ScenarioError

if TYPE_CHECKING:
    from longpipe.scenario.reference import Field


def among(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Returns the names that start with the typed text."""
    all_names = list(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in all_names if name.startswith(incomplete)]

    return complete


def field_and_level(incomplete: str) -> list[str]:
    """Completes FIELD= for every field of a scenario, and its named values after the equals sign.

    If only one field matches, its values or its default are offered at once, because with a single choice a shell would
    append a space after the equals sign.
    """
    # Completion must answer faster than a key repeats, so other modules are imported only when needed.
    from longpipe.scenario.reference import all_fields

    left, equals, _ = incomplete.partition("=")
    named, colon, begun = left.rpartition(":")
    fields = {known_field.name: known_field for known_field in reversed(all_fields())}
    names = [
        known_field
        for known_field in _unique(known_field.name for known_field in all_fields())
        if known_field.startswith(begun)
    ]
    if equals:
        names, levels = [begun], _levels(fields[begun]) if begun in fields else []
    elif len(names) == 1:
        levels = ["", *(_levels(fields[names[0]]) or _default(fields[names[0]]))]
    else:
        levels = [""]
    completions = (f"{named}{colon}{name}={level}" for name in names for level in levels)
    return [whole for whole in completions if whole.startswith(incomplete)]


def _levels(field: Field) -> list[str]:
    """Returns the named values of a field."""
    return [level for level in field.accepts.split(", ") if level.replace("-", "").isalnum()]


def _default(field: Field) -> list[str]:
    from longpipe.scenario.reference import ABSENT, REQUIRED

    return [] if field.default in (ABSENT, REQUIRED) else [field.default]


def field(incomplete: str) -> list[str]:
    """Completes dotted names of fields."""
    from longpipe.scenario.reference import all_fields

    return [name for name in _unique(known_field.name for known_field in all_fields()) if name.startswith(incomplete)]


def source(incomplete: str) -> list[str]:
    """Completes scenario files, folders and studies."""
    folder, _, begin = incomplete.rpartition("/")
    where = Path(folder or ("/" if incomplete.startswith("/") else "."))
    try:
        completions = sorted(path for path in where.iterdir() if path.name.startswith(begin) and path.name[0] != ".")
    except OSError:
        completions = []
    start = incomplete[: len(incomplete) - len(begin)]
    files = [
        f"{start}{path.name}{'/' * path.is_dir()}" for path in completions if path.is_dir() or path.suffix == ".toml"
    ]
    return [*files, *study(incomplete)]


def factor(context: typer.Context, incomplete: str) -> list[str]:
    """Completes factors of the command's study."""
    return [name for name in _of_study(context)[0] if name.startswith(incomplete)]


def measure(context: typer.Context, incomplete: str) -> list[str]:
    """Completes measures of the command's study."""
    return [name for name in _of_study(context)[1] if name.startswith(incomplete)]


def column(context: typer.Context, incomplete: str) -> list[str]:
    """Completes columns of the command's CSV file; in a comma-separated list, it completes the last one."""
    import csv

    from longpipe.inputs import read_lines

    begun, comma, last = incomplete.rpartition(",")
    try:
        names = next(csv.reader(read_lines(_argument(context), "a CSV file", legacy=True)), [])
    except (ScenarioError, csv.Error):
        return []
    return [f"{begun}{comma}{name}" for name in names if name.startswith(last)]


def _argument(context: typer.Context) -> str:
    """Returns the first argument of the command, or None if an option before it has no value yet."""
    return next(iter(context.args), "")


def _of_study(context: typer.Context) -> tuple[list[str], list[str]]:
    """Returns the factors and the measures of the study on the command line; none if it cannot be opened."""
    from longpipe.cli.toolkit.storing import opened
    from longpipe.measures.defaults import names
    from longpipe.study import Study

    try:
        with opened(context.params.get("store"), readonly=True) as store:
            design = Study.open(_argument(context), store).design
            measured = [*(measure.name for measure in design.asked), *names(design.scenarios[0])]
            return list(design.levels(1)), list(dict.fromkeys(measured))
    except ScenarioError:
        return [], []


def study(incomplete: str) -> list[str]:
    """Returns the studies of the user's store or of LONGPIPE_STORE."""
    from longpipe.cli.toolkit.storing import opened
    from longpipe.store import studies

    try:
        with opened(None, readonly=True) as store:
            return [overview.name for overview in studies.overview(store) if overview.name.startswith(incomplete)]
    except ScenarioError:
        return []


def _unique(names: Iterable[str]) -> Iterator[str]:
    return iter(dict.fromkeys(names))
