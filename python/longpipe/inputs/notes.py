"""Notes on input files: what was read of a file, and what of it is implausible, for a command to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Most files whose notes are kept.
_MOST: Final = 1000


@dataclass(frozen=True)
class Notes:
    """A line on what was read, and a line for each value that may have been meant otherwise.

    `second_ps` is the instant of a series' second row if its times have no unit: they may be meant in ms.
    """

    read: str
    doubts: tuple[str, ...] = ()
    second_ps: int | None = None


_latest: dict[str, Notes] = {}


def keep(file: str, notes: Notes) -> None:
    """Keeps the notes on a file in place of those of its last reading."""
    if len(_latest) >= _MOST:
        _latest.clear()
    _latest[file] = notes


def latest(file: str) -> Notes | None:
    """Returns the notes of the last reading of a file by this process."""
    return _latest.get(file)
