"""Linux system calls that Python 3.11 lacks: namespaces, mounts, and a signal when the parent process dies."""

import ctypes
import os
import signal
from typing import Final

NEW_MOUNTS: Final = 0x00020000
NEW_USER: Final = 0x10000000
NEW_PROCESSES: Final = 0x20000000
NEW_NETWORK: Final = 0x40000000

BIND: Final = 0x1000
RECURSIVE: Final = 0x4000
PRIVATE: Final = 1 << 18
DETACH: Final = 2

_SET_PARENT_DEATH_SIGNAL: Final = 1
_SET_TIMER_SLACK: Final = 29


def _done(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Moves this process into new namespaces. Raises OSError."""
    _done(_libc().unshare(flags), "unshare")


def enter(descriptor: int, kind: int) -> None:
    """Moves this process into the namespace that a descriptor refers to. Raises OSError."""
    _done(_libc().setns(descriptor, kind), "setns")


def mount(source: str, target: str, kind: str, flags: int = 0) -> None:
    """Mounts a file system, or mounts a file over another file. Raises an OSError that names the target."""
    texts = [text.encode() for text in (source, target, kind)]
    _done(_libc().mount(*texts, ctypes.c_ulong(flags), None), target)


def unmount(target: str) -> None:
    """Unmounts lazily: detaches at once, and frees when no longer in use. Raises an OSError that names the target."""
    _done(_libc().umount2(target.encode(), DETACH), target)


def die_with_parent(parent: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Requests a signal when the parent process ends; `parent` is its number, 0 if it is not visible here."""
    _done(_libc().prctl(_SET_PARENT_DEATH_SIGNAL, int(number), 0, 0, 0), "prctl")
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def wake_in_time() -> None:
    """Sets the timer slack of this thread to its minimum; the default delays timers by up to 50 µs."""
    _done(_libc().prctl(_SET_TIMER_SLACK, 1, 0, 0, 0), "prctl")
