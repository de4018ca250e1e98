"""Random kills of the processes of a campaign on a cluster: workers, scheduler, client, and the database's processes.

`make test` kills a few; with LONGPIPE_THOROUGH=1, 100 for each database.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

import campaign
from longpipe.store import Store, StoreError
from longpipe.store.schema import LEASES, RUNS, SUMMARIES
from longpipe.study import Study
from postgresql import begin, crash, create, server
from thorough import examples

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")

KILLS = examples(6, 100)
# Replications of the four points, so that about 20 runs are stored between two kills.
REPLICATIONS = 5 * KILLS + 20
WORKERS = 2
DEADLINE_S = 120

Rows = dict[tuple[str, str], object]


class Forks:
    """The processes of a campaign, each of which can be killed and started again."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._url = folder, url
        self._lives = 0
        self.clients = 0
        path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "forks", str(folder / "log")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        self.start_cluster()
        self.start_client()

    def _call(self, *call: object) -> int:
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(call), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def start_cluster(self) -> None:
        # Each scheduler has a file of its own, because the file of a killed one remains.
        self._lives += 1
        self._file = str(self._folder / f"scheduler-{self._lives}.json")
        self._scheduler = self._call("scheduler", self._file)
        deadline = time.monotonic() + DEADLINE_S
        while not Path(self._file).exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        self._workers = [self._call("worker", self._file) for _ in range(WORKERS)]

    def start_client(self) -> None:
        self.clients += 1
        self._client = self._call("client", self._url, f"dask://{self._file}", REPLICATIONS)

    def end(self, process: int) -> int:
        os.kill(process, signal.SIGKILL)
        return self.wait(process)

    def wait(self, process: int) -> int:
        return self._call("wait", process)

    def kill_worker(self) -> None:
        victim = random.choice(self._workers)
        self.end(victim)
        self._workers[self._workers.index(victim)] = self._call("worker", self._file)

    def kill_client(self) -> None:
        self.end(self._client)
        self.start_client()

    def kill_scheduler(self) -> None:
        self.end(self._scheduler)
        # The client states that the scheduler is lost, unless it had finished.
        assert self.wait(self._client) in (0, 1)
        for worker in self._workers:
            self.end(worker)
        self.start_cluster()
        self.start_client()

    def completed(self) -> int:
        """Waits for the end of the client and returns its exit status."""
        return self.wait(self._client)

    def close(self) -> None:
        for process in (self._client, self._scheduler, *self._workers):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.kill()
        self._process.communicate()


def kill_backend(_: Path, url: str) -> None:
    """Kills the server's process of a client; the server then ends all others, too, and recovers."""
    with psycopg.connect(url.replace("&", "?"), autocommit=True) as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid != pg_backend_pid()"
        processes = [row[0] for row in connection.execute(query).fetchall()]
    for process in processes[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def restart(home: Path, _: str) -> None:
    crash(home)
    time.sleep(random.uniform(0, 3))
    begin(home)


def rows(store: Store) -> Rows:
    """Returns the time at which each stored run was finished, by scenario and seed."""
    query = sa.select(RUNS.c.digest, RUNS.c.seed, RUNS.c.finished_at)
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            with store.reading() as connection:
                found = connection.execute(query).all()
        except StoreError:
            # The server is starting.
            assert time.monotonic() < deadline
            time.sleep(0.1)
            continue
        kept: Rows = {(row.digest, row.seed): row.finished_at for row in found}
        assert len(kept) == len(found)
        return kept


def summaries(store: Store) -> dict[tuple[str, str], bytes]:
    query = sa.select(RUNS.c.digest, RUNS.c.seed, SUMMARIES.c.summary).join(SUMMARIES, SUMMARIES.c.run == RUNS.c.id)
    with store.reading() as connection:
        return {(digest, seed): summary for digest, seed, summary in connection.execute(query)}


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Path | None]]:
    """Returns the URL of a store, and the directory of its server, if any."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/runs.db", None
        return
    with server() as home:
        yield create(home), home


@pytest.mark.timeout(0)
def test_cluster_kills_neither_lose_nor_duplicate_runs(place: tuple[str, Path | None], tmp_path: Path) -> None:
    url, home = place
    Store(url).close()
    forks = Forks(tmp_path, url)
    killed: Counter[str] = Counter()
    try:
        kinds = [
            "worker",
            "worker",
            "worker",
            "client",
            "client",
            "scheduler",
            *(["backend", "server"] if home else []),
        ]
        order = [*random.sample(kinds, len(kinds)), *random.choices(kinds, k=KILLS)][:KILLS]
        with closing(Store(url, readonly=True)) as store:
            before: Rows = {}
            for kind in order:
                awaited, deadline = len(before) + random.randint(1, 30), time.monotonic() + DEADLINE_S
                while len(after := rows(store)) < min(awaited, 4 * REPLICATIONS):
                    assert time.monotonic() < deadline, (tmp_path / "log").read_text()[-3000:]
                    time.sleep(0.02)
                assert {key: after.get(key) for key in before} == before
                before = after
                if kind in ("backend", "server"):
                    assert home is not None
                    {"backend": kill_backend, "server": restart}[kind](home, url)
                else:
                    getattr(forks, f"kill_{kind}")()
                killed[kind] += 1
            assert forks.completed() == 0, (tmp_path / "log").read_text()[-3000:]
            after = rows(store)
            assert {key: after.get(key) for key in before} == before
            assert len(after) == 4 * REPLICATIONS
    finally:
        forks.close()
    told = f"{url.partition(':')[0]}: {4 * REPLICATIONS} runs, {forks.clients} clients, killed: {dict(killed)}"
    sys.stdout.write(f"{told}\n")
    calm = campaign.design(REPLICATIONS)
    with closing(Store(url)) as store, closing(Store()) as undisturbed:
        Study(calm, undisturbed, "campaign").run(workers=2)
        here, there = (Study.open("campaign", one) for one in (store, undisturbed))
        assert here.frame().equals(there.frame())
        assert summaries(store) == summaries(undisturbed)
        # Claims of killed clients remain until the next campaign, but only those of finished runs.
        with store.reading() as connection:
            claims = connection.execute(sa.select(LEASES.c.digest, LEASES.c.seed)).all()
        assert {tuple(claim) for claim in claims} <= set(after)
