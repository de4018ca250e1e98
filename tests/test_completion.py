"""Shell completion."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commands import run
from longpipe import Design, Factor, Scenario, Study
from longpipe.examples import EXAMPLES


def completed(words: str, **environment: str) -> list[str]:
    asked = {"_LONGPIPE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    return run(environment={**asked, **environment}).stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("longpipe run a.toml --set tcp.congestion=s", ["tcp.congestion=scalable", "tcp.congestion=scream"]),
        # An empty choice is added, because a shell appends a space after the equals sign if there is only one choice.
        ("longpipe run a.toml --set tcp.est", [f"tcp.estimate_ssthresh={one}" for one in ("", "true", "false")]),
        ("longpipe run a.toml --set tcp.duplicate", ["tcp.duplicate_ack_threshold=", "tcp.duplicate_ack_threshold=3"]),
        (
            "longpipe run a.toml --set switch.policy=s",
            [f"switch.policy={one}" for one in ("selective-drop", "step-marking", "sfq", "strict-priority")],
        ),
        (
            "longpipe design a.toml --factor seg:tcp.duplicate",
            [f"seg:tcp.duplicate_ack_threshold={n}" for n in ("", 3)],
        ),
        (
            "longpipe fields tcp.receiver",
            ["tcp.receiver_window", "tcp.receiver_control", "tcp.receiver_control.target"],
        ),
        ("longpipe reproduce g", ["gr-97"]),
        ("longpipe init --example le", ["leo"]),
        ("longpipe plot a.toml thr", ["throughput"]),
    ],
)
def test_names_are_completed(words: str, expected: list[str]) -> None:
    assert completed(words) == expected


def test_studies_of_the_store_are_completed(tmp_path: Path) -> None:
    design = Design.full_factorial(
        Scenario(defaults="1996", duration="10 ms"), [Factor.over("tcp.recovery", ["reno", "sack"])]
    )
    for name in ("first", "second"):
        Study(design, tmp_path / "runs.db", name).close()
    assert completed("longpipe study show f", LONGPIPE_STORE=str(tmp_path / "runs.db")) == ["first"]
    assert completed("longpipe study show f", LONGPIPE_STORE=str(tmp_path / "none.db")) == []


# Bash splits words at these characters, and the last word may consist of one of them.
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "a.toml", "--set", "switch.policy", "=", "ep"], ["epd"]),
        (["run", "a.toml", "--set", "tcp.est"], [f"tcp.estimate_ssthresh={one}" for one in ("", "true", "false")]),
        (["run", "a.toml", "--set", "tcp.ecn", "="], ["off", "classic", "dctcp", "accurate"]),
        (
            ["design", "a.toml", "--factor", "buffer", ":", "switch.buf"],
            ["switch.buffer=", "switch.buffer=1", "BDP"],
        ),
        (["design", "a.toml", "--factor", "p", ":", "switch.policy", "=", "ep"], ["epd"]),
        (["init", "--example", "=", "le"], ["leo"]),
        (["init", "x.toml", "--example", ""], list(EXAMPLES)),
    ],
)
def test_bash_completes_after_its_word_breaks(words: list[str], expected: list[str], tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    longpipe = str(Path(sys.executable).with_name("longpipe"))
    lines = [
        f"source <(_LONGPIPE_COMPLETE=source_bash {shlex.quote(longpipe)})",
        f"COMP_WORDS=({shlex.join(['longpipe', *words])}) COMP_CWORD={len(words)}",
        f'_longpipe_completion {shlex.quote(longpipe)}; printf "%s\\n" "${{COMPREPLY[@]}}"',
    ]
    done = subprocess.run(
        [bash, "--norc", "-c", "\n".join(lines)], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.split() == expected


def test_names_of_studies_and_files_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = {"LONGPIPE_STORE": str(tmp_path / "runs.db")}
    design = Design.full_factorial(
        Scenario(defaults="1996", duration="10 ms"), [Factor.over("tcp.recovery", ["reno", "sack"])]
    )
    Study(design, tmp_path / "runs.db", "first").close()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fig.toml").touch()
    (tmp_path / "runs.csv").write_text("tcp,seed,efficiency\n")
    assert completed("longpipe plot fi", **store) == ["fig.toml", "first"]
    assert completed("longpipe plot first --x tcp", **store) == ["tcp.recovery"]
    assert completed("longpipe plot first --x tcp.recovery --y thr", **store) == ["throughput_bps"]
    assert completed("longpipe report f", **store) == ["frr-96", "first"]
    assert completed("longpipe report first --response fair", **store) == ["fairness"]
    assert completed("longpipe analyse runs.csv --response e") == ["efficiency"]
    assert completed("longpipe analyse runs.csv --factors tcp,s") == ["tcp,seed"]
    assert completed("longpipe plot none --x t", **store) == completed("longpipe analyse none.csv --response e") == []
