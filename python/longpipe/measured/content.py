"""Content of a measured file: its bytes and, on request, its text, lines or JSON.

Each form is computed once, and its size is bounded.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.inputs import decode, read_bytes
from longpipe.inputs.numbers import is_time, scaled, unix_ns
from longpipe.inputs.text import encoding_of
from longpipe.measured.json_text import RECORD_SEPARATOR, Placed, values
from longpipe.measured.lines import Line, Lines, as_utf_8, is_utf_8
from longpipe.measured.texts import unix_ns_of_date

NEEDS: Final = "a file of a tool in docs/read.md"
# One hour of irtt probes sent every 10 ms takes 300 MB after decompression; captures can be as large.
_MAX_BYTES: Final = 1 << 30
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
_MAX_DAMAGED: Final = 10
_LINES_PER_DAMAGED: Final = 20
# Number of lines at the beginning that show whether each line has a time before it.
_EXAMINED: Final = 1000
# Stands for a line without a time.
_NO_TIME: Final = -1
# Minimum time between two outputs of a command; the lines of one output are printed within a shorter time.
_APART_NS: Final = 20_000_000


def few(lines: int) -> int:
    """Returns the greatest number of damaged lines among `lines` that are skipped, so that the others are read."""
    return min(lines // _LINES_PER_DAMAGED, _MAX_DAMAGED)


class _Clock:
    """Times before lines in ns; times of the day continue after midnight, and times without a date begin at 0."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._latest = 0

    def ns(self, match: re.Match[str]) -> int:
        """Returns the time [ns] of a line."""
        if match["unix"]:
            return unix_ns(match["unix"].replace(",", ".")) or 0
        if match["date"]:
            return unix_ns_of_date(match["date"].replace(",", ".")) or 0
        seconds = scaled(match["second"].replace(",", "."), _NS) or 0
        at = (int(match["hour"]) * 60 + int(match["minute"])) * 60 * 10**9 + seconds
        if match["month"]:
            at += (_DAYS[_MONTHS.index(match["month"])] + int(match["day"])) * _DAY_NS
        while self._first is not None and at < self._latest - _DAY_NS // 2:
            at += _DAY_NS if not match["month"] else 365 * _DAY_NS
        self._latest = max(at, self._latest)
        self._first = at if self._first is None else self._first
        return at - self._first


class _Timed:
    """The lines of a content, each group that a command printed at once preceded by its time."""

    def __init__(self, content: Content) -> None:
        self._content = content

    def __iter__(self) -> Iterator[Line]:
        """Yields the lines with their numbers, and the times with the number of the line that follows."""
        latest = None
        for number, line in self._content.lines:
            at = self._content.stamp(number)
            # An indented line continues the one before it.
            if at is not None and not line[:1].isspace() and (latest is None or at - latest >= _APART_NS):
                yield number, f"{_DAY_NS * 10**4 + at if at < _DAY_NS * 10**3 else at}"
            latest = at if at is not None else latest
            yield number, line


def _without_stamp(line: str) -> str:
    match = _STAMPED.match(line)
    return line if match is None else line[match.end() :]


class Content:
    """A file's content, for the functions that recognize and read formats.

    `defects` has a line for each part of the file that was damaged and skipped.
    """

    def __init__(self, file: str, data: bytes, defects: Sequence[str] = ()) -> None:
        self.file = file
        self.data = data
        self.defects = list(defects)
        # Times [ns] before the lines, by number; _NO_TIME where there is none.
        self.stamps = array("q")

    @classmethod
    def of(cls, file: str | Path) -> Content:
        """Returns the content of a regular file, decompressed."""
        defects: list[str] = []
        data = read_bytes(file, NEEDS, max_bytes=_MAX_BYTES, defects=defects)
        # `strip` would copy the data.
        if not data or data.isspace():
            raise ScenarioError(f"{file}: empty; needs {NEEDS}")
        return cls(str(file), data, defects)

    @cached_property
    def begins(self) -> str:
        """Returns the beginning of the text, to recognize the format; undecodable bytes are replaced."""
        return self.data[:65536].decode(encoding_of(self.data), "replace")

    @cached_property
    def text(self) -> str:
        """Returns the text of a text file, or of a part of it."""
        if not self.data or len(self.stamps):
            return "\n".join(line for _, line in self.lines)
        return decode(self.file, self._without_nul(), NEEDS, legacy=True)

    def _without_nul(self) -> bytes:
        """Returns the bytes; NUL bytes in a few lines, which a crash leaves in a log, become question marks."""
        if b"\0" not in self.data or encoding_of(self.data).startswith("utf-16"):
            return self.data
        limit, damaged, at = few(self.data.count(b"\n") + 1), list[int](), self.data.find(b"\0")
        while at >= 0 and len(damaged) <= limit:
            damaged.append(self.data.count(b"\n", 0, at) + 1)
            end = self.data.find(b"\n", at)
            at = -1 if end < 0 else self.data.find(b"\0", end)
        if len(damaged) > limit:
            return self.data
        self.defects.append(f"NUL bytes in line{'s' * (len(damaged) > 1)} {', '.join(map(str, damaged))} are no text")
        return self.data.replace(b"\0", b"?")

    @cached_property
    def lines(self) -> Sequence[Line]:
        """Returns the lines of a text file, or of a part of it, with their numbers in the file.

        They are decoded whenever they are read, because a list of all lines takes five times the memory of the file.
        """
        data, encoding = self._without_nul(), encoding_of(self.data)
        if encoding.startswith("utf-16"):
            with suppress(UnicodeDecodeError):
                data, encoding = as_utf_8(data, encoding), "utf-8"
        elif b"\0" not in data:
            encoding = "utf-8" if is_utf_8(data) else "latin-1"
        if encoding not in ("utf-8", "latin-1") or b"\0" in data:
            # The text is rejected, with the line of its defect.
            data = self.text.encode()
        return Lines.of(self.file, data, encoding, NEEDS)

    @cached_property
    def ends_whole(self) -> bool:
        """Returns whether the last line of the text ends with a line break."""
        return self.data.endswith((b"\n", b"\r", b"\n\0", b"\r\0"))

    @cached_property
    def is_json(self) -> bool:
        """Returns whether the file begins like a JSON value, JSON lines or a JSON text sequence."""
        return bool(_JSON_BEGIN.match(self.begins[:1000]))

    @cached_property
    def json_values(self) -> Placed:
        """Returns the JSON values with their places; JSON lines and a JSON text sequence (RFC 7464) have several."""
        parsed = values(self.file, self.text, NEEDS)
        self.defects += parsed.defects
        return parsed.values

    def line_of(self, place: str) -> int:
        """Returns the line of the place of a JSON value."""
        return int(place.removeprefix(f"{self.file}:")) if place != self.file else 1

    @cached_property
    def timed_lines(self) -> Iterable[Line]:
        """Returns the lines, with a time alone before each group of lines that a command printed at once."""
        return _Timed(self)

    def stamp(self, number: int) -> int | None:
        """Returns the time [ns] before a line, if each line had a time before it; those without a date begin at 0."""
        at = self.stamps[number] if 0 <= number < len(self.stamps) else _NO_TIME
        return None if at == _NO_TIME else at

    def with_json_inside(self) -> Content | None:
        """Returns the content as JSON if a line behind other text begins a JSON value; None if there is none."""
        if self.is_json or not _JSON_INSIDE.search(self.begins):
            return None
        try:
            parsed = values(self.file, self.text, NEEDS)
        except ScenarioError:
            return None
        part = Content(self.file, self.data, [*self.defects, *parsed.defects])
        part.is_json, part.json_values = True, parsed.values
        return part

    def without_times(self) -> Content | None:
        """Returns the content without the time that `ts` and others print before each line; None if there is none."""
        head = [line for line in self.begins.splitlines()[:_EXAMINED] if line.strip()]
        if sum(_STAMPED.match(line) is None for line in head) > (len(head) > 2):
            return None
        try:
            lines = self.lines
        except ScenarioError:
            return None
        stamps, clock, damaged, count = array("q", [_NO_TIME]), _Clock(), list[int](), 0
        for number, line in lines:
            stamps.extend([_NO_TIME] * (number + 1 - len(stamps)))
            if (match := _STAMPED.match(line)) is not None and is_time(at := clock.ns(match)):
                stamps[number] = at
            elif line.strip():
                damaged.append(number)
            count += bool(line.strip())
            # The last line may be truncated.
            if len(damaged) > 1:
                return None
        if len(damaged) > (count > 2):
            return None
        part = Content(self.file, b"", self.defects)
        part.lines = lines.without(*damaged).changed(_without_stamp) if isinstance(lines, Lines) else []
        part.stamps, part.defects = stamps, self.defects
        part.ends_whole = False
        part.begins = "\n".join(line for _, line in islice(part.lines, _EXAMINED))[:65536]
        part.data = part.begins.encode()
        return part

    def of_lines(self, lines: Sequence[Line]) -> Content:
        """Returns a content that consists of some of the lines."""
        part = Content(self.file, b"")
        part.lines, part.stamps, part.ends_whole = lines, self.stamps, self.ends_whole
        return part

    def without_line(self, number: int) -> Content:
        """Returns a content that consists of the other lines."""
        lines = self.lines
        if isinstance(lines, Lines):
            part = self.of_lines(lines.without(number))
        else:
            part = self.of_lines([line for line in lines if line[0] != number])
        part.begins = self.begins
        return part

    def of_values(self, values: Placed) -> Content:
        """Returns a content that consists of some of the JSON values."""
        part = Content(self.file, b"{}")
        part.json_values = values
        return part
