"""Campaigns whose database or scheduler ends, or some of whose runs fail."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pandas as pd
import psycopg
import pytest

from cluster import cluster
from commands import run
from longpipe import Scenario
from longpipe.design import Design, Factor
from longpipe.store import Store, StoreError
from longpipe.study import Progress, Study
from postgresql import begin, crash, create, server

BASE = Scenario(defaults="1996", name="short", duration="20 ms")
DESIGN = Design.full_factorial(BASE, [Factor.over("tcp.recovery", ["sack", "reno"], "tcp")], replications=60)


@pytest.fixture
def own_server() -> Iterator[Path]:
    """Returns the socket directory of a server that a test may stop."""
    with server() as home:
        yield home


def calm() -> pd.DataFrame:
    """Returns the results of a campaign without faults."""
    with closing(Store()) as store:
        study = Study(DESIGN, store)
        study.run(workers=1)
        return study.frame()


def test_campaign_outlives_a_restart_of_the_database(own_server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longpipe.executors.batches.LARGEST", 4)
    url, restarted = create(own_server), threading.Event()

    def end_database(now: Progress) -> None:
        if now.done > 10 and not restarted.is_set():
            restarted.set()
            crash(own_server)
            threading.Timer(3.0, begin, [own_server]).start()

    with closing(Store(url)) as store, ThreadPoolExecutor(2) as pool:
        study = Study(DESIGN, store)
        assert study.run(pool, progress=end_database).complete
        assert restarted.is_set()
        assert store.count() == len(DESIGN.points) * DESIGN.replications
        pd.testing.assert_frame_equal(study.frame(), calm(), check_exact=True)


def test_end_of_one_connection_is_tolerated(database: str) -> None:
    with closing(Store(database)) as store:
        study = Study(DESIGN, store)
        address = database.replace("&", "?")

        def end_connections(now: Progress) -> None:
            if now.done:
                with psycopg.connect(address, autocommit=True) as connection:
                    connection.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE datname = current_database() AND pid != pg_backend_pid()"
                    )

        assert study.run(workers=1, progress=end_connections).complete


def test_database_that_stays_away_ends_the_campaign(own_server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longpipe.store.persistence.PATIENCE_S", 1.0)
    with closing(Store(create(own_server))) as store:
        study = Study(DESIGN, store)
        crash(own_server)
        try:
            with pytest.raises(StoreError, match=r"store postgresql://.*; the runs it holds are safe, run again"):
                study.run(workers=1)
        finally:
            begin(own_server)


def test_lost_scheduler_is_one_line_with_the_command_that_continues(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    long = DESIGN.base.with_(duration="2 s")
    with cluster(tmp_path, 1) as started, closing(Store(path)) as store:
        study = Study(Design.full_factorial(long, DESIGN.factors, replications=60), store, "lost")

        def end_scheduler() -> None:
            deadline_s = time.monotonic() + 100
            while study.status().finished == 0 and time.monotonic() < deadline_s:
                time.sleep(0.05)
            started.scheduler.kill()

        thread = threading.Thread(target=end_scheduler)
        thread.start()
        lost = run("study", "run", "lost", "--store", path, "--executor", started.address)
        thread.join()
    assert lost.returncode == 1
    (line,) = (line for line in lost.stderr.splitlines() if "error" in line)
    assert line.startswith("error: the Dask scheduler tcp://127.0.0.1:")
    assert line.endswith(f"continue with: longpipe study run lost --store {path} --executor {started.address}")


# The window of 64 MiB is sent as cells, which wait in an unlimited queue, and needs more than 10 MB.
LARGE = """
duration = "1 s"
engine = "reference"
network = { kind = "dumbbell", sources = 1, access_rate = "1 Gbit/s", trunk_rate = "1 Mbit/s" }
switch = { buffer = "unlimited" }
tcp = { receiver_window = "64 MiB", initial_window = "1 segment", mss = "9180 B" }
"""


def test_results_of_other_levels_are_written_if_a_level_fails(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(LARGE)
    where = ("--store", "runs.db", "--memory", "10 MB", "--workers", "1")
    factor = "window:tcp.initial_window=1 segment,7300 segments"
    command = ("design", "a.toml", "--factor", factor, "--replications", "2", "--run", "part", "--csv", "runs.csv")
    done = run(*command, *where, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("error: scenario 'window=7300 segments', seed ") == 2
    assert "1 segment " in done.stdout
    assert list(pd.read_csv(tmp_path / "runs.csv")["window"]) == ["1 segment"] * 2
    again = run("study", "run", "part", *where, cwd=tmp_path)
    assert again.returncode == 1
    assert "2 of 4 runs finished, 2 failed" in again.stdout
    assert "window=7300 segments, seed=1 failed: memory: " in again.stdout
