"""Ctrl-C and SIGTERM at any time of each command: a status, one line, and no traceback."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import pytest
from typer.core import TyperGroup
from typer.main import get_command

import longpipe
from commands import PLAIN
from longpipe import Scenario
from longpipe.cli import app
from thorough import examples

PACKAGE = str(Path(longpipe.__file__).parent)
DATA = Path(__file__).parent / "data"
MODULE = DATA / "modules" / "tcp_aimd.c"
# Arguments with which a command takes long, or as long as it can.
ARGUMENTS = {
    "run": "s.toml --set duration=600s",
    "plot": "s.toml rtt --set duration=600s -o a.png",
    "read": "p.txt",
    "fit": "p.txt",
    "whatif": "s.toml --set switch.buffer=10packets --set duration=600s",
    "lab": "s.toml --print",
    "init": "t.toml --example geo --force",
    "fields": "",
    "satellites": "kuiper-630 Manila Dalian --duration 600",
    "reproduce": "frr-96 --table 1 --out results",
    "report": "frr-96 --out results",
    "suite": "rfc-9743 --control cubic --out suite",
    "fairness": "s.toml --controls cubic,bbr --out pairs --set duration=100s",
    "design": "s.toml --factor switch.buffer=10packets,20packets --replications 400 --run s",
    "advise": "s.toml --choose switch.buffer=10packets,20packets --best efficiency",
    "attack": "s.toml --control bbr --reference cubic",
    "analyse": "s --response efficiency",
    "doctor": "",
    "version": "",
    "help": "run",
    "study": "list",
    "cc": f"check {MODULE}",
    "ci": "init cubic",
    "homework": "make class.csv --base https://example.org/lab.html",
    "live": "s.toml -- sleep 60",
    "validate": "model-errors",
}
SIGNALS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}
# Instants [s] of the complete sweep, from the time at which longpipe's code begins.
INSTANTS = [0.05 * step for step in range(60)]
CASES = [(command, after_s) for command in ARGUMENTS for after_s in INSTANTS]
# Starts the command as its script does, after reporting that Python has started.
START = (
    "import sys; print('up', end='', flush=True); sys.argv[0] = 'longpipe'; from longpipe.__main__ import main; main()"
)


def test_sweep_covers_every_command() -> None:
    assert set(ARGUMENTS) == set(cast(TyperGroup, get_command(app)).commands)


def interrupted(command: str, after_s: float, number: signal.Signals, folder: Path) -> tuple[int, str]:
    """Returns the exit status and the lines on stderr of a command that gets a signal."""
    environment = {**os.environ, **PLAIN, "LONGPIPE_STORE": str(folder / "runs.db"), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", START, command, *ARGUMENTS[command].split()], cwd=folder, env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.read(2) == "up"
        time.sleep(after_s)
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
    return process.returncode, errors


@pytest.mark.parametrize("case", range(examples(len(ARGUMENTS), len(CASES))))
def test_signal_ends_a_command_with_one_line(case: int, tmp_path: Path) -> None:
    # A sample has each command once, at instants that are spread over those of the sweep.
    count = examples(len(ARGUMENTS), len(CASES))
    command, after_s = CASES[case] if count == len(CASES) else (list(ARGUMENTS)[case], INSTANTS[case * 7 % 40])
    number = list(SIGNALS)[case % 2]
    text = Scenario.example("fiber").with_(duration="5 s").to_toml()
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    (tmp_path / "class.csv").write_text("\n".join(["student", *map(str, range(1000))]) + "\n", encoding="utf-8")
    lines = [f"64 bytes from 10.0.0.1: icmp_seq={i} ttl=64 time={20 + i % 7} ms" for i in range(1, 20000)]
    (tmp_path / "p.txt").write_text("PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n" + "\n".join(lines) + "\n")
    status, errors = interrupted(command, after_s, number, tmp_path)
    if status == -number and PACKAGE not in errors:
        # Before longpipe's first line, the reaction is Python's own.
        return
    assert "Traceback" not in errors
    assert "Error" not in errors
    if status in SIGNALS[number][:1]:
        # A command of a study also prints how to continue.
        assert SIGNALS[number][1] in errors or "continue" in errors
    else:
        # The command had ended, or Python was starting or ending.
        assert status in (0, 1, 2, -number), errors
        assert "run failed" not in errors
