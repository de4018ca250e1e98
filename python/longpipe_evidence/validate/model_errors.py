"""Errors of simulations over known paths, relative to recorded results of Linux.

The hosts are those that `longpipe fit` assumes, so that the errors include differences between these hosts and the
guest, for example in the kernel's clock and in its pacing. `fit.model_error` contains the results.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from longpipe import simulate
from longpipe.fit.candidates import Hypothesis
from longpipe.fit.search import CONTROLS
from longpipe.ip import HEADER_BYTES, TIMESTAMP_BYTES, packet_bytes
from longpipe.result import SequenceEvent
from longpipe.units import RATE
from longpipe_evidence.validate.linux import INTERVAL_S, MSS, PACKET_BYTES, STEADY, LinuxCase, seconds
from longpipe_evidence.validate.linux_compare import at, longpipe_name
from longpipe_evidence.validate.linux_guest.load import IDLE_ROUND_TRIPS, IDLE_S
from longpipe_evidence.validate.linux_paths import draw

# Share of a control's paths on which the error is at most the stated one.
SHARE: Final = 0.95
# Linux's columns by measure.
MEASURES: Final = {"goodput": "goodput_mbps", "median RTT": "median_srtt_ms"}
ALL: Final = "all"


def errors_of_paths(runs_in_linux: pd.DataFrame) -> Iterator[tuple[str, int, dict[str, float]]]:
    """Yields control, path and relative errors by measure; `runs_in_linux` is a table of `linux_paths.read`.

    Means over all of Linux's runs on a path are compared with means over as many simulations.
    """
    for key, rows in runs_in_linux.groupby(["control", "path"]):
        control, path = str(key[0]), int(str(key[1]))
        name = longpipe_name(control)
        if name not in CONTROLS:
            continue
        case = draw(rows["control"].iloc[0], path)[0]
        runs = [measured(case, name, seed) for seed in range(len(rows))]
        yield (
            name,
            path,
            {
                measure: abs(math.log(float(np.mean([run[measure] for run in runs])) / float(rows[column].mean())))
                for measure, column in MEASURES.items()
            },
        )


def measured(case: LinuxCase, control: str, seed: int) -> dict[str, float]:
    """Simulates a case with the hosts of a fit; returns goodput [Mbit/s] and median SRTT [ms] at Linux's times."""
    round_trip_s, end = seconds(case.round_trip), seconds(case.duration)
    hypothesis = Hypothesis(
        rate_bps=RATE.parse(case.rate) * packet_bytes(MSS, timestamps=True) / PACKET_BYTES,
        base_rtt_s=round_trip_s,
        buffer_packets=case.buffer,
        policy={"kind": "tail-drop"},
        loss={"kind": "packets", "indices": case.lose} if case.lose else "none",
        control=control,
        mss=MSS,
        headers=HEADER_BYTES + TIMESTAMP_BYTES,
        timestamps=True,
        duration_s=end,
        window_grows=True,
        idle_s=IDLE_S + IDLE_ROUND_TRIPS * round_trip_s,
    )
    changes: dict[str, Any] = {"traces.sequence": True, "traces.rtt": True}
    traces = simulate(hypothesis.scenario(**changes), seed).traces
    sequence = traces["sequence"]
    flow = str(sequence["flow"].iloc[0])
    begin = round(end * STEADY, 1)
    first, last = at(np.array([begin, end]), sequence[sequence["event"] == SequenceEvent.ACK], flow, "sequence_bytes")
    times = np.arange(round(begin / INTERVAL_S) + 1, round(end / INTERVAL_S) + 1) * INTERVAL_S
    return {
        "goodput": float(last - first) * 8 / (end - begin) / 1e6,
        "median RTT": 1e3 * float(np.median(at(times, traces["rtt"], flow, "srtt_s"))),
    }


def quantiles(errors: pd.DataFrame) -> pd.DataFrame:
    """Returns, for each control and for all together, the number of paths and the SHARE quantile of each error.

    `errors` has the columns `control`, `path`, and one for each of MEASURES.
    """
    groups = [(str(control), of_control) for control, of_control in errors.groupby("control")]
    rows = [
        {"control": control, "paths": len(group), **{name: float(group[name].quantile(SHARE)) for name in MEASURES}}
        for control, group in [*groups, (ALL, errors)]
    ]
    return pd.DataFrame(rows)
