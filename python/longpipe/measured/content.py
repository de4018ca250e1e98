"""Content of a measured file: its bytes and, on request, its text, lines or JSON.

Each form is computed once, and its size is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.inputs import decode, read_bytes, split_lines
from longpipe.inputs.text import encoding_of
from longpipe.measured.json_text import RECORD_SEPARATOR, Placed, values

NEEDS: Final = "a file of a tool in docs/measured.md"
# One hour of irtt probes sent every 10 ms takes 300 MB after decompression; captures can be as large.
_MOST_BYTES: Final = 1 << 30
# `ping -D` begins lines with the time in brackets.
_BRACKETED_TIME: Final = re.compile(r"\[\d+\.\d+\] ")


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
        return decode(self.file, self.data, NEEDS, legacy=True)

    @cached_property
    def lines(self) -> list[tuple[int, str]]:
        """Returns the lines of a text file, or of a part of it, with their numbers in the file."""
        return list(enumerate(split_lines(self.file, self.text, NEEDS), 1))

    @cached_property
    def is_json(self) -> bool:
        """Returns whether the file begins like a JSON value, JSON lines or a JSON text sequence."""
        # Without an argument, `lstrip` would remove the record separator.
        head = self.begins[:64].lstrip(" \t\r\n")
        return head[:1] in ("{", "[", RECORD_SEPARATOR) and not _BRACKETED_TIME.match(head)

    @cached_property
    def json_values(self) -> Placed:
        """Returns the JSON values with their places; JSON lines and a JSON text sequence (RFC 7464) have several."""
        found = values(self.file, self.text, NEEDS)
        self.defects += found.defects
        return found.values

    def line_of(self, place: str) -> int:
        """Returns the line of the place of a JSON value."""
        return int(place.removeprefix(f"{self.file}:")) if place != self.file else 1

    def of_lines(self, lines: list[tuple[int, str]]) -> Content:
        """Returns a content that consists of some of the lines."""
        part = Content(self.file, b"")
        part.lines = lines
        return part

    def of_values(self, values: Placed) -> Content:
        """Returns a content that consists of some of the JSON values."""
        part = Content(self.file, b"{}")
        part.json_values = values
        return part
