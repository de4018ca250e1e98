import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

RIVALS = Path(__file__).parents[1] / "benches" / "rivals"
FIELDS = {
    "work", "mode", "simulator", "delivered_packets", "cpu_seconds", "packets_per_cpu_second", "peak_memory_bytes",
}  # fmt: skip


def compare(
    *arguments: str | Path, path: str | None = None, command: str = "compare"
) -> subprocess.CompletedProcess[str]:
    # Each time is measured with a single run, because no test evaluates it.
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "LONGPIPE_LEAST_S": "0"}
    if path is not None:
        environment["PATH"] = path
    line = [sys.executable, str(RIVALS), command, *map(str, arguments)]
    result = subprocess.run(line, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert "Traceback" not in result.stderr
    return result


def test_each_mode_has_a_record_of_delivery_and_cost(tmp_path: Path) -> None:
    file = tmp_path / "records.json"
    shown = compare("--work", "A", "--simulator", "longpipe", "--seconds", "1.5", "--runs", "1", "--json", file)
    assert shown.returncode == 0, shown.stderr
    assert max(map(len, shown.stdout.splitlines())) <= 80
    records = json.loads(file.read_text())
    assert [(record["work"], record["mode"], record["simulator"]) for record in records] == [
        ("A", "ip", "longpipe"),
        ("A", "cells", "longpipe"),
    ]
    for record in records:
        assert record.keys() >= FIELDS
        # The count is at most what the trunk can carry in 1.5 s: 5287 packets of 1064 bytes per second.
        assert 1000 < record["delivered_packets"] < 1.5 * 5287
        assert record["cpu_seconds"] > 0
        rate = record["delivered_packets"] / record["cpu_seconds"]
        assert record["packets_per_cpu_second"] == pytest.approx(rate)
        assert record["peak_memory_bytes"] >= record["loaded_memory_bytes"] > 0


def test_missing_rival_is_one_line_and_others_run(tmp_path: Path) -> None:
    names = ["--simulator", "ns-2", "--simulator", "longpipe"]
    shown = compare("--work", "A", *names, "--seconds", "1.1", "--runs", "1", path=str(tmp_path))
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[0].startswith("ns-2 is missing: Debian's package ns2")
    assert "longpipe, cells" in shown.stdout


def test_counting_instructions_names_the_program_that_is_missing(tmp_path: Path) -> None:
    shown = compare("--program", tmp_path / "run", path=str(tmp_path), command="instructions")
    assert (shown.returncode, shown.stderr) == (2, "error: valgrind is missing: Debian's package valgrind\n")


def test_queue_and_control_costs_are_relative_to_tail_drop(tmp_path: Path) -> None:
    shown = compare("--seconds", "1.2", "--runs", "1", path=str(tmp_path), command="kinds")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("ns-3")
    rows = [row for row in map(str.split, lines) if len(row) == 4 and row[1].isdigit()]
    costs = {kind: float(cost) for kind, _, cost, _ in rows}
    assert list(costs) == ["ip", "red", "step-marking", "pie", "codel", "fq-codel", "cubic", "bbr"]
    assert costs["ip"] == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--work", "D"], "work: 'D'; accepts A, B, C"),
        (["--simulator", "htsim"], "simulator: 'htsim'; accepts longpipe, ns-2, ns-3"),
        (["--seconds", "1"], "seconds: 1; needs more than 1, within which flows start"),
    ],
)
def test_bad_input_is_rejected_in_one_line(
    arguments: list[str], error: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The program runs in this process, because a separate one takes a second of processor time to start.
    monkeypatch.setattr(sys, "argv", [str(RIVALS), "compare", *arguments])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(RIVALS), run_name="__main__")
    assert (end.value.code, capsys.readouterr().err) == (2, f"error: {error}\n")
