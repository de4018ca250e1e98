"""Executes the user's Python code in this process so that it cannot end, block or interrupt longpipe.

Classes and measures are loaded and called here. Code that runs in a simulation has a process of its own
(`controls.isolation`).
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO, TypeVar

from longpipe.system import interrupts

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")

# Processor time [s] and duration [s] after which code is considered endless; a normal import takes less than a second.
CPU_S: float = 10.0
DURATION_S: float = 120.0
# Time [s] that code has to react to the error that ends it.
_GRACE_S: Final = 2.0
_POLL_S: Final = 0.1
_FOLDER: Final = Path(__file__).parents[1]
# Functions of `os` that end or replace the process without an error.
_ENDS: Final = ("_exit", "abort", "execv", "execve")


class UserCodeError(Exception):
    """Code of the user tried to end the process or did not return; the text is one line with the place in the file."""


class _ExitError(BaseException):
    """Raised by functions that would end the process without an error, such as `os._exit`; the text names the function.

    It is no Exception, so that `except Exception` does not stop it.
    """


class _EndlessError(BaseException):
    """Raised in the user's code by the watchdog. It is no Exception, so that `except Exception` does not stop it."""


def execute(call: Callable[[], T]) -> T:
    """Calls a function that loads or executes code of the user, and returns its result.

    Standard input is empty during the call. Raises UserCodeError if the code raises SystemExit, GeneratorExit or
    KeyboardInterrupt, calls a function of `_ENDS`, or needs more than `CPU_S` of the thread's processor time or
    `DURATION_S`. Other errors of the code, and Ctrl-C, pass through.
    """
    watchdog = _Watchdog()
    try:
        with _without_input, _without_ends, watchdog:
            return call()
    except _EndlessError as error:
        raise UserCodeError(_line(error, watchdog.problem)) from None
    except _ExitError as error:
        raise UserCodeError(_line(error, f"{error}; needs code that does not exit")) from None
    except (SystemExit, GeneratorExit) as error:
        raise UserCodeError(_line(error, f"{type(error).__name__}; needs code that does not exit")) from None
    except KeyboardInterrupt as error:
        if _is_ctrl_c(error):
            raise
        raise UserCodeError(_line(error, "KeyboardInterrupt; needs code that does not exit")) from None


def place(traceback_: TracebackType | None) -> str:
    """Returns the innermost file and line of the user's code in a traceback, as "FILE:LINE: "; "" if there is none."""
    frames = [frame for frame in traceback.extract_tb(traceback_) if is_of_user(frame.filename)]
    return f"{shown_path(frames[-1].filename)}:{frames[-1].lineno}: " if frames else ""


def is_of_user(file: str) -> bool:
    """Returns whether a file of a traceback belongs neither to longpipe nor to Python's import code."""
    return "importlib" not in file and not Path(file).is_relative_to(_FOLDER)


def shown_path(file: str) -> str:
    """Returns a path relative to the working directory if it is within it."""
    path = Path(file)
    with suppress(FileNotFoundError):
        if path.is_relative_to(Path.cwd()):
            return str(path.relative_to(Path.cwd()))
    return file


def _line(error: BaseException, problem: str) -> str:
    return f"{place(error.__traceback__)}{problem}"


def _is_ctrl_c(error: BaseException) -> bool:
    """Returns whether a KeyboardInterrupt may be the reaction to Ctrl-C, and not one that the user's code raised."""
    if threading.current_thread() is not threading.main_thread():
        return False
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Python's own handler leaves no trace.
        return True
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename == interrupts.__file__


class _EmptyInput:
    """Context in which standard input is empty, for Python and for code that reads the descriptor; for all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Number of threads in the context, and what the last one restores.
        self._users = 0
        self._stdin: TextIO | None = None
        self._descriptor: int | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            self._stdin, sys.stdin = sys.stdin, Path(os.devnull).open(encoding="utf-8")
            with suppress(OSError):
                self._descriptor = os.dup(0)
                os.dup2(sys.stdin.fileno(), 0)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users > 0:
                return
            if self._descriptor is not None:
                os.dup2(self._descriptor, 0)
                os.close(self._descriptor)
            sys.stdin.close()
            sys.stdin, self._stdin, self._descriptor = self._stdin, None, None


_without_input: Final = _EmptyInput()


class _EndsReplaced:
    """Context in which functions of `os` that end the process raise `_ExitError` in the threads of the context."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: list[int] = []
        self._originals: dict[str, Callable[..., object]] = {}
        self._process = 0

    def __enter__(self) -> None:
        with self._lock:
            self._threads.append(threading.get_ident())
            if len(self._threads) == 1:
                self._process = os.getpid()
                self._originals = {name: getattr(os, name) for name in _ENDS if hasattr(os, name)}
                for name, original in self._originals.items():
                    setattr(os, name, self._raising(name, original))

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._threads.remove(threading.get_ident())
            if not self._threads:
                for name, original in self._originals.items():
                    setattr(os, name, original)

    def _raising(self, name: str, original: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            # A forked child ends itself, and so does longpipe on a signal.
            is_of_context = os.getpid() == self._process and threading.get_ident() in self._threads
            if is_of_context and not Path(sys._getframe(1).f_code.co_filename).is_relative_to(_FOLDER):
                raise _ExitError(f"os.{name}")
            return original(*arguments, **options)

        return call


_without_ends: Final = _EndsReplaced()


class _Watchdog:
    """Context that raises `_EndlessError` in its thread when the limit of time is exceeded."""

    def __init__(self) -> None:
        self.problem = ""
        self._thread = threading.get_ident()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _Watchdog:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._ended.set()
            if self.problem:
                # Cancels an error that the thread has not received yet.
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), None)

    def _watch(self) -> None:
        """Ends the user's code when it exceeds its limit of processor time or of duration."""
        clock = _clock_of(self._thread)
        begin, begin_cpu_s = time.monotonic(), clock()
        while not self._ended.wait(_POLL_S):
            if clock() - begin_cpu_s > CPU_S:
                self._end(f"does not return within {CPU_S:g} s of processor time")
                return
            if time.monotonic() - begin > DURATION_S:
                self._end(f"does not return within {DURATION_S:g} s")
                return

    def _end(self, problem: str) -> None:
        """Raises the error until the code ends."""
        self.problem = problem
        while True:
            # The lock ensures that the error is not raised after the context has ended.
            with self._lock:
                if self._ended.is_set():
                    return
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread), ctypes.py_object(_EndlessError)
                )
            if self._ended.wait(_GRACE_S):
                return


def _clock_of(thread: int) -> Callable[[], float]:
    """Returns a clock of a thread's processor time [s], or of this process's where threads have none."""
    if hasattr(time, "pthread_getcpuclockid"):
        number = time.pthread_getcpuclockid(thread)
        return lambda: time.clock_gettime(number)
    return time.process_time
