"""Recordings of cellular links, which CellReplay replays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final

from longpipe.errors import ScenarioError, shown
from longpipe.inputs import read_lines
from longpipe.scenario.core import core_fields
from longpipe.scenario.medium_access import MediumAccess

# Sizes [byte] in a file of offsets: multiples of this number.
STEP: Final = 100
_FILES: Final = ("light", "heavy", "size_offsets")


class ReplayedRecording(MediumAccess):
    """A medium access whose recordings are files."""

    in_lab: ClassVar[bool] = False

    if TYPE_CHECKING:
        light: str
        heavy: str
        size_offsets: str | None

    def core(self) -> dict[str, Any]:
        """Returns the fields for the core. Raises ScenarioError with the line of an invalid file."""
        sizes = None if self.size_offsets is None else _offsets(self.size_offsets)
        return {
            **core_fields(self, without=_FILES),
            "light_ms": [_integers(self.light, number, line) for number, line in _lines(self.light)],
            "heavy_ms": [_only(self.heavy, number, line) for number, line in _lines(self.heavy)],
            **({} if sizes is None else {"size_offsets_ms": sizes}),
        }

    def data_files(self) -> Iterator[str]:
        """Yields the paths of the recordings."""
        yield from (self.light, self.heavy)
        if self.size_offsets is not None:
            yield self.size_offsets


def _lines(file: str) -> Iterator[tuple[int, str]]:
    """Yields the numbers and texts of the lines of a file."""
    return enumerate(read_lines(file, "a readable file of CellReplay"), 1)


def _integers(file: str, number: int, line: str) -> list[int]:
    words = line.split()
    if not words or not all(word.isascii() and word.isdecimal() for word in words):
        raise ScenarioError(f"{file}:{number}: {shown(line)}; needs whole milliseconds, as in CellReplay's files")
    return [int(word) for word in words]


def _only(file: str, number: int, line: str) -> int:
    values = _integers(file, number, line)
    if len(values) != 1:
        raise ScenarioError(f"{file}:{number}: {shown(line)}; needs one time in milliseconds")
    return values[0]


def _offsets(file: str) -> list[float]:
    """Returns the offsets [ms] of packets of 100, 200, ... bytes."""
    offsets: list[float] = []
    for number, line in _lines(file):
        words = line.split()
        try:
            size, offset = int(words[0]), float(words[1])
        except (ValueError, IndexError):
            size, offset = 0, 0.0
        if len(words) != 2 or size != STEP * number:
            raise ScenarioError(f"{file}:{number}: {shown(line)}; needs {STEP * number} and an offset in milliseconds")
        offsets.append(offset)
    return offsets
