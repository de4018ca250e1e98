"""What a design keeps of each run, unless it is told otherwise."""

from longpipe.result import Result


def measure(result: Result) -> dict[str, float]:
    """Efficiency, fairness, total throughput [bit/s], and over all switches and flows what tells why."""
    unit = "packets" if result.scenario.framing == "ip" else "cells"
    switches, flows = result.ports[result.ports["kind"] == "switch"], result.flows
    return {
        "efficiency": result.efficiency,
        "fairness": result.fairness,
        "throughput_bps": float(flows["throughput_bps"].sum()),
        f"{unit}_lost": int(switches.filter(like=f"{unit}_lost_").to_numpy().sum()),
        f"peak_queue_{unit}": int(switches[f"peak_queue_{unit}"].max()),
        "retransmitted_bytes": int(flows["retransmitted_bytes"].sum()),
        "timeouts": int(flows["timeouts"].sum()),
        "fast_retransmits": int(flows["fast_retransmits"].sum()),
    }
