"""Reactions to Ctrl-C and SIGTERM: end the process, raise KeyboardInterrupt, or wait until a block ends."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

# Exit status of a command that Ctrl-C or SIGTERM ended, as in a shell, and the line that it prints.
INTERRUPTED: Final = 130
TERMINATED: Final = 143
_EXITS: Final = {signal.SIGINT: (INTERRUPTED, "interrupted"), signal.SIGTERM: (TERMINATED, "terminated")}
# Beginning of the file name of Python's import code; C code that an import runs may turn a KeyboardInterrupt into
# another error.
_IMPORTS: Final = "<frozen importlib"

# The signal that interrupted the command; further code may have turned the KeyboardInterrupt into another error.
_received: list[int] = []


def exit_on_interrupt() -> None:
    """Makes Ctrl-C and SIGTERM end the process at once; used at the start and at the end of a command."""
    _install(_end_process)


def raise_on_interrupt() -> None:
    """Makes Ctrl-C and SIGTERM raise KeyboardInterrupt, or end the process during an import."""
    _install(_interrupt)
    sys.unraisablehook = _unraisable


def interrupted_exit() -> tuple[int, str] | None:
    """Returns the exit status and the line of a command that a signal has interrupted; None without a signal."""
    return _EXITS[signal.Signals(_received[0])] if _received else None


def clear_interruption() -> None:
    """Forgets an interruption: the command continues with the results that it has, or another one begins."""
    _received.clear()


def _install(handler: Callable[[int, FrameType | None], None]) -> None:
    """Installs a handler where the signal would interrupt the process; background jobs of shells ignore Ctrl-C."""
    if threading.current_thread() is threading.main_thread():
        own_handlers = signal.default_int_handler, signal.SIG_DFL, _end_process, _interrupt
        for number in _EXITS:
            if signal.getsignal(number) in own_handlers:
                signal.signal(number, handler)


def _reset() -> None:
    """Restores Python's reactions in a forked child, which does not belong to the command."""
    _received.clear()
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) in (_end_process, _interrupt):
            signal.signal(number, handler)


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)


def _end_process(number: int, _frame: FrameType | None) -> None:
    # This code uses nothing that could raise.
    status, line = _EXITS[signal.Signals(number)]
    os.write(2, f"{line}\n".encode())
    os._exit(status)


def _interrupt(number: int, frame: FrameType | None) -> None:
    within = frame
    while within is not None:
        if within.f_code.co_filename.startswith(_IMPORTS):
            _end_process(number, frame)
        within = within.f_back
    _received.append(number)
    raise KeyboardInterrupt if number == signal.SIGINT else TerminatedError


def _unraisable(raised: Any) -> None:  # noqa: ANN401 - sys.UnraisableHookArgs, which cannot be imported
    """Repeats a signal whose KeyboardInterrupt was raised in a finaliser, where Python would print it and continue."""
    if issubclass(raised.exc_type, KeyboardInterrupt) and _received:
        signal.raise_signal(_received[-1])
    else:
        sys.__unraisablehook__(raised)


class TerminatedError(KeyboardInterrupt):
    """Raised on SIGTERM wherever Ctrl-C would raise KeyboardInterrupt."""


@contextmanager
def terminable() -> Iterator[None]:
    """Context in which SIGTERM raises TerminatedError, as Ctrl-C does; main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number: int, _frame: FrameType | None) -> None:
        _received.append(number)
        raise TerminatedError

    previous_handler = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous_handler)


@contextmanager
def deferred() -> Iterator[None]:
    """Context that defers Ctrl-C, and SIGTERM if Python code handles it, until the block ends.

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
