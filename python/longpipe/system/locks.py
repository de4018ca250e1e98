"""Locks between processes, which are released when their process ends, for whatever reason."""

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

# Interval at which a waiting process tries to take the lock [s].
_POLL_S: Final = 0.01


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Context that waits for the lock of this file and then holds it. The file exists only while the lock is held."""
    while (file := taken(path)) is None:
        time.sleep(_POLL_S)
    try:
        yield
    finally:
        give_back(file, path)


def taken(path: Path) -> int | None:
    """Tries to lock this file, which is created if necessary.

    Returns the open file, or None if another process holds the lock.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    # If the previous holder has removed the file in the meantime, this lock is on a deleted file.
    if _try_lock(file) and _is_same(file, path):
        return file
    os.close(file)
    return None


def _try_lock(file: int) -> bool:
    """Tries to lock an open file. Returns whether this process holds the lock."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # On a file system without locks, every process counts as the holder, so none waits.
        return error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
    return True


def _is_same(file: int, path: Path) -> bool:
    """Returns whether an open file is the file at a path."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def give_back(file: int, path: Path) -> None:
    """Releases a lock and removes its file."""
    # Windows cannot remove an open file. Elsewhere, the file is removed while the lock is still held, so that no other
    # process holds a lock on the removed file.
    if sys.platform == "win32":
        os.close(file)
    with suppress(OSError):
        path.unlink()
    if sys.platform != "win32":
        os.close(file)
