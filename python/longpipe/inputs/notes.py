"""Notes on input files, which commands print: a summary of the content, and warnings about implausible values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Maximum number of files whose notes are kept.
_MOST: Final = 1000


@dataclass(frozen=True)
class Notes:
    """A line about the content, and a line for each suspicious value.

    `second_ps` is the time of a series' second row if the times have no unit; such times may actually be in ms.
    """

    read: str
    doubts: tuple[str, ...] = ()
    second_ps: int | None = None


_latest: dict[str, Notes] = {}


def keep(file: str, notes: Notes) -> None:
    """Replaces the notes on a file."""
    if len(_latest) >= _MOST:
        _latest.clear()
    _latest[file] = notes


def latest(file: str) -> Notes | None:
    """Returns the notes from the last time at which this process read the file; None if it has not read it."""
    return _latest.get(file)
