"""Runs of DOCSIS whose results are sums of parts: delays of packets that find no grant, and loops of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from longpipe import Scenario, simulate
from longpipe_evidence.validate.estimates import Estimate

HEADER_BYTES: Final = 28
# Datagrams that fit into a minislot with their header of the MAC, and their interval [s], no multiple of that of MAPs.
BYTES: Final = 45
INTERVAL_S: Final = 0.0200617
# Frame [ms] of the rows; a packet is received when its frame has ended, has been decoded for another frame, and has
# traveled.
FRAME_MS: Final = 0.135
TRAVEL_MS: Final = 0.1
RATE: Final = "836 Mbit/s"
RUNS: Final = 10


def packet_to_grant(conditions: Mapping[str, str], packets: int) -> Estimate:
    """Returns the mean delay [ms] of datagrams to the start of their grants."""
    means = []
    for seed in range(1, RUNS + 1):
        delay_s = simulate(_scenario(conditions, packets), seed).datagrams.iloc[0]["mean_delay_s"]
        means.append(1e3 * delay_s - 2 * FRAME_MS - TRAVEL_MS)
    return Estimate.of_runs(f"DOCSIS, MAP interval {conditions['map-interval']} ms, packet to grant: ms", means)


def request_to_grant(conditions: Mapping[str, str], packets: int) -> Estimate:
    """Returns the mean time [ms] from a request to the start of its grant."""
    means = []
    for seed in range(1, RUNS + 1):
        grants = simulate(_scenario(conditions, packets).with_(**{"traces.grants": True}), seed).traces["grants"]
        action, time_s = np.asarray(grants["action"]), np.asarray(grants["time_s"])
        count = int((action == "transmission").sum())
        # A burst is prepared a frame before its grant begins.
        loops_s = time_s[action == "transmission"] - time_s[action == "request"][:count]
        means.append(1e3 * float(loops_s.mean()) + FRAME_MS)
    return Estimate.of_runs(f"DOCSIS, MAP interval {conditions['map-interval']} ms, request to grant: ms", means)


def _scenario(conditions: Mapping[str, str], packets: int) -> Scenario:
    access = {"kind": "docsis", "map_interval": f"{conditions['map-interval']} ms", "downstream": f"{TRAVEL_MS} ms"}
    network: dict[str, Any] = {
        "kind": "dumbbell",
        "sources": 1,
        "access_rate": "10 Tbit/s",
        "access_delay": "0 s",
        "trunk_rate": RATE,
        "trunk_delay": f"{TRAVEL_MS} ms",
        "exit_delay": "0 s",
        "access": access,
    }
    traffic = {"kind": "cbr", "rate": f"{8 * BYTES / INTERVAL_S:.0f} bit/s", "payload": f"{BYTES - HEADER_BYTES} B"}
    duration_s = packets // 20 * INTERVAL_S
    return Scenario.model_validate(
        {"framing": "ip", "duration": f"{duration_s:.3f} s", "network": network, "traffic": traffic}
    )


# Quantities of `tests/data/access/delays.csv`, with the runs that measure them.
QUANTITIES: Final = {
    "DOCSIS mean packet to grant ms": packet_to_grant,
    "DOCSIS mean request-grant loop ms": request_to_grant,
}
