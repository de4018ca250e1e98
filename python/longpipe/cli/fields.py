"""`longpipe fields`: lists the fields of a scenario."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

import typer

from longpipe.cli import ordinary
from longpipe.cli.toolkit import completers
from longpipe.errors import ScenarioError
from longpipe.errors.alternatives import CALLED, homes
from longpipe.errors.alternatives import known as known_name

if TYPE_CHECKING:
    from longpipe.scenario.reference import Field

# Matches one word of a field's name or of a kind.
WORDS: Final = re.compile(r"[a-z0-9]+")


def fields(
    pattern: str | None = typer.Argument(
        None,
        metavar="[PATTERN]",
        help="A word or part of a field's name, or a shell pattern: window, 'switch.*'.",
        autocompletion=completers.field,
    ),
) -> None:
    """List the fields of a scenario with unit, default, source and accepted values.

    longpipe fields buffer
    """
    # Imported here so that other commands start faster.
    from longpipe.cli.toolkit.safe import Console
    from longpipe.scenario.reference import all_fields

    listed = all_fields()
    matching = listed if pattern is None else _named(listed, pattern)
    if not matching:
        last = {field.name.rpartition(".")[2]: None for field in listed}
        close = difflib.get_close_matches(str(pattern).rpartition(".")[2], last, n=3)
        suggestion = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
        raise ScenarioError(
            f"PATTERN: {pattern!r} is in no field's name; {suggestion}longpipe fields lists all {len(listed)}"
        )
    console = Console(highlight=False, soft_wrap=True)
    for number, field in enumerate(matching):
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


def _named(candidates: Sequence[Field], pattern: str) -> Sequence[Field]:
    """Returns the fields that a word or pattern means.

    The order is: fields to which an ordinary word refers; fields and kinds with the word in their name; the kind that
    other programs call by that name; fields that accept the word, with their options for it; fields whose name contains
    it; fields whose description contains it. Raises ScenarioError for a well-known word that is not a field.
    """
    word = pattern.strip().lower()
    patterns = ordinary.FIELDS.get(word, ())
    matching = [field for field in candidates if any(fnmatchcase(field.name, part) for part in patterns)]
    if called := matching + [field for field in _with_word(candidates, word) if field not in matching]:
        return called
    if (kind := CALLED.get(word)) and (called := [field for field in candidates if field.kind == kind]):
        return called
    if places := [field for field, _, names in homes() if word in names]:
        return [field for field in candidates if field.name in places or field.kind == word]
    if (hint := ordinary.ELSEWHERE.get(word) or known_name(word, ())) is not None:
        raise ScenarioError(f"PATTERN: {pattern!r}; {hint}; longpipe fields lists all {len(candidates)}")
    return [
        field
        for field in candidates
        if word in field.name or word in (field.kind or "") or fnmatchcase(field.name, word)
    ] or [candidate for candidate in candidates if word in WORDS.findall(candidate.meaning.lower())]


def _with_word(candidates: Sequence[Field], word: str) -> Sequence[Field]:
    return [field for field in candidates if word in WORDS.findall(f"{field.name} {field.kind or ''}")]
