"""Executes runs with loaded controllers in a separate process, so that a crash or endless loop affects only one run."""

import atexit
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from longpipe import _core
from longpipe.errors import RunError, ScenarioError
from longpipe.user_code.execution import place

# Processor time [s] and duration [s] above which a call of a module is considered endless; a normal call takes
# microseconds.
CALL_CPU_S: float = 10.0
CALL_S: Final = 120.0
_LOOK_S: Final = 0.2
_PROGRESS_S: Final = 0.1
_HANGS: Final = 70
_HANGS_LOADING: Final = 71
# Exit status of a child process that cannot answer, because code of the user closed its descriptors.
_SILENCED: Final = 72
_LOST: Final = "the run is lost and is not repeated"
# Name of a class, "file.py:Class" or "package.module:Class".
_CLASS: Final = re.compile(r"[\w.]:[A-Za-z_]\w*(?:\.\w+)*(?:,|$)")

_START: Final = "import sys; sys.path[:] = sys.argv[1:]; from longpipe.controls.isolation import serve; serve()"

# Whether this process executes runs for another process.
_serves = False
# Idle processes by thread, because each thread executes one run at a time.
_idle: list["_Child"] = []
_lock = threading.Lock()


def is_isolated() -> bool:
    """Returns whether this process may load controllers, because it exists for that purpose."""
    return _serves


def load_here() -> None:
    """Allows this process to load controllers itself, without a child process that protects it against crashes."""
    global _serves
    _serves = True


def run(
    names: str,
    call: Callable[..., Any],
    arguments: tuple[object, ...],
    progress: Callable[[float], None] | None = None,
) -> Any:  # noqa: ANN401 - the return value of `call`
    """Executes `call(*arguments, progress)` in a child process and returns its result, or raises its error.

    Raises RunError, which names the modules, if the process dies or a call of a module never returns.
    """
    with _lock:
        child = _idle.pop() if _idle else None
    child = child or _Child()
    try:
        result = child.run(names, call, arguments, progress)
    except BaseException:
        child.end()
        raise
    with _lock:
        _idle.append(child)
    if isinstance(result, BaseException):
        raise result
    return result


class _Child:
    """The parent's side of a process that executes runs one after another."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this program
            [sys.executable, "-c", _START, *sys.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(
        self,
        names: str,
        call: Callable[..., Any],
        arguments: tuple[object, ...],
        progress: Callable[[float], None] | None,
    ) -> Any:  # noqa: ANN401 - as above
        folder = _working_directory()
        assert self._process.stdin is not None  # noqa: S101 - always a pipe
        assert self._process.stdout is not None  # noqa: S101 - always a pipe
        try:
            pickle.dump((call, arguments, CALL_CPU_S, folder), self._process.stdin, protocol=5)
            self._process.stdin.flush()
            while True:
                kind, value = pickle.load(self._process.stdout)  # noqa: S301 - sent by our own child process
                if kind == "end":
                    return value
                if kind == "hangs":
                    raise RunError(f"{value}; {_LOST}")
                if progress is not None:
                    progress(value)
        except (EOFError, OSError, pickle.UnpicklingError):
            status = self._process.wait()
            noun = "class" if _CLASS.search(names) else "module"
            if status == _HANGS_LOADING:
                needs = f"needs a {noun} that is loaded within {CALL_CPU_S:g} s of processor time"
                raise ScenarioError(f"{names}: does not return while it is loaded; {needs}") from None
            raise RunError(f"{names}: {_death(status, noun)}; {_LOST}") from None

    def end(self) -> None:
        with suppress(OSError):
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


def _working_directory() -> str | None:
    """Returns the working directory; None if it was removed."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return None


def _death(status: int, noun: str) -> str:
    if status == _HANGS:
        return f"a call of the {noun} did not return within {CALL_CPU_S:g} s of processor time"
    if status == _SILENCED:
        return f"the {noun} closed the descriptors of its process"
    if status < 0:
        name = signal.Signals(-status).name
        return f"the {noun} crashed by {name}" if name != "SIGKILL" else "the process was killed (out of memory?)"
    return f"the {noun} ended the process with exit status {status}"


def _leave_to_parent() -> None:
    """Forgets the processes of the parent of this forked process, whose answers the parent reads."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


@atexit.register
def _end_all() -> None:
    while _idle:
        _idle.pop().end()


def serve() -> None:
    """Executes the parent's requests in a child process, until the parent ends."""
    load_here()
    # Ctrl-C is handled by the parent, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Input and output of a module must not mix with orders and results.
    orders, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    watch = _Watch(os.getppid(), answers)
    threading.Thread(target=watch.look, daemon=True).start()
    while True:
        try:
            call, arguments, cpu_s, folder = pickle.load(orders)  # noqa: S301 - sent by our own parent process
        except EOFError:
            return
        except OSError:
            os._exit(_SILENCED)
        watch.cpu_s = cpu_s
        # The parent's working directory may have changed since it started this process, and may no longer exist.
        if folder is not None:
            os.chdir(folder)
        try:
            result = call(*arguments, _Progress(answers))
        except Exception as error:
            result = error
        except BaseException as error:
            # Only code of the user raises these errors here, because this process ignores Ctrl-C.
            result = RunError(f"{place(error.__traceback__)}{type(error).__name__}; {_LOST}")
        _send(answers, ("end", result))


def _send(answers: BinaryIO, message: object) -> None:
    """Sends an answer to the parent; ends this process if the parent, such as an interrupted one, has ended."""
    try:
        pickle.dump(message, answers, protocol=5)
        answers.flush()
    except OSError as error:
        # Skips the shutdown of the interpreter, which would try to flush the answer and report the error.
        os._exit(1 if isinstance(error, BrokenPipeError) else _SILENCED)


class _Progress:
    """Sends the progress of a run, at most ten times a second."""

    def __init__(self, answers: BinaryIO) -> None:
        self._answers = answers
        self._sent = 0.0

    def __call__(self, fraction: float) -> None:
        now = time.monotonic()
        if now - self._sent >= _PROGRESS_S:
            self._sent = now
            _send(self._answers, ("progress", fraction))


class _Watch:
    """Ends this process if a call of a module never returns, or if the parent has ended."""

    def __init__(self, parent: int, answers: BinaryIO) -> None:
        self.cpu_s = CALL_CPU_S
        self._parent = parent
        self._answers = answers

    def look(self) -> None:
        """Watches for endless calls and for the end of the parent, in the watchdog's thread."""
        calls_before, since, since_cpu = 0, time.monotonic(), time.process_time()
        while True:
            time.sleep(_LOOK_S)
            if os.getppid() != self._parent:
                os._exit(1)
            calls = _core.module_calls()
            now, cpu = time.monotonic(), time.process_time()
            if calls != calls_before or calls % 2 == 0:
                calls_before, since, since_cpu = calls, now, cpu
            elif cpu - since_cpu > self.cpu_s or now - since > CALL_S:
                self._name_hook(f"did not return within {self.cpu_s:g} s of processor time")
                os._exit(_HANGS_LOADING if _core.module_is_loading() else _HANGS)

    def _name_hook(self, what: str) -> None:
        """Sends the place of a call of a class in Python that never returns; other calls have no place."""
        # Only a process with a class has loaded this module.
        hook_errors = sys.modules.get("longpipe.controls.hook_errors")
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        if hook_errors is not None and (place := hook_errors.place_in_hook(frame, what)) is not None:
            # The main thread is in the hook, so it does not write.
            _send(self._answers, ("hangs", place))
