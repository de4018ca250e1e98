"""Client processes that share a campaign: each claims what its workers finish within seconds, and gets its share."""

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from commands import run
from longpipe import Design, Factor, Scenario
from longpipe.store import Store
from longpipe.store.schema import LEASES, RUNS
from longpipe.study import Study

CLIENT = Path(__file__).parent.parent / "benches" / "sharing.py"
WORKERS = 4
RUNS_IN_ALL = 64


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/runs.db" if request.param == "sqlite" else request.getfixturevalue("database")


def start(where: str, kind: str, runs: int, seconds: float) -> subprocess.Popen[str]:
    arguments = ["--client", where, kind, "1 ms", str(runs), str(seconds), str(WORKERS)]
    process = subprocess.Popen(
        [sys.executable, CLIENT, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def release(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.parametrize("kind", ["threads", "dask"])
def test_two_clients_share_the_runs(where: str, kind: str) -> None:
    processes = [start(where, kind, RUNS_IN_ALL, 0.25) for _ in range(2)]
    for process in processes:
        release(process)
    own = [int(process.communicate(timeout=200)[0].split()[0]) for process in processes]
    assert sum(own) == RUNS_IN_ALL
    # The shares depend on the load of the machine, because clients start at different times.
    assert min(own) >= RUNS_IN_ALL / 4


def test_client_claims_only_soon_finished_runs(where: str) -> None:
    process = start(where, "threads", RUNS_IN_ALL, 0.5)
    try:
        release(process)
        most, finished = 0, 0
        with closing(Store(where, readonly=True)) as store:
            while finished < RUNS_IN_ALL // 2:
                with store.reading() as connection:
                    claims, finished = (
                        connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
                        for table in (LEASES, RUNS)
                    )
                most = max(most, claims - finished)
                time.sleep(0.05)
        # Two per worker, one that the executor holds back, and those of a quarter of a second.
        assert WORKERS <= most <= 2 * WORKERS + 1 + WORKERS // 2
    finally:
        process.kill()
        process.communicate()


def test_status_counts_claims_and_names_levels_of_failures(where: str) -> None:
    base = Scenario(defaults="1996", name="short", duration="1 ms")
    design = Design.full_factorial(base, [Factor.over("tcp.recovery", ["sack", "reno"], "tcp")], replications=8)
    with closing(Store(where)) as store:
        study = Study(design, store, "shared")
        keys = [(scenario.digest(), str(seed)) for scenario in study.scenarios() for seed in range(1, 4)]
        store.fail(study.scenarios()[1], 8, "no memory")
        with store.leases() as leases:
            leases.workers = 2
            leases.take(keys)
            status = study.status()
            shown = run("study", "status", "shared", "--store", where).stdout
        assert (status.executing, status.claimed, status.waiting, status.failed) == (2, 4, 9, 1)
        assert "shared: 0 of 16 runs finished, 2 executing, 4 claimed, 9 waiting, 1 failed\n" in shown
        assert "tcp=reno, seed=8 failed: no memory\n" in shown
        assert study.status().waiting == 15
