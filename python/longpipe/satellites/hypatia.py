"""Reads Hypatia's folders (Kassing et al., IMC 2020): satellites are in tles.txt, links between them in isls.txt."""

from __future__ import annotations

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


def read_folder(folder: Path) -> tuple[list[Elements], np.ndarray]:
    """Returns a folder's satellites, and the links between them as pairs of numbers (none if isls.txt is missing)."""
    if not (folder / SATELLITES).exists():
        raise ScenarioError(
            f"{folder}: a folder without {SATELLITES}; needs a file of TLEs or OMMs, or a folder of Hypatia"
        )
    elements = read_elements(folder / SATELLITES)
    file = folder / LINKS
    pairs = _pairs(file, len(elements)) if file.exists() else []
    return elements, np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _pairs(file: Path, count: int) -> list[tuple[int, int]]:
    """Reads the pairs of satellites that are linked; the satellites have the numbers from 0 to `count` - 1."""
    pairs: list[tuple[int, int]] = []
    for number, line in enumerate(read_lines(file, _NEEDS), 1):
        words = line.split()
        if not words:
            continue
        if len(words) != 2 or not all(word.isascii() and word.isdigit() and len(word) <= 9 for word in words):
            raise ScenarioError(f"{file}:{number}: {shown(line)}; needs {_NEEDS}")
        first, other = map(int, words)
        if first == other or max(first, other) >= count:
            raise ScenarioError(f"{file}:{number}: {shown(line)}; needs two of the {count} satellites, from 0")
        pairs.append((first, other))
    return pairs
