"""Measures the overhead of the study layer per run, and the time to list, filter and export 100 000 runs.

Run with: .venv/bin/python benches/study.py [RUNS]
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from longpipe import Scenario, simulate
from longpipe.analysis.conditions import matching
from longpipe.design import Design, Factor
from longpipe.executors import Job, Outcomes
from longpipe.executors.base import BATCH_S, run_batch, run_job
from longpipe.executors.batches import Batches
from longpipe.export import write_table
from longpipe.store import Store, checksums, engine_version, pack, schema, studies
from longpipe.study import Study

BASE = Scenario(defaults="1996", name="bench", duration="20 ms")
STORED = 100_000


class Here:
    """Executor that runs in this process, so that its CPU time includes all runs."""

    def run(self, jobs: list[Job]) -> Outcomes:
        """Yields batches of jobs with their outcomes."""
        batches = Batches(jobs, BATCH_S)
        while batch := batches.next():
            outcomes, seconds = run_batch(run_job, batch, None)
            batches.took(batch, seconds)
            yield list(zip(batch, outcomes, strict=True))


def cpu_s() -> float:
    """Returns the CPU time of this process."""
    return time.process_time()


def overhead(runs: int, directory: Path) -> None:
    """Prints CPU time per run with and without a study: medians of five interleaved rounds."""
    ratio: dict[str, list[float]] = {"simulate": [], "in a study": []}
    for turn in range(5):
        design = Design.full_factorial(
            BASE, [Factor.over("tcp.recovery", ["vanilla", "reno"], "tcp")], replications=runs // 2
        )
        began = cpu_s()
        for scenario in design.scenarios:
            for seed in range(1, runs // 2 + 1):
                simulate(scenario, seed)
        ratio["simulate"].append((cpu_s() - began) / runs)
        began = cpu_s()
        with closing(Store(directory / f"{turn}.db")) as store:
            Study(design, store).run(Here())
        ratio["in a study"].append((cpu_s() - began) / runs)
    medians = {name: float(np.median(times)) for name, times in ratio.items()}
    print(f"{runs} runs of {BASE.duration}, processor time per run, medians of 5:")  # noqa: T201
    for name, seconds in medians.items():
        print(f"  {name:<20} {1000 * seconds:6.2f} ms   {1000 * (seconds - medians['simulate']):+6.2f} ms")  # noqa: T201


def filled(directory: Path) -> Store:
    """Creates a store with a study of 100 000 synthetic runs."""
    buffers = [f"{cells} cells" for cells in range(100, 150)]
    factors = [
        Factor.over("tcp.recovery", ["vanilla", "reno"], "tcp"),
        Factor.over("switch.buffer", buffers, "buffer"),
    ]
    design = Design.full_factorial(BASE, factors, replications=STORED // 100)
    store = Store(directory / "many.db")
    Study(design, store)
    packed = pack(simulate(BASE))
    measures = json.loads(packed.measures)
    digests = [scenario.digest() for scenario in design.scenarios]
    parts = json.dumps(checksums.of_parts(packed.summary, {}))
    now = datetime.now(UTC).replace(tzinfo=None)
    common = {"engine": engine_version(), "name": "made up", "finished_at": now, "machine": "here", "parts": parts}
    noise = np.random.default_rng(1).random(STORED).tolist()
    rows = [
        {
            **common, "id": i, "digest": digests[run.point - 1], "seed": str(run.seed), "seconds": noise[i - 1],
            "measures": json.dumps({**measures, "efficiency": noise[i - 1]}),
        }
        for i, run in enumerate(design.runs(), 1)
    ]  # fmt: skip
    for row in rows:
        row["checksum"] = checksums.of_row(row, checksums.RUN)
    with store.writing() as connection:
        connection.execute(sa.insert(schema.RUNS), rows)
        receipts = [{name: row[name] for name in ("digest", "seed", "engine", "checksum")} for row in rows]
        connection.execute(sa.insert(schema.RECEIPTS), receipts)
        summaries = [{"run": row["id"], "summary": packed.summary} for row in rows]
        connection.execute(sa.insert(schema.SUMMARIES), summaries)
    return store


def looking(directory: Path) -> None:
    """Prints the time to list, filter and export 100 000 runs."""
    with closing(filled(directory)) as store:
        study = Study.open("bench", store)
        works: dict[str, Callable[[], object]] = {
            "list studies": lambda: studies.overview(store),
            "status": study.status,
            "list runs": study.runs,
            "filter": lambda: matching(study.runs(), ["tcp=reno", "efficiency>0.9"]),
        }
        for kind in ("csv", "parquet", "json"):
            path = directory / f"runs.{kind}"
            works[f"export as {kind}"] = lambda path=path: write_table(study.runs(finished_only=True), path)
        print(f"{STORED} stored runs, best of three:")  # noqa: T201
        for name, work in works.items():
            times = []
            for _ in range(3):
                began, began_cpu = time.perf_counter(), cpu_s()
                work()
                times.append((time.perf_counter() - began, cpu_s() - began_cpu))
            print(f"  {name:<20} {min(t for t, _ in times):.2f} s, {min(t for _, t in times):.2f} s of processor time")  # noqa: T201


def main() -> None:
    """Prints both measurements."""
    with tempfile.TemporaryDirectory() as directory:
        overhead(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, Path(directory))
        looking(Path(directory))


if __name__ == "__main__":
    main()
