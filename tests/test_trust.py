"""Code that a store names runs only if the user has named or trusted it."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from commands import PLAIN
from longpipe import Scenario
from longpipe.design import Design, Factor
from longpipe.study import Study

MEASURE = "from pathlib import Path\nPath('ran.txt').touch()\ndef share(result):\n    return result.efficiency / 2\n"
CLASS = "from pathlib import Path\nPath('ran.txt').touch()\nfrom longpipe import Control\nclass A(Control):\n    def on_ack(self, ack):\n        pass\n"
BASE = Scenario.example("fiber").with_(**{"duration": "200 ms", "network.sources": 1, "tcp.profile": "linux-6"})


def longpipe(*words: str, cwd: Path, state: str = "state") -> subprocess.CompletedProcess[str]:
    """Runs a command as a user whose trusted code is in a folder of its own."""
    environment = {**os.environ, **PLAIN, "XDG_STATE_HOME": str(cwd / state), "LONGPIPE_STORE": str(cwd / "runs.db")}
    return subprocess.run(
        [sys.executable, "-m", "longpipe", *words], cwd=cwd, env=environment, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip


@pytest.fixture
def foreign(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Returns a folder with a store of another user, whose study `s` names code in the file own.py."""
    kind = getattr(request, "param", "measure")
    (tmp_path / "own.py").write_text(CLASS if kind == "class" else MEASURE, encoding="utf-8")
    (tmp_path / "s.toml").write_text(BASE.to_toml(), encoding="utf-8")
    words = {
        "measure": ["--measure", "x=own.py:share"],
        "module": ["--measure", "x=own:share"],
        "class": ["--set", "tcp.congestion={kind='python',class='own.py:A'}"],
    }[kind]
    made = longpipe("design", "s.toml", "--replications", "2", "--run", "s", *words, cwd=tmp_path, state="other")
    assert made.returncode == 0, made.stderr
    (tmp_path / "ran.txt").unlink()
    return tmp_path


LOOKS = [
    ["status", "s"], ["show", "s"], ["list"], ["measure", "s"], ["export", "s", "-o", "t.csv"], ["export", "-o", "t.csv"],
]  # fmt: skip
OTHERS = [["report", "s", "--out", "page"], ["plot", "s", "efficiency", "--study", "-o", "a.png"]]


@pytest.mark.parametrize("foreign", ["measure", "module", "class"], indirect=True)
def test_looking_at_a_store_executes_no_code(foreign: Path) -> None:
    for words in [*(["study", *look] for look in LOOKS), *OTHERS]:
        done = longpipe(*words, cwd=foreign)
        assert not (foreign / "ran.txt").exists(), words
        assert "Traceback" not in done.stderr, words
        if words[0] == "study":
            assert done.returncode == 0, done.stderr


def test_measure_without_trust_has_no_values_and_says_why(foreign: Path) -> None:
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
