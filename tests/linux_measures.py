"""What a run of one flow comes to, at the instants at which Linux is asked."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from longpipe.result import Result

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
