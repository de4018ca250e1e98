"""Events and phases of a flow, from its traces: losses, retransmissions, timeouts, and phases of congestion control."""

from typing import Final, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from longpipe.pictures.recorded import Run, config_of, of_flow, shown_s, trace, within
from longpipe.pictures.style import MAX_SHAPES
from longpipe.result.trace_frames import SequenceEvent

Event = Literal["lost", "fast retransmit", "timeout", "ECN reduction", "undo", "slow start left"]
Phase = Literal[
    "slow start", "avoidance", "recovery",
    "startup", "drain", "probe-up", "probe-down", "cruise", "refill", "probe-rtt",
    "reconnaissance", "unvalidated", "validating", "safe-retreat",
]  # fmt: skip

# Background colors, light enough for lines of every color.
_SHADES: Final[dict[Phase, str]] = {
    "slow start": "#e3f1e7",
    "recovery": "#fbe6d6",
    # Stages of BBR; CRUISE stays white.
    "startup": "#e6ecc9",
    "drain": "#cdeae6",
    "probe-up": "#fdf0c4",
    "probe-down": "#d9e8f5",
    "refill": "#f3f0f7",
    "probe-rtt": "#ead9ea",
    # Phases of Careful Resume.
    "reconnaissance": "#e9f0d8",
    "unvalidated": "#f7dfc9",
    "validating": "#d3e6f3",
    "safe-retreat": "#f3d3d9",
}
# Marker shape and size of each event.
_MARKS: Final[dict[Event, tuple[str, float]]] = {
    "lost": ("|", 7),
    "fast retransmit": ("v", 7),
    "timeout": ("X", 8),
    "ECN reduction": ("P", 7),
    "undo": ("^", 7),
    "slow start left": ("D", 6),
}
# Event by the kind of a row in the trace; window reductions are included only if they respond to ECN marks.
_KINDS: Final[dict[str, Event]] = {
    "dropped": "lost",
    "fast-retransmit": "fast retransmit",
    "timeout": "timeout",
    "reduction": "ECN reduction",
    "undo": "undo",
}


def loss_events(run: Run, flow: str, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """Returns a flow's losses and the sender's responses, from `traces.events`: time_s, event, begin_bytes, cause.

    `lost`: the network lost a data segment at this time; `cause` is the one in the trace `drops`. `fast retransmit`: a
    loss recovery begins without a timeout. `ECN reduction`: the window is reduced because of an ECN mark.
    """
    rows = of_flow(trace(run, "events"), flow, span_s)
    kinds, causes = rows["kind"].astype(str), rows["event_cause"].astype(str)
    is_drawn = kinds.isin(list(_KINDS)) & ((kinds != "reduction") | (causes == "ecn"))
    rows, kinds, causes = rows[is_drawn], kinds[is_drawn], causes[is_drawn]
    return pd.DataFrame(
        {
            "time_s": rows["time_s"],
            "event": kinds.replace(_KINDS),
            "begin_bytes": rows["sequence_bytes"],
            "cause": causes.where(kinds != "dropped", rows["drop_cause"].astype(str)),
        }
    ).reset_index(drop=True)


def slow_start_exits(run: Run, flow: str, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """Returns when a flow left slow start without a loss, as with HyStart and Vegas, from `traces.cwnd`: time_s, event.

    At such an exit, ssthresh is set to the window; after a loss, it is set to a lower value or to two segments, and
    during a recovery to a value above the window. Reductions that `traces.events` contains are no exits.
    """
    rows = of_flow(trace(run, "cwnd"), flow)
    ssthresh, cwnd, previous_cwnd = rows["ssthresh_bytes"], rows["cwnd_bytes"], rows["cwnd_bytes"].shift()
    minimum = 2 * config_of(run.scenario, flow)["mss_bytes"]
    left = (ssthresh < ssthresh.shift()) & (ssthresh > minimum) & (cwnd >= ssthresh) & (ssthresh >= previous_cwnd)
    if "events" in run.traces:
        events = of_flow(run.traces["events"], flow)
        left &= ~rows["time_s"].isin(events.loc[events["kind"] == "reduction", "time_s"])
    frame = pd.DataFrame({"time_s": rows.loc[left, "time_s"], "event": "slow start left"})
    return within(frame.reset_index(drop=True), span_s)


def phases(run: Run, flow: str, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """Returns a flow's phases in order: begin_s, end_s, phase (slow start, avoidance, recovery), from `traces.cwnd`.

    For BBR the phases are its stages from `traces.control`: startup, drain, probe-up, probe-down, cruise, refill and
    probe-rtt; in version 1's cycle of eight, a gain of 1.25 is shown as probe-up, 0.75 as probe-down, and 1 as cruise.
    Careful Resume's phases precede these: reconnaissance, unvalidated, validating and safe-retreat.

    The first phase begins when the flow does. A flow is in slow start while cwnd is below ssthresh. Recovery is the
    sender's congestion state, which is shown if `traces.events` is also recorded.
    """
    begin_s, end_s = shown_s(run, span_s)
    if (stages := _stages(run, flow)) is None:
        return _phases_of_window(run, flow, (begin_s, end_s))
    staged = _merged(stages["time_s"].to_numpy(), stages["stage"].to_numpy(dtype=object), begin_s, end_s)
    # From the end of Careful Resume on, the stage is absent, and the phases are those of the window.
    without_stage_s = staged.loc[staged["phase"].isna(), "begin_s"]
    if without_stage_s.empty:
        return staged
    resume_end_s = float(without_stage_s.iloc[0])
    later = _phases_of_window(run, flow, (resume_end_s, end_s))
    both: pd.DataFrame = pd.concat([staged[staged["begin_s"] < resume_end_s], later], ignore_index=True)
    return both


def _phases_of_window(run: Run, flow: str, span_s: tuple[float, float]) -> pd.DataFrame:
    """Returns a flow's phases within a time span, derived from its congestion window and its loss recoveries."""
    begin_s, end_s = span_s
    if "cwnd" not in run.traces and "control" in run.traces:
        return pd.DataFrame(columns=["begin_s", "end_s", "phase"])
    windows = of_flow(trace(run, "cwnd"), flow)
    recoveries = _recoveries(run, flow) if "events" in run.traces else []
    times = windows["time_s"].to_numpy()
    # The first row is written when the flow starts.
    begin_s = max(begin_s, *times[:1]) if len(times) else end_s
    if begin_s >= end_s:
        return pd.DataFrame(columns=["begin_s", "end_s", "phase"])
    recovery_edges = [edge for recovery in recoveries for edge in recovery]
    edges = np.unique(np.clip([begin_s, *times, *recovery_edges, end_s], begin_s, end_s))
    # Element k is the state after k rows of the trace; a flow starts in slow start.
    below = np.concatenate(([True], (windows["cwnd_bytes"] < windows["ssthresh_bytes"]).to_numpy()))
    states = np.where(below[np.searchsorted(times, edges[:-1], side="right")], "slow start", "avoidance").astype(object)
    for first, last in recoveries:
        states[(edges[:-1] >= first) & (edges[:-1] < last)] = "recovery"
    starts = np.flatnonzero(np.concatenate(([True], states[1:] != states[:-1])))
    return pd.DataFrame(
        {"begin_s": edges[starts], "end_s": np.append(edges[starts[1:]], edges[-1:]), "phase": states[starts]}
    )


def _stages(run: Run, flow: str) -> pd.DataFrame | None:
    """Returns the rows of `traces.control` of a flow, or None if it has no stages.

    The stage is absent in the rows after the end of Careful Resume.
    """
    if "control" not in run.traces:
        return None
    rows = of_flow(trace(run, "control"), flow)
    return rows if rows["stage"].notna().any() else None


def _merged(times_s: np.ndarray, names: np.ndarray, begin_s: float, end_s: float) -> pd.DataFrame:
    """Returns the phases within a time span, each from the first of consecutive rows with the same name."""
    starts = np.flatnonzero(np.concatenate(([True], names[1:] != names[:-1])))
    begins, ends = times_s[starts], np.append(times_s[starts[1:]], end_s)
    frame = pd.DataFrame(
        {"begin_s": begins.clip(begin_s, end_s), "end_s": ends.clip(begin_s, end_s), "phase": names[starts]}
    )
    return frame[frame["begin_s"] < frame["end_s"]].reset_index(drop=True)


def _recoveries(run: Run, flow: str) -> list[tuple[float, float]]:
    """Returns start and end [s] of each period in which a flow's sender is in the state Recovery."""
    rows = of_flow(trace(run, "events"), flow)
    states = rows[rows["kind"] == "state"]
    begins = states["time_s"].to_numpy()
    ends = np.append(begins[1:], shown_s(run, None)[1])
    recovers = (states["event_cause"] == "recovery").to_numpy()
    return list(zip(begins[recovers].tolist(), ends[recovers].tolist(), strict=True))


def loss_repairs(run: Run, flow: str) -> list[tuple[float, float]]:
    """Returns the start and end [s] of each of a flow's loss repairs, from `traces.events` and `traces.sequence`.

    A repair lasts from a fast retransmit, or from the last segment sent before a timeout, until all data in flight at
    that time is acknowledged. Repairs may overlap.
    """
    rows = of_flow(trace(run, "sequence"), flow)
    sent_s = rows.loc[rows["event"] == SequenceEvent.SENT, "time_s"].to_numpy()
    acks = rows[rows["event"] == SequenceEvent.ACK]
    acks_s, acknowledged = acks["time_s"].to_numpy(), acks["sequence_bytes"].cummax().to_numpy()
    events = of_flow(trace(run, "events"), flow)
    responses = events[events["kind"].isin(["fast-retransmit", "timeout"])]
    run_end_s, repairs = shown_s(run, None)[1], []
    for row in responses.to_dict("records"):
        begin_s = row["time_s"]
        if row["kind"] == "timeout" and (sent_before := int(np.searchsorted(sent_s, begin_s))):
            begin_s = float(sent_s[sent_before - 1])
        # Such an event has the range of sequence numbers from SND.UNA to the end of the data in flight.
        last_ack = int(np.searchsorted(acknowledged, row["sequence_bytes"] + row["length_bytes"]))
        repairs.append((begin_s, float(acks_s[last_ack]) if last_ack < len(acks_s) else run_end_s))
    return repairs


def shade(panel: Axes, phases: pd.DataFrame) -> None:
    """Shades the result of the function `phases` behind a panel; congestion avoidance stays white."""
    for phase, color in _SHADES.items():
        rows = phases[phases["phase"] == phase]
        spans = list(zip(rows["begin_s"], rows["end_s"] - rows["begin_s"], strict=True))
        if spans:
            height = panel.get_xaxis_transform()
            panel.broken_barh(spans, (0, 1), facecolor=color, lw=0, zorder=0, transform=height, label=phase)


def mark(panel: Axes, events: pd.DataFrame, heights: pd.Series, *, lost: tuple[str, float] = _MARKS["lost"]) -> None:
    """Draws markers of events at the given heights; `lost` is the shape and size of losses' markers."""
    for event, (shape, size) in {**_MARKS, "lost": lost}.items():
        is_event = events["event"] == event
        if is_event.any():
            (points,) = panel.plot(
                events.loc[is_event, "time_s"],
                heights[is_event],
                shape,
                ms=size,
                color="black",
                mec="black" if event == "lost" else "white",
                label=event,
                zorder=5,
                clip_on=event != "lost",
            )
            points.set_rasterized(int(is_event.sum()) > MAX_SHAPES)
