"""Runs recorded over time, for claims that need more than the totals of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from longpipe import simulate
from longpipe.result import Result
from longpipe.scenario import Scenario
from longpipe_evidence.papers.experiments import Experiment
from longpipe_evidence.papers.mechanisms import mean_correlation

# Sampling interval of windows, and time excluded at the beginning [s].
STEP_S: Final = 0.01
SETTLED_S: Final = 1.0


@dataclass(frozen=True)
class Recording:
    """Replications of some experiments with traces, and their measures."""

    # Traces to record, by their names in `traces`.
    traces: tuple[str, ...]
    # Selects some of the paper's experiments.
    chosen: Callable[[Experiment], bool]
    measure: Callable[[Result], Mapping[str, float]]
    seeds: int

    def rows(self, experiments: list[Experiment], seeds: int) -> Iterator[dict[str, object]]:
        """Simulates all runs. Yields a row per run: the factors, the part "recorded", `seed` and the measures."""
        for experiment in experiments:
            if experiment.table is None or not self.chosen(experiment):
                continue
            scenario: Scenario = experiment.replicated.with_(traces=dict.fromkeys(self.traces, True))
            for seed in range(1, min(seeds, self.seeds) + 1):
                measured = self.measure(simulate(scenario, seed))
                yield {**experiment.factors, "part": "recorded", "replicated": True, "seed": seed, **measured}


def synchronization(result: Result) -> dict[str, float]:
    """Returns the mean correlation between the windows of two flows, sampled every 10 ms after 1 s, in [-1, 1].

    1 means that all windows rise and fall together. Flows whose window never changes are excluded; nan if fewer than
    two remain. Needs the trace `cwnd`.
    """
    trace = result.traces["cwnd"]
    end_s = float(trace["time_s"].max())
    at = np.arange(SETTLED_S, end_s, STEP_S)
    windows = []
    for _, of_flow in trace.groupby("flow"):
        last = np.searchsorted(of_flow["time_s"].to_numpy(), at, side="right") - 1
        windows.append(of_flow["cwnd_bytes"].to_numpy(dtype=float)[last])
    return {"synchronization": mean_correlation(windows)}


def timeout_s(result: Result) -> dict[str, float]:
    """Returns the median retransmission timeout [s] of the coarse timer over all RTT samples; needs the trace `rtt`."""
    trace: pd.DataFrame = result.traces["rtt"]
    return {"rto_s": float(trace.loc[trace["rtt_s"].notna(), "rto_s"].median())}
