"""Text of an input file: UTF-8, UTF-16 with a byte-order mark, or Latin-1 if a reader allows it."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.inputs.bytes import MOST_BYTES, read_bytes

_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Maximum number of lines of a file.
MOST_LINES: Final = 10_000_000


def read_text(file: str | Path, needs: str, *, max_bytes: int = MOST_BYTES, legacy: bool = False) -> str:
    """Returns a file's text without a byte-order mark.

    Raises a ScenarioError that names a line that cannot be decoded.
    """
    return decode(file, read_bytes(file, needs, max_bytes=max_bytes), needs, legacy=legacy)


def read_lines(file: str | Path, needs: str, *, legacy: bool = False) -> list[str]:
    """Returns the lines of a text file without blank lines at the end."""
    return split_lines(file, read_text(file, needs, legacy=legacy), needs)


def decode(file: str | Path, content: bytes, needs: str, *, legacy: bool = False) -> str:
    """Decodes the bytes of a file: UTF-8, or with `legacy` also UTF-16 with byte-order mark, and otherwise ISO 8859-1.

    ISO 8859-1 decodes every byte, so it suits files with non-ASCII letters only in names and comments.
    """
    is_utf_16 = content.startswith(_UTF_16)
    if is_utf_16 and not legacy:
        raise ScenarioError(f"{file}: not UTF-8 text; needs {needs}")
    try:
        text = content.decode("utf-16" if is_utf_16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        if is_utf_16:
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
    # Imported here because text needs none of the formats of measurements.
    from longpipe.measured.pcap import is_capture

    if is_capture(content):
        return ScenarioError(f"{file}: a capture of packets; needs {needs}; `longpipe read` shows captures")
    return ScenarioError(f"{file}:{line}: {problem}; needs {needs}")


def split_lines(file: str | Path, text: str, needs: str, max_lines: int = MOST_LINES) -> list[str]:
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
