"""Delays caused by the machine are distinguished from longpipe's: stolen time, and a thread that carries no packets."""

import os
import re
from pathlib import Path

import pytest

from live_programs import counted, live
from longpipe.live.stolen import shown, stolen_s, stolen_since

TICKS = os.sysconf("SC_CLK_TCK")


def test_steal_time_equals_proc_stat(tmp_path: Path) -> None:
    file = tmp_path / "stat"
    file.write_text(f"cpu  1 2 3 4 5 6 7 {3 * TICKS} 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
    assert stolen_s(file) == 3.0
    assert stolen_since(1.5, file) == 1.5
    assert stolen_since(None, file) is None
    # The line has the format of kernels before 2.6.11.
    file.write_text("cpu  1 2 3 4 5 6 7\n")
    assert stolen_s(file) is None
    assert stolen_s(tmp_path / "nowhere") is None
    assert stolen_since(1.0, tmp_path / "nowhere") is None


def test_steal_time_is_reported() -> None:
    assert shown(0.12, 10.0) == "; the host took 120 ms of their time, 1.2 % of one"
    assert shown(0.0, 10.0) == shown(None, 10.0) == ""


@pytest.mark.usefixtures("namespaces")
def test_timing_report_contains_steal_time(idle: str, tmp_path: Path) -> None:
    before = stolen_s()
    found = counted(tmp_path, idle, "--alone", "--", "true")
    after = stolen_s()
    if before is None or after is None:
        assert found["stolen_s"] is None
    else:
        assert 0 <= found["stolen_s"] <= after - before + 1e-9


@pytest.mark.usefixtures("namespaces")
def test_machine_is_measured_without_a_verdict() -> None:
    done = live("measure", "machine", "--seconds", "0.5", "--no-real-time", "--let-halt")
    assert done.returncode == 0, done.stderr
    first, second, _ = done.stdout.splitlines()
    found = re.fullmatch(r"the machine alone: 99 % of deadlines met within (\d+\.\d+) ms, worst (\d+\.\d+) ms", first)
    assert found is not None, first
    assert float(found[1]) <= float(found[2]) + 0.01
    assert second.startswith("  ordinary priority, as requested; idle processors may halt, as requested")
