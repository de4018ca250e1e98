"""Default measures of a design's runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longpipe.scenario import Dumbbell, Scenario

if TYPE_CHECKING:
    from longpipe.result import Result


# What the measures are.
_DESCRIPTIONS: Final = {
    "efficiency": "payload delivered over the trunk as a share of the maximum possible payload",
    "efficiency_back": "efficiency of the trunk's other direction",
    "fairness": "Jain's index of the throughputs of the flows",
    "throughput_bps": "sum of the throughputs of the flows",
    "packets_lost": "packets lost at switches, by all causes",
    "cells_lost": "cells lost at switches, by all causes",
    "peak_queue_packets": "maximum length of the queues of switches",
    "peak_queue_cells": "maximum length of the queues of switches",
    "retransmitted_bytes": "sum over all flows",
    "timeouts": "sum over all flows",
    "fast_retransmits": "sum over all flows",
}


def description(measure: str) -> str:
    """Returns what a measure of every run is; "" for another one."""
    return _DESCRIPTIONS.get(measure, "")


def names(scenario: Scenario) -> list[str]:
    """Returns the names of the measures that every run of a scenario has.

    Efficiency needs the single trunk of a dumbbell; if data are sent in both directions, each direction has one.
    """
    unit = "packets" if scenario.framing == "ip" else "cells"
    network = scenario.network
    of_trunk = ["efficiency"] if isinstance(network, Dumbbell) else []
    if isinstance(network, Dumbbell) and network.has_both_directions:
        of_trunk.append("efficiency_back")
    of_all = ["retransmitted_bytes", "timeouts", "fast_retransmits"]
    return [*of_trunk, "fairness", "throughput_bps", f"{unit}_lost", f"peak_queue_{unit}", *of_all]


def measure(result: Result) -> dict[str, float]:
    """Returns efficiencies (0 to 1, see `metrics.efficiency`), fairness, total throughput [bit/s] and counters.

    The counters are sums over all switches and flows.
    """
    unit = "packets" if result.scenario.framing == "ip" else "cells"
    ports, flows = result.columns["ports"], result.columns["flows"]

    def at_switches(name: str) -> list[int]:
        return [value for value, kind in zip(ports[name], ports["kind"], strict=True) if kind == "switch"]

    lost = (sum(at_switches(name)) for name in ports if name.startswith(f"{unit}_lost_"))
    return {
        **result.efficiencies,
        "fairness": result.fairness,
        "throughput_bps": result.total_bps,
        f"{unit}_lost": sum(lost),
        f"peak_queue_{unit}": max(at_switches(f"peak_queue_{unit}")),
        "retransmitted_bytes": sum(flows["retransmitted_bytes"]),
        "timeouts": sum(flows["timeouts"]),
        "fast_retransmits": sum(flows["fast_retransmits"]),
    }
