"""Default measures of the runs of a design."""

import numpy as np

from longpipe.result import Result
from longpipe.scenario import Dumbbell, Scenario


def names(scenario: Scenario) -> list[str]:
    """What `measure` gives a number for in every run of a scenario; a graph, which has no one trunk, no efficiency."""
    unit = "packets" if scenario.framing == "ip" else "cells"
    of_trunk = ["efficiency"] if isinstance(scenario.network, Dumbbell) else []
    of_all = ["retransmitted_bytes", "timeouts", "fast_retransmits"]
    return [*of_trunk, "fairness", "throughput_bps", f"{unit}_lost", f"peak_queue_{unit}", *of_all]


def measure(result: Result) -> dict[str, float]:
    """Returns efficiency (0 to 1, see `analysis.efficiency`), fairness, total throughput [bit/s] and counters.

    The counters are sums over all switches and flows.
    """
    unit = "packets" if result.scenario.framing == "ip" else "cells"
    ports, flows = result.columns["ports"], result.columns["flows"]
    at_switch = np.asarray(ports["kind"]) == "switch"
    lost = (np.asarray(ports[name])[at_switch].sum() for name in ports if name.startswith(f"{unit}_lost_"))
    return {
        "efficiency": result.efficiency,
        "fairness": result.fairness,
        "throughput_bps": float(result.throughputs_bps.sum()),
        f"{unit}_lost": int(sum(lost)),
        f"peak_queue_{unit}": int(np.asarray(ports[f"peak_queue_{unit}"])[at_switch].max()),
        "retransmitted_bytes": int(np.sum(flows["retransmitted_bytes"])),
        "timeouts": int(np.sum(flows["timeouts"])),
        "fast_retransmits": int(np.sum(flows["fast_retransmits"])),
    }
