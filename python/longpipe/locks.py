"""Locks between processes, which end with their process however it ends."""

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOOK_S: Final = 0.01


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Waits until no other process has the lock of this file, which is there only as long as someone has it."""
    while (file := taken(path)) is None:
        time.sleep(_LOOK_S)
    try:
        yield
    finally:
        give_back(file, path)


def taken(path: Path) -> int | None:
    """The lock of this file, which is made where it is missing, as an open file; None if another process has it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    # Who had it before may have removed the file meanwhile: then it is the lock of nothing.
    if _is_ours(file) and _is_same(file, path):
        return file
    os.close(file)
    return None


def _is_ours(file: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # A file system without locks has no one wait.
        return error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
    return True


def _is_same(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def give_back(file: int, path: Path) -> None:
    """Ends a lock and removes its file."""
    if sys.platform == "win32":
        os.close(file)
    with suppress(OSError):
        path.unlink()
    if sys.platform != "win32":
        os.close(file)
