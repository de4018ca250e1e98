"""Orbit mean-elements messages (OMM, CCSDS 502.0-B) as CSV, XML, JSON and KVN, and their fields for SGP4."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from xml.parsers import expat

from longpipe.errors import ScenarioError, shown
from longpipe.inputs import parse_json, split_lines
from longpipe.inputs.numbers import exact
from longpipe.inputs.table import table_of
from longpipe.satellites.checks import check_satellite
from longpipe.satellites.satellite import EPHEMERIS_TYPES, Elements

NEEDS: Final = "OMMs as CSV, XML, JSON or KVN"
# Minimum and maximum of each number that SGP4 uses.
_BOUNDS: Final[dict[str, tuple[float, float]]] = {
    "MEAN_MOTION": (1e-3, 20),
    "ECCENTRICITY": (0, 0.999_999_9),
    "INCLINATION": (0, 180),
    "RA_OF_ASC_NODE": (-360, 360),
    "ARG_OF_PERICENTER": (-360, 360),
    "MEAN_ANOMALY": (-360, 360),
    "BSTAR": (-100, 100),
    "MEAN_MOTION_DOT": (-100, 100),
    "MEAN_MOTION_DDOT": (-100, 100),
}
# Optional fields, which are 0 if absent, because SGP4 does not use them.
_ZERO: Final = ("MEAN_MOTION_DOT", "MEAN_MOTION_DDOT")
# Fields that occur once per message; a second occurrence belongs to another satellite.
_OF_ONE: Final = ("EPOCH", "MEAN_MOTION", "MEAN_ANOMALY")
_ONLY: Final = {
    "CENTER_NAME": ("EARTH",),
    "REF_FRAME": ("TEME",),
    "TIME_SYSTEM": ("UTC",),
    "MEAN_ELEMENT_THEORY": ("SGP4", "SGP/SGP4", "SGP"),
    "EPHEMERIS_TYPE": EPHEMERIS_TYPES,
}
_EPOCH: Final = re.compile(
    r"(\d{4})-(?:(\d{2})-(\d{2})|(\d{3}))[T ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,12}))?(?:Z|\+00:00)?"
)
# SGP4's origin of time.
_ORIGIN: Final = datetime(1949, 12, 31, tzinfo=UTC)
# Maximum catalog number that SGP4's library accepts; the number is otherwise unused.
_LARGEST_NUMBER: Final = 339_999
_MAX_DEPTH: Final = 32
_LONGEST_LINE: Final = 4096
# Maximum length of a name or an epoch.
_SHOWN: Final = 60
_KVN: Final = re.compile(r"([A-Z0-9_]+)\s*=\s*(.*?)\s*(?:\[[^\]]*\])?")

Fields = Mapping[str, Any]


def read_csv(file: str, text: str) -> Iterator[Elements]:
    """Yields the satellites in a table, which has one row per satellite."""
    table = table_of(file, split_lines(file, text, NEEDS), NEEDS)
    heads = [head.upper() for head in table.heads]
    for line, cells in table:
        yield _elements(f"{file}:{line}", dict(zip(heads, cells, strict=True)))


def read_json(file: str, text: str) -> Iterator[Elements]:
    """Yields the satellite in a message, or the satellites in a list of messages."""
    read = parse_json(text.encode(), file, NEEDS)
    for number, fields in enumerate(read if isinstance(read, list) else [read], 1):
        location = f"{file}: satellite {number}"
        if not isinstance(fields, dict):
            raise ScenarioError(f"{location}: {shown(fields)}; needs an OMM")
        yield _elements(location, fields)


def read_kvn(file: str, text: str) -> Iterator[Elements]:
    """Yields the satellites in messages in keyword = value notation; each message starts with its version."""
    fields: dict[str, str] = {}
    begin = 0
    for number, line in enumerate(split_lines(file, text, NEEDS), 1):
        if not line.strip() or line.lstrip().startswith("COMMENT"):
            continue
        match = _KVN.fullmatch(line.strip()) if len(line) <= _LONGEST_LINE else None
        if match is None:
            raise ScenarioError(f"{file}:{number}: {shown(line)}; needs KEYWORD = VALUE")
        if match[1] == "CCSDS_OMM_VERS":
            if fields:
                yield _elements(f"{file}:{begin}", fields)
            fields, begin = {}, number
        elif match[1] in fields and match[1] in _OF_ONE:
            raise ScenarioError(
                f"{file}:{number}: {match[1]} repeated, after line {begin}; needs CCSDS_OMM_VERS before each satellite"
            )
        begin = begin or number
        fields[match[1]] = match[2]
    if fields:
        yield _elements(f"{file}:{begin}", fields)


def read_xml(file: str, text: str) -> Iterator[Elements]:
    """Yields the satellites in an XML document, one per `segment`."""
    for line, fields in _Document(file).segments(text):
        yield _elements(f"{file}:{line}", fields)


class _Document:
    """Segments of an XML document, parsed without a tree: each has a line and the innermost texts by element name."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._found: list[tuple[int, dict[str, str]]] = []
        self._letters: list[str] = []
        self._depth = 0
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._letters.append
        # Rejected, because nested entities can expand without bound.
        self._parser.EntityDeclHandler = lambda *_about: self._refuse("an entity declaration")

    def segments(self, text: str) -> list[tuple[int, dict[str, str]]]:
        """Returns the line and the fields of each segment.

        For invalid XML, raises a ScenarioError that names the line.
        """
        try:
            self._parser.Parse(text.encode(), True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise ScenarioError(f"{self._file}:{error.lineno}: not XML, {reason}; needs {NEEDS}") from None
        return self._found

    def _refuse(self, reason: str) -> None:
        raise ScenarioError(f"{self._file}:{self._parser.CurrentLineNumber}: {reason}; needs {NEEDS}")

    def _begin(self, name: str, _attributes: dict[str, str]) -> None:
        self._depth += 1
        self._letters.clear()
        if self._depth == 1 and name.lower() == "html":
            self._refuse("an HTML page, as servers return instead of data")
        if self._depth > _MAX_DEPTH:
            self._refuse(f"{self._depth} nested elements")
        if name == "segment":
            self._found.append((self._parser.CurrentLineNumber, {}))

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._found and name != "segment":
            self._found[-1][1][name] = "".join(self._letters).strip()
        self._letters.clear()


def _elements(location: str, fields: Fields) -> Elements:
    """Returns the satellite that a message describes. Raises ScenarioError for a missing or invalid field."""
    from sgp4.api import WGS72, Satrec

    for name, accepted in _ONLY.items():
        written = fields.get(name)
        value = str(accepted[0] if written in (None, "") else written).strip()
        if value.upper() not in accepted:
            raise ScenarioError(f"{location}: {name} {shown(value)}; accepts {', '.join(accepted)}")
    epoch, since = _epoch(location, fields)
    number = {name: _number(location, fields, name) for name in _BOUNDS}
    radians = {
        name: math.pi / 180.0 * number[name]
        for name in ("INCLINATION", "RA_OF_ASC_NODE", "ARG_OF_PERICENTER", "MEAN_ANOMALY")
    }
    satellite = Satrec()
    # Converts to radians and minutes, with the factors 1/2 and 1/6 of derivatives, as in sgp4.omm.
    satellite.sgp4init(
        WGS72, "i", _catalog_number(fields), since, number["BSTAR"],
        number["MEAN_MOTION_DOT"] / (1036800.0 / math.pi), number["MEAN_MOTION_DDOT"] / (2985984000.0 / 2.0 / math.pi),
        number["ECCENTRICITY"], radians["ARG_OF_PERICENTER"], radians["INCLINATION"], radians["MEAN_ANOMALY"],
        number["MEAN_MOTION"] / 720.0 * math.pi, radians["RA_OF_ASC_NODE"],
    )  # fmt: skip
    check_satellite(location, satellite)
    name = str(fields.get("OBJECT_NAME") or fields.get("NORAD_CAT_ID") or fields.get("OBJECT_ID") or "unnamed")
    return Elements(name[:_SHOWN], satellite, epoch, location)


def _catalog_number(fields: Fields) -> int:
    text = str(fields.get("NORAD_CAT_ID") or "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    return number if number <= _LARGEST_NUMBER else 0


def _number(location: str, fields: Fields, name: str) -> float:
    """Returns a number of an OMM. Raises ScenarioError if it is missing or out of its bounds."""
    value = fields.get(name)
    if value in (None, "") and name in _ZERO:
        return 0.0
    if value in (None, ""):
        raise ScenarioError(f"{location} has no {name}; needs all fields of an OMM")
    number = None if isinstance(value, bool) else exact(str(value).strip())
    low, high = _BOUNDS[name]
    if number is None or not low <= number <= high:
        raise ScenarioError(f"{location}: {name} {shown(value)}; needs a number of {low:g} to {high:g}")
    return float(str(value))


def _epoch(location: str, fields: Fields) -> tuple[datetime, float]:
    """Returns the epoch, and the days since SGP4's origin."""
    text = fields.get("EPOCH")
    if text in (None, ""):
        raise ScenarioError(f"{location} has no EPOCH; needs all fields of an OMM")
    match = _EPOCH.fullmatch(str(text).strip()) if len(str(text)) < _SHOWN else None
    try:
        if match is None:
            raise ValueError(text)
        year, month, day, ordinal, hour, minute, second, decimals = match.groups()
        midnight = (
            datetime(int(year), int(month), int(day), tzinfo=UTC)
            if ordinal is None
            else datetime.strptime(f"{year}-{ordinal}", "%Y-%j").replace(tzinfo=UTC)
        )
        clock = timedelta(hours=int(hour), minutes=int(minute), seconds=int(second))
        # Second 60 is accepted because it is a leap second.
        if int(hour) > 23 or int(minute) > 59 or int(second) > 60 or not 1957 <= midnight.year <= 2200:
            raise ValueError(text)
    except ValueError:
        raise ScenarioError(f"{location}: EPOCH {shown(text)}; needs a time, as in '2026-11-25T12:00:00.5'") from None
    epoch = midnight + clock + timedelta(microseconds=int((decimals or "0")[:6].ljust(6, "0")))
    return epoch, (epoch - _ORIGIN).total_seconds() / 86_400.0
