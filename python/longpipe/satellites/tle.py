"""Two-line elements (NORAD's format); each field is checked in its columns before SGP4 reads the lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from longpipe.errors import ScenarioError, shown
from longpipe.inputs import split_lines
from longpipe.satellites.checks import check_satellite
from longpipe.satellites.satellite import EPHEMERIS_TYPES, NEEDS, Elements

# Length of a line with its checksum, which some tools omit.
LINE: Final = 69
_SATELLITE: Final = ("catalog number", 2, 7, re.compile(r"[ 0-9A-HJ-NP-Z][ 0-9]{3}[0-9]"), "five digits")
# Name, columns (counted from 0), pattern, and description of the pattern, for the fields that SGP4 uses.
_FIELDS: Final = {
    "1": (
        _SATELLITE,
        ("year of the epoch", 18, 20, re.compile(r"[ 0-9][0-9]"), "two digits"),
        ("day of the epoch", 20, 32, re.compile(r" {0,2}[0-9]{1,3}\.[0-9]{1,8} *"), "a day of the year"),
        ("mean motion's derivative", 33, 43, re.compile(r" *[+-]?[0-9]?\.[0-9]+ *"), "a decimal fraction"),
        ("mean motion's second derivative", 44, 52, re.compile(r"[ +-]?[ 0-9]{5}[ +-][0-9]"), "digits and an exponent"),
        ("drag term", 53, 61, re.compile(r"[ +-]?[ 0-9]{5}[ +-][0-9]"), "digits and an exponent"),
        ("ephemeris type", 62, 63, re.compile(f"[ {''.join(EPHEMERIS_TYPES)}]"), "elements for SGP4, 0 to 3"),
    ),
    "2": (
        _SATELLITE,
        ("inclination", 8, 16, re.compile(r" *[0-9]{1,3}\.[0-9]+ *"), "0 to 180 degrees"),
        ("right ascension", 17, 25, re.compile(r" *[0-9]{1,3}\.[0-9]+ *"), "0 to 360 degrees"),
        ("eccentricity", 26, 33, re.compile(r"[ 0-9]{6}[0-9]"), "seven digits"),
        ("argument of perigee", 34, 42, re.compile(r" *[0-9]{1,3}\.[0-9]+ *"), "0 to 360 degrees"),
        ("mean anomaly", 43, 51, re.compile(r" *[0-9]{1,3}\.[0-9]+ *"), "0 to 360 degrees"),
        ("mean motion", 52, 63, re.compile(r" *[0-9]{1,2}\.[0-9]+ *"), "revolutions a day"),
    ),
}
_MOST: Final = {
    "day of the epoch": 367,
    "inclination": 180,
    "right ascension": 360,
    "argument of perigee": 360,
    "mean anomaly": 360,
}
_SPACES: Final = re.compile(r"[^\S\t]")
# First line of Hypatia's files: orbits, and satellites per orbit.
_OF_HYPATIA: Final = re.compile(r"\d{1,5}\s+\d{1,5}")


def read_tles(file: str, text: str) -> Iterator[Elements]:
    """Yields the satellites of TLEs with two or three lines; ignores blank lines and lines that start with #."""
    lines = split_lines(file, text, NEEDS)
    name, first = "", None
    for number, whole in enumerate(lines, 1):
        # Text copied from web pages may contain no-break spaces and similar characters.
        line = _SPACES.sub(" ", whole).strip()
        location = f"{file}:{number}"
        if not line or line.startswith("#") or (number == 1 and _OF_HYPATIA.fullmatch(line)):
            continue
        if first is not None:
            second = _checked(location, line, "2")
            if second[2:7] != first[2:7]:
                raise ScenarioError(
                    f"{location}: satellite {second[2:7]}; needs that of the previous line, {first[2:7]}"
                )
            yield _elements(location, name or first[2:7].strip(), first, second)
            name, first = "", None
        elif line.startswith("1 "):
            first = _checked(location, line, "1")
        elif line.startswith("2 "):
            raise ScenarioError(
                f"{location}: a second line without its first; needs lines that begin with 1 and then 2"
            )
        elif name:
            raise ScenarioError(f"{location}: {shown(line)} after the name {shown(name)}; needs line 1 of a TLE")
        else:
            # The first of three lines is a name, with an optional 0 before it.
            name = line.removeprefix("0 ").strip()
    if first is not None:
        raise ScenarioError(f"{file}:{len(lines)}: ends after the first line of a satellite; needs its second")
    if name:
        raise ScenarioError(f"{file}:{len(lines)}: ends after {shown(name)}; needs {NEEDS}")


def _checked(location: str, line: str, number: str) -> str:
    """Returns a line with its checksum. Raises a ScenarioError that names the malformed field."""
    if not line.startswith(f"{number} ") or len(line) not in (LINE - 1, LINE):
        raise ScenarioError(f"{location}: {line[:20]!r}; needs line {number} of a TLE, {LINE} characters")
    if other := next((letter for letter in line if not " " <= letter <= "~"), ""):
        raise ScenarioError(
            f"{location}: {other!r} in column {line.index(other) + 1}; needs letters and digits of ASCII"
        )
    for name, begin, end, form, needs in _FIELDS[number]:
        value = line[begin:end]
        if not form.fullmatch(value) or (name in _MOST and not float(value) <= _MOST[name]):
            raise ScenarioError(f"{location}: {name} {value!r} in columns {begin + 1} to {end}; needs {needs}")
    counted = str(sum(int(letter) if letter in "0123456789" else letter == "-" for letter in line[: LINE - 1]) % 10)
    if line[LINE - 1 :] not in ("", counted):
        raise ScenarioError(f"{location}: checksum {line[-1]!r}; needs {counted}, the sum of the line")
    return line[: LINE - 1] + counted


def _elements(location: str, name: str, first: str, second: str) -> Elements:
    """Returns the elements of a satellite from both lines of a TLE."""
    from sgp4.api import Satrec
    from sgp4.conveniences import sat_epoch_datetime

    try:
        satellite = Satrec.twoline2rv(first, second)
        epoch = sat_epoch_datetime(satellite)
    except ValueError as error:
        raise ScenarioError(f"{location}: {error}; needs two lines of a TLE") from None
    check_satellite(location, satellite)
    return Elements(name, satellite, epoch, location)
