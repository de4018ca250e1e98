"""SCReAMv2 beside TCP Prague over DualPI2, compared with the measurements of the authors' code."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from longpipe.run import simulate
from longpipe.scenario import Scenario

RATE_BPS: Final = 100e6
# Difference [Mbit/s] up to which a rate counts as the published one: a tenth of the link.
CLOSE_MBPS: Final = 10.0
# Time [s] between the starts of flows, and its last part, in which rates are measured.
INTERVAL_S: Final = 20
MEASURED_S: Final = 10
_L4S: Final[dict[str, Any]] = {"kind": "accurate", "ect": 1}


@dataclass(frozen=True)
class Cell:
    """Rates of SCReAMv2 [Mbit/s] beside `tcp_flows` flows of Prague: the published one, and the mean over runs."""

    rtt_ms: float
    tcp_flows: int
    published_mbps: float
    model_mbps: float

    @property
    def is_close(self) -> bool:
        """Returns whether the rates differ by at most a tenth of the link."""
        return abs(self.model_mbps - self.published_mbps) <= CLOSE_MBPS


def scenario(rtt_ms: float, tcp_flows: int, rules: str = "2026-08") -> Scenario:
    """Returns SCReAMv2 with packets of 1400 bytes, and flows of Prague, on 100 Mbit/s with DualPI2 as in Linux.

    As in the record, SCReAMv2 is alone for 20 s, and a flow of Prague joins every 20 s; means cover the last 10 of
    these 20 s, because the record does not state which part it covers. `rules` is the text of the draft that SCReAMv2
    follows.
    """
    congestion = {"kind": "scream", "rules": rules}
    groups: list[dict[str, Any]] = [
        {
            "name": "media",
            "start": {"kind": "random", "over": "1 s"},
            "tcp": {"congestion": congestion, "ecn": _L4S, "mss": "1348 B"},
        },
        {
            "name": "tcp",
            "count": tcp_flows,
            "start": {"kind": "staggered", "first": "0 s", "interval": f"{INTERVAL_S} s"},
            "tcp": {"congestion": "prague", "ecn": _L4S},
        },
    ]
    return Scenario(defaults="1996").with_(
        **{
            "name": f"SCReAMv2 and {tcp_flows} flows of Prague, {rtt_ms:g} ms",
            "framing": "ip",
            "duration": f"{INTERVAL_S * (tcp_flows + 1)} s",
            "warm_up": f"{INTERVAL_S * (tcp_flows + 1) - MEASURED_S} s",
            "tcp.profile": "linux-6",
            "switch": {
                "buffer": "10000 packets",
                "policy": {"kind": "dualpi2", "marking": "step", "scheduler": "weighted"},
            },
            "network": {
                "kind": "dumbbell",
                "trunk_rate": f"{RATE_BPS:.0f} bit/s",
                "trunk_delay": f"{rtt_ms / 2:g} ms",
                "access_rate": "1 Gbit/s",
                "access_delay": "0 s",
                "exit_delay": "0 s",
                "group": groups if tcp_flows else groups[:1],
            },
        }
    )


def rate_mbps(case: Scenario, runs: int) -> float:
    """Returns the mean rate of SCReAMv2's packets [Mbit/s], headers included, over seeds 1 to `runs`."""
    rates = []
    for seed in range(1, runs + 1):
        flows = simulate(case, seed).flows.set_index("flow")
        rates.append(flows["throughput_bps"].filter(like="media").sum() * 1400 / 1348 / 1e6)
    return float(np.mean(rates))


def compare(file: Path, runs: int, rules: str = "2026-08") -> Iterator[Cell]:
    """Yields the cells of a CSV file with the columns `rtt_ms`, `tcp_flows` and `scream_mbps`."""
    columns = pd.read_csv(file).to_dict("list")
    for rtt_ms, flows, published in zip(columns["rtt_ms"], columns["tcp_flows"], columns["scream_mbps"], strict=True):
        model_mbps = rate_mbps(scenario(float(rtt_ms), int(flows), rules), runs)
        yield Cell(float(rtt_ms), int(flows), float(published), model_mbps)
