"""Measures of a run with one flow, computed at the times at which Linux was sampled."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from longpipe.result import Result
from longpipe_evidence.validate.linux_shared import jain

Floats = npt.NDArray[np.float64]


def at(times: Floats, trace: pd.DataFrame, column: str) -> Floats:
    place = np.searchsorted(trace["time_s"].to_numpy(), times, side="right") - 1
    found: Floats = trace[column].to_numpy(dtype=float)[np.maximum(place, 0)]
    return found


def goodput_mbps(result: Result, begin: float, end: float) -> float:
    acks = result.traces["sequence"].query("event == 1")
    first, last = at(np.array([begin, end]), acks, "sequence_bytes")
    return float(last - first) * 8 / (end - begin) / 1e6


def median_srtt_ms(result: Result, begin: float, end: float) -> float:
    times = np.arange(round(begin * 10), round(end * 10)) / 10
    return float(np.median(at(times, result.traces["rtt"], "srtt_s"))) * 1e3


def shared(result: Result, begin: float, end: float, round_trip_s: float) -> dict[str, float]:
    """Returns the measures of the table of shared paths: total goodput, Jain's index and the median queueing delay."""
    acks, rtts = result.traces["sequence"].query("event == 1"), result.traces["rtt"]
    times = np.arange(round(begin * 10) + 1, round(end * 10) + 1) / 10
    goodputs, srtts = [], []
    for flow in result.flows["flow"]:
        first, last = at(np.array([begin, end]), acks[acks["flow"] == flow], "sequence_bytes")
        goodputs.append(float(last - first) * 8 / (end - begin) / 1e6)
        srtts.append(at(times, rtts[rtts["flow"] == flow], "srtt_s"))
    wait_ms = 1e3 * (float(np.median(np.concatenate(srtts))) - round_trip_s)
    return {"goodput_mbps": sum(goodputs), "jain": jain(goodputs), "median_wait_ms": wait_ms}
