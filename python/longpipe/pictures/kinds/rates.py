"""Pacing rate, bandwidth estimate and delivery rate of senders."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.pictures.changes import mark_changes
from longpipe.pictures.events import loss_events, mark, phases, shade
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind
from longpipe.pictures.kinds.throughput import (
    averaged,
    draw_capacity,
    note_on_arrivals,
    remark_on_arrivals,
    throughput_series,
)
from longpipe.pictures.recorded import Run, as_steps, chosen, name_of, of_flow, shown_s, trace, within
from longpipe.pictures.style import BLUE, GREEN, VERMILION, legend, panels, titled

MAX_FLOWS = 5
# Number of intervals, large enough to resolve the phases of a BBR cycle within ten seconds.
INTERVALS = 200
# Headroom of the axis above the pacing rate, as a factor; bursts that arrive at link rate may exceed it and are
# clipped.
NEAR = 1.6


def control_steps(run: Run, flow: str, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """Returns a sender's state as steps: time_s, stage, state, pacing_bps, bandwidth_bps; from `traces.control`.

    Stages are those of BBR (empty for other controls), and states are those of the loss recovery; both rates are of
    payload [bit/s], and NaN if the sender has no such rate.
    """
    rows = of_flow(trace(run, "control"), flow)[["time_s", "stage", "state", "pacing_bps", "bandwidth_bps"]]
    return as_steps(rows, shown_s(run, span_s))


def rates_rows(run: Run, span_s: tuple[float, float] | None) -> pd.DataFrame:
    """Returns the rows of `traces.arrivals` that a picture of rates counts."""
    return within(trace(run, "arrivals"), span_s)


@with_literal_texts
def rates(
    run: Run,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    interval_s: float | None = None,
    *,
    most: int | None = MAX_FLOWS,
    ax: Axes | None = None,
) -> Figure:
    """Draws each flow's pacing rate, BBR's bandwidth estimate and the delivery rate, one panel per flow.

    Uses `traces.control` and `traces.arrivals`; all rates are of payload. BBR's stages are shaded; for other controls,
    phases are, if `traces.cwnd` is recorded. Without `flows`, it shows the `most` flows that received the most data
    (None for all). The delivery rate is averaged over `interval_s`, by default a two-hundredth of the time shown.
    """
    arrived = trace(run, "arrivals").groupby("flow", observed=True)["bytes"].sum()
    names, note = chosen(run, flows, most, arrived, "most data")
    begin_s, end_s = shown_s(run, span_s)
    interval_s = interval_s or (end_s - begin_s) / INTERVALS
    series = throughput_series(run, names, interval_s, span_s) / 1e6
    note = note_on_arrivals(series, flows) or note
    title = titled(f"{name_of(run)}: rates; data arrived {averaged(interval_s)}", note)
    figure, axes = panels(len(names), title, (begin_s, end_s), height=2.6, ax=ax, once="data arrived")
    for panel, name in zip(axes, names, strict=True):
        shade(panel, phases(run, name, span_s))
        steps = control_steps(run, name, span_s)
        panel.plot(series.index, series[name], color=GREEN, lw=1.1, label="data arrived")
        highest = float(series[name].max())
        for column, color, label in (
            ("pacing_bps", BLUE, "pacing rate"),
            ("bandwidth_bps", VERMILION, "bandwidth estimate of BBR"),
        ):
            has_rate = steps[column].notna() & (steps[column] > 0)
            if has_rate.any():
                rate = steps[column].where(has_rate) / 1e6
                panel.step(steps["time_s"], rate, where="post", color=color, lw=1.0, label=label)
                highest = max(highest, float(rate.quantile(0.98)))
        draw_capacity(panel, run, [name], highest, NEAR)
        mark_changes(panel, run, span_s)
        if "events" in run.traces:
            events = loss_events(run, name, span_s)
            cuts = events[events["event"].isin(["ECN reduction", "timeout"])]
            mark(panel, cuts, pd.Series(1.05 * highest, index=cuts.index))
        panel.set_ylim(0, 1.15 * highest if highest > 0 else 1)
        panel.set_ylabel(f"{name} [Mbit/s]")
    legend(figure, axes, ax)
    return figure


PICTURES = {
    "rates": Kind(
        draw=rates,
        of="flow",
        traces=("arrivals", "control", "events"),
        title="rates of transmission and of arrival",
        rows=rates_rows,
        lacks="data",
        no_overlay="rates draws several lines for each flow, and throughput one",
        remark=remark_on_arrivals,
    )
}
