"""Speed-up of one run by threads.

Run with: make bench-threads [ARGS="--large --json FILE 2 4"]. The program is the example `run` of crates/network. Runs
on one thread and on several alternate, and must have equal results; the times [s] are medians of wall times, so they
need idle cores. The last column is an estimate for 16 cores, without the set-up: one thread simulates the parts of 16
threads in turn, and in each window, the thread whose parts took longest counts.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import constellation

from longpipe import Scenario

RUNS: Final = 3
SEED: Final = 1
PROJECTED: Final = 16
HOPS: Final = 8
FLOWS_PER_HOP: Final = 20


def _scenario(network: dict[str, object], duration: str) -> Scenario:
    """Returns a scenario of greedy CUBIC flows of Linux with buffers of one bandwidth-delay product."""
    return Scenario.model_validate(
        {
            "defaults": "1996",
            "framing": "ip",
            "duration": duration,
            "network": network,
            "switch": {"buffer": "1 BDP"},
            "tcp": {"profile": "linux-6", "congestion": "cubic"},
            "start": {"kind": "random", "over": "1 s"},
        }
    )


def dumbbell(flows: int = 1000, rate: str = "10 Gbit/s", delay: str = "50 ms", duration: str = "4 s") -> Scenario:
    """Returns flows of as many hosts over one trunk."""
    network = {
        "kind": "dumbbell",
        "sources": flows,
        "access_rate": "10 Gbit/s",
        "access_delay": "5 us",
        "exit_delay": "5 us",
        "trunk_rate": rate,
        "trunk_delay": delay,
    }
    return _scenario(network, duration)


def parking_lot() -> Scenario:
    """Returns a parking lot: flows over all hops, and as many over each hop alone."""
    nodes: list[dict[str, object]] = [{"name": f"s{i}", "kind": "switch"} for i in range(HOPS + 1)]
    links: list[dict[str, object]] = [
        {"between": [f"s{i}", f"s{i + 1}"], "rate": "1 Gbit/s", "delay": "10 ms"} for i in range(HOPS)
    ]
    flows: list[dict[str, object]] = []
    for first, last in [(0, HOPS), *((i, i + 1) for i in range(HOPS))]:
        for number in range(FLOWS_PER_HOP):
            name = f"{first}-{last}-{number}"
            for end, at in (("from", first), ("to", last)):
                nodes.append({"name": f"{end}-{name}", "kind": "host"})
                links.append({"between": [f"{end}-{name}", f"s{at}"], "rate": "1 Gbit/s", "delay": "10 us"})
            flows.append({"name": name, "from": f"from-{name}", "to": f"to-{name}"})
    return _scenario({"kind": "graph", "nodes": nodes, "links": links, "flows": flows}, "5 s")


def star(hosts: int = 5000) -> Scenario:
    """Returns a star whose hosts all send to one."""
    names = ["sink", *(f"h{i}" for i in range(hosts))]
    network = {
        "kind": "graph",
        "nodes": [{"name": "s", "kind": "switch"}, *({"name": name, "kind": "host"} for name in names)],
        "links": [{"between": [name, "s"], "rate": "10 Gbit/s", "delay": "5 ms"} for name in names],
        "flows": [{"name": f"f{i}", "from": f"h{i}", "to": "sink"} for i in range(hosts)],
    }
    return _scenario(network, "2 s")


def kuiper() -> Scenario:
    """Returns a permutation of 100 cities over Kuiper's first shell."""
    return constellation.scenario("kuiper-630", 100, 10)


def short_window(packets: int) -> Callable[[], Scenario]:
    """Returns a scenario of 100 flows whose trunk carries a number of packets within its delay."""
    return lambda: dumbbell(100, "1 Gbit/s", f"{packets * 12} us", "5 s")


LARGE: Final = {
    "1000 flows, 10 Gbit/s, 50 ms": dumbbell,
    "parking lot, 8 hops": parking_lot,
    "Kuiper, 100 pairs of cities": kuiper,
    "star, 5000 hosts": star,
}
# Packets per delay of the trunk, for the estimate of `auto`.
SMALL: Final = {f"trunk of {packets} packets": short_window(packets) for packets in (50, 200, 800, 3200)}


@dataclass(frozen=True)
class Row:
    """Times [s] of one scenario by the number of threads, and the estimated speed-up with 16 cores."""

    scenario: str
    packets: int
    threads: dict[str, float]
    projected: float

    def __str__(self) -> str:
        one = self.threads["1"]
        times = "".join(f"{seconds:8.2f}" for seconds in self.threads.values())
        factors = "".join(f"{one / seconds:8.2f}" for number, seconds in self.threads.items() if number != "1")
        return f"{self.scenario:32}{self.packets:10}{times}{factors}{self.projected:12.1f}"


def _run(program: str, file: str, threads: str) -> tuple[int, float, str, list[float]]:
    """Returns the number of packets, the time [s], the hash, and the times [s] of all parts and of the longest."""
    command = [program, file, str(SEED), "1", threads]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()  # noqa: S603
    return int(words[0]), float(words[2]), words[6].rstrip(","), [float(word) for word in words[7:13:5]]


def row(name: str, scenario: Scenario, program: str, threads: list[str]) -> Row:
    """Measures one scenario. Raises SystemExit if results depend on the number of threads."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(scenario.resolved_json())
        file.flush()
        runs = [(number, _run(program, file.name, number)) for _ in range(RUNS) for number in ["1", *threads]]
        projected = _run(program, file.name, f"parts={PROJECTED}")
    results = {(packets, state) for _, (packets, _, state, _) in [*runs, ("", projected)]}
    if len(results) > 1:
        raise SystemExit(f"{name}: results differ: {results}")
    times = {
        number: statistics.median(seconds for other, (_, seconds, *_) in runs if other == number)
        for number in ["1", *threads]
    }
    longest = projected[3][1]
    return Row(name, runs[0][1][0], times, times["1"] / longest)


def main() -> None:
    """Prints the table, and writes the rows as JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="target/release/examples/run")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--large", action="store_true", help="only the large scenarios, without those for `auto`")
    parser.add_argument("threads", nargs="*", default=["2"])
    arguments = parser.parse_args()
    began = time.monotonic()
    numbers = "".join(f"{number:>8}" for number in ["1", *arguments.threads])
    factors = "".join(f"{f'x {number}':>8}" for number in arguments.threads)
    sys.stdout.write(f"{'scenario':32}{'packets':>10}{numbers}{factors}{f'x {PROJECTED}, est.':>12}\n")
    rows: list[dict[str, Any]] = []
    for name, create in (LARGE if arguments.large else LARGE | SMALL).items():
        measured = row(name, create(), arguments.program, arguments.threads)
        sys.stdout.write(f"{measured}\n")
        sys.stdout.flush()
        rows.append(asdict(measured))
    sys.stdout.write(f"{time.monotonic() - began:.0f} s\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
