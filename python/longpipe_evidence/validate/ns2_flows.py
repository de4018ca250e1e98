"""Compares completion times of flows that arrive over time at one bottleneck, in longpipe and in ns-2."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

import pandas as pd

from longpipe.run import simulate
from longpipe.scenario import Dumbbell
from longpipe.units import RATE, TIME
from longpipe_evidence.papers.lbd_01.transfers import MSS, Transfer
from longpipe_evidence.validate import ns2
from longpipe_evidence.validate.ns2_transfers import ACK_BYTES, TICK_S, agent_options, path_arguments

SCRIPT: Final = "ns2_flows.tcl"
# Time [s] after the last arrival within which all flows complete.
_REST_S: Final = 1000
# Maximum number of simultaneous flows.
_MOST: Final = 2000


@dataclass(frozen=True)
class FlowsComparison:
    """A row per flow: arrival_s, segments, and the completion times longpipe_s and ns2_s, counted from the arrival."""

    flows: pd.DataFrame

    @property
    def difference(self) -> float:
        """Returns the relative difference of the mean completion times."""
        return float(self.flows["longpipe_s"].mean() / self.flows["ns2_s"].mean() - 1)


def random_flows(count: int) -> list[tuple[int, int]]:
    """Returns the arrival times [ps] and numbers of segments of flows with Pareto sizes.

    Their load is 0.6 over 10 Mbit/s, the rate of the path of a transfer; its buffer overflows at times.
    """
    draws, at_s = Random(1), 0.0  # noqa: S311 - no secret
    flows: list[tuple[int, int]] = []
    for _ in range(count):
        at_s += draws.expovariate(1) * 30 * 640 * 8 / 10e6 / 0.6
        flows.append((round(at_s * 1e12), max(1, round(10 * draws.paretovariate(1.5)))))
    return flows


def compare(transfer: Transfer, flows: Sequence[tuple[int, int]]) -> FlowsComparison:
    """Runs flows over the path of a transfer in longpipe and in ns-2.

    Each flow is given by its arrival time [ps] and its number of segments. Raises ScenarioError if ns-2 is missing.
    """
    with TemporaryDirectory() as directory:
        longpipe_file, ns2_file = (Path(directory) / name for name in ("longpipe.csv", "ns2.txt"))
        longpipe_file.write_text("time,bytes\n" + "".join(f"{at} ps,{segments * MSS}\n" for at, segments in flows))
        ns2_file.write_text("".join(f"{at / 1e12:.12f} {segments}\n" for at, segments in flows))
        traffic = {"kind": "flow-arrivals", "file": str(longpipe_file), "most_active": _MOST}
        duration = f"{flows[-1][0] // 10**12 + _REST_S} s"
        guard = {"tcp.reno.guard": True, "tcp.newreno.guard": True}
        scenario = transfer.scenario(**{"traffic": traffic, "duration": duration, **guard})
        completions = simulate(scenario).completions
        agents = [TICK_S, agent_options(transfer, guard=True)]
        lines = ns2.lines([*path_arguments(transfer), *agents, ns2_file], SCRIPT)
    network = scenario.network
    assert isinstance(network, Dumbbell)  # noqa: S101 - all of its networks are dumbbells
    # ns-2 reports the arrival of the last ACK at the sender.
    back_s = TIME.parse(network.trunk_delay) / 1e12
    back_s += 8 * ACK_BYTES * (1 / RATE.parse(network.trunk_rate) + 2 / RATE.parse(network.access_rate))
    complete_s = {int(number): float(at) - back_s for _, number, at in (line for line in lines if line[0] == "flow")}
    arrival_s = pd.Series([at / 1e12 for at, _ in flows])
    rows = {
        "arrival_s": arrival_s,
        "segments": [segments for _, segments in flows],
        "longpipe_s": completions["completion_s"] - completions["arrival_s"],
        "ns2_s": pd.Series([complete_s[number] for number in range(len(flows))]) - arrival_s,
    }
    return FlowsComparison(pd.DataFrame(rows))
