"""What a design keeps of each run, unless it is told otherwise."""

from longpipe.result import Result


def measure(result: Result) -> dict[str, float]:
    """Efficiency, fairness, total throughput [bit/s], and over all switches and flows what tells why."""
    switches, flows = result.ports[result.ports["kind"] == "switch"], result.flows
    return {
        "efficiency": result.efficiency,
        "fairness": result.fairness,
        "throughput_bps": float(flows["throughput_bps"].sum()),
        "cells_lost": int(switches.filter(like="cells_lost_").to_numpy().sum()),
        "peak_queue_cells": int(switches["peak_queue_cells"].max()),
        "retransmitted_bytes": int(flows["retransmitted_bytes"].sum()),
        "timeouts": int(flows["timeouts"].sum()),
        "fast_retransmits": int(flows["fast_retransmits"].sum()),
    }
