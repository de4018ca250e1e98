"""Arriving flows under deficit round robin, and exact processor sharing of the same arrivals.

In an M/G/1 queue with processor sharing, the mean slowdown is 1/(1 - load), for any distribution of sizes (Kleinrock
1976, section 4.4). Deficit round robin with a quantum of one packet is processor sharing in steps of packets, if all
packets of a flow are queued when it arrives: no propagation delay, a fast access link, and an unlimited window and
buffer.
"""

from __future__ import annotations

import heapq
from typing import Final

import numpy as np
import numpy.typing as npt

from longpipe.result import Result
from longpipe.run import simulate
from longpipe.scenario import Scenario

RATE_BPS: Final = 10**9
# Payload of a packet, and its length with headers [bytes].
MSS: Final = 1000
PACKET_BYTES: Final = 1040
# Sizes are at least 100 packets, and their variance is finite.
SIZES: Final = {"kind": "pareto", "mean": "150 KB", "shape": 3}


def round_robin(load: float, flows: int) -> Result:
    """Runs `flows` arriving flows under deficit round robin."""
    network = {
        "kind": "dumbbell",
        "sources": 1,
        "access_rate": "10 Tbit/s",
        "trunk_rate": f"{RATE_BPS} bit/s",
        **dict.fromkeys(("access_delay", "trunk_delay", "exit_delay"), "0 s"),
    }
    scenario = Scenario(
        defaults="1996",
        framing="ip",
        duration="10000 s",
        network=network,
        switch={"buffer": "unlimited", "policy": {"kind": "drr", "quantum": f"{PACKET_BYTES} B"}},
        tcp={"mss": f"{MSS} B", "receiver_window": "1 GiB", "initial_window": "1000000 segments"},
        traffic={"kind": "flow-arrivals", "load": load, "sizes": SIZES, "flows": flows},
    )
    return simulate(scenario)


def exact_slowdown(result: Result) -> float:
    """Returns the mean slowdown of the flows of a run of `round_robin` under exact processor sharing."""
    rows = result.completions
    sizes = rows["size_bytes"].to_numpy()
    services = 8 * (sizes + (PACKET_BYTES - MSS) * np.ceil(sizes / MSS)) / RATE_BPS
    return float((_sojourns_s(rows["arrival_s"].to_numpy(), services) / services).mean())


def _sojourns_s(arrivals_s: npt.NDArray[np.float64], services_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns the time that each flow spends in a queue that serves all present flows at equal rates.

    All present flows receive the same service, so a flow leaves when the service per flow has increased, since its
    arrival, by what the flow needs.
    """
    sojourns_s = np.empty(len(arrivals_s))
    present: list[tuple[float, int]] = []
    now_s = per_flow_s = 0.0
    for number in range(len(arrivals_s) + 1):
        until_s = arrivals_s[number] if number < len(arrivals_s) else np.inf
        while present and now_s + (present[0][0] - per_flow_s) * len(present) <= until_s:
            end_s, first = present[0]
            now_s += (end_s - per_flow_s) * len(present)
            per_flow_s = end_s
            heapq.heappop(present)
            sojourns_s[first] = now_s - arrivals_s[first]
        if number < len(arrivals_s):
            if present:
                per_flow_s += (until_s - now_s) / len(present)
            now_s = until_s
            heapq.heappush(present, (per_flow_s + services_s[number], number))
    return sojourns_s
