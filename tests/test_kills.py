"""Tests that terminate a campaign with kill -9 at random times.

LONGPIPE_KILLS sets the number (`make soak` uses 1000).
"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pandas as pd
import psutil
import pytest

import campaign
from longpipe.store import Store
from longpipe.study import Study

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")

KILLS = int(os.environ.get("LONGPIPE_KILLS", "4"))
DEADLINE_S = 60

Rows = dict[tuple[str, str], str]


def rows(path: Path) -> Rows:
    """Returns the time at which each stored run was finished, by scenario and seed."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as database:
        found = database.execute("select digest, seed, finished_at from runs").fetchall()
    kept = {(digest, seed): finished for digest, seed, finished in found}
    assert len(kept) == len(found)
    return kept


def count(path: Path) -> int:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as database:
        return int(database.execute("select count(*) from runs").fetchone()[0])


def ends(session: int) -> bool:
    """Waits briefly for the end of all processes of a killed campaign. Returns whether they have ended."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if not any(of_session(process, session) for process in psutil.process_iter()):
            return True
        time.sleep(0.01)
    return False


def of_session(process: psutil.Process, session: int) -> bool:
    try:
        return os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False


class Lives:
    """A campaign that is restarted repeatedly."""

    def __init__(self, path: Path, workers: int) -> None:
        self._path = path
        begin = "import campaign; campaign.begin_again_and_again()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", begin, str(path), str(workers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        )
        # Initial estimate of the time until the first run is stored.
        self._start_s = 0.0

    def one(self, new_runs: int | None) -> int:
        """Starts the campaign, and kills it after a number of runs (0: at its start) or lets it end.

        Returns its exit status.
        """
        assert self._process.stdin
        assert self._process.stdout
        print(file=self._process.stdin, flush=True)
        pid = int(self._process.stdout.readline())
        if new_runs == 0:
            time.sleep(random.uniform(0, self._start_s))
        elif new_runs is not None:
            self._wait_for(new_runs)
        if new_runs is not None:
            time.sleep(random.uniform(0, 0.01))
            os.kill(pid, signal.SIGKILL)
        print(file=self._process.stdin, flush=True)
        status = int(self._process.stdout.readline())
        assert ends(pid)
        return status

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _wait_for(self, new_runs: int) -> None:
        before, began = count(self._path), time.monotonic()
        while (found := count(self._path)) < min(before + new_runs, campaign.RUNS):
            assert time.monotonic() < began + DEADLINE_S
            if found == before:
                self._start_s = time.monotonic() - began
            time.sleep(0.001)


def table(path: Path) -> pd.DataFrame:
    with closing(Store(path, readonly=True)) as store:
        return Study.open("campaign", store).frame()


def summaries(path: Path) -> dict[tuple[str, str], bytes]:
    with closing(sqlite3.connect(path)) as database:
        query = "select digest, seed, summary from runs join summaries on run = runs.id"
        return {(digest, seed): summary for digest, seed, summary in database.execute(query)}


@pytest.mark.parametrize("workers", [0, 2], ids=["threads", "processes"])
@pytest.mark.timeout(0)
def test_random_kills_neither_lose_nor_change_runs(workers: int, tmp_path: Path) -> None:
    path, calm = tmp_path / "killed.sqlite", tmp_path / "calm.sqlite"
    campaign.run(calm, 0)
    Store(path).close()
    before: Rows = {}
    # The limit is twice the mean, so killed campaigns complete four of five runs.
    most_new = max(1, 2 * campaign.RUNS * 4 // (5 * KILLS))
    lives = Lives(path, workers)
    try:
        for kill in range(KILLS):
            assert lives.one(random.randint(0 if kill else 1, most_new)) in (-signal.SIGKILL, 0)
            after = rows(path)
            # Stored runs are unchanged, not repeated.
            assert {key: after.get(key) for key in before} == before
            before = after
        assert lives.one(None) == 0
    finally:
        lives.close()
    assert len(rows(path)) == campaign.RUNS
    pd.testing.assert_frame_equal(table(path), table(calm), check_exact=True)
    assert summaries(path) == summaries(calm)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
        # A process killed after its last run leaves its claims; claims of finished runs do not block other processes.
        of_run = "runs.digest = claims.digest and runs.seed = claims.seed and runs.engine = claims.engine"
        kept = database.execute(f"select count(*) from claims where not exists (select * from runs where {of_run})")
        assert kept.fetchone() == (0,)
