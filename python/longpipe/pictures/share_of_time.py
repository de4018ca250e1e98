"""Shares of time in which each cause limited a flow."""

from typing import Final

import numpy as np
import pandas as pd

from longpipe.pictures.events import losses_mended
from longpipe.pictures.recorded import Run, config_of, of_flow, shown_s, trace

CAUSES: Final = ("receiver's window", "congestion window", "loss recovery", "pacing", "application")
# Congestion controllers that always pace, regardless of `tcp.pacing`.
PACED: Final = ("bbr", "bbr3")


def time_shares(run: Run, flow: str) -> pd.Series:
    """Returns the shares of time, since a flow's first segment, in which each cause limited it; they add up to 1.

    Uses `traces.cwnd`, `traces.sequence` and `traces.events`. The cause is the first of the following that applies: a
    loss recovery (from a fast retransmit, or from the start of the wait for a timeout, until the data in flight at that
    time is acknowledged), a full receiver window, a full congestion window. Otherwise, a paced greedy flow waited for
    its pacer, and any other flow waited for data. All shares are NaN if the flow sent nothing.
    """
    windows, config = of_flow(trace(run, "cwnd"), flow), config_of(run.scenario, flow)
    rows = of_flow(trace(run, "sequence"), flow)
    is_ack, is_sent = (rows["event"] == kind for kind in (1, 0))
    if not is_sent.any():
        return pd.Series(np.nan, index=list(CAUSES), name=flow)
    reached = rows["sequence_bytes"].where(is_ack, 0).cummax()
    furthest = (rows["sequence_bytes"] + rows["length_bytes"]).where(is_sent, 0).cummax()
    # Only the state after the last of several events at the same time counts.
    states = pd.DataFrame({"time_s": rows["time_s"], "next": furthest - reached + config["mss_bytes"]})
    states = states.groupby("time_s", sort=True).last()
    begins = states.index.to_numpy()
    mended = losses_mended(run, flow)
    edges = np.unique([*begins, *np.clip([edge for span in mended for edge in span], begins[0], None)])
    spans = np.diff(np.append(edges, shown_s(run, None)[1]))
    following = states["next"].to_numpy()[np.searchsorted(begins, edges, side="right") - 1]
    cwnd = windows["cwnd_bytes"].to_numpy()[np.searchsorted(windows["time_s"].to_numpy(), edges, side="right") - 1]
    losing = np.any([(edges >= first) & (edges < last) for first, last in mended], axis=0) if mended else False
    causes = np.select(
        [losing, following > config["receiver_window_bytes"], following > cwnd],
        ["loss recovery", "receiver's window", "congestion window"],
        "pacing" if _is_paced(run, flow) else "application",
    )
    found: pd.Series[float] = pd.Series(spans).groupby(causes).sum() / spans.sum()
    return found.reindex(list(CAUSES), fill_value=0.0).rename(flow)


def _is_paced(run: Run, flow: str) -> bool:
    """Returns whether a flow is paced."""
    config = next(one for one in run.scenario.resolved["flows"] if one["name"] == flow)
    congestion = config["tcp"]["congestion"]
    kind = congestion if isinstance(congestion, str) else congestion["kind"]
    return config["traffic"]["kind"] == "greedy" and (config["tcp"].get("pacing", False) or kind in PACED)
