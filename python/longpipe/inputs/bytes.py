"""Content of an input file: a regular file of bounded size, decompressed if it is in a known compressed format."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from longpipe.errors import ScenarioError
from longpipe.inputs import reads
from longpipe.inputs.compression import BrokenError, format_of, parts
from longpipe.system.files import will_read

# Maximum size of a file, compressed and decompressed, unless a reader allows more.
MAX_BYTES: Final = 256 << 20
# Maximum number of names in a folder among which a similar name is searched for.
_MAX_NAMES: Final = 2000
# Maximum compression ratio of a file with more than _BOMB_BYTES, against decompression bombs. Deflate can reach 1032;
# measurements as text reach about 20, and captures of equal payloads about 50.
_BOMB_RATIO: Final = 200
_BOMB_BYTES: Final = 16 << 20
# Without O_NONBLOCK, opening a named pipe waits for a writer.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_OTHERS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_bytes(file: str | Path, needs: str, *, max_bytes: int = MAX_BYTES, defects: list[str] | None = None) -> bytes:
    """Returns the content of a regular file of at most `max_bytes` bytes, decompressed if necessary.

    `needs` describes the expected content in an error, as in "a TOML file". If `defects` is given, a compressed file
    that ends early is decompressed as far as possible, and a line about it is appended to the list.
    """
    with open_regular(file, needs, max_bytes=max_bytes) as opened:
        content = opened.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ScenarioError(f"{file}: more than {_size(max_bytes)}; needs {needs} of at most that")
    name = format_of(content)
    return content if name is None else _unpacked(file, name, content, needs, max_bytes, defects)


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
            status = os.fstat(descriptor)
            check_regular(file, status.st_mode, needs)
            if max_bytes is not None and status.st_size > max_bytes:
                raise ScenarioError(f"{file}: {_size(status.st_size)}; needs {needs} of at most {_size(max_bytes)}")
            yield opened
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        near = _near(Path(file)) if isinstance(error, FileNotFoundError) else None
        suggestion = f" (did you mean {near!r}?)" if near else ""
        raise ScenarioError(f"{file}: cannot be read, {reason}{suggestion}; needs {needs}") from None
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
            names = [entry.name for entry in islice(entries, _MAX_NAMES)]
    except (OSError, ValueError):
        return None
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.8)
    return str(path.with_name(close[0])) if close else None


def check_regular(file: str | Path, mode: int, needs: str) -> None:
    """Raises ScenarioError unless the mode (as returned by `os.stat`) is that of a regular file."""
    if not stat.S_ISREG(mode):
        kind = next((name for is_one, name in _OTHERS if is_one(mode)), "not a regular file")
        raise ScenarioError(f"{file}: cannot be read, it is {kind}; needs {needs}")


def _unpacked(
    file: str | Path, name: str, content: bytes, needs: str, max_bytes: int, defects: list[str] | None
) -> bytes:
    # `getvalue` copies nothing, unlike the join of a list of parts.
    unpacked = BytesIO()
    total = 0
    try:
        for part, packed in parts(name, content):
            unpacked.write(part)
            total += len(part)
            limit = min(max_bytes, max(_BOMB_BYTES, _BOMB_RATIO * packed))
            if total > limit:
                raise ScenarioError(
                    f"{file}: {name} of {_size(len(content))} that unpacks to more than {_size(limit)}; "
                    f"needs {needs} of at most {_size(max_bytes)}, packed at most {_BOMB_RATIO} times smaller"
                )
    except BrokenError as error:
        if defects is None or not error.is_early or not total:
            raise ScenarioError(f"{file}: broken {name} ({error}); needs {needs}") from None
        defects.append(f"the {name} data end early; the file is read up to there")
    return unpacked.getvalue()


def _size(count: int) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.4g} {unit}"
    return f"{count} bytes"
