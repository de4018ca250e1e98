"""Time of a campaign of short runs from the command to the CSV, CPU time of storing a run, and overhead of longer runs.

Usage: python benches/campaign.py [STORE]. STORE is the URL of an empty PostgreSQL database; the default is a new SQLite
file. Wall-clock time needs two idle cores; CPU times depend less on it. Aims: 10 s, 0.2 ms, and 1 %.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from longpipe import Factor, Scenario, simulate
from longpipe.design import Design
from longpipe.store import Store, pack
from longpipe.study import Study

RUNS: Final = 10_000
POINTS: Final = 10
# Scenario whose run takes about 0.3 ms.
SHORT: Final = """schema = 1
duration = "5 ms"
network = { kind = "dumbbell", sources = 2 }
"""
# Simulated time [s] of a run that takes about 50 ms, and numbers of these runs, whose difference excludes the start.
LONG_S: Final = 30
LONG_RUNS: Final = (20, 220)
WORKERS: Final = 2


def total(folder: Path, store: str) -> None:
    """Runs the command, and prints its wall-clock and CPU time."""
    (folder / "short.toml").write_text(SHORT)
    buffers = ",".join(f"{100 * i} cells" for i in range(1, POINTS + 1))
    words = [
        "design",
        "short.toml",
        "--factor",
        f"buffer:switch.buffer={buffers}",
        "--replications",
        str(RUNS // POINTS),
    ]
    words += ["--run", "bench", "--store", store, "--csv", "runs.csv", "--workers", str(WORKERS)]
    before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [str(Path(sys.executable).with_name("longpipe")), *words]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    wall_s, after = time.perf_counter() - began_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    runs, load = len((folder / "runs.csv").read_text().splitlines()) - 1, os.getloadavg()[0]
    say(f"{runs} runs from command to CSV: {wall_s:.1f} s (load {load:.1f}), {cpu_s:.1f} s of CPU time")


def storing(store: Store) -> None:
    """Prints the CPU time of storing a run, in transactions of 300 runs."""
    scenario = Scenario(defaults="1996", duration="6 ms", network={"kind": "dumbbell", "sources": 2})
    packed = [pack(simulate(scenario, seed), 0.001) for seed in range(300)]
    taken = []
    for first in range(0, 3000, 300):
        began_s = time.process_time()
        store.save_all([((scenario, first + number), one) for number, one in enumerate(packed)])
        taken.append(time.process_time() - began_s)
    say(f"storing a run: {1e3 * sum(taken[1:]) / 2700:.3f} ms of CPU time of the client")


def overhead(store: Store) -> None:
    """Prints the CPU time of the client for each further run of about 50 ms, relative to that of the run."""
    taken = []
    for runs in LONG_RUNS:
        # Campaigns of different scenarios have no run in common.
        scenario = Scenario(defaults="1996", duration=f"{LONG_S + runs / 1000} s")
        buffer = Factor.over("switch.buffer", ["1000 cells"], "buffer")
        study = Study(Design.full_factorial(scenario, [buffer], replications=runs), store, f"of {runs} runs")
        began_s = time.process_time()
        study.run(workers=WORKERS)
        taken.append(time.process_time() - began_s)
    began_s = time.process_time()
    for seed in range(5):
        simulate(scenario, seed)
    run_s = (time.process_time() - began_s) / 5
    own_s = (taken[1] - taken[0]) / (LONG_RUNS[1] - LONG_RUNS[0])
    say(f"runs of {1e3 * run_s:.0f} ms: {1e3 * own_s:.2f} ms of CPU time of the client, {100 * own_s / run_s:.2f} %")


def main(url: str | None) -> None:
    """Prints a line for each of the three."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = url or f"sqlite:///{folder}/runs.db"
        total(folder, store)
        with closing(Store(store)) as opened:
            storing(opened)
            overhead(opened)


def say(line: str) -> None:
    """Prints a line and flushes the output."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
