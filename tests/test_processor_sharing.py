"""Arriving flows under deficit round robin compared with processor sharing, and with ns-2.

In an M/G/1 queue with processor sharing, the mean slowdown is 1/(1 - load), for any distribution of sizes (Kleinrock
1976, section 4.4). Deficit round robin with a quantum of one packet is processor sharing in steps of packets, if all
packets of a flow are queued when it arrives: no propagation delay, a fast access link, and an unlimited window and
buffer.
"""

from __future__ import annotations

import heapq
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from longpipe import Result, Scenario, simulate
from longpipe.papers.lbd_01.transfers import Transfer
from longpipe.validate import ns2
from longpipe.validate.ns2_flows import compare
from thorough import THOROUGH, one_in

RATE_BPS = 10**9
MSS, PACKET_BYTES = 1000, 1040
# Sizes are at least 100 packets, and their variance is finite.
SIZES = {"kind": "pareto", "mean": "150 KB", "shape": 3}


def _run(load: float, flows: int) -> Result:
    network = {
        "kind": "dumbbell",
        "sources": 1,
        "access_rate": "10 Tbit/s",
        "trunk_rate": f"{RATE_BPS} bit/s",
        **dict.fromkeys(("access_delay", "trunk_delay", "exit_delay"), "0 s"),
    }
    scenario = Scenario(
        framing="ip",
        duration="10000 s",
        network=network,
        switch={"buffer": "unlimited", "policy": {"kind": "drr", "quantum": f"{PACKET_BYTES} B"}},
        tcp={"mss": f"{MSS} B", "receiver_window": "1 GiB", "initial_window": "1000000 segments"},
        traffic={"kind": "flow-arrivals", "load": load, "sizes": SIZES, "flows": flows},
    )
    return simulate(scenario)


def _processor_sharing(arrivals: npt.NDArray[np.float64], services: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns the time [s] that each flow spends in a queue that serves all present flows at equal rates.

    All present flows receive the same service, so a flow leaves when the service per flow has increased, since its
    arrival, by what the flow needs.
    """
    sojourns = np.empty(len(arrivals))
    present: list[tuple[float, int]] = []
    now = per_flow = 0.0
    for number in range(len(arrivals) + 1):
        until = arrivals[number] if number < len(arrivals) else np.inf
        while present and now + (present[0][0] - per_flow) * len(present) <= until:
            end, first = present[0]
            now += (end - per_flow) * len(present)
            per_flow = end
            heapq.heappop(present)
            sojourns[first] = now - arrivals[first]
        if number < len(arrivals):
            if present:
                per_flow += (until - now) / len(present)
            now = until
            heapq.heappush(present, (per_flow + services[number], number))
    return sojourns


@pytest.mark.parametrize("load", one_in(3, [0.8, 0.5, 0.3]))
def test_round_robin_has_the_slowdown_of_processor_sharing(load: float) -> None:
    flows = 100_000 if THOROUGH else 1000
    result = _run(load, flows)
    rows = result.completions
    assert len(rows) == flows
    assert rows["completion_s"].notna().all()
    assert list(result.arrived["waited"]) == [0]
    sizes = rows["size_bytes"].to_numpy()
    assert sizes.min() >= 100 * MSS - 1
    services = 8 * (sizes + (PACKET_BYTES - MSS) * np.ceil(sizes / MSS)) / RATE_BPS
    expected = _processor_sharing(rows["arrival_s"].to_numpy(), services)
    # The comparison is flow by flow on the same arrivals, so there is no sampling noise.
    ours, theirs = rows["slowdown"].mean(), (expected / services).mean()
    assert ours == pytest.approx(theirs, rel=0.01)
    if THOROUGH:
        whole = result.slowdowns.set_index("size").loc["all"]
        assert whole["low"] < 1 / (1 - load) < whole["high"]


@pytest.mark.skipif(not ns2.available(), reason="ns-2 is not installed (Debian's package ns2)")
def test_the_mean_completion_time_is_that_of_ns2() -> None:
    """The flows have Pareto sizes and a load of 0.6 over 10 Mbit/s and 100 ms; the buffer overflows at times."""
    draws, flows, at_s = Random(1), [], 0.0
    for _ in range(10_000 if THOROUGH else 300):
        at_s += draws.expovariate(1) * 30 * 640 * 8 / 10e6 / 0.6
        flows.append((round(at_s * 1e12), max(1, round(10 * draws.paretovariate(1.5)))))
    found = compare(Transfer(200, 0.5, "sack"), flows)
    assert abs(found.difference) < 0.03
