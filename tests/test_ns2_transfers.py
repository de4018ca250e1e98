import json
import subprocess
from pathlib import Path

import pytest

from commands import run
from longpipe_evidence.papers.lbd_01.transfers import Transfer
from longpipe_evidence.validate.ns2 import available
from longpipe_evidence.validate.ns2_figures import sequences
from longpipe_evidence.validate.ns2_transfers import compare
from thorough import one_in

needs_ns2 = pytest.mark.skipif(not available(), reason="ns-2 is not installed (Debian's package ns2)")

# A sample of the 72 cases: the ends of the table, a timeout in SACK's recovery, and Reno's two timeouts; `longpipe
# validate ns2` runs all cases.
SOME = [
    Transfer(20, 0.25, "reno"), Transfer(20, 1.0, "sack"), Transfer(40, 0.5, "reno"), Transfer(40, 0.75, "newreno"),
    Transfer(160, 0.5, "sack"), Transfer(320, 0.25, "newreno"), Transfer(640, 0.25, "reno"),
    Transfer(640, 0.25, "newreno"), Transfer(640, 0.5, "newreno"), Transfer(640, 1.0, "sack"),
]  # fmt: skip


@needs_ns2
@pytest.mark.parametrize("transfer", one_in(2, SOME), ids=lambda t: f"{t.tcp}-{t.w_star_packets}-{t.buffer_bdp}")
def test_ns2_completes_in_the_same_time_with_the_same_losses(transfer: Transfer) -> None:
    found = compare(transfer)
    assert abs(found.difference) < 1e-4
    exact = ("losses", "first_losses", "timeouts", "retransmissions")
    assert {name: found.longpipe[name] for name in exact} == {name: found.ns2[name] for name in exact}


@needs_ns2
def test_ns2_without_guard_retransmits_equally_often() -> None:
    guarded, free = (compare(Transfer(640, 0.25, "reno"), guard=guard) for guard in (True, False))
    assert abs(free.difference) < 1e-4
    assert free.longpipe["completion_time_s"] > 2 * guarded.longpipe["completion_time_s"]


@needs_ns2
def test_losses_are_the_same_segments_at_the_same_instants() -> None:
    found = compare(Transfer(640, 0.25, "newreno"))
    assert found.longpipe_lost["segment"].iloc[:96].tolist() == found.ns2_lost["segment"].iloc[:96].tolist()
    assert (found.longpipe_lost["s"] - found.ns2_lost["s"]).abs().max() < 1e-3
    assert set(sequences(found)["simulator"]) == {"longpipe", "ns-2"}


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run("validate", "ns2", *arguments)


@needs_ns2
def test_the_command_prints_and_draws(tmp_path: Path) -> None:
    one = ["--tcp", "sack", "--w-star", "320", "--buffer", "0.5"]
    shown = command(*one, "--figure", str(tmp_path / "sequence.png"), "--json", str(tmp_path / "rows.json"))
    assert shown.returncode == 0, shown.stderr
    assert "sack  320   0.5     6.290" in shown.stdout
    assert "within 2 % in 1 of 1 transfers" in shown.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"sequence.png", "sequence.svg", "rows.json"}
    report = json.loads((tmp_path / "rows.json").read_text())
    assert report["agree"] is True
    assert report["rows"][0]["losses_longpipe"] == report["rows"][0]["losses_ns2"] == 380


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tcp", "renoo"], "error: --tcp: 'renoo'; did you mean 'reno'? accepts reno, newreno, sack\n"),
        (["--w-star", "30"], "error: --w-star: 30; accepts 20, 40, 80, 160, 320, 640\n"),
        (["--buffer", "0.3"], "error: --buffer: 0.3; accepts 0.25, 0.5, 0.75, 1\n"),
        (["--figure", "x.png"], "error: --figure: draws one transfer; needs --tcp, --w-star and --buffer\n"),
    ],
)
def test_ns2_transfers_rejects_invalid_options(arguments: list[str], message: str) -> None:
    shown = command(*arguments)
    assert (shown.returncode, shown.stderr) == (2, message)
