"""Text of an input file: UTF-8, UTF-16 with or without a byte-order mark, or Latin-1 if a reader allows it."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.inputs.bytes import MAX_BYTES, read_bytes
from longpipe.inputs.capture_magic import is_capture

# Encodings by byte-order mark; Windows PowerShell redirects output as UTF-16.
_MARKS: Final = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Number of bytes at the beginning in which the encoding is detected, and the share of ASCII characters in UTF-16 text
# without a byte-order mark, whose other bytes are zero.
_DETECTED: Final = 4096
_ASCII_SHARE: Final = 0.7
# Maximum number of lines of a file.
MAX_LINES: Final = 10_000_000


def read_text(file: str | Path, needs: str, *, max_bytes: int = MAX_BYTES, legacy: bool = False) -> str:
    """Returns a file's text without a byte-order mark.

    Raises a ScenarioError that names a line that cannot be decoded.
    """
    content = read_bytes(file, needs, max_bytes=max_bytes)
    return decode(file, content, needs, legacy=legacy, only_utf_8=not legacy)


def read_lines(file: str | Path, needs: str, *, legacy: bool = False) -> list[str]:
    """Returns the lines of a text file without blank lines at the end."""
    return split_lines(file, read_text(file, needs, legacy=legacy), needs)


def encoding_of(content: bytes) -> str:
    """Returns the encoding of a text file according to its byte-order mark or its zeros; UTF-8 by default."""
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return encoding
    head = content[:_DETECTED]
    threshold = _ASCII_SHARE * (len(head) // 2)
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = head[first::2].count(0)
        if zeros >= max(threshold, 2) and not head[1 - first :: 2].count(0):
            return encoding
    return "utf-8-sig"


def decode(file: str | Path, content: bytes, needs: str, *, legacy: bool = False, only_utf_8: bool = False) -> str:
    """Decodes the bytes of a file: UTF-8 or, unless `only_utf_8`, UTF-16; with `legacy`, otherwise ISO 8859-1.

    ISO 8859-1 decodes every byte, so it suits files with non-ASCII letters only in names and comments.
    """
    encoding = encoding_of(content)
    if only_utf_8 and encoding.startswith("utf-16"):
        raise ScenarioError(f"{file}: UTF-16 text, not UTF-8 text; needs {needs}")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        if encoding.startswith("utf-16"):
            raise ScenarioError(f"{file}:{line}: not UTF-16 text; needs {needs}") from None
        if not legacy:
            byte = f"byte 0x{content[error.start]:02x}"
            raise _rejected(file, line, f"not UTF-8 text ({byte})", content, needs) from None
        text = content.decode("latin-1")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise _rejected(file, line, "not text (it has a NUL character)", content, needs)
    return text


def _rejected(file: str | Path, line: int, problem: str, content: bytes, needs: str) -> ScenarioError:
    """Returns the error for content that is not text; for a capture it names the command that reads captures."""
    if is_capture(content):
        return ScenarioError(f"{file}: a capture of packets; needs {needs}; `longpipe read` shows captures")
    return ScenarioError(f"{file}:{line}: {problem}; needs {needs}")


def split_lines(file: str | Path, text: str, needs: str, max_lines: int = MAX_LINES) -> list[str]:
    """Splits text at the line ends of Unix, Windows or classic Mac OS; removes blank lines at the end."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.rstrip("\n")
    count = text.count("\n") + 1 if text else 0
    if count > max_lines:
        raise ScenarioError(f"{file}: {count} lines; needs {needs} of at most {max_lines}")
    lines = text.split("\n") if text else []
    while lines and not lines[-1].strip():
        lines.pop()
    return lines
