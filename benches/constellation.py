"""CPU time of a constellation as a graph with traffic between all cities, compared with the simulated time.

Each of the largest cities sends a greedy CUBIC flow to the next one in a random order, so each city has an incoming and
an outgoing flow. Arguments: the shell, the number of cities, and the duration [s].
"""

import sys
import time
from random import Random
from typing import Any, Final

from longpipe import Scenario, simulate
from longpipe.satellites import cities

SEED: Final = 1
RATE: Final = "10 Mbit/s"


def scenario(shell: str, count: int, duration_s: int) -> Scenario:
    """Returns the permutation of cities as a scenario; the routes are computed every second."""
    places = list(cities())[:count]
    order = list(range(count))
    Random(SEED).shuffle(order)  # noqa: S311
    pairs = list(zip(order, [*order[1:], order[0]], strict=True))
    nodes: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for i in range(count):
        nodes.append({"name": f"station{i}", "kind": "switch"})
        for host in (f"source{i}", f"sink{i}"):
            nodes.append({"name": host, "kind": "host"})
            links.append({"between": [host, f"station{i}"], "rate": "1 Gbit/s", "delay": "0 s"})
    for i, j in pairs:
        path = {"shell": shell, "from": places[i], "to": places[j], "as": "graph", "outages": {"arriving": "drop"}}
        links.append({"between": [f"station{i}", f"station{j}"], "rate": RATE, "delay": "0 s", "path": path})
    flows = [{"name": f"flow{i}", "from": f"source{i}", "to": f"sink{j}"} for i, j in pairs]
    return Scenario(
        defaults="1996",
        framing="ip",
        duration=f"{duration_s} s",
        network={"kind": "graph", "nodes": nodes, "links": links, "flows": flows},
        switch={"buffer": "100 packets"},
        tcp={"profile": "linux-6", "congestion": "cubic"},
    )


def main(shell: str = "starlink-550", count: str = "100", duration: str = "60") -> None:
    """Prints the CPU times of the routes and of the simulation, and the real-time factor of the simulation."""
    began = time.process_time()
    own = scenario(shell, int(count), int(duration))
    resolved = own.resolved
    routed = time.process_time()
    result = simulate(own)
    done = time.process_time()
    delivered = result.flows["delivered_bytes"].sum()
    print(f"{shell}: {count} flows, {len(resolved['links'])} links, {duration} s")  # noqa: T201
    print(f"routes and links: {routed - began:.1f} s of CPU time")  # noqa: T201
    print(f"simulation: {done - routed:.1f} s of CPU time, {int(duration) / (done - routed):.1f} times real time")  # noqa: T201
    print(f"delivered: {8 * delivered / int(duration) / 1e6:.0f} Mbit/s")  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
