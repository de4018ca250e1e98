"""Code that a store names runs only if the user has named or trusted it."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

from commands import PLAIN, run
from longpipe import Scenario
from longpipe.design import Design, Factor
from longpipe.study import Study

MEASURE = "from pathlib import Path\nPath('ran.txt').touch()\ndef share(result):\n    return result.efficiency / 2\n"
CLASS = "from pathlib import Path\nPath('ran.txt').touch()\nfrom longpipe import Control\nclass A(Control):\n    def on_ack(self, ack):\n        pass\n"
BASE = Scenario.example("fiber").with_(**{"duration": "200 ms", "network.sources": 1, "tcp.profile": "linux-6"})


CODE = {"measure": MEASURE, "module": MEASURE, "class": CLASS}
# Options that name the code.
NAMING = {
    "measure": ["--measure", "x=own.py:share"],
    "module": ["--measure", "x=own:share"],
    "class": ["--set", "tcp.congestion={kind='python',class='own.py:A'}"],
}


def user(folder: Path, state: Path) -> dict[str, str]:
    """Returns the environment of a user with the store in `folder`, whose list of trusted code is in `state`."""
    return {**PLAIN, "XDG_STATE_HOME": str(state), "LONGPIPE_STORE": str(folder / "runs.db")}


def longpipe(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run(*words, cwd=cwd, environment=user(cwd, cwd / "state"))


@cache
def design_of_other_user(kind: str, folder: Path) -> Path:
    """Returns a folder with a store of another user, whose study `s` names code in the file own.py."""
    (folder / kind).mkdir()
    (folder / kind / "own.py").write_text(CODE[kind], encoding="utf-8")
    (folder / kind / "s.toml").write_text(BASE.to_toml(), encoding="utf-8")
    # The code is executed in another process, so that this process does not trust it.
    command = [sys.executable, "-m", "longpipe", "design", "s.toml", "--replications", "2", "--run", "s", *NAMING[kind]]
    environment = {**os.environ, **user(folder / kind, folder / "other")}
    subprocess.run(command, cwd=folder / kind, env=environment, check=True, capture_output=True, timeout=120)
    return folder / kind


@pytest.fixture(scope="module")
def designs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("designs")


@pytest.fixture
def foreign(designs: Path, request: pytest.FixtureRequest) -> Path:
    """Returns the folder of `design_of_other_user` without traces of tests before."""
    kind = getattr(request, "param", "measure")
    folder = design_of_other_user(kind, designs)
    (folder / "own.py").write_text(CODE[kind], encoding="utf-8")
    (folder / "ran.txt").unlink(missing_ok=True)
    shutil.rmtree(folder / "state", ignore_errors=True)
    return folder


LOOKS = [
    ["study", "status", "s"], ["study", "show", "s"], ["study", "list"], ["study", "measure", "s"],
    ["study", "export", "s", "-o", "t.csv"], ["study", "export", "-o", "t.csv"],
    ["report", "s", "-o", "s.html"], ["plot", "s", "--x", "scenario", "--y", "efficiency", "-o", "a.png"],
]  # fmt: skip


@pytest.mark.parametrize("foreign", ["measure", "module", "class"], indirect=True)
def test_reading_a_store_executes_no_code(foreign: Path) -> None:
    for words in LOOKS:
        done = longpipe(*words, cwd=foreign)
        assert not (foreign / "ran.txt").exists(), words
        assert done.returncode == 0, done.stderr


def test_untrusted_measure_has_no_values_and_a_reason(foreign: Path) -> None:
    done = longpipe("study", "show", "s", cwd=foreign)
    assert "measure 'x': no values; " in done.stderr
    assert "own.py: code that the store names" in done.stderr
    assert "needs `longpipe study trust STUDY`" in " ".join(done.stderr.split())


@pytest.mark.parametrize("foreign", ["class"], indirect=True)
def test_run_of_a_class_without_trust_is_refused(foreign: Path) -> None:
    done = longpipe("study", "run", "s", "--replications", "3", cwd=foreign)
    assert done.returncode == 2
    assert "own.py: code that the store names" in " ".join(done.stderr.split())
    assert not (foreign / "ran.txt").exists()


def test_trusted_code_runs_until_its_file_changes(foreign: Path) -> None:
    trusted = longpipe("study", "trust", "s", cwd=foreign)
    assert "own.py" in trusted.stdout
    assert "names no code" in longpipe("study", "trust", "s", cwd=foreign).stdout
    shown = longpipe("study", "show", "s", cwd=foreign)
    assert "no values" not in shown.stderr
    (foreign / "own.py").write_text(MEASURE.replace("/ 2", "/ 3"), encoding="utf-8")
    assert "no values" in longpipe("study", "show", "s", cwd=foreign).stderr


def test_code_that_the_user_named_is_trusted(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def share(result):\n    return result.efficiency\n", encoding="utf-8")
    design = Design.full_factorial(BASE, [Factor.over("duration", ["100 ms", "200 ms"])], replications=1)
    with closing(Study(design, tmp_path / "runs.db", "s")) as study:
        study.run()
        study.ask(f"x={path}:share")
    with closing(Study.open("s", tmp_path / "runs.db")) as study:
        assert study.frame()["x"].tolist() == study.frame()["efficiency"].tolist()
