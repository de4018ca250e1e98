"""Finding user-mode Linux on a machine."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from longpipe.errors import RunError
from longpipe.linux_end.kernel import Kernel

# Runs a program in place of the guest's kernel, prints its process number, and waits.
RUNNING: Final = """
import sys, time
from pathlib import Path
from longpipe_evidence.validate.linux_boot import _running

with _running(sys.argv[2:], {}, Path(sys.argv[1])) as guest:
    print(guest.pid, flush=True)
    time.sleep(60)
"""


def kernel(folder: Path, says: str, *versions: str) -> Kernel:
    """Returns a kernel program that prints its version, with modules of several versions."""
    program = folder / "linux.uml"
    program.write_text(f"#!/bin/sh\necho {says}\n")
    program.chmod(0o755)
    for version in versions:
        (folder / "modules" / version).mkdir(parents=True)
    return Kernel(program, folder / "modules")


def test_version_is_that_of_the_kernel_program(tmp_path: Path) -> None:
    assert kernel(tmp_path, "6.1.192", "6.1.176", "6.1.192").version == "6.1.192"


def test_modules_of_a_single_kernel_determine_its_version(tmp_path: Path) -> None:
    assert kernel(tmp_path, "unused", "6.1.176").version == "6.1.176"


def test_a_program_without_its_modules_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(
        RunError, match=r"version '6\.1\.200'; needs its modules in .*modules, which has \['6\.1\.176', "
    ):
        _ = kernel(tmp_path, "6.1.200", "6.1.176", "6.1.192").version


@pytest.mark.skipif(sys.platform != "linux", reason="the guest needs Linux")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_guest_ends_with_the_process_that_runs_it(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", RUNNING, str(tmp_path), str(shutil.which("sleep")), "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        guest = int(running.stdout.readline())
        assert is_running(guest)
        running.send_signal(number)
    deadline = time.monotonic() + 10
    while is_running(guest) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(guest)


def is_running(process: int) -> bool:
    """Returns whether a process exists and has not ended; a process without a parent that waits stays as a zombie."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
