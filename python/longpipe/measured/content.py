"""Content of a measured file: its bytes and, on request, its text, lines or JSON.

Each form is computed once, and its size is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.inputs import decode, read_bytes, split_lines
from longpipe.inputs.numbers import scaled, unix_ns
from longpipe.inputs.text import encoding_of
from longpipe.measured.fields import unix_of_date
from longpipe.measured.json_text import RECORD_SEPARATOR, Placed, values

NEEDS: Final = "a file of a tool in docs/measured.md"
# One hour of irtt probes sent every 10 ms takes 300 MB after decompression; captures can be as large.
_MOST_BYTES: Final = 1 << 30
# An object, a list of objects, or a record separator. A list of numbers is no JSON of a tool: `ping -D` and iperf 2
# begin lines with a number in brackets.
_JSON_BEGIN: Final = re.compile(rf"[ \t\r\n]*(?:\{{|\[\s*[\[{{\]\"]|{RECORD_SEPARATOR})")


# Times before each line: Unix times, dates of ISO 8601 (`kubectl logs --timestamps`), "Nov 29 04:36:30" (the default of
# `ts` from moreutils) and times of the day or since the start (`ts -s`). Fractions follow a point or a comma.
# A line that begins an object, or a list of objects.
_JSON_INSIDE: Final = re.compile(r"^[ \t]*(?:\{|\[\s*\{)", re.MULTILINE)
_FRACTION: Final = r"(?:[.,]\d{1,9})?"
_STAMPED: Final = re.compile(
    rf"(?:(?P<unix>\d{{9,10}}{_FRACTION})"
    rf"|(?P<date>\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d{_FRACTION}(?:Z|[+-]\d\d:?\d\d)?)"
    r"|(?:(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(?P<day>\d{1,2}) )?"
    rf"(?P<hour>\d\d):(?P<minute>[0-5]\d):(?P<second>[0-5]\d{_FRACTION}))(?: |\t|$)"
)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS: Final = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_NS: Final = Fraction(10**9)
_DAY_NS: Final = 86_400 * 10**9
# Greatest number of damaged lines in a text, and the number of lines of which one may be damaged.
_MOST_DAMAGED: Final = 10
_LINES_PER_DAMAGED: Final = 20
# Minimum time between two outputs of a command; the lines of one output are printed within a shorter time.
_APART_NS: Final = 20_000_000


def few(lines: int) -> int:
    """Returns the greatest number of damaged lines among `lines` that are skipped, so that the others are read."""
    return min(lines // _LINES_PER_DAMAGED, _MOST_DAMAGED)


class _Clock:
    """Times before lines in ns; times of the day continue after midnight, and times without a date begin at 0."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._latest = 0

    def ns(self, found: re.Match[str]) -> int:
        """Returns the time [ns] of a line."""
        if found["unix"]:
            return unix_ns(found["unix"].replace(",", ".")) or 0
        if found["date"]:
            return unix_of_date(found["date"].replace(",", ".")) or 0
        seconds = scaled(found["second"].replace(",", "."), _NS) or 0
        at = (int(found["hour"]) * 60 + int(found["minute"])) * 60 * 10**9 + seconds
        if found["month"]:
            at += (_DAYS[_MONTHS.index(found["month"])] + int(found["day"])) * _DAY_NS
        while self._first is not None and at < self._latest - _DAY_NS // 2:
            at += _DAY_NS if not found["month"] else 365 * _DAY_NS
        self._latest = max(at, self._latest)
        self._first = at if self._first is None else self._first
        return at - self._first


class Content:
    """A file's content, for the functions that recognise and read formats.

    `defects` has a line for each part of the file that was damaged and skipped.
    """

    def __init__(self, file: str, data: bytes, defects: Sequence[str] = ()) -> None:
        self.file = file
        self.data = data
        self.defects = list(defects)

    @classmethod
    def of(cls, file: str | Path) -> Content:
        """Returns the content of a regular file, decompressed."""
        defects: list[str] = []
        data = read_bytes(file, NEEDS, max_bytes=_MOST_BYTES, defects=defects)
        if not data.strip():
            raise ScenarioError(f"{file}: empty; needs {NEEDS}")
        return cls(str(file), data, defects)

    @cached_property
    def begins(self) -> str:
        """Returns the beginning of the text, to recognise the format; undecodable bytes are replaced."""
        return self.data[:65536].decode(encoding_of(self.data), "replace")

    @cached_property
    def text(self) -> str:
        """Returns the text of a text file."""
        return decode(self.file, self._without_nul(), NEEDS, legacy=True)

    def _without_nul(self) -> bytes:
        """Returns the bytes; NUL bytes in a few lines, which a crash leaves in a log, become question marks."""
        if b"\0" not in self.data or encoding_of(self.data).startswith("utf-16"):
            return self.data
        lines = self.data.split(b"\n")
        damaged = [number for number, line in enumerate(lines, 1) if b"\0" in line]
        if len(damaged) > few(len(lines)):
            return self.data
        self.defects.append(f"NUL bytes in line{'s' * (len(damaged) > 1)} {', '.join(map(str, damaged))} are no text")
        return self.data.replace(b"\0", b"?")

    @cached_property
    def lines(self) -> list[tuple[int, str]]:
        """Returns the lines of a text file, or of a part of it, with their numbers in the file."""
        return list(enumerate(split_lines(self.file, self.text, NEEDS), 1))

    @cached_property
    def is_json(self) -> bool:
        """Returns whether the file begins like a JSON value, JSON lines or a JSON text sequence."""
        return bool(_JSON_BEGIN.match(self.begins[:1000]))

    @cached_property
    def json_values(self) -> Placed:
        """Returns the JSON values with their places; JSON lines and a JSON text sequence (RFC 7464) have several."""
        found = values(self.file, self.text, NEEDS)
        self.defects += found.defects
        return found.values

    def line_of(self, place: str) -> int:
        """Returns the line of the place of a JSON value."""
        return int(place.removeprefix(f"{self.file}:")) if place != self.file else 1

    @cached_property
    def stamps(self) -> dict[int, int]:
        """Returns the times [ns] of lines by number, if each line had a time before it; those without a date from 0."""
        return {}

    @cached_property
    def timed_lines(self) -> list[tuple[int, str]]:
        """Returns the lines, with a time alone before each group of lines that a command printed at once."""
        found: list[tuple[int, str]] = []
        latest = None
        for number, line in self.lines:
            at = self.stamps.get(number)
            # An indented line continues the one before it.
            if at is not None and not line[:1].isspace() and (latest is None or at - latest >= _APART_NS):
                found.append((number, f"{_DAY_NS * 10**4 + at if at < _DAY_NS * 10**3 else at}"))
            latest = at if at is not None else latest
            found.append((number, line))
        return found

    def with_json_inside(self) -> Content | None:
        """Returns the content as JSON if a line behind other text begins a JSON value; None if there is none."""
        if self.is_json or not _JSON_INSIDE.search(self.begins):
            return None
        try:
            found = values(self.file, self.text, NEEDS)
        except ScenarioError:
            return None
        part = Content(self.file, self.data, [*self.defects, *found.defects])
        part.is_json, part.json_values = True, found.values
        return part

    def without_times(self) -> Content | None:
        """Returns the content without the time that `ts` and others print before each line; None if there is none."""
        try:
            lines = [(number, _STAMPED.match(line), line) for number, line in self.lines if line.strip()]
        except ScenarioError:
            return None
        # The last line may be truncated.
        if sum(found is None for _, found, _ in lines) > (len(lines) > 2):
            return None
        part = self.of_lines([(number, line[found.end() :]) for number, found, line in lines if found is not None])
        clock = _Clock()
        part.stamps = {number: clock.ns(found) for number, found, _ in lines if found is not None}
        part.text = "\n".join(line for _, line in part.lines)
        part.begins = part.text[:65536]
        part.data = part.begins.encode()
        part.defects = self.defects
        return part

    def of_lines(self, lines: list[tuple[int, str]]) -> Content:
        """Returns a content that consists of some of the lines."""
        part = Content(self.file, b"")
        part.lines = lines
        part.stamps = self.stamps
        return part

    def without_line(self, number: int) -> Content:
        """Returns a content that consists of the other lines."""
        part = self.of_lines([line for line in self.lines if line[0] != number])
        part.begins, part.text = self.begins, "\n".join(line for _, line in part.lines)
        return part

    def of_values(self, values: Placed) -> Content:
        """Returns a content that consists of some of the JSON values."""
        part = Content(self.file, b"{}")
        part.json_values = values
        return part
