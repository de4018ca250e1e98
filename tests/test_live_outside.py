"""A path to the outside through pasta; it leads to this machine, at its gateway's address."""

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live_programs import live, python
from longpipe.live.left import ancestors, held, namespaces_below, processes_with

CALL = """
import socket, sys, time
began = time.monotonic()
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20) as s:
    s.sendall(b"x")
    print(s.recv(10).decode(), time.monotonic() - began)
print(open("/etc/resolv.conf").read())
"""


def gateway() -> str | None:
    """Returns the address of the default gateway."""
    rows = [line.split() for line in Path("/proc/net/route").read_text().splitlines()[1:]]
    found = [row[2] for row in rows if row[1] == "00000000"]
    return socket.inet_ntoa(struct.pack("<I", int(found[0], 16))) if found else None


def runs(process: int) -> bool:
    """Returns whether a process is running; a zombie does not count."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in ("Z", "X")


@pytest.fixture
def outside(namespaces: None) -> Iterator[tuple[str, int]]:
    """Starts a server on this machine for connections through pasta. Returns its address."""
    if shutil.which("pasta") is None:
        pytest.skip("pasta is not installed")
    if not os.access("/dev/net/tun", os.W_OK) or (address := gateway()) is None:
        pytest.skip("pasta needs /dev/net/tun and a default route")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"here:" + connection.recv(10))

        threading.Thread(target=answer, daemon=True).start()
        yield address, server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def test_programs_reach_the_outside_through_the_path(idle: str, tmp_path: Path, outside: tuple[str, int]) -> None:
    call = python(tmp_path, "call", CALL)
    done = live(idle, "--alone", "--outside", "--at", "source1", f"{call} {outside[0]} {outside[1]}")
    assert done.returncode == 0, done.stderr
    said, took, *names = done.stdout.split()
    assert said == "here:x"
    # It takes one RTT to connect, and another to receive the answer.
    assert float(took) >= 0.040
    assert names == ["nameserver", "10.255.255.253"]


def test_ended_run_leaves_no_pasta_process(idle: str, outside: tuple[str, int]) -> None:
    started = [sys.executable, "-m", "longpipe", "live", idle, "--quiet", "--outside", "--"]
    with subprocess.Popen([*started, "sh", "-c", "echo ready; sleep 1000"], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        spaces = namespaces_below(run.pid)
        (keeper,) = (one for one in processes_with({"longpipe.live.outside"}) if run.pid in ancestors(one))
        run.send_signal(signal.SIGKILL)
        run.wait(60)
    until = time.monotonic() + 30
    while (spaces := held(spaces)) or runs(keeper):
        assert time.monotonic() < until, f"namespaces {spaces}, keeper {keeper}"
        time.sleep(0.05)


def test_missing_pasta_reports_how_to_install_it(idle: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "longpipe", "live", idle, "--quiet", "--outside", "--", "true"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, "PATH": str(tmp_path)}
    )
    assert done.returncode == 1
    assert done.stderr == "error: --outside: pasta is not installed; get it: apt install passt\n"
