"""Output files: a command rejects unwritable ones before the run, and leaves each of them complete or absent."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from longpipe.errors import ScenarioError

# Suffixes of the pictures that commands write.
PICTURES: Final = (".svg", ".pdf", ".png")
# O_EXCL and O_NOFOLLOW, because another user of the directory may have created a link there.
_NEW: Final = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)  # fmt: skip
# Folders of devices and open descriptors, which must not be replaced by new files.
_SYSTEM: Final = ("dev", "proc")
# Identity of a file under all its names: device and inode, or the path of a file that does not exist yet.
_Identity = tuple[int, int] | Path


@dataclass
class _Files:
    """Files that a command uses: the names of its inputs, and the options that name its outputs."""

    read: dict[_Identity, str] = field(default_factory=dict)
    written: dict[_Identity, str] = field(default_factory=dict)


# Files of the current command; outside of commands they may be read and written in any order.
_of_command: list[_Files] = []


@contextmanager
def kept_apart() -> Iterator[None]:
    """Context in which an output that is also an input raises ScenarioError."""
    _of_command.append(_Files())
    try:
        yield
    finally:
        _of_command.pop()


def will_read(path: str | Path) -> None:
    """Registers an input. Raises ScenarioError if it is also an output."""
    if not _of_command or (identity := _identity(path)) is None:
        return
    files = _of_command[-1]
    if option := files.written.get(identity):
        raise ScenarioError(f"{option}: {path} is also an input; needs another file")
    files.read[identity] = str(path)


def claim(option: str, path: Path) -> None:
    """Registers an output. Raises ScenarioError if it is also an input, or the output of another option."""
    if not _of_command or (identity := _identity(path)) is None:
        return
    files = _of_command[-1]
    if identity in files.read:
        raise ScenarioError(f"{option}: {path} is also an input; needs another file")
    other = files.written.setdefault(identity, option)
    if other != option:
        raise ScenarioError(f"{option}: {path} is also the file of {other}; needs another file")


def _identity(path: str | Path) -> _Identity | None:
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return Path(path).resolve()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _is_written_in_place(path: Path) -> bool:
    """Returns whether a path is a device, a pipe or an open descriptor, such as /dev/null and /dev/stdout."""
    absolute = path.absolute()
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    is_system = absolute.parts[1:2] in [(name,) for name in _SYSTEM] and absolute.parts[2:3] != ("shm",)
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or (is_system and stat.S_ISREG(mode))


def _reject_stdout(field: str, path: Path, needs: str) -> None:
    if path == Path("-"):
        raise ScenarioError(f"{field}: - is standard output, which takes only one text file; needs a {needs}")


def check_file(field: str, path: Path, *, extends: bool = False) -> None:
    """Raises ScenarioError, naming `field`, unless a file can be written at `path`.

    `extends` means that the command reads the file and appends to it. `-` is rejected, because only options of one text
    file write to standard output (`cli.outputs`).
    """
    _reject_stdout(field, path, "file name")
    if path.is_dir():
        raise ScenarioError(f"{field}: {path} is a directory; needs a file name")
    if path.is_socket() or path.is_block_device():
        raise ScenarioError(f"{field}: {path} is a socket or a disk; needs a file name")
    in_place = _is_written_in_place(path)
    if not in_place:
        check_directory(field, _target(field, path).parent)
    if path.exists() and not os.access(path, os.W_OK):
        raise ScenarioError(f"{field}: {path} is read-only; needs a writable file")
    if not (extends or in_place):
        claim(field, path)


def _target(field: str, path: Path) -> Path:
    """Returns the file that is written: for a symbolic link, the file to which it points.

    Raises ScenarioError, naming `field`, for links that form a loop.
    """
    try:
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError):
        raise ScenarioError(f"{field}: {path} is a loop of symbolic links; needs a file name") from None


def check_directory(field: str, path: Path) -> None:
    """Creates the directory if necessary. Raises ScenarioError, naming `field`, unless it is writable.

    An output file of the same command must not have its name. `-` is rejected.
    """
    _reject_stdout(field, path, "directory")
    # Imported here because tempfile loads modules for random numbers and compression.
    import tempfile

    if _of_command and (other := _of_command[-1].written.get(_identity(path) or path)):
        raise ScenarioError(f"{field}: {path} is also the file of {other}; needs another directory")
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        is_file = isinstance(error, FileExistsError)
        reason = "not a directory" if is_file else (error.strerror or str(error)).lower()
        raise ScenarioError(f"{field}: {path} cannot be written ({reason}); needs a writable directory") from None


def write_text(path: Path, text: str) -> None:
    """Writes a file atomically, so that it is never incomplete, for a concurrent reader or after a kill."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file atomically, so that it is never incomplete, for a concurrent reader or after a kill.

    If `path` is a symbolic link, the file to which it points is written.
    """
    if _of_command and _identity(path) in _of_command[-1].read:
        raise ScenarioError(f"output: {path} is also an input; needs another file or directory")
    if _is_written_in_place(path):
        _write_in_place(path, content)
        return
    # Replacing a link would leave the file to which it points unchanged.
    path = path.resolve() if path.is_symlink() else path
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        # A killed process with the same process id may have left this file behind.
        partial.unlink(missing_ok=True)
        descriptor = os.open(partial, _NEW, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(content)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        # The error for a full disk does not contain the file's name.
        error.filename = str(path)
        raise


def _write_in_place(path: Path, content: bytes) -> None:
    """Appends content to an existing file, such as a device or a named pipe, without replacing it."""
    try:
        # Without O_NONBLOCK, opening a named pipe waits for a reader.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "wb") as opened:
            os.set_blocking(descriptor, True)
            opened.write(content)
    except OSError as error:
        error.filename = str(path)
        raise
