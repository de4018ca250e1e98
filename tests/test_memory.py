"""Memory limits of runs, and runs that exceed them."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from commands import run
from longpipe import Scenario, ScenarioError, simulate
from longpipe.design import Design, Factor
from longpipe.errors import RunError
from longpipe.executors import Failure, Processes, executor_for
from longpipe.study import Study, StudyError
from longpipe.system import memory

SMALL = Scenario(defaults="1996", name="small", duration="20 ms")
# The window of 64 MiB is sent as cells, which wait in an unlimited queue.
LARGE = SMALL.with_(
    name="large",
    duration="1 s",
    engine="reference",
    network={"kind": "dumbbell", "sources": 1, "access_rate": "1 Gbit/s", "trunk_rate": "1 Mbit/s"},
    switch={"buffer": "unlimited"},
    tcp={"receiver_window": "64 MiB", "initial_window": "7300 segments", "mss": "9180 B"},
)
LINE = (
    r"memory: 10\.0 MB are not enough, the run would need \d\d\.\d MB; needs smaller windows or buffers, fewer flows, "
    "traces or workers, a shorter duration, or a larger --memory"
)


def test_run_ends_at_its_memory_limit() -> None:
    with pytest.raises(RunError) as error:
        simulate(LARGE, memory="10 MB")
    assert re.fullmatch(LINE, str(error.value))
    assert error.value.__suppress_context__


@pytest.mark.parametrize("trace", ["cwnd", "queue", "sequence", "rtt"])
def test_memory_includes_recorded_traces(trace: str) -> None:
    recorded = SMALL.with_(
        duration="5 s", **{f"traces.{trace}": True, "tcp.timer": {"kind": "fine", "timestamps": True}}
    )
    assert simulate(recorded, memory="1 GB").state_hash == simulate(recorded.with_(traces={})).state_hash
    with pytest.raises(RunError, match=r"^memory: 1\.0 MB are not enough"):
        simulate(recorded.with_(duration="20 s"), memory="1 MB")


def test_a_limit_changes_no_run() -> None:
    assert simulate(LARGE, memory="200 MB").state_hash == simulate(LARGE).state_hash


def test_oversized_network_is_rejected_before_the_run() -> None:
    wide = SMALL.with_(**{"network.sources": 10_000})
    with pytest.raises(RunError, match=r"^memory: 2\.0 MB are not enough"):
        simulate(wide, memory="2 MB")


def test_other_runs_of_a_study_continue_after_memory_error() -> None:
    design = Design.full_factorial(LARGE, [Factor.over("tcp.initial_window", ["1 segment", "7300 segments"])])
    with closing(Study(design)) as study:
        with pytest.raises(StudyError, match=rf"^[^\n]*seed 1: {LINE}$"):
            study.run(workers=1, memory="10 MB")
        assert sorted(study.columns()["state"]) == ["failed", "finished"]


def test_workers_share_the_available_memory() -> None:
    outcomes = [next(Processes(workers, "800 MB").run([(LARGE, 1)]))[0][1] for workers in (1, 40)]
    assert [isinstance(outcome, Failure) for outcome in outcomes] == [False, True]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("4", "memory: '4' has no unit; accepts B, KB, KiB, MB, MiB, GB, GiB, as in '64 KiB'"),
        ("1 KB", "memory: 1 KB; needs at least 1 MB"),
    ],
)
def test_a_limit_is_a_size(text: str, error: str) -> None:
    for ask in (
        memory.limit_bytes,
        lambda text: executor_for(None, 1, text),
        lambda text: simulate(SMALL, memory=text),
    ):
        with pytest.raises(ScenarioError) as found:
            ask(text)
        assert str(found.value) == error


def test_an_executor_with_a_limit_of_its_own_takes_no_other() -> None:
    with pytest.raises(ScenarioError, match=r"^memory: 1 GB; .* has its own limit, omit this$"):
        executor_for(Processes(1), memory="1 GB")
    with ThreadPoolExecutor(1) as pool:
        executor_for(pool, memory="1 GB")


def test_memory_error_is_one_line_and_keeps_results(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    path.write_text(LARGE.to_toml())
    failed = run("run", path, "--memory", "10 MB", "--no-store")
    assert failed.returncode == 1
    assert re.fullmatch(f"error: {LINE}\n", failed.stderr)
    assert run("run", path, "--no-store").returncode == 0


def test_windows_that_do_not_fit_cause_a_warning_before_the_run(tmp_path: Path) -> None:
    path = tmp_path / "wide.toml"
    path.write_text(SMALL.with_(**{"tcp.receiver_window": "1 GB", "tcp.mss": "1 KB"}).to_toml())
    told = run("run", path, "--memory", "200 MB", "--no-store")
    line = "warning: memory: full windows need 500.0 MB, 200.0 MB are available; the run fails if it needs more\n"
    assert told.returncode == 0
    assert line in told.stderr
    assert "memory" not in run("run", path, "--memory", "500 MB", "--no-store").stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the address space")
def test_lack_of_memory_is_an_error_not_an_abort(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    text = LARGE.with_(**{"tcp.receiver_window": "1 GiB", "tcp.initial_window": "65535 segments"}).to_json()
    script.write_text(
        "import json, resource\nfrom longpipe import Scenario, _core\n"
        f"scenario = Scenario(**json.loads({text!r}))\n"
        "held = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (held + 10**8, held + 10**8))\n"
        "try:\n    _core.run(scenario.resolved_json(), 1)\nexcept _core.MemoryLimitError as error:\n    print(*error.args)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=120)
    needed, could = map(int, done.stdout.split())
    assert could < needed < 10 * could
    assert done.stderr == ""


def test_available_memory_is_at_most_the_machines_free_memory() -> None:
    assert 0 < memory.limit_bytes() < memory.available_bytes() <= 2**60
    assert memory.share("1 GB", 4) == "250 MB"


def test_a_machine_without_cgroups_and_limits_has_its_own_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_cgroups", list)
    monkeypatch.setattr(memory, "_own", list)
    monkeypatch.setattr(memory, "_machine", lambda: 10**9)
    memory._available.cache_clear()
    assert memory.available_bytes() == 10**9
    memory._available.cache_clear()
