import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from longpipe import Scenario, simulate
from longpipe.design import Design, Factor
from longpipe.executors import Job, Outcomes
from longpipe.executors.base import run_job
from longpipe.store import Store, default_url
from longpipe.study import Progress, Study, StudyError, complete_study

SHORT = Scenario(defaults="1996", name="short", duration="20 ms")
# The study is long enough to be killed in the middle.
LONG = SHORT.with_(name="long", duration="5 s")
SEEDS = range(1, 41)

STUDY = f"""
from longpipe import Scenario
from longpipe.store import Store
from longpipe.study import complete_study
import sys
long = Scenario(defaults="1996", name="long", duration="{LONG.duration}")
complete_study([(long, seed) for seed in range({SEEDS.start}, {SEEDS.stop})], Store(sys.argv[1]))
"""


def stored(path: Path) -> dict[str, str]:
    """Returns the time at which each seed's run finished."""
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path, timeout=60)) as database:
        try:
            return dict(database.execute("select seed, finished_at from runs"))
        except sqlite3.OperationalError:
            return {}


def interrupt(path: Path, kind: signal.Signals) -> tuple[int, str]:
    """Starts a study, and sends a signal once three runs are stored.

    Returns exit status and stderr. If the study does not end, stderr contains the stack of each thread.
    """
    command = [sys.executable, "-X", "faulthandler", "-c", STUDY, str(path)]
    study = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(stored(path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(study.pid, kind) if kind == signal.SIGINT else study.send_signal(kind)
    try:
        errors = study.communicate(timeout=60)[1]
    except subprocess.TimeoutExpired:
        study.send_signal(signal.SIGABRT)
        errors = study.communicate()[1]
        sys.stderr.write(errors)
    return study.returncode, errors


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_interrupted_study_keeps_finished_runs_and_continues(kind: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    status, _ = interrupt(path, kind)
    assert status != 0
    before = stored(path)
    assert 3 <= len(before) < len(SEEDS)
    told: list[Progress] = []
    missing = [seed for seed in range(1, len(SEEDS) + 3) if str(seed) not in before]
    seeds = [*map(int, before), *missing[:2]]
    with closing(Store(path)) as store:
        complete_study([(LONG, seed) for seed in seeds], store, progress=told.append)
    after = stored(path)
    assert set(map(str, seeds)) <= set(after)
    assert {seed: after[seed] for seed in before} == before
    assert told[0] == Progress(wanted=len(seeds), stored=len(before))
    assert told[-1] == Progress(wanted=len(seeds), stored=len(before), done=2)


def test_ctrl_c_leaves_one_traceback_and_no_worker_s(tmp_path: Path) -> None:
    status, errors = interrupt(tmp_path / "runs.sqlite", signal.SIGINT)
    assert status == -signal.SIGINT
    assert errors.count("Traceback") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file sizes")
def test_full_disk_stops_a_study_and_keeps_results(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))\n{STUDY}"
    failed = subprocess.run([sys.executable, "-c", limited, path], capture_output=True, text=True, check=False)
    assert "StoreError: store" in failed.stderr
    assert 0 < len(stored(path)) < len(SEEDS)
    with closing(Store(path)) as store:
        assert all(store.load(LONG, int(seed)) for seed in stored(path))


def test_study_results_equal_single_runs() -> None:
    jobs = [(SHORT, 3), (SHORT.with_(duration="30 ms"), 1), (SHORT, 1), (SHORT, 3)]
    with closing(Store()) as store:
        complete_study(jobs, store)
        assert store.count() == 3
        results = [store.require(*job) for job in jobs]
    assert [result.state_hash for result in results] == [simulate(*job).state_hash for job in jobs]
    assert [(result.scenario, result.seed) for result in results] == jobs


def test_repeated_study_runs_nothing_without_fresh(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    jobs = [(SHORT, seed) for seed in range(4)]
    with closing(Store(path)) as store:
        complete_study(jobs, store)
        first = stored(path)
        complete_study(jobs, store)
        assert stored(path) == first
        complete_study(jobs, store, fresh=True)
        assert all(stored(path)[seed] > finished for seed, finished in first.items())


def test_a_failed_run_is_named_and_the_others_are_stored() -> None:
    with closing(Store()) as store:
        with pytest.raises(StudyError, match=r"scenario 'short', seed -1: seed: -1; needs a whole number") as failed:
            complete_study([(SHORT, -1), (SHORT, 1), (SHORT, 2)], store)
        assert "\n" not in str(failed.value)
        assert [store.has(SHORT, seed) for seed in (1, 2)] == [True, True]


class Backwards:
    """Executor that completes the last run first."""

    def run(self, jobs: Iterable[Job]) -> Outcomes:
        for job in reversed(list(jobs)):
            yield [(job, run_job(job))]


def test_failed_runs_are_named_in_the_order_of_jobs() -> None:
    with closing(Store()) as store:
        with pytest.raises(StudyError) as failed:
            complete_study([(SHORT, seed) for seed in (-3, -1, -2)], store, executor=Backwards())
        seeds = [line.partition("seed: ")[2].partition(";")[0] for line in str(failed.value).splitlines()]
    assert seeds == ["-3", "-1", "-2"]


def test_a_crashed_worker_costs_no_run(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_a_worker(now: Progress) -> None:
        if now.done and not killed:
            killed.append(multiprocessing.active_children()[0].pid or 0)
            os.kill(killed[0], signal.SIGKILL)

    with closing(Store(tmp_path / "runs.sqlite")) as store:
        complete_study([(LONG, seed) for seed in SEEDS], store, workers=2, progress=kill_a_worker)
        assert killed
        assert store.count() == len(SEEDS)


def test_open_without_a_store_finds_the_studies_of_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    address = default_url()
    design = Design.full_factorial(
        Scenario(duration="10 ms"), [Factor("sources", {number: {"network.sources": number} for number in (1, 2)})]
    )
    Study(design, address, "sources").run()
    assert Study.open("sources").status().finished == 2
