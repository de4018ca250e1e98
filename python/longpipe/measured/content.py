"""Content of a measured file: its bytes and, on request, its text, lines or JSON.

Each form is computed once, and its size is bounded.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.inputs import decode, parse_json, read_bytes, split_lines

NEEDS: Final = "a file of a tool in docs/measured.md"
# One hour of irtt probes sent every 10 ms takes 300 MB after decompression; captures can be as large.
_MOST_BYTES: Final = 1 << 30
_RECORD_SEPARATOR: Final = b"\x1e"
# `ping -D` begins lines with the time in brackets.
_BRACKETED_TIME: Final = re.compile(rb"\[\d+\.\d+\] ")


class Content:
    """A file's content, for the functions that recognise and read formats."""

    def __init__(self, file: str, data: bytes) -> None:
        self.file = file
        self.data = data

    @classmethod
    def of(cls, file: str | Path) -> Content:
        """Returns the content of a regular file; gzip is decompressed."""
        data = read_bytes(file, NEEDS, max_bytes=_MOST_BYTES)
        if not data.strip():
            raise ScenarioError(f"{file}: empty; needs {NEEDS}")
        return cls(str(file), data)

    @cached_property
    def begins(self) -> str:
        """Returns the beginning of the text, to recognise the format; undecodable bytes are replaced."""
        return self.data[:65536].decode("utf-8-sig", "replace")

    @cached_property
    def lines(self) -> list[str]:
        """Returns the lines of a text file."""
        return split_lines(self.file, decode(self.file, self.data, NEEDS, legacy=True), NEEDS)

    @cached_property
    def is_json(self) -> bool:
        """Returns whether the file begins like a JSON value, JSON lines or a JSON text sequence."""
        head = self.data[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
        return head[:1] in (b"{", b"[", _RECORD_SEPARATOR) and not _BRACKETED_TIME.match(head)

    @cached_property
    def json_values(self) -> list[tuple[str, Any]]:
        """Returns the JSON values with their places; JSON lines and a JSON text sequence (RFC 7464) have several."""
        if self.data.lstrip()[:1] != _RECORD_SEPARATOR and not self._is_lines():
            return [(self.file, parse_json(self.data, self.file, "JSON"))]
        found = []
        for number, line in enumerate(self.data.split(b"\n"), 1):
            text = line.strip().removeprefix(_RECORD_SEPARATOR).strip()
            if text:
                found.append((f"{self.file}:{number}", parse_json(text, f"{self.file}:{number}", "a JSON value")))
        if not found:
            raise ScenarioError(f"{self.file}: a JSON text sequence without a value; needs {NEEDS}")
        return found

    def _is_lines(self) -> bool:
        """Returns whether the first line is a complete JSON object and another line follows."""
        first, _, rest = self.data.lstrip().partition(b"\n")
        if not rest.strip() or not first.rstrip().endswith(b"}"):
            return False
        try:
            parse_json(first, self.file, "JSON")
        except ScenarioError:
            return False
        return True
