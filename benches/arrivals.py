"""Compares flows that arrive and end with theory and with ns-2, and measures a million of them.

Usage: python benches/arrivals.py. It prints Markdown, and takes two minutes of CPU time.

1. CPU time and peak memory of a million flows of 100 KB on average over 10 Gbit/s.
2. The mean slowdown of 100 000 flows under deficit round robin: simulated, under exact processor sharing of the same
   arrivals, and 1/(1 - load), with the simulation's 95 % confidence interval.
3. The mean completion time of 10 000 SACK flows compared with ns-2, if ns-2 is installed.
"""

import resource
import sys
import time
from typing import Final

from longpipe import Scenario, simulate
from longpipe_evidence.papers.lbd_01.transfers import Transfer
from longpipe_evidence.validate import ns2
from longpipe_evidence.validate.ns2_flows import compare, random_flows
from longpipe_evidence.validate.processor_sharing import exact_slowdown, round_robin

MILLION: Final = 10**6
LOADS: Final = (0.3, 0.5, 0.8)


def million() -> str:
    """Returns the CPU time and the peak memory of a million flows."""
    sizes = {"kind": "pareto", "mean": "100 KB", "shape": 1.5}
    scenario = Scenario(
        defaults="1996",
        framing="ip",
        duration="1000 s",
        network={
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "10 Gbit/s",
            "trunk_rate": "10 Gbit/s",
            "trunk_delay": "1 ms",
        },
        switch={"buffer": "1 BDP"},
        tcp={"profile": "linux-6"},
        traffic={"kind": "flow-arrivals", "load": 0.5, "sizes": sizes, "flows": MILLION},
    )
    begin = time.process_time()
    arrived = simulate(scenario).arrived
    cpu_s, peak_mb = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return f"{arrived['completed'][0]} of {arrived['arrived'][0]} flows: {cpu_s:.1f} s of CPU time, {peak_mb:.0f} MB"


def slowdowns(load: float) -> str:
    """Returns a row with the mean slowdowns at a load."""
    result = round_robin(load, 100_000)
    whole = result.slowdowns.set_index("size").loc["all"]
    interval = f"{whole['low']:.4f} to {whole['high']:.4f}"
    return f"| {load} | {whole['mean']:.4f} | {exact_slowdown(result):.4f} | {1 / (1 - load):.4f} | {interval} |"


def main() -> None:
    """Prints the three parts."""
    write = sys.stdout.write
    write(f"{million()}\n\n")
    write("| load | DRR | processor sharing | 1/(1 - load) | 95 % interval of DRR |\n| --- | --- | --- | --- | --- |\n")
    for load in LOADS:
        write(f"{slowdowns(load)}\n")
        sys.stdout.flush()
    if ns2.available():
        found = compare(Transfer(200, 0.5, "sack"), random_flows(10_000))
        write(f"\n10 000 flows, mean completion time: {100 * found.difference:+.2f} % of that of ns-2\n")


if __name__ == "__main__":
    main()
