"""Measures of the mechanisms that documents state as reasons, from the events of a run (`traces.events`)."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import numpy.typing as npt

from longpipe.result import Result

# Length [s] of the interval within which losses of two flows count as simultaneous: a tick of the documents' coarse
# timer.
COINCIDENCE_S = 0.1


def needless(result: Result) -> dict[str, float]:
    """Counts retransmissions and timeouts of segments of which a copy had arrived or was in flight.

    A retransmission is needless if the network had lost fewer copies of the segment than the sender had sent.
    `needless_retransmissions` is their share among all retransmissions, `false_fast_retransmits` their share among the
    segments that fast retransmit sent, and `needless_timeouts` the number of timeouts whose first outstanding segment
    had such a copy. A share of an empty set is nan. Needs the trace `events`.
    """
    events = result.traces["events"]
    events = events[events["kind"].isin(["dropped", "retransmit", "timeout"])]
    columns = (events[name] for name in ("flow", "sequence_bytes", "kind", "event_cause"))
    sent: Counter[tuple[str, int]] = Counter()
    lost: Counter[tuple[str, int]] = Counter()
    counts: Counter[str] = Counter()
    for flow, begin, kind, cause in zip(*columns, strict=True):
        segment = (str(flow), int(begin))
        # The first transmission is not among the events.
        arrives = lost[segment] < 1 + sent[segment]
        if kind == "dropped":
            lost[segment] += 1
        elif kind == "timeout":
            counts["needless timers"] += arrives
        else:
            sent[segment] += 1
            for name in {"all", str(cause)}:
                counts[name] += 1
                counts[f"needless {name}"] += arrives
    return {
        "needless_retransmissions": _share(counts, "all"),
        "false_fast_retransmits": _share(counts, "fast-retransmit"),
        "needless_timeouts": counts["needless timers"],
    }


def _share(counts: Counter[str], name: str) -> float:
    return counts[f"needless {name}"] / counts[name] if counts[name] else math.nan


def loss_synchronization(result: Result) -> dict[str, float]:
    """Returns the mean correlation between the losses of two flows in intervals of 100 ms, in [-1, 1].

    1 means that all flows lose in the same intervals. Flows without a loss are excluded; nan if fewer than two remain.
    Needs the trace `events`.
    """
    events = result.traces["events"]
    lost = events[events["kind"] == "dropped"]
    intervals = math.ceil(float(events["time_s"].max()) / COINCIDENCE_S) + 1 if len(events) else 0
    series = []
    for _, of_flow in lost.groupby("flow", observed=True):
        hit = np.zeros(intervals)
        hit[(of_flow["time_s"].to_numpy() / COINCIDENCE_S).astype(int)] = 1
        series.append(hit)
    return {"loss_synchronization": mean_correlation(series)}


def mean_correlation(series: list[npt.NDArray[np.float64]]) -> float:
    """Returns the mean pairwise correlation of the series that vary; nan if fewer than two do."""
    varying = [values for values in series if len(values) and values.std() > 0]
    if len(varying) < 2:
        return math.nan
    standard = np.array([(values - values.mean()) / values.std() for values in varying])
    n = len(standard)
    # The variance of a sum of n standardized series is n plus n (n - 1) times their mean correlation.
    return float((standard.sum(axis=0).var() / n - 1) / (n - 1))
