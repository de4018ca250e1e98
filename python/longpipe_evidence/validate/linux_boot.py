"""Runs cases in user-mode Linux."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import psutil

from longpipe.errors import RunError
from longpipe.linux_end import kernel as linux_kernel
from longpipe.linux_end.kernel import PROGRAM, SYSTEM_PATH

GUEST: Final = Path(__file__).parent / "linux_guest"
# Interval at which the host checks whether a case has finished [s].
POLL_S: Final = 0.05
# Ratio of the limits of real time and of CPU time.
BUSY: Final = 10.0
BOOT: Final = (
    "mem=512M",
    "rootfstype=hostfs",
    "rootflags=/",
    "ro",
    "quiet",
    "init=/proc/self/cwd/init.sh",
    "con=null",
    "con0=fd:0,fd:1",
    # Kernel options that preset the delay loop and skip the choice of a RAID algorithm, because these calibrations wait
    # for time to pass; and options that ignore the host's random numbers.
    "lpj=1000000",
    "initcall_blacklist=raid6_select_algo,rng_init",
)

Read = TypeVar("Read")


def boot(
    cases: Sequence[Mapping[str, Any]], *, seed: int, timeout_s: float, read: Callable[[int, Path], Read]
) -> Iterator[Read]:
    """Starts the guest once for several cases; yields what `read` returns for each as soon as it has finished.

    `read` receives a case's number and the folder that contains its results. Cases are in the format of
    `linux_guest.load`. `seed` seeds all of the guest's random numbers, so that a case's draws also depend on the cases
    before it. `timeout_s` limits the guest's CPU time [s] for all cases together, and BUSY times `timeout_s` limits the
    real time. Raises ScenarioError if the kernel is unavailable, and RunError if the guest does not finish.
    """
    kernel = linux_kernel.get()
    shim = linux_kernel.shim()
    with tempfile.TemporaryDirectory(prefix="longpipe-linux-") as name:
        share = Path(name)
        for number, case in enumerate(cases):
            (share / str(number)).mkdir()
            (share / str(number) / "case.json").write_text(json.dumps(case))
        settings = {
            "WITNESS_PYTHON": str(Path(getattr(sys, "_base_executable", sys.executable)).resolve()),
            "WITNESS_MODULES": str(kernel.modules),
            "PYTHONPATH": str(GUEST.parents[2]),
        }
        lines = [f"export {name}={shlex.quote(value)}" for name, value in settings.items()]
        (share / "settings").write_text("\n".join(lines) + "\n")
        shutil.copy(GUEST / "init.sh", share)
        (share / "init.sh").chmod(0o755)
        environment = {"LD_PRELOAD": str(shim), "VT_SEED": str(seed + 1), "PATH": SYSTEM_PATH, "HOME": str(share)}
        with _running([str(kernel.program), *BOOT], environment, share) as guest:
            limit = _TimeLimit(guest.pid, timeout_s)
            for number in range(len(cases)):
                _await(guest, share, number, limit)
                yield read(number, share / str(number))
                shutil.rmtree(share / str(number))


class _TimeLimit:
    """Limit of a guest's time: CPU time, so that a busy machine does not end a run, and a larger one of real time."""

    def __init__(self, pid: int, timeout_s: float) -> None:
        self._pid = pid
        self._cpu_s = timeout_s
        self._real_s = BUSY * timeout_s
        self._began_s = self._checked_s = time.monotonic()

    def check(self) -> None:
        """Raises RunError if the guest has used its time. Looks at the processes once a second."""
        now_s = time.monotonic()
        if now_s - self._checked_s < 1:
            return
        self._checked_s = now_s
        if cpu_of_tree_s(self._pid) > self._cpu_s:
            raise RunError(f"{PROGRAM}: the guest did not finish within {self._cpu_s:.0f} s of CPU time")
        if now_s - self._began_s > self._real_s:
            raise RunError(f"{PROGRAM}: the guest did not finish within {self._real_s:.0f} s")


def cpu_of_tree_s(pid: int) -> float:
    """Returns the CPU time [s] of a process and its descendants, including those that have ended."""
    used_s = 0.0
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                used_s += sum(process.cpu_times()[:4])
    return used_s


def _await(guest: "subprocess.Popen[bytes]", share: Path, number: int, limit: _TimeLimit) -> None:
    """Waits until a case has finished. Raises RunError if the guest ends or time runs out first."""
    result = share / str(number) / "result.json"
    while not result.exists():
        with suppress(subprocess.TimeoutExpired):
            guest.wait(POLL_S)
            if not result.exists():
                raise RunError(f"{PROGRAM}: the guest stopped early: {_last_output(share)}")
        limit.check()


def _last_output(share: Path) -> str:
    """Returns the last output of the guest, and the first output of a program that it ran."""
    for name in ("errors.txt", "console.txt"):
        file = share / name
        lines = file.read_text(errors="replace").strip().splitlines() if file.exists() else []
        if lines:
            return lines[-1] if lines[0].startswith("Traceback") else f"{lines[0]}: {lines[-1]}"
    return "without a word"


@contextmanager
def _running(command: list[str], environment: Mapping[str, str], share: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """Context that runs the guest in its folder, and terminates all its processes at the end.

    If this process is killed, or the thread that entered the context ends, the kernel receives SIGTERM, upon which it
    terminates its own processes, including the thread for block devices, which would survive SIGKILL.
    """
    # The module cannot be imported on Windows.
    from longpipe.live.calls import die_with_parent

    with (share / "console.txt").open("wb") as console:
        guest = subprocess.Popen(  # noqa: S603 - a fixed command
            command,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=share,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, os.getpid(), signal.SIGTERM),
        )
        try:
            yield guest
        finally:
            # The guest's processes are processes of the host and survive if the guest is killed.
            with suppress(ProcessLookupError):
                os.killpg(guest.pid, signal.SIGKILL)
            guest.wait()
