"""Reads Hypatia's folders (Kassing et al., IMC 2020): satellites are in tles.txt, links between them in isls.txt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from longpipe.errors import ScenarioError, shown
from longpipe.inputs import read_lines
from longpipe.satellites.elements import read_elements
from longpipe.satellites.satellite import Elements

SATELLITES: Final = "tles.txt"
LINKS: Final = "isls.txt"
_NEEDS: Final = "a line for each link, two numbers of satellites, as in 0 1"
_MAX_DIGITS: Final = 9


def read_folder(folder: Path) -> tuple[list[Elements], np.ndarray]:
    """Returns a folder's satellites, and the links between them as pairs of numbers (none if isls.txt is missing)."""
    if not (folder / SATELLITES).exists():
        raise ScenarioError(
            f"{folder}: a folder without {SATELLITES}; needs a file of TLEs or OMMs, or a folder of Hypatia"
        )
    elements = read_elements(folder / SATELLITES)
    file = folder / LINKS
    pairs = read_pairs(file, _number_below(len(elements))) if file.exists() else []
    return elements, np.array(pairs, dtype=np.int64).reshape(-1, 2)


def read_pairs(file: Path, number_of: Callable[[str], int]) -> list[tuple[int, int]]:
    """Reads the pairs of satellites that are linked, one pair per line, separated by a space or a comma.

    `number_of` returns the number of a satellite. Raises ScenarioError for the first line without two satellites.
    """
    pairs: list[tuple[int, int]] = []
    for row, line in enumerate(read_lines(file, _NEEDS), 1):
        words = [word.strip() for word in line.split("," if "," in line else None)]
        if not any(words):
            continue
        if len(words) != 2:
            raise ScenarioError(f"{file}:{row}: {shown(line)}; needs {_NEEDS}")
        try:
            first, other = map(number_of, words)
        except ScenarioError as error:
            raise ScenarioError(f"{file}:{row}: {error}") from None
        if first == other:
            raise ScenarioError(f"{file}:{row}: {shown(line)}; needs two different satellites")
        pairs.append((first, other))
    return pairs


def _number_below(count: int) -> Callable[[str], int]:
    """Returns a function that reads a satellite's number from 0 to `count` - 1."""

    def number_of(word: str) -> int:
        if not (word.isascii() and word.isdigit() and len(word) <= _MAX_DIGITS and int(word) < count):
            raise ScenarioError(f"{shown(word)}; needs the number of a satellite, 0 to {count - 1}")
        return int(word)

    return number_of
