"""The fixture `live_path` of the plugin for pytest, in test suites of their own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from longpipe import Scenario, ScenarioError
from longpipe.live.lateness import lateness_limit
from longpipe.live.pytest_plugin import LivePath

PAGE = Path(__file__).parent.parent / "docs" / "live.md"


def _run_suite(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_over_a_path.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, cwd=folder)


def test_the_suite_of_the_page_passes(tmp_path: Path) -> None:
    (suite,) = re.findall(r"```python\n# test_over_geo.py\n(.*?)```", PAGE.read_text(), re.DOTALL)
    # Whether a loaded machine keeps up is not tested.
    done = _run_suite(tmp_path, suite.replace("20 ms", "5 s"))
    assert done.returncode == 0, done.stdout


def test_late_packets_fail_a_test_with_the_certificate_in_its_report(tmp_path: Path) -> None:
    done = _run_suite(
        tmp_path,
        "from longpipe import Scenario\n"
        "def test_late(live_path):\n"
        "    commands = {'source1': ['ping', '-c', '1', 'sink1']}\n"
        "    capture = 'captured.pcapng'\n"
        "    live_path(Scenario.example('fiber'), commands, max_late='1 ns', clock='program', capture=capture)\n",
    )
    assert done.returncode == 1
    assert "the timing does not hold: " in done.stdout
    assert "live: late by median " in done.stdout
    assert (tmp_path / "captured.pcapng").stat().st_size > 1000


def test_invalid_arguments_are_named_as_parameters(live_path: LivePath) -> None:
    ping = {"source1": ["ping", "-c", "1", "sink1"]}
    with pytest.raises(ScenarioError, match=r"^clock: 'utc'; accepts longpipe, program$"):
        live_path(Scenario.example("fiber"), ping, max_late="1 s", clock="utc")  # type: ignore[arg-type]
    with pytest.raises(ScenarioError, match=r"^wait_for: 'sink1', .*; needs a second command$"):
        live_path(Scenario.example("fiber"), ping, max_late="1 s", wait_for="sink1:80")


def test_limits_of_lateness_have_a_share_of_late_packets() -> None:
    assert lateness_limit("max_late", "20 ms") == (0.02, 0.0)
    assert lateness_limit("max_late", "99.9 % within 1 ms") == (0.001, 0.001)
