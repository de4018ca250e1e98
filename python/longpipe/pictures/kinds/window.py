"""cwnd and ssthresh over time."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.pictures.changes import mark_changes
from longpipe.pictures.events import loss_events, mark, phases, shade, slow_start_exits
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind, Line
from longpipe.pictures.recorded import (
    Run,
    as_steps,
    chosen_senders,
    config_of,
    name_of,
    of_flow,
    shown_s,
    trace,
    until_end,
)
from longpipe.pictures.style import GREY, Unit, color, legend, panels, titled, unit_for

# What a flow without a sender lacks.
LACKS = "congestion window"
MAX_FLOWS = 5
# Headroom of the axis above the largest window, as a factor.
NEAR = 1.12


def window_steps(run: Run, flow: str, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """Returns a flow's windows as steps: time_s, cwnd_bytes, ssthresh_bytes; an unlimited ssthresh is NaN."""
    rows = of_flow(trace(run, "cwnd"), flow)[["time_s", "cwnd_bytes", "ssthresh_bytes"]]
    return as_steps(rows.replace({"ssthresh_bytes": {np.inf: np.nan}}), shown_s(run, span_s))


def window_rows(run: Run, span_s: tuple[float, float] | None) -> pd.DataFrame:
    """Returns the rows of `traces.cwnd` that a picture of windows draws."""
    return until_end(trace(run, "cwnd"), run, span_s)


@with_literal_texts
def window(
    run: Run,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    *,
    most: int | None = MAX_FLOWS,
    unit: Unit = "bytes",
    ax: Axes | None = None,
) -> Figure:
    """Draws cwnd and ssthresh, one panel per flow, from `traces.cwnd`; and the receiver's window if it is close.

    Without `flows`, it shows the `most` flows with the largest windows (None for all). Phases are shaded, and exits
    from slow start without a loss are marked. Losses, fast retransmits, timeouts, ECN reductions and undos are also
    marked if `traces.events` is recorded. `unit` is bytes or segments.
    """
    rows = trace(run, "cwnd")
    largest = rows.groupby("flow", observed=True)["cwnd_bytes"].max()
    windows = window_rows(run, span_s)
    names, note = chosen_senders(run, flows, most, largest, "largest windows", rows=windows, lacks=LACKS)
    steps = {name: window_steps(run, name, span_s) for name in names}
    configs = {name: config_of(run.scenario, name) for name in names}
    title = titled(f"{name_of(run)}: congestion window and slow start threshold", note)
    figure, axes = panels(len(names), title, shown_s(run, span_s), ax=ax, once="cwnd")
    top_bytes = max([1.0, *(frame["cwnd_bytes"].max() for frame in steps.values() if len(frame))])
    units = {name: unit_for(unit, top_bytes, configs[name]["mss_bytes"]) for name in names}
    top = max((frame["cwnd_bytes"].max() / units[name][0] for name, frame in steps.items() if len(frame)), default=1.0)
    for panel, name in zip(axes, names, strict=True):
        frame, (divisor, word) = steps[name], units[name]
        shade(panel, phases(run, name, span_s))
        mark_changes(panel, run, span_s)
        panel.step(frame["time_s"], frame["cwnd_bytes"] / divisor, where="post", color=color(0), lw=1.1, label="cwnd")
        threshold = frame["ssthresh_bytes"] / divisor
        panel.step(frame["time_s"], threshold, where="post", color=color(1), lw=1.1, ls="--", label="ssthresh")
        limit = configs[name]["receiver_window_bytes"] / divisor
        if limit <= NEAR * top:
            panel.axhline(limit, color=GREY, lw=0.9, ls=":", label="receiver's window")
        if "events" in run.traces:
            events = loss_events(run, name, span_s)
            mark(panel, events, events["event"].map(lambda event: 0.0 if event == "lost" else top))
        exits = slow_start_exits(run, name, span_s)
        mark(panel, exits, pd.Series(top, index=exits.index))
        panel.set_ylim(0, NEAR * top)
        panel.set_ylabel(f"{name} [{word}]")
    legend(figure, axes, ax)
    return figure


PICTURES = {
    "window": Kind(
        draw=window,
        of="flow",
        traces=("cwnd", "sequence", "events", "control"),
        title="congestion window and slow start threshold",
        rows=window_rows,
        lacks=LACKS,
        needs_sender=True,
        line=Line(
            read=window_steps,
            column="cwnd_bytes",
            label="congestion window",
            size="cwnd_bytes",
            largest="largest windows",
            lacks="congestion window",
            rows=window_rows,
        ),
    )
}
