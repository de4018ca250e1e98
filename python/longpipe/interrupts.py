"""Handles Ctrl-C, and SIGTERM from batch systems, only at times when no work is incomplete."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

# Exit status of a command that Ctrl-C ended, as in a shell.
INTERRUPTED: Final = 130
# Beginning of the file name of Python's import code; C code that an import runs may turn a KeyboardInterrupt into
# another error.
_IMPORTS: Final = "<frozen importlib"


def exit_on_interrupt() -> None:
    """Makes Ctrl-C end the process at once with exit status 130; used at the start and at the end of a command."""
    if _is_ours(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, _end_process)


def interruptible() -> None:
    """Makes Ctrl-C raise KeyboardInterrupt, or end the process during an import."""
    if _is_ours(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _unraisable


def _is_ours(handler: Any) -> bool:  # noqa: ANN401 - a function, a number or nothing
    """Returns whether a handler may be replaced; shells make background processes ignore Ctrl-C."""
    in_main = threading.current_thread() is threading.main_thread()
    return in_main and handler in (signal.default_int_handler, _end_process, _interrupt)


def _end_process(_number: int, _frame: FrameType | None) -> None:
    # This code uses nothing that could raise.
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    within = frame
    while within is not None:
        if within.f_code.co_filename.startswith(_IMPORTS):
            _end_process(number, frame)
        within = within.f_back
    raise KeyboardInterrupt


def _unraisable(found: Any) -> None:  # noqa: ANN401 - sys.UnraisableHookArgs, which cannot be imported
    """Ignores a KeyboardInterrupt raised in a finaliser; by default, Python would print its traceback and continue."""
    if not issubclass(found.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(found)


class TerminatedError(KeyboardInterrupt):
    """Raised on SIGTERM wherever Ctrl-C would raise KeyboardInterrupt."""


@contextmanager
def terminable() -> Iterator[None]:
    """Context in which SIGTERM raises TerminatedError, as Ctrl-C does; main thread only."""
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
    """Context that defers Ctrl-C, and SIGTERM inside `terminable`, until the block ends.

    A second signal acts at once, in case the block never ends. Only the main thread is affected.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {
        number: handler for number in (signal.SIGINT, signal.SIGTERM) if callable(handler := signal.getsignal(number))
    }
    pending: list[tuple[int, FrameType | None]] = []

    def remember(number: int, frame: FrameType | None) -> None:
        pending.append((number, frame))
        if len(pending) > 1:
            handlers[signal.Signals(number)](number, frame)

    for number in handlers:
        signal.signal(number, remember)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if pending:
            first, frame = pending[0]
            handlers[signal.Signals(first)](first, frame)
