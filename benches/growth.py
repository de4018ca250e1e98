"""Measures how CPU time outside of simulation grows with the number of flows, and with a study's number of runs.

Run with: .venv/bin/python benches/growth.py [FLOWS ...], or for studies alone: benches/growth.py --stored [RUNS ...]
"""

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NoReturn

FLOWS: Final = (1_000, 10_000, 50_000)
RUNS: Final = 1_000
# Rate per flow, of the trunk or of each host of a star.
SHARE: Final = "200 kbit/s"
DURATION: Final = "10 s"
COLUMNS: Final = ("set up", "build", "check", "run", "summary", "total but for run")
# Maximum CPU time [s] of one row.
LIMIT_S: Final = 300
# Numbers of stored runs, which are synthetic, and for a million of them the aims [s; bytes per run].
STORED: Final = (10_000, 100_000, 1_000_000)
AIMS: Final = {"status": 0.2, "continue": 3.0, "means": 3.0, "Parquet": 20.0, "bytes/run": 1500.0}


def dumbbell(flows: int) -> dict[str, object]:
    """Returns a dumbbell with three groups of flows over one trunk."""
    counts = (flows - 2 * (flows // 3), flows // 3, flows // 3)
    recoveries = ("sack", "newreno", "rack")
    named = zip("abc", counts, recoveries, strict=True)
    group = [{"name": name, "count": count, "tcp": {"recovery": recovery}} for name, count, recovery in named]
    return {"kind": "dumbbell", "group": group, "trunk_rate": f"{flows * 200} kbit/s"}


def groups(flows: int) -> dict[str, object]:
    """Returns a dumbbell with a group for each flow."""
    return {
        "kind": "dumbbell",
        "group": [{"name": f"g{i}", "start": {"kind": "fixed", "at": f"{i} ns"}} for i in range(flows)],
        "trunk_rate": f"{flows * 200} kbit/s",
    }


def star(flows: int) -> dict[str, object]:
    """Returns a star of hosts around one switch, each of which sends to the next one."""
    return {
        "kind": "graph",
        "nodes": [{"name": "s", "kind": "switch"}, *({"name": f"h{i}", "kind": "host"} for i in range(flows))],
        "links": [{"between": [f"h{i}", "s"], "rate": SHARE, "delay": "5 ms"} for i in range(flows)],
        "flows": [{"name": f"f{i}", "from": f"h{i}", "to": f"h{(i + 1) % flows}"} for i in range(flows)],
    }


NETWORKS: Final = {"dumbbell": dumbbell, "groups": groups, "star": star}


def steps(kind: str, flows: int) -> Iterator[tuple[str, float]]:
    """Yields each column of a row with its CPU time [s]."""
    from longpipe import Scenario, simulate
    from longpipe.cautions.cautions import cautions

    network = NETWORKS[kind](flows)

    def scenario(duration: str) -> Scenario:
        return Scenario(
            defaults="1996",
            duration=duration,
            framing="ip",
            network=network,
            switch={"buffer": "100 packets"},
            start={"kind": "random", "over": "1 ps"},
            tcp={"receiver_window": "64 KiB"},
        )

    short = scenario("1 ms")
    began = time.process_time()
    # This measures the digest under which a run is stored, and the core's own reading and building.
    short.digest()
    simulate(short)
    yield "set up", time.process_time() - began
    del short
    began = time.process_time()
    whole = scenario(DURATION)
    yield "build", time.process_time() - began
    began = time.process_time()
    cautions(whole)
    yield "check", time.process_time() - began
    began = time.process_time()
    result = simulate(whole)
    yield "run", time.process_time() - began
    began = time.process_time()
    result.to_json()
    repr(result)
    yield "summary", time.process_time() - began


def row(kind: str, flows: int) -> None:
    """Prints a row, each column as soon as it is measured."""
    print(f"{kind:<10}{flows:>8}", end="", flush=True)  # noqa: T201
    beside = 0.0
    for name, seconds in steps(kind, flows):
        beside += seconds if name != "run" else 0.0
        print(f"{seconds:>10.2f}", end="", flush=True)  # noqa: T201
    print(f"{beside:>20.2f}")  # noqa: T201


def study() -> None:
    """Prints the CPU time of reading and drawing a study of many runs."""
    import matplotlib as mpl

    mpl.use("Agg")
    from longpipe import Scenario, pictures
    from longpipe.design import Design, Factor
    from longpipe.store import Store
    from longpipe.study import Study

    base = Scenario(defaults="1996", name="growth", duration="20 ms")
    factors = [
        Factor.over("switch.buffer", [f"{100 * i} cells" for i in range(1, 51)], "buffer"),
        Factor.over("tcp.recovery", ["reno", "sack"], "tcp"),
    ]
    design = Design.full_factorial(base, factors, replications=RUNS // 100)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "growth.db"
        with closing(Store(path)) as store:
            Study(design, store).run(workers=1)
        with closing(Store(path, readonly=True)) as store:
            works: dict[str, Callable[[Study], object]] = {
                "frame": Study.frame,
                "frame again": Study.frame,
                "results": lambda study: [result.flows for result in study.results()],
                "limits": Study.limits,
                "means": Study.means,
                "sweep": lambda study: pictures.sweep(study, "buffer", by="tcp").savefig(Path(directory) / "sweep.png"),
            }
            opened = Study.open("growth", store)
            for name, work in works.items():
                began = time.process_time()
                work(opened)
                print(f"{name:<15}{time.process_time() - began:>8.2f} s")  # noqa: T201


class _BegunError(Exception):
    """Ends a campaign at its first run."""


class _FirstRun:
    """Executor that ends a campaign as soon as it has a run to execute."""

    def run(self, jobs: Iterator[Any]) -> NoReturn:
        """Takes the first job."""
        next(jobs)
        raise _BegunError


def stored_steps(runs: int, directory: Path) -> Iterator[tuple[str, float]]:
    """Yields the time [s] of each operation on a store of SQLite with this number of runs, and its size per run."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from longpipe.design import Design, Factor
    from longpipe.export import write_table
    from longpipe.store import Store
    from longpipe.study import Study
    from longpipe.study.table import table
    from synthetic import BASE, fill

    factors = [
        Factor.over("switch.buffer", [f"{cells} cells" for cells in range(100, 150)], "buffer"),
        Factor.over("tcp.recovery", ["vanilla", "reno"], "tcp"),
    ]
    path = directory / "stored.db"
    with closing(Store(path)) as store:
        study = Study(Design.full_factorial(BASE, factors, replications=runs // 100 - 1), store, "stored")
        fill(study)
        # The runs of the last replication are missing.
        study.grow(runs // 100)
    yield "bytes/run", path.stat().st_size / runs

    def begin(study: Study) -> None:
        with contextlib.suppress(_BegunError):
            study.run(_FirstRun())

    works: dict[str, Callable[[Study], object]] = {
        "status": Study.status,
        "means": lambda study: study.means("efficiency"),
        "Parquet": lambda study: write_table(table(study), directory / "stored.parquet"),
        "continue": begin,
    }
    for name, work in works.items():
        # A command opens the store, too.
        began = time.perf_counter(), time.process_time()
        with closing(Store(path)) as store:
            work(Study.open("stored", store))
        yield name, time.perf_counter() - began[0]
        yield f"{name} (CPU)", time.process_time() - began[1]


def stored_row(runs: int) -> None:
    """Prints a row of the table of stored runs."""
    from scipy import stats

    # Means need SciPy, which is slow to load.
    stats.t.ppf(0.975, 3)
    with tempfile.TemporaryDirectory() as directory:
        found = dict(stored_steps(runs, Path(directory)))
    cells = [f"{found['bytes/run']:>12.0f}"]
    cells += [f"{found[name]:>8.2f} ({found[f'{name} (CPU)']:6.2f})" for name in AIMS if name != "bytes/run"]
    print(f"{runs:>9}", *cells)  # noqa: T201


def stored(numbers: list[int]) -> None:
    """Prints the table of stored runs, each row in a separate process."""
    heads = [name for name in AIMS if name != "bytes/run"]
    print(f"{'runs':>9} {'bytes/run':>12}", *(f"{f'{name} [s] (CPU)':>17}" for name in heads))  # noqa: T201
    for runs in numbers:
        subprocess.run([sys.executable, __file__, "--stored-row", str(runs)], check=True)  # noqa: S603
    aims = (f"{AIMS[name]:>8.2f}{'':>9}" for name in heads)
    print(f"{'aim':>9} {AIMS['bytes/run']:>12.0f}", *aims)  # noqa: T201


def main() -> None:
    """Prints a table of scenarios, each row in a separate process, and tables of studies."""
    if sys.argv[1:2] == ["--row"]:
        row(sys.argv[2], int(sys.argv[3]))
        return
    if sys.argv[1:2] == ["--stored-row"]:
        stored_row(int(sys.argv[2]))
        return
    if sys.argv[1:2] == ["--stored"]:
        stored(list(map(int, sys.argv[2:] or STORED)))
        return
    print(f"processor time [s]; runs of {DURATION}, {SHARE} per flow")  # noqa: T201
    print(f"{'network':<10}{'flows':>8}{''.join(f'{name:>10}' for name in COLUMNS[:-1])}{COLUMNS[-1]:>20}")  # noqa: T201
    for kind in NETWORKS:
        for flows in map(int, sys.argv[1:] or FLOWS):
            command = [sys.executable, __file__, "--row", kind, str(flows)]
            try:
                subprocess.run(command, check=True, timeout=LIMIT_S)  # noqa: S603
            except subprocess.TimeoutExpired:
                print(f"  more than {LIMIT_S} s")  # noqa: T201
    print(f"a study of {RUNS} runs:")  # noqa: T201
    study()
    print("studies of synthetic runs, stored by SQLite:", flush=True)  # noqa: T201
    stored(list(STORED))


if __name__ == "__main__":
    main()
