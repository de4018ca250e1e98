"""Shares of time in which each cause limited a flow."""

import math
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from longpipe.pictures.events import loss_repairs
from longpipe.pictures.recorded import Run, config_of, of_flow, shown_s, trace
from longpipe.scenario.control_kinds import MODELS
from longpipe.scenario.paths import part_kind

CAUSES: Final = ("receiver's window", "congestion window", "loss recovery", "pacing", "application")


def time_shares(run: Run, flow: str) -> pd.Series:
    """Returns the shares of time, since a flow's first segment, in which each cause limited it; they add up to 1.

    Uses `traces.cwnd`, `traces.sequence` and `traces.events`. The cause is the first of the following that applies: a
    loss recovery (from a fast retransmit, or from the start of the wait for a timeout, until the data in flight at that
    time is acknowledged), a full receiver window, a full congestion window. Otherwise, a paced greedy flow or transfer
    that still had data to send waited for its pacer, and any other flow waited for data. `traces.control`, if it is
    recorded, shows when a flow was paced; without it, the flow's fields do, except for modules and controls in Python.
    The time of a transfer whose data are all acknowledged ends with the last segment sent, because nothing limits it
    afterwards. All shares are NaN if the flow sent nothing, or only one burst.
    """
    windows, config = of_flow(trace(run, "cwnd"), flow), config_of(run.scenario, flow)
    states = _sender_states(of_flow(trace(run, "sequence"), flow))
    if not states["is_transmission"].any():
        return pd.Series(np.nan, index=list(CAUSES), name=flow)
    times_s = states.index.to_numpy()
    repairs = loss_repairs(run, flow)
    # The cause is constant between neighboring edges: an event of the sender, or the start or end of a repair.
    edges = np.unique([*times_s, *np.clip([edge for repair in repairs for edge in repair], times_s[0], None)])
    available = _available_bytes(run, flow)
    has_completed = 0 < available <= states["acknowledged"].max()
    end_s = times_s[states["is_transmission"]].max() if has_completed else shown_s(run, None)[1]
    lengths_s = np.diff(np.append(edges, end_s).clip(max=end_s))
    if not lengths_s.any():
        return pd.Series(np.nan, index=list(CAUSES), name=flow)
    sent, acknowledged = (states[name].to_numpy()[_latest(times_s, edges)] for name in ("sent", "acknowledged"))
    # A window is full if one segment more than the data in flight would exceed it.
    with_next = sent - acknowledged + config["mss_bytes"]
    cwnd = windows["cwnd_bytes"].to_numpy()[_latest(windows["time_s"].to_numpy(), edges)]
    repairing = np.any([(edges >= begin) & (edges < end) for begin, end in repairs], axis=0) if repairs else False
    paced = _is_paced(run, flow, edges) & (sent < available)
    causes = np.select(
        [repairing, with_next > config["receiver_window_bytes"], with_next > cwnd, paced],
        ["loss recovery", "receiver's window", "congestion window", "pacing"],
        "application",
    )
    shares: pd.Series[float] = pd.Series(lengths_s).groupby(causes).sum() / lengths_s.sum()
    return shares.reindex(list(CAUSES), fill_value=0.0).rename(flow)


def _sender_states(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the highest bytes that were sent and acknowledged after each event of `traces.sequence`, by time.

    `is_transmission` is whether a segment was sent at that time.
    """
    # Kinds of events in the trace: 0 is a transmission, 1 an ACK.
    is_sent, is_ack = (rows["event"] == kind for kind in (0, 1))
    states = pd.DataFrame(
        {
            "time_s": rows["time_s"],
            "sent": (rows["sequence_bytes"] + rows["length_bytes"]).where(is_sent, 0).cummax(),
            "acknowledged": rows["sequence_bytes"].where(is_ack, 0).cummax(),
            "is_transmission": is_sent,
        }
    )
    # Only the state after the last of several events at the same time counts.
    by_time = states.groupby("time_s", sort=True)
    return by_time.last().assign(is_transmission=by_time["is_transmission"].any())


def _latest(times: npt.NDArray[np.float64], edges: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """Returns, for each edge, the position of the latest of the sorted times that is not after it."""
    return np.searchsorted(times, edges, side="right") - 1


def _is_paced(run: Run, flow: str, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Returns, for each of the times `edges` [s], whether the flow has a pacing rate."""
    if "control" not in run.traces:
        config = config_of(run.scenario, flow)
        return np.full(len(edges), config.get("pacing", False) or part_kind(config["congestion"]) in MODELS)
    rows = of_flow(trace(run, "control"), flow)
    # For an edge before the first row, `_latest` returns -1, which is the appended value.
    has_rate: npt.NDArray[np.bool_] = np.append(rows["pacing_bps"].notna().to_numpy(), False)
    return has_rate[_latest(rows["time_s"].to_numpy(), edges)]


def _available_bytes(run: Run, flow: str) -> float:
    """Returns the amount of data that a flow has to send from its start, or 0 if its application writes over time."""
    traffic = next(entry for entry in run.scenario.resolved["flows"] if entry["name"] == flow)["traffic"]
    match traffic["kind"]:
        case "greedy":
            return math.inf
        case "transfer":
            return float(traffic["size_bytes"])
        case _:
            return 0.0
