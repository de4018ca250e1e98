"""Time-sequence graphs: segments, ACKs and retransmissions."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from longpipe.pictures.events import loss_events, mark
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind, Line
from longpipe.pictures.recorded import (
    Run,
    chosen_senders,
    config_of,
    name_of,
    of_flow,
    shown_s,
    trace,
    within,
)
from longpipe.pictures.style import BLUE, GREEN, MAX_SHAPES, ORANGE, PURPLE, VERMILION, Unit, legend, panels, unit_for
from longpipe.result.trace_frames import SequenceEvent

# What a flow without a sender lacks.
LACKS = "segments"
LARGEST_WINDOW_FIELD: Final = 65_535


class Events(NamedTuple):
    """A flow's events; begin_bytes (inclusive) and end_bytes (exclusive) are sequence numbers."""

    sent: pd.DataFrame
    """Segments sent for the first time: time_s, begin_bytes, end_bytes."""
    resent: pd.DataFrame
    """Retransmitted segments: time_s, begin_bytes, end_bytes."""
    sacked: pd.DataFrame
    """Blocks of received SACK options: time_s, begin_bytes, end_bytes."""
    acknowledged: pd.DataFrame
    """ACKs received: time_s, ack_bytes and window_bytes, the edge of the receiver's window; both are nondecreasing."""


def sequence_events(run: Run, flow: str, span_s: tuple[float, float] | None = None) -> Events:
    """Returns a flow's segments, SACK blocks and ACKs, from `traces.sequence`."""
    rows = of_flow(trace(run, "sequence"), flow, span_s)
    spans = pd.DataFrame(
        {
            "time_s": rows["time_s"],
            "begin_bytes": rows["sequence_bytes"],
            "end_bytes": rows["sequence_bytes"] + rows["length_bytes"],
        }
    )
    is_retransmission = rows["retransmission"].astype(bool)
    acks = rows[rows["event"] == SequenceEvent.ACK]
    reached = acks["sequence_bytes"].cummax()
    config = config_of(run.scenario, flow)
    scale = config["window_scale"]
    receiver_window = min(config["receiver_window_bytes"] >> scale, LARGEST_WINDOW_FIELD) << scale
    return Events(
        sent=spans[(rows["event"] == SequenceEvent.SENT) & ~is_retransmission],
        resent=spans[(rows["event"] == SequenceEvent.SENT) & is_retransmission],
        sacked=spans[rows["event"] == SequenceEvent.SACK],
        acknowledged=pd.DataFrame(
            {"time_s": acks["time_s"], "ack_bytes": reached, "window_bytes": reached + receiver_window}
        ),
    )


def sequence_rows(run: Run, span_s: tuple[float, float] | None) -> pd.DataFrame:
    """Returns the rows of `traces.sequence` that a time-sequence graph draws."""
    return within(trace(run, "sequence"), span_s)


@with_literal_texts
def sequence(
    run: Run,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    *,
    unit: Unit = "bytes",
    ax: Axes | None = None,
) -> Figure:
    """Draws one flow's time-sequence graph in tcptrace's style, from `traces.sequence`; by default the first that sent.

    Segments are bars from their first to their last byte; ACKs and the edge of the receiver's window are steps. If
    `traces.events` is recorded, losses, fast retransmits, timeouts, ECN reductions and undos are marked at their
    sequence numbers. `unit` is bytes or segments.
    """
    rows = sequence_rows(run, span_s)
    sizes = pd.Series(dtype=float)
    (name, *_), _ = chosen_senders(run, flows, None, sizes, "most data", rows=rows, lacks=LACKS)
    events = sequence_events(run, name, span_s)
    title = f"{name_of(run)}: segments and ACKs of {name}"
    figure, (panel,) = panels(1, title, shown_s(run, span_s), height=4.4, ax=ax, once="sent")
    top = max((frame["end_bytes"].max() for frame in events[:3] if len(frame)), default=0)
    divisor, word = unit_for(unit, top, config_of(run.scenario, name)["mss_bytes"])
    layers = (
        (events.sent, BLUE, 1.2, "sent"),
        (events.sacked, PURPLE, 1.2, "SACK block"),
        (events.resent, VERMILION, 2.2, "retransmitted"),
    )
    for order, (bars, color, width, label) in enumerate(layers):
        if bars.empty:
            continue
        times = bars["time_s"].to_numpy()
        ends = (np.column_stack([times, bars[edge].to_numpy() / divisor]) for edge in ("begin_bytes", "end_bytes"))
        lines = LineCollection(list(np.stack(list(ends), axis=1)), colors=color, linewidths=width, label=label)
        lines.set_rasterized(len(bars) > MAX_SHAPES)
        lines.set_zorder(2 + order)
        panel.add_collection(lines)
    low = min((frame["begin_bytes"].min() for frame in events[:2] if len(frame)), default=0)
    highest = top + 0.12 * max(top - low, 1)
    acks = events.acknowledged
    for column, color, label in (("ack_bytes", GREEN, "acknowledged"), ("window_bytes", ORANGE, "receiver's window")):
        if (acks[column] < highest).any():
            panel.step(acks["time_s"], acks[column] / divisor, where="post", color=color, lw=0.9, label=label)
    if "events" in run.traces:
        happened = loss_events(run, name, span_s)
        mark(panel, happened, happened["begin_bytes"] / divisor, lost=(".", 3))
    panel.set_ylim(low / divisor, highest / divisor)
    panel.set_ylabel(f"sequence number [{word}]")
    legend(figure, [panel], ax)
    return figure


PICTURES = {
    "sequence": Kind(
        draw=sequence,
        of="flow",
        traces=("sequence", "events"),
        title="segments and ACKs",
        rows=sequence_rows,
        lacks=LACKS,
        needs_sender=True,
        line=Line(
            read=lambda run, flow, span: sequence_events(run, flow, span).acknowledged,
            column="ack_bytes",
            label="acknowledged",
            size="sequence_bytes",
            largest="most data",
            lacks="ACKs",
            rows=lambda run, span: (rows := sequence_rows(run, span))[rows["event"] == SequenceEvent.ACK],
        ),
    )
}
