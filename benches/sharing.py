"""Duration of a campaign that two client processes share, compared with half of the duration of one client.

Usage: python benches/sharing.py [STORE]. Each client has four workers, which sleep instead of simulating, so that two
cores suffice. STORE is the URL of an empty PostgreSQL database; the default is a new SQLite file for each campaign.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any, Final

from longpipe import Scenario, simulate
from longpipe.executors import base
from longpipe.store import Store, pack
from longpipe.study import complete_study

RUNS: Final = 240
SLEEP_S: Final = 0.25
WORKERS: Final = 4
KINDS: Final = ("threads", "dask")


@contextmanager
def workers(kind: str, count: int) -> Iterator[Any]:
    """Starts workers in threads of this process."""
    if kind == "threads":
        with ThreadPoolExecutor(count) as pool:
            yield pool
        return
    # Imported here because it takes a second.
    from distributed import LocalCluster

    with LocalCluster(n_workers=count, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        yield cluster


def client(where: str, kind: str, duration: str, runs: int, seconds: float, count: int) -> None:
    """Completes a campaign of sleeping runs after a line of input. Prints the number of own runs and the duration."""
    scenario, own = Scenario(defaults="1996", duration=duration), 0
    packed = pack(simulate(scenario), seconds)

    def sleep(*_: object) -> object:
        nonlocal own
        own += 1
        time.sleep(seconds)
        return packed

    base.run_job = sleep  # type: ignore[assignment]
    with workers(kind, count) as executor, closing(Store(where)) as store:
        say("ready")
        sys.stdin.readline()
        began_s = time.monotonic()
        complete_study([(scenario, seed) for seed in range(runs)], store, executor=executor)
        say(f"{own} {time.monotonic() - began_s}")


def start(where: str, kind: str, duration: str) -> subprocess.Popen[str]:
    """Starts a client and waits until it is ready."""
    texts = map(str, (RUNS, SLEEP_S, WORKERS))
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, __file__, "--client", where, kind, duration, *texts],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    if process.stdout is None or process.stdout.readline() != "ready\n":
        raise RuntimeError("a client did not start")
    return process


def campaign(where: str, kind: str, duration: str, clients: int) -> float:
    """Returns the duration of a campaign."""
    processes = [start(where, kind, duration) for _ in range(clients)]
    for process in processes:
        if process.stdin is not None:
            process.stdin.write("\n")
            process.stdin.flush()
    return max(float(process.communicate()[0].split()[1]) for process in processes)


def main(url: str | None) -> None:
    """Prints a line for each kind of workers."""
    number = 0
    for kind in KINDS:
        taken = []
        for clients in (1, 2):
            number += 1
            with tempfile.TemporaryDirectory() as folder:
                # Scenarios of different durations have different digests, so campaigns in one database are distinct.
                taken.append(campaign(url or f"sqlite:///{folder}/runs.db", kind, f"{number} ms", clients))
        one_s, two_s = taken
        say(f"{kind}: one client {one_s:.2f} s, two {two_s:.2f} s, {2 * two_s / one_s:.2f} times half (at most 1.15)")


def say(line: str) -> None:
    """Prints a line and flushes the output."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        where, kind, duration, runs, seconds, count = sys.argv[2:]
        client(where, kind, duration, int(runs), float(seconds), int(count))
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else None)
