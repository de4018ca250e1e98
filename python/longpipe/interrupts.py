"""Ctrl-C, and SIGTERM as batch systems send it, at a time when nothing is half done."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


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
