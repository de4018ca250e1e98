import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from distributed import Client, LocalCluster

from cluster import Cluster, cluster
from jobs import Fatal, expected, outcomes
from longpipe import Scenario, ScenarioError
from longpipe.executors import ExecutorError, Failure, Job, executor_for
from longpipe.store import Store
from longpipe.study import Progress, Runner, complete_study
from longpipe_evidence.papers.reproduction import reproduce
from reproduced import PAPER

SHORT = Scenario(defaults="1996", name="short", duration="20 ms")
LONG = SHORT.with_(name="long", duration="1 s")
OTHER_ENGINE = "from longpipe import _core\n_core.__engine__ = '0'\n"


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("dask"), 2) as started:
        yield started


def wait_for_workers(started: Cluster, number: int) -> None:
    with Client(started.address.replace("dask", "tcp"), set_as_default=False) as client:
        client.wait_for_workers(number, timeout=60)


def test_cluster_results_equal_local_ones_and_failures_are_named(two_workers: Cluster) -> None:
    by_address = outcomes(two_workers.address, [(SHORT, seed) for seed in range(-1, 60)])
    assert by_address.pop(-1) == Failure("seed: -1; needs a whole number from 0 to 18446744073709551615")
    assert by_address == expected(SHORT, range(60))


def test_documented_dask_script_runs(tmp_path: Path) -> None:
    script = Path(__file__).parent.parent / "docs" / "how-to" / "dask_study.py"
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "12 of 12 runs"
    means = {line.rpartition(" ")[0].strip(): float(line.rpartition(" ")[2]) for line in lines[2:5]}
    assert means["500 cells"] < means["1000 cells"] < means["2000 cells"]


def test_reproduction_on_a_cluster_is_bit_identical(two_workers: Cluster) -> None:
    paper = PAPER.only(1)
    with closing(Store()) as here, closing(Store()) as there:
        expected_runs = reproduce(paper, 1, Runner(here)).runs
        runs = reproduce(paper, 1, Runner(there, two_workers.address)).runs
        pd.testing.assert_frame_equal(runs, expected_runs, check_exact=True)
        jobs = [(e.replicated, 1) for e in paper.experiments()]
        assert [there.require(*job).state_hash for job in jobs] == [here.require(*job).state_hash for job in jobs]


def test_scheduler_file_client_and_cluster_are_accepted(two_workers: Cluster) -> None:
    summaries = expected(SHORT, range(3))
    jobs: list[Job] = [(SHORT, seed) for seed in range(3)]
    assert outcomes(f"dask://{two_workers.file}", jobs) == summaries
    with Client(two_workers.address.replace("dask", "tcp"), set_as_default=False) as client:
        assert outcomes(client, jobs) == summaries
        assert outcomes(client, jobs) == summaries
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as local:
        assert outcomes(local, jobs) == summaries


def test_killed_worker_loses_and_duplicates_no_run(tmp_path: Path) -> None:
    seeds = range(80)
    killed_at: list[Progress] = []
    with cluster(tmp_path, 2) as started, closing(Store(tmp_path / "runs.sqlite")) as store:
        wait_for_workers(started, 2)

        def kill_one(now: Progress) -> None:
            if now.done and not killed_at:
                killed_at.append(now)
                # This delays the results of other runs, so that the results are lost before they are read.
                time.sleep(0.5)
                started.workers[0].send_signal(signal.SIGKILL)
                started.workers[0].wait()
                time.sleep(0.5)

        complete_study([(LONG, seed) for seed in seeds], store, executor=started.address, progress=kill_one)
        assert started.workers[0].returncode == -signal.SIGKILL
    assert killed_at[0].ended < len(seeds)
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as database:
        stored = [int(seed) for (seed,) in database.execute("select seed from runs")]
    assert sorted(stored) == list(seeds)


def test_run_that_kills_workers_is_named_and_others_finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    fatal = Fatal(name="fatal", duration="20 ms")
    with cluster(tmp_path, 3) as started:
        wait_for_workers(started, 3)
        failed = outcomes(started.address, [(fatal, 2)])
        found = outcomes(started.address, [(SHORT, seed) for seed in range(6)])
    assert failed == {2: Failure("it killed every worker that ran it (2; out of memory?)")}
    assert found == expected(SHORT, range(6))


def test_lost_scheduler_is_an_error_and_keeps_stored_runs(tmp_path: Path) -> None:
    with cluster(tmp_path, 1) as started, closing(Store()) as store:
        with pytest.raises(
            ExecutorError,
            match=r"the Dask scheduler tcp://127\.0\.0\.1:\d+ has disappeared, with scenario 'long', seed \d+",
        ):
            complete_study(
                [(LONG, seed) for seed in range(100)],
                store,
                executor=started.address,
                progress=lambda now: started.scheduler.kill() if now.done else None,
            )
        assert store.count() > 0


@pytest.mark.parametrize("address", ["dask://127.0.0.1:9", "dask://no-such-host.invalid:8786", "dask://127.0.0.1:x"])
def test_a_scheduler_that_cannot_be_reached_is_named_within_10_s(address: str) -> None:
    began = time.monotonic()
    with pytest.raises(
        ScenarioError, match=rf"executor: {address}: no Dask scheduler answers .*; needs dask://HOST:PORT"
    ):
        outcomes(address, [(SHORT, 1)])
    assert time.monotonic() - began < 10


def test_a_scheduler_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"executor: dask:///.*none\.json: .*no such file"):
        outcomes(f"dask://{tmp_path}/none.json", [(SHORT, 1)])


@pytest.mark.parametrize("late", [False, True])
def test_a_worker_with_another_longpipe_is_rejected(tmp_path: Path, late: bool) -> None:
    other = tmp_path / "other.py"
    other.write_text(OTHER_ENGINE)
    refusal = (
        r"executor: the Dask worker tcp://\S+ has longpipe \S+, engine 0, with Python \S+ \w+; needs \S+, engine [1-9]"
    )
    with cluster(tmp_path, 0) as started:
        if late:
            run = executor_for(started.address).run((LONG, seed) for seed in range(100))
        started.add_worker("--preload", str(other))
        if not late:
            wait_for_workers(started, 1)
            run = executor_for(started.address).run([(LONG, 1)])
        with closing(run), pytest.raises(ScenarioError, match=refusal):
            next(run)


def test_ctrl_c_stores_finished_runs_and_cancels_the_others(two_workers: Cluster, tmp_path: Path) -> None:
    told: list[Progress] = []

    def interrupt(now: Progress) -> None:
        told.append(now)
        if now.done >= 5 > told[-2].done:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    wait_for_workers(two_workers, 2)
    with closing(Store(tmp_path / "runs.sqlite")) as store:
        with pytest.raises(KeyboardInterrupt):
            complete_study(
                [(LONG, seed) for seed in range(5000)], store, executor=two_workers.address, progress=interrupt
            )
        # The interrupt may arrive after a run was stored but before it was reported.
        assert store.count() - told[-1].done in (0, 1)
    assert 5 <= told[-1].done < 5000
    with Client(two_workers.address.replace("dask", "tcp"), set_as_default=False) as client:
        assert client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 0


def test_cluster_determines_the_number_of_workers(two_workers: Cluster) -> None:
    with pytest.raises(ScenarioError, match=r"workers: 4; 'dask://\S+' has its own number, omit this"):
        executor_for(two_workers.address, workers=4)
