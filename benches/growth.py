"""Measures how CPU time outside of simulation grows with the number of flows, and with a study's number of runs.

Run with: .venv/bin/python benches/growth.py [FLOWS ...]
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

FLOWS: Final = (1_000, 10_000, 50_000)
RUNS: Final = 1_000
# Rate per flow, of the trunk or of each host of a star.
SHARE: Final = "200 kbit/s"
DURATION: Final = "10 s"
COLUMNS: Final = ("set up", "build", "check", "run", "summary", "total but for run")
# Maximum CPU time [s] of one row.
LIMIT_S: Final = 300


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

    base = Scenario(name="growth", duration="20 ms")
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


def main() -> None:
    """Prints a table of scenarios, each row in a separate process, and a table of studies."""
    if sys.argv[1:2] == ["--row"]:
        row(sys.argv[2], int(sys.argv[3]))
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


if __name__ == "__main__":
    main()
