"""Live runs that end because of a signal, or before they start, leave nothing behind."""

import json
import re
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest

from live_programs import ASK, SERVE, python, refused
from longpipe.live.left import held, namespaces_below
from thorough import one_in


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize(
    ("device", "number"), one_in(2, list(product(["any", "packet"], [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])))
)
def test_ended_run_leaves_no_processes(idle: str, number: signal.Signals, device: str) -> None:
    # Background processes that the command started end as well.
    command = "sleep 1000 & setsid sleep 1001 & echo ready; exec sleep 1002"
    started = [sys.executable, "-m", "longpipe", "live", idle, "--quiet", "--device", device, "--", "sh", "-c", command]
    with subprocess.Popen(started, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        spaces = namespaces_below(process.pid)
        # There is at least one network namespace and one process namespace at each end.
        assert len(spaces) >= 4
        process.send_signal(number)
        status = process.wait(60)
    assert status != 0
    until = time.monotonic() + 30
    while (spaces := held(spaces)) and time.monotonic() < until:
        time.sleep(0.05)
    assert spaces == set()


@pytest.mark.usefixtures("namespaces")
def test_ctrl_c_ends_the_wait_for_a_program(idle: str) -> None:
    arguments = ["--wait-for", "sink1:5000", "--at", "source1", "true", "--at", "sink1", "sleep 1003"]
    started = [sys.executable, "-m", "longpipe", "live", idle, *arguments]
    with subprocess.Popen(started, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("waiting until a program at sink1 listens" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGINT
    assert "Traceback" not in errors
    assert "--wait-for" not in errors


def test_missing_permission_names_three_remedies(idle: str) -> None:
    # The command runs in a user namespace that cannot create further ones.
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
        pytest.skip("limits of namespaces cannot be set here")
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert re.search(r"source1: .*; needs one of root, user namespaces .* or CAP_SYS_ADMIN", line), done.stderr


# A program that runs in a user namespace in which the user is the overflow user, without access to /dev/net/tun.
AS_UNPRIVILEGED = """
import os, sys
from pathlib import Path
from longpipe.live import calls
user, group = os.geteuid(), os.getegid()
calls.unshare(calls.NEW_USER | calls.NEW_MOUNTS)
Path("/proc/self/setgroups").write_text("deny")
Path("/proc/self/uid_map").write_text(f"65534 {user} 1")
Path("/proc/self/gid_map").write_text(f"65534 {group} 1")
calls.mount("none", "/", "none", calls.RECURSIVE | calls.PRIVATE)
if Path("/dev/net/tun").exists():
    calls.mount("/dev/null", "/dev/net/tun", "none", calls.BIND)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.mark.usefixtures("namespaces")
def test_packet_sockets_replace_a_missing_tun_device(idle: str, tmp_path: Path) -> None:
    ask, serve = python(tmp_path, "ask", ASK), python(tmp_path, "serve", SERVE)
    file = tmp_path / "certificate.json"
    arguments = ["live", idle, "--alone", "--json", str(file)]
    ends = ["--at", "source1", f"id -u; {ask} sink1 5000 3", "--at", "sink1", f"{serve} 5000"]
    unprivileged = [sys.executable, "-c", AS_UNPRIVILEGED]
    done = subprocess.run(
        [*unprivileged, "-m", "longpipe", *arguments, *ends], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    user, *times = done.stdout.split()
    assert (user, len(times)) == ("65534", 3)
    found = json.loads(file.read_text())
    assert found["devices"] == ["source1: packet", "sink1: packet"]
    assert (found["entered"], found["delivered"]) == (6, 6)
    asked = subprocess.run(
        [*unprivileged, "-m", "longpipe", *arguments, "--device", "tun", *ends],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert asked.returncode == 1
    assert asked.stderr.count("error: live: source1: ") == 1
