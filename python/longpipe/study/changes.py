"""Changes of the files, classes and programs of a study's scenarios since its runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from longpipe.inputs import reads
from longpipe.scenario.digests import identified

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

# Digits of a digest in messages, and maximum number of changes that are listed.
_DIGITS: Final = 12
_SHOWN: Final = 5


class ChangedInputWarning(UserWarning):
    """Warns that runs are repeated, because a file, a class or a program of their scenarios has changed."""


@dataclass(frozen=True)
class Change:
    """A changed file, class or program: its name, and its digests at the stored runs and now.

    The digest of a file that is not a controller or a stack is that of the scenario that it determines.
    """

    name: str
    was: str
    now: str

    def __str__(self) -> str:
        """Returns the name and both digests."""
        return f"{self.name} has changed (digest {self.now[:_DIGITS]}..., was {self.was[:_DIGITS]}...)"


def changes_between(stored: Scenario, now: Scenario) -> list[Change]:
    """Returns what differs between a point's scenario as stored and as it is now; nothing if it is equal."""
    if stored.digest() == now.digest():
        return []
    was_known, is_known = (dict(identified(scenario.model_dump(by_alias=True))) for scenario in (stored, now))
    changes = [
        Change(name, was_known[name], digest)
        for name, digest in is_known.items()
        if was_known.get(name, digest) != digest
    ]
    if changes and _without(stored, was_known.values()) == _without(now, is_known.values()):
        return changes
    names = dict.fromkeys(_files(now.model_dump(by_alias=True)))
    name = " or ".join(names) or "what the scenario refers to"
    return [*changes, Change(name, stored.digest(), now.digest())]


def text_of_changes(changes: Iterable[Change]) -> str:
    """Returns the changes in one line."""
    lines = list(map(str, changes))
    more = f", and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return ", ".join(lines[:_SHOWN]) + more


def warn_of_changes(study: str, changes: Iterable[Change], count: int, points: int) -> None:
    """Warns that the runs of `count` of all points are repeated."""
    warnings.warn(
        f"study {study!r}: {text_of_changes(changes)}; {count} of {points} points are run again, unless the store has "
        f"these runs; the earlier runs stay in the store",
        ChangedInputWarning,
        stacklevel=5,
    )


def _without(scenario: Scenario, digests: Iterable[str]) -> str:
    """Returns the resolved scenario as JSON, without digests of controllers, stacks and programs."""
    text = scenario.resolved_json()
    for digest in digests:
        text = text.replace(digest, "")
    return text


def _files(part: Any) -> Iterator[str]:  # noqa: ANN401 - any part of a scenario's fields
    """Yields the names of the files that were read."""
    if isinstance(part, Mapping):
        for item in part.values():
            yield from _files(item)
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _files(item)
    elif isinstance(part, str) and reads.is_read(part):
        yield part
