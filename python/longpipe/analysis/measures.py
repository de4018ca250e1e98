"""What a design keeps of each run, unless it is told otherwise."""

from longpipe.result import Result


def measure(result: Result) -> dict[str, float]:
    """Efficiency, fairness, total throughput [bit/s], and over all switches and flows what tells why."""
    unit = "packets" if result.scenario.framing == "ip" else "cells"
    ports, flows = result.ports, result.flows
    at_switch = (ports["kind"] == "switch").to_numpy()
    lost = (ports[name].to_numpy()[at_switch].sum() for name in ports if str(name).startswith(f"{unit}_lost_"))
    return {
        "efficiency": result.efficiency,
        "fairness": result.fairness,
        "throughput_bps": float(flows["throughput_bps"].sum()),
        f"{unit}_lost": int(sum(lost)),
        f"peak_queue_{unit}": int(ports[f"peak_queue_{unit}"].to_numpy()[at_switch].max()),
        "retransmitted_bytes": int(flows["retransmitted_bytes"].sum()),
        "timeouts": int(flows["timeouts"].sum()),
        "fast_retransmits": int(flows["fast_retransmits"].sum()),
    }
