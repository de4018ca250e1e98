"""What a shell completes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from longpipe import Design, Factor, Scenario, Study


def completed(words: str, **environment: str) -> list[str]:
    asked = {"_LONGPIPE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    longpipe = str(Path(sys.executable).with_name("longpipe"))
    done = subprocess.run(
        [longpipe], env={**os.environ, **asked, **environment}, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("longpipe run a.toml --set tcp.congestion=s", ["tcp.congestion=scalable"]),
        ("longpipe run a.toml --set tcp.est", ["tcp.estimate_ssthresh="]),
        (
            "longpipe run a.toml --set switch.policy=s",
            [f"switch.policy={one}" for one in ("selective-drop", "step-marking", "sfq", "strict-priority")],
        ),
        ("longpipe design a.toml --factor buffer:switch.buf", ["buffer:switch.buffer="]),
        ("longpipe fields tcp.receiver", ["tcp.receiver_window"]),
        ("longpipe reproduce g", ["gr-97"]),
        ("longpipe init --example le", ["leo"]),
        ("longpipe plot a.toml thr", ["throughput"]),
    ],
)
def test_names_are_completed(words: str, expected: list[str]) -> None:
    assert completed(words) == expected


def test_studies_of_the_store_are_completed(tmp_path: Path) -> None:
    design = Design.full_factorial(Scenario(duration="10 ms"), [Factor.over("tcp.recovery", ["reno", "sack"])])
    for name in ("first", "second"):
        Study(design, tmp_path / "runs.db", name).close()
    assert completed("longpipe study show f", LONGPIPE_STORE=str(tmp_path / "runs.db")) == ["first"]
    assert completed("longpipe study show f", LONGPIPE_STORE=str(tmp_path / "none.db")) == []
