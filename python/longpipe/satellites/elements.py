"""Elements of satellites from files: TLE, and OMM (CCSDS 502.0-B) as CSV, XML, JSON or KVN; each may be gzip."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.inputs import read_text
from longpipe.satellites import omm
from longpipe.satellites.satellite import NEEDS, Elements
from longpipe.satellites.tle import read_tles

# First keyword of a message in keyword = value notation, after comments.
_KVN: Final = re.compile(r"(?:COMMENT\b[^\n]*\n\s*)*[A-Z][A-Z0-9_]*[ \t]*=")


def read_elements(path: Path) -> list[Elements]:
    """Returns the satellites in a file. Raises a ScenarioError that names the line or satellite, and the field.

    Elements for which SGP4 yields no position at their own epoch also cause an error.
    """
    text = read_text(path, NEEDS, legacy=True)
    satellites = list(_reader(text)(str(path), text))
    if not satellites:
        raise ScenarioError(f"{path}: no satellites; needs {NEEDS}")
    return satellites


def _reader(text: str) -> Callable[[str, str], Iterator[Elements]]:
    begin = text.lstrip()
    if begin.startswith("<"):
        return omm.read_xml
    if begin.startswith(("[", "{")):
        return omm.read_json
    if "MEAN_MOTION" in begin.partition("\n")[0].upper():
        return omm.read_csv
    return omm.read_kvn if _KVN.match(begin) else read_tles
