"""Measures the overhead of executors: two worker processes compared with one, and Dask's overhead per run.

python benches/executors.py [--rounds 5] [--runs 32] [--duration "60 s"] [--short-runs 2000]

The first measurement needs two idle cores. The CPU times per run of the parent and of the cluster's scheduler are also
printed, because they do not depend on the machine's load.
"""

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from distributed import LocalCluster

from longpipe import Scenario, simulate
from longpipe.executors import Executor, Failure, Processes
from longpipe.executors.dask import Dask
from longpipe.store import Store, pack
from longpipe.study import complete_study

WORKERS = 2
# Duration of a short run, which is dominated by overhead.
SHORT = Scenario(defaults="1996", name="short", duration="20 ms")


def main() -> None:
    """Runs both measurements and prints them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured, in turn")
    parser.add_argument("--runs", type=int, default=32, help="runs of the sweep")
    parser.add_argument("--duration", default="60 s", help="simulated time of each of them")
    parser.add_argument("--short-runs", type=int, default=2000, help="runs of 20 ms for the overhead")
    options = parser.parse_args()
    say(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    processes(Scenario(defaults="1996", name="sweep", duration=options.duration), options.runs, options.rounds)
    overheads(options.short_runs, options.rounds)


def processes(scenario: Scenario, runs: int, rounds: int) -> None:
    """Compares the speed of one worker process with that of two."""
    jobs = [(scenario, seed) for seed in range(runs)]
    sweep(jobs[:2], 2)  # Starts the fork server.
    taken: dict[int, list[Taken]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, times in taken.items():
            times.append(sweep(jobs, workers))
    ratios = [one.wall_s / two.wall_s for one, two in zip(taken[1], taken[2], strict=True)]
    parent_s = statistics.median(t.cpu_s for t in taken[2]) / runs
    began_s = time.process_time()
    for job in jobs[:8]:
        pack(simulate(*job))
    run_s = (time.process_time() - began_s) / 8
    for workers, times in taken.items():
        say(f"{runs} runs, {workers} process(es): {statistics.median(t.wall_s for t in times):.2f} s (median)")
    say(f"  two processes are {statistics.median(ratios):.2f} times as fast (rounds: {listed(ratios)})")
    say(
        f"  a run {1e3 * run_s:.1f} ms of processor time, the parent {1e3 * parent_s:.2f} ms: "
        f"on two idle cores at most {2 * run_s / (run_s + parent_s):.2f} times"
    )


def overheads(runs: int, rounds: int) -> None:
    """Measures the overhead of a short run: in two processes; on Dask in batches; and on Dask with one run per task."""
    jobs = [(SHORT, seed) for seed in range(runs)]
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster:
        ways: dict[str, tuple[Executor, int]] = {
            "2 processes": (Processes(WORKERS), 1),
            "Dask, 2 workers, in batches": (Dask(cluster), 1),
            "Dask, 2 workers, a task per run": (Dask(cluster, batch_s=0.0), 10),
        }
        taken: dict[str, list[Taken]] = {way: [] for way in ways}
        for executor, _ in ways.values():
            drain(executor, jobs[:100])
        for _ in range(rounds):
            for way, (executor, share) in ways.items():
                taken[way].append(drain(executor, jobs[::share]))
    for way, times in taken.items():
        wall = [1e3 * (t.wall_s - t.simulated_s / WORKERS) / t.runs for t in times]
        cpu = [1e3 * t.cpu_s / t.runs for t in times]
        say(
            f"{way}, runs of {1e3 * times[-1].simulated_s / times[-1].runs:.1f} ms: {statistics.median(wall):.2f} ms "
            f"per run beside the simulation (rounds: {listed(wall)}); in this process, with Dask's scheduler, "
            f"{statistics.median(cpu):.2f} ms of processor time"
        )


@dataclass(frozen=True)
class Taken:
    """Wall-clock time, CPU time of this process, and time that workers spent simulating [s]."""

    wall_s: float
    cpu_s: float
    simulated_s: float
    runs: int


def sweep(jobs: list[tuple[Scenario, int]], workers: int) -> Taken:
    """Runs a study, and stores its runs in a new store."""
    with tempfile.TemporaryDirectory() as folder, closing(Store(Path(folder) / "runs.sqlite")) as store:
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        complete_study(jobs, store, workers=workers)
        return Taken(time.perf_counter() - wall_s, time.process_time() - cpu_s, math.nan, len(jobs))


def drain(executor: Executor, jobs: list[tuple[Scenario, int]]) -> Taken:
    """Runs an executor without a store. The scheduler of a LocalCluster is in this process."""
    wall_s, cpu_s, simulated_s = time.perf_counter(), time.process_time(), 0.0
    with closing(executor.run(jobs)) as outcomes:
        for job, outcome in chain.from_iterable(outcomes):
            if isinstance(outcome, Failure):
                raise RuntimeError(f"seed {job[1]}: {outcome.reason}")
            simulated_s += outcome.seconds
    return Taken(time.perf_counter() - wall_s, time.process_time() - cpu_s, simulated_s, len(jobs))


def say(line: str) -> None:
    """Prints a line and flushes the output."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def listed(numbers: list[float]) -> str:
    """Formats numbers with two decimals."""
    return ", ".join(f"{number:.2f}" for number in numbers)


if __name__ == "__main__":
    main()
