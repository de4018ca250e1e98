"""Stops of the process that carries packets: none longer than the limit is certified."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from live_programs import refused
from longpipe import Scenario
from thorough import examples

pytestmark = pytest.mark.skipif(refused() is not None, reason=str(refused()))

# Limit [s] of lateness: above what a busy machine does to the carrier, and below the stops.
LIMIT_S = 0.2
# Sends a datagram every 50 ms; the kernel of the other host answers each with an ICMP message.
SEND = """
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(int(sys.argv[1])):
    try:
        out.sendto(bytes(100), ("sink1", 9))
    except ConnectionRefusedError:
        pass
    time.sleep(0.05)
"""
PATH = Scenario.example("fiber").with_(**{"network.sources": 1, "duration": "600 s"})


def prepare(folder: Path) -> None:
    (folder / "s.toml").write_text(PATH.to_toml(), encoding="utf-8")
    (folder / "send.py").write_text(SEND, encoding="utf-8")


def stopped(folder: Path, command: str, after_s: float, length_s: float) -> tuple[dict[str, object], str, int, float]:
    """Returns the report of a run that is stopped once, its text, its exit status, and the time [s] of the stop."""
    prepare(folder)
    words = ["live", "s.toml", "--max-late", f"{LIMIT_S} s", "--json", "report.json", "--", "sh", "-c", command]
    with subprocess.Popen(
        [sys.executable, "-m", "longpipe", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 60
        while not (folder / "begun").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(after_s)
        began_s = time.monotonic()
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(length_s)
        os.kill(process.pid, signal.SIGCONT)
        lasted_s = time.monotonic() - began_s
        _, text = process.communicate(timeout=60)
    return json.loads((folder / "report.json").read_text(encoding="utf-8")), text, process.returncode, lasted_s


@pytest.mark.parametrize("number", range(examples(3, 200)))
def test_stop_above_the_limit_is_not_certified(number: int, tmp_path: Path) -> None:
    draws = random.Random(number)
    # With and without packets in flight.
    command = draws.choice(["touch begun; sleep 2", f"touch begun; {sys.executable} send.py 30"])
    length_s = LIMIT_S * draws.uniform(1.3, 6)
    report, text, status, _ = stopped(tmp_path, command, draws.uniform(0, 0.7), length_s)
    assert report["holds"] is False
    assert float(str(report["longest_pause_s"])) > LIMIT_S
    assert "THE TIMING DOES NOT HOLD" in text
    assert status == 1
    assert "--max-late: " in text


@pytest.mark.parametrize("number", range(examples(2, 100)))
def test_stop_below_the_limit_is_certified_without_late_packets(number: int, tmp_path: Path) -> None:
    draws = random.Random(number)
    length_s = LIMIT_S * draws.uniform(0.1, 0.9)
    report, text, status, lasted_s = stopped(tmp_path, "touch begun; sleep 1", draws.uniform(0, 0.7), length_s)
    # A sleep is at most a sixteenth of the limit, and nothing else lengthens the pause unless the machine is busy.
    if float(str(report["longest_pause_s"])) > lasted_s + LIMIT_S / 16 + 1e-3 and report["holds"] is False:
        pytest.skip("the machine itself delayed the carrier")
    if lasted_s > LIMIT_S * 15 / 16:
        pytest.skip("the machine itself lengthened the stop")
    assert (report["holds"], status) == (True, 0), text


def test_capture_exists_after_a_kill(tmp_path: Path) -> None:
    prepare(tmp_path)
    words = ["live", "s.toml", "--capture", "c.pcapng", "--", "sh", "-c", f"touch begun; {sys.executable} send.py 400"]
    with subprocess.Popen(
        [sys.executable, "-m", "longpipe", *words], cwd=tmp_path, stdout=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(4)
        process.kill()
    assert (tmp_path / "c.pcapng").stat().st_size > 4000
