"""The user's own congestion controllers, in flows that compete with real programs.

The controllers run in the process that carries the packets.
"""

import shutil
from pathlib import Path

import pytest

from live_programs import ASK, IDLE, SERVE, counted, live, python
from longpipe.live import replay

CLASS = Path(__file__).parent / "data" / "classes" / "aimd.py"

pytestmark = pytest.mark.usefixtures("namespaces")


def path_with(file: Path, folder: Path, **parameters: float) -> str:
    """Writes a scenario whose second flow, in competition with the real programs, uses a class."""
    settings = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    own = f"""
[[network.group]]
name = "programs"
[[network.group]]
name = "own"
[network.group.tcp]
congestion = {{ kind = "python", class = "{file}:Aimd", parameters = {{ {settings} }} }}
"""
    text = IDLE.replace("sources = 2\n", "").replace("100 Mbit/s", "10 Mbit/s")
    target = folder / "own.toml"
    target.write_text(text.replace("[switch]", own + "[switch]"))
    return str(target)


def test_a_class_runs_with_real_programs_and_in_a_replay(tmp_path: Path) -> None:
    file = Path(shutil.copy(CLASS, tmp_path))
    ask, serve = python(tmp_path, "ask", ASK), python(tmp_path, "serve", SERVE)
    record = tmp_path / "a.live"
    found = counted(
        tmp_path, path_with(file, tmp_path, beta=0.7), "--record", str(record),
        "--at", "source1", f"{ask} sink1 5000 20", "--at", "sink1", f"{serve} 5000",
    )  # fmt: skip
    assert len(found["stdout"].split()) == 20
    assert f"live: {file}:Aimd runs in this process" in found["stderr"]
    # The class fills the queue in which the programs' packets wait.
    assert max(float(line) for line in found["stdout"].split()) > 0.021
    assert replay(record).agrees


def test_an_error_in_a_class_ends_the_path_and_is_named(tmp_path: Path) -> None:
    done = live(path_with(CLASS, tmp_path, crashes_after=1.0), "--", "sleep", "20")
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert "aimd.py:" in line
    assert "LookupError: no such window (in on_ack of " in line
    assert "Traceback" not in done.stderr


def test_an_error_in_a_class_ends_the_wait_for_a_program(tmp_path: Path) -> None:
    waits = ["--wait-for", "sink1:5000", "--at", "source1", "true", "--at", "sink1", "sleep 20"]
    done = live(path_with(CLASS, tmp_path, crashes_after=1.0), *waits)
    assert done.returncode == 1
    assert "LookupError: no such window (in on_ack of " in done.stderr.splitlines()[-1]
