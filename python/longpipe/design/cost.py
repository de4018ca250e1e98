"""Estimated cost of a design."""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from longpipe.aal5 import CELL_BITS, packet_cells
from longpipe.ip import packet_bytes
from longpipe.scenario import Scenario

# Measured on one core of a 2 GHz server: time per cell or IP packet and link, and the overhead of a run.
S_PER_HOP: Final = 30e-9
S_PER_RUN: Final = 0.02


@dataclass(frozen=True)
class Cost:
    """Number of runs, with their total simulated time [s] and estimated processor time [s].

    `measured` is the number of runs on which the processor time was measured; 0 if it follows from the scenario alone.
    """

    points: int
    runs: int
    simulated_s: float
    cpu_s: float
    measured: int = 0

    def __str__(self) -> str:
        planned = f"{_counted(self.points, 'point')}, {_counted(self.runs, 'run')}"
        source = "an estimate, accurate to a factor of 3; less with losses"
        if self.measured:
            source = f"measured on {_counted(self.measured, 'run')}"
        return (
            f"{planned}, {self.simulated_s:g} s of simulated time, "
            f"about {duration_text(self.cpu_s)} of processor time ({source})"
        )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def simulated_s(scenario: Scenario) -> float:
    """Returns the simulated time [s] of one run."""
    return float(scenario.resolved["duration_ps"]) / 1e12


def cpu_s(scenario: Scenario) -> float:
    """Estimates the processor time of one run [s] as if every bottleneck were always busy."""
    resolved = scenario.resolved
    duration_s = resolved["duration_ps"] / 1e12
    rates_bps = [link["rate_bps"] for link in resolved["links"]]
    users = Counter(link for flow in resolved["flows"] for link in flow["route"])
    ip = resolved["framing"] == "ip"
    hops = 0.0
    for flow in resolved["flows"]:
        share_bps = min(rates_bps[link] / users[link] for link in flow["route"])
        mss = flow["tcp"]["mss_bytes"]
        data, ack, bits = (1, 1, 8 * packet_bytes(mss)) if ip else (packet_cells(mss), packet_cells(0), CELL_BITS)
        units = min(share_bps * duration_s / bits, _most_packets(flow) * data)
        hops += units * (len(flow["route"]) + len(flow["return_route"]) * ack / data)
    return hops * S_PER_HOP + S_PER_RUN


# The result is cached, because callers ask for the same scenarios repeatedly.
estimated_cpu_s = lru_cache(maxsize=4096)(cpu_s)


def duration_text(seconds: float) -> str:
    """Formats a time in a suitable unit: "40 s", "12 min", "3.5 h"."""
    if seconds < 99.5:
        return f"{seconds:.2g} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 360_000 else f"{seconds / 86_400:.0f} days"


def _most_packets(flow: dict[str, Any]) -> float:
    size = flow["traffic"].get("size_bytes")
    return float("inf") if size is None else size / flow["tcp"]["mss_bytes"] + 1
