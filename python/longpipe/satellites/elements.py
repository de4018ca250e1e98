"""Elements of satellites from files: TLE (two or three lines each), and OMM as CSV, XML or JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from longpipe.errors import ScenarioError

LINE: Final = 69


@dataclass(frozen=True)
class Elements:
    """One satellite: its name and SGP4's state."""

    name: str
    satellite: Any


def read_elements(path: Path) -> list[Elements]:
    """The satellites of a file; ScenarioError names file and line of what is wrong."""
    text = path.read_text(encoding="utf-8-sig")
    begin = text.lstrip()[:1]
    if begin == "<":
        found = list(_omm(path, "xml", text))
    elif begin in "[{" and begin:
        found = list(_omm(path, "json", text))
    elif "MEAN_MOTION" in text.partition("\n")[0]:
        found = list(_omm(path, "csv", text))
    else:
        found = list(_tle(path, text.splitlines()))
    if not found:
        raise ScenarioError(f"{path}: no satellites; needs TLEs of two or three lines, or OMM as CSV, XML or JSON")
    return found


def _tle(path: Path, lines: list[str]) -> Iterator[Elements]:
    from sgp4.api import Satrec

    name, first = "", None
    for number, line in enumerate((line.rstrip() for line in lines), 1):
        where = f"{path}:{number}"
        if first is not None:
            _check_line(where, line, "2")
            if line[2:7] != first[2:7]:
                raise ScenarioError(f"{where}: satellite {line[2:7]}; needs that of the line before, {first[2:7]}")
            yield Elements(name or first[2:7].strip(), Satrec.twoline2rv(first, line))
            name, first = "", None
        elif line.startswith("1 "):
            _check_line(where, line, "1")
            first = line
        elif line.startswith("2 ") and len(line) == LINE:
            raise ScenarioError(f"{where}: a second line without its first; needs lines that begin with 1 and then 2")
        elif line:
            # Of three lines, the first is a name, which some begin with a 0.
            name = line.removeprefix("0 ").strip()
    if first is not None:
        raise ScenarioError(f"{path}:{len(lines)}: ends after the first line of a satellite; needs its second")


def _check_line(where: str, line: str, number: str) -> None:
    if not line.startswith(f"{number} ") or len(line) != LINE:
        raise ScenarioError(f"{where}: {line[:20]!r}; needs line {number} of a TLE, {LINE} characters")
    counted = sum(int(letter) if letter.isdigit() else letter == "-" for letter in line[:-1]) % 10
    if line[-1] != str(counted):
        raise ScenarioError(f"{where}: checksum {line[-1]!r}; needs {counted}, what the line adds up to")


def _omm(path: Path, kind: str, text: str) -> Iterator[Elements]:
    from sgp4 import omm
    from sgp4.api import Satrec

    if kind == "json":
        try:
            read = json.loads(text)
        except ValueError as error:
            raise ScenarioError(f"{path}: not JSON ({error}); needs a list of OMMs") from None
        records: Iterator[Any] = iter(read if isinstance(read, list) else [read])
    else:
        records = (omm.parse_xml if kind == "xml" else omm.parse_csv)(io.StringIO(text))
    number = 1
    try:
        for fields in records:
            satellite = Satrec()
            omm.initialize(satellite, {name: str(value) for name, value in fields.items()})
            yield Elements(str(fields.get("OBJECT_NAME") or fields["NORAD_CAT_ID"]), satellite)
            number += 1
    except KeyError as error:
        raise ScenarioError(f"{path}: satellite {number} has no {error.args[0]}; needs all fields of an OMM") from None
    except (ValueError, TypeError, SyntaxError) as error:
        raise ScenarioError(f"{path}: satellite {number}: {error}; needs an OMM as CSV, XML or JSON") from None
