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
    """Has a Ctrl-C wait until the block has ended; a second one is heard at once, in case the block never does.

    Interrupts are the main thread's; in another one nothing changes.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[FrameType | None] = []

    def remember(number: int, frame: FrameType | None) -> None:
        if came:
            handler(number, frame)
        came.append(frame)

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(signal.SIGINT, came[0])
