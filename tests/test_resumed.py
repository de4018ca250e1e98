"""A command that is killed or interrupted at a random moment writes the uninterrupted answer when it is repeated."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import PLAIN
from test_kills import count, ends
from thorough import one_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

LINK = """
name = "link"
framing = "ip"
duration = "2 s"
start = { kind = "random", over = "1 s" }
network = { kind = "dumbbell", trunk_rate = "10 Mbit/s", trunk_delay = "10 ms", group = [{ name = "a", count = 2 }] }
tcp = { profile = "linux-6" }
switch = { buffer = "1 BDP" }
"""
COMMANDS = {
    "advise": [
        *("link.toml", "--choose", "switch.policy=tail-drop,pie,fq-codel", "--choose", "switch.buffer=0.5..2 BDP / 2"),
        *("--maximise", "efficiency", "--first", "4", "--budget", "60 runs"),
    ],
    "fairness": ["--controls", "cubic,bbr", "--duration", "2 s", "--rate", "8 Mbit/s", "--seeds", "4"],
    "attack": [
        *("link.toml", "--control", "cubic", "--reference", "bbr", "--defect", "efficiency < 0.9 * reference(efficiency)"),
        *("--may", "switch.buffer=0.05..2 BDP", "--may", "network.trunk_delay=2..80 ms", "--budget", "60 runs"),
    ],
}  # fmt: skip
DEADLINE_S = 120
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
# One signal for each command; the complete sweep contains all pairs.
CASES = [(command, SIGNALS[(place + shift) % 3]) for place, command in enumerate(COMMANDS) for shift in range(3)]


def begin(command: str, folder: Path) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    (folder / "link.toml").write_text(LINK)
    line = [sys.executable, "-m", "longpipe", command, *COMMANDS[command], "--store", "runs.db", "--out", "out"]
    return subprocess.Popen(
        line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, **PLAIN},
    )  # fmt: skip


def outputs(folder: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(folder)): path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()}
    assert found
    return found


def stored(store: Path) -> int:
    """Returns the number of runs in a store that may be empty or not exist yet."""
    try:
        return count(store)
    except sqlite3.OperationalError:
        return 0


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """Returns the folder and the printed answer of each command."""
    found = {}
    for command in COMMANDS:
        folder = tmp_path_factory.mktemp(command)
        printed, errors = begin(command, folder).communicate(timeout=DEADLINE_S)
        assert outputs(folder), errors
        found[command] = folder, printed
    return found


@pytest.mark.parametrize(("command", "number"), one_in(3, CASES))
@pytest.mark.timeout(0)
def test_repeated_command_writes_the_uninterrupted_answer(
    command: str, number: signal.Signals, uninterrupted: dict[str, tuple[Path, str]], tmp_path: Path
) -> None:
    calm, printed = uninterrupted[command]
    process = begin(command, tmp_path / "a")
    store = tmp_path / "a" / "runs.db"
    wanted = random.randint(1, count(calm / "runs.db") - 1)
    deadline = time.monotonic() + DEADLINE_S
    while stored(store) < wanted and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    process.communicate(timeout=DEADLINE_S)
    assert ends(process.pid)
    repeated, _ = begin(command, tmp_path / "a").communicate(timeout=DEADLINE_S)
    assert repeated == printed, wanted
    assert outputs(tmp_path / "a") == outputs(calm), wanted
