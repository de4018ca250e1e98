"""How live runs end: by a signal, or before they begin. Nothing is left of any."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from live_programs import refused


def namespaces_of(process: int) -> set[str]:
    """The namespaces of the processes that descend from one."""
    found: set[str] = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and process in ancestors(int(folder.name)):
                found.add((folder / "ns/net").readlink().name)
        except (OSError, IndexError):
            continue
    return found


def ancestors(process: int) -> list[int]:
    found = []
    while process > 1:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(process)
    return found


def left_behind(spaces: set[str]) -> list[str]:
    """Processes that are still in one of these network namespaces."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "ns/net").readlink().name in spaces:
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("device", ["any", "packet"])
def test_nothing_is_left_of_a_run_that_is_ended(idle: str, number: signal.Signals, device: str) -> None:
    # What the command leaves to itself ends as well.
    command = "sleep 1000 & setsid sleep 1001 & echo ready; exec sleep 1002"
    started = [sys.executable, "-m", "longpipe", "live", idle, "--quiet", "--device", device, "--", "sh", "-c", command]
    with subprocess.Popen(started, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        spaces = namespaces_of(process.pid) - {Path("/proc/self/ns/net").readlink().name}
        assert len(spaces) >= 2
        process.send_signal(number)
        status = process.wait(60)
    assert status != 0
    until = time.monotonic() + 30
    while (left := left_behind(spaces)) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []


def test_without_permission_three_ways_out_are_named(idle: str) -> None:
    # Within a user namespace that may have no further ones.
    if (reason := refused()) is not None:
        pytest.skip(reason)
    code = (
        "import os, sys; from pathlib import Path; from longpipe.live import calls; calls.unshare(calls.NEW_USER)\n"
        "Path('/proc/sys/user/max_user_namespaces').write_text('0')\n"
        "Path('/proc/sys/user/max_net_namespaces').write_text('0')\n"
        f"os.execv(sys.executable, [sys.executable, '-m', 'longpipe', 'live', {idle!r}, '--', 'true'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if "max_user" in done.stderr:
        pytest.skip("limits of namespaces can't be set here")
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert re.search(r"source1: .*; needs one of root, user namespaces .* or CAP_SYS_ADMIN", line), done.stderr
