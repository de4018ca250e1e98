"""Content of an input file: a regular file of bounded size, decompressed if it is in gzip format."""

from __future__ import annotations

import difflib
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from longpipe.errors import ScenarioError
from longpipe.files import will_read
from longpipe.inputs import reads

# Maximum size of a file, compressed and decompressed, unless a reader allows more.
MOST_BYTES: Final = 256 << 20
GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 1 << 20
# Maximum number of names in a folder among which a similar name is searched for.
_MOST_NAMES: Final = 2000
# Maximum compression ratio of a file with more than _BOMB_BYTES, against decompression bombs. Deflate can reach 1032;
# measurements as text reach about 20.
_BOMB_RATIO: Final = 200
_BOMB_BYTES: Final = 16 << 20
_WITH_HEAD: Final = 16 + zlib.MAX_WBITS
# Without O_NONBLOCK, opening a named pipe waits for a writer.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_OTHERS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_bytes(file: str | Path, needs: str, *, max_bytes: int = MOST_BYTES) -> bytes:
    """Returns the content of a regular file of at most `max_bytes` bytes; gzip is detected by its first bytes.

    `needs` describes the expected content in an error, as in "a TOML file".
    """
    with open_regular(file, needs, max_bytes=max_bytes) as opened:
        content = opened.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ScenarioError(f"{file}: more than {_size(max_bytes)}; needs {needs} of at most that")
    return _unpacked(file, content, needs, max_bytes) if content.startswith(GZIP) else content


@contextmanager
def open_regular(file: str | Path, needs: str, *, max_bytes: int | None = None) -> Iterator[BinaryIO]:
    """Opens a regular file of at most `max_bytes` bytes, so that callers can read it in parts.

    Raises ScenarioError for any other file, and for errors while the file is read.
    """
    try:
        check_regular(file, Path(file).stat().st_mode, needs)
        will_read(file)
        reads.note(file)
        descriptor = os.open(file, _FLAGS)
        with os.fdopen(descriptor, "rb") as opened:
            # Checked again, because the name may meanwhile refer to another file.
            found = os.fstat(descriptor)
            check_regular(file, found.st_mode, needs)
            if max_bytes is not None and found.st_size > max_bytes:
                raise ScenarioError(f"{file}: {_size(found.st_size)}; needs {needs} of at most {_size(max_bytes)}")
            yield opened
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        near = _near(Path(file)) if isinstance(error, FileNotFoundError) else None
        meant = f" (did you mean {near!r}?)" if near else ""
        raise ScenarioError(f"{file}: cannot be read, {reason}{meant}; needs {needs}") from None
    except ValueError as error:
        # The name contains a NUL character, or the file system cannot encode it; other ValueErrors come from the
        # reader.
        if "\0" in str(file) or isinstance(error, UnicodeEncodeError):
            raise ScenarioError(f"{str(file)!r}: not a file name; needs {needs}") from None
        raise


def _near(path: Path) -> str | None:
    """Returns an existing file with a similar name, if there is one."""
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, _MOST_NAMES)]
    except (OSError, ValueError):
        return None
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.8)
    return str(path.with_name(close[0])) if close else None


def check_regular(file: str | Path, mode: int, needs: str) -> None:
    """Raises ScenarioError unless the mode (as returned by `os.stat`) is that of a regular file."""
    if not stat.S_ISREG(mode):
        kind = next((name for is_one, name in _OTHERS if is_one(mode)), "not a regular file")
        raise ScenarioError(f"{file}: cannot be read, it is {kind}; needs {needs}")


def _unpacked(file: str | Path, content: bytes, needs: str, max_bytes: int) -> bytes:
    """Decompresses gzip with one or more members; zeros may follow the last one, because tapes and gzip add them."""
    parts: list[bytes] = []
    total = 0
    rest = content
    while rest.startswith(GZIP):
        member = zlib.decompressobj(_WITH_HEAD)
        while not member.eof:
            try:
                part = member.decompress(rest, _CHUNK)
            except zlib.error as error:
                reason = str(error).rpartition(": ")[2]
                raise ScenarioError(f"{file}: broken gzip ({reason}); needs {needs}") from None
            rest = member.unconsumed_tail
            if not part and not rest and not member.eof:
                raise ScenarioError(f"{file}: broken gzip (it ends early); needs {needs}")
            parts.append(part)
            total += len(part)
            packed = len(content) - len(rest)
            if total > max_bytes or total > max(_BOMB_BYTES, _BOMB_RATIO * packed):
                raise ScenarioError(
                    f"{file}: gzip of {_size(len(content))} that unpacks to more than {_size(total - 1)}; "
                    f"needs {needs} of at most {_size(max_bytes)}, packed at most {_BOMB_RATIO} times smaller"
                )
        rest = member.unused_data
    if rest.strip(b"\0"):
        raise ScenarioError(f"{file}: broken gzip ({len(rest)} bytes after its end); needs {needs}")
    return b"".join(parts)


def _size(count: int) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.4g} {unit}"
    return f"{count} bytes"
