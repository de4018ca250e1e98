"""Ctrl-C, and SIGTERM as batch systems send it, at a time when nothing is half done."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

# Exit status of a command that Ctrl-C ended, as a shell has it.
INTERRUPTED: Final = 130
# Where the import of a module runs, whose C code may turn a KeyboardInterrupt into an error of its own.
_IMPORTS: Final = "<frozen importlib"


def leave_at_once() -> None:
    """Has a Ctrl-C end the process from now on, with the exit status 130: at its beginning and at its end."""
    if _is_ours(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, _leave)


def interruptible() -> None:
    """Has a Ctrl-C raise KeyboardInterrupt from now on, or end the process while it imports a module."""
    if _is_ours(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _unraisable


def _is_ours(handler: Any) -> bool:  # noqa: ANN401 - a function, a number or nothing
    """Whether a handler may be replaced: a shell has background processes ignore Ctrl-C."""
    in_main = threading.current_thread() is threading.main_thread()
    return in_main and handler in (signal.default_int_handler, _leave, _interrupt)


def _leave(_number: int, _frame: FrameType | None) -> None:
    # Nothing of Python's is used that could raise.
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    within = frame
    while within is not None:
        if within.f_code.co_filename.startswith(_IMPORTS):
            _leave(number, frame)
        within = within.f_back
    raise KeyboardInterrupt


def _unraisable(found: Any) -> None:  # noqa: ANN401 - sys.UnraisableHookArgs, which can't be imported
    """Passes over a KeyboardInterrupt in a finaliser, which Python reports with a traceback and ignores."""
    if not issubclass(found.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(found)


class TerminatedError(KeyboardInterrupt):
    """A SIGTERM where a Ctrl-C would have been heard."""


@contextmanager
def terminable() -> Iterator[None]:
    """Has a SIGTERM end the block as a Ctrl-C does, by TerminatedError; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(_number: int, _frame: FrameType | None) -> None:
        raise TerminatedError

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def deferred() -> Iterator[None]:
    """Has a Ctrl-C, and a SIGTERM that would be heard as one, wait until the block has ended.

    The second of them is heard at once, in case the block never ends. They are the main thread's; in another one
    nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {
        number: handler for number in (signal.SIGINT, signal.SIGTERM) if callable(handler := signal.getsignal(number))
    }
    came: list[tuple[int, FrameType | None]] = []

    def remember(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))
        if len(came) > 1:
            handlers[signal.Signals(number)](number, frame)

    for number in handlers:
        signal.signal(number, remember)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            first, frame = came[0]
            handlers[signal.Signals(first)](first, frame)
