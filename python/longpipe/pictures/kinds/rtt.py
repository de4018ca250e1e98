"""RTT samples, SRTT and RTO over time."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.pictures.changes import mark_changes
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind, Line
from longpipe.pictures.recorded import (
    Run,
    as_steps,
    chosen_senders,
    name_of,
    of_flow,
    shown_s,
    trace,
    until_end,
    within,
)
from longpipe.pictures.style import BLUE, MAX_SHAPES, ORANGE, VERMILION, legend, logarithmic, panels, titled

# What a flow without a sender lacks.
LACKS = "round trips"
MAX_FLOWS = 5
# Ratio of the largest RTO to the smallest RTT above which the RTT axis is logarithmic.
WIDE = 15
# Ratio of the largest RTO to the largest RTT up to which the RTO is drawn by default.
NEAR = 1.5
WITH_RTO = "round trips and retransmission timeout"


def rtt_points(run: Run, flow: str) -> pd.DataFrame:
    """Returns a flow's RTT samples and timer: time_s, rtt_s (NaN if only the RTO changed), srtt_s, rto_s."""
    points = of_flow(trace(run, "rtt"), flow)
    return points[["time_s", "rtt_s", "srtt_s", "rto_s"]].reset_index(drop=True)


def rtt_rows(run: Run, span_s: tuple[float, float] | None) -> pd.DataFrame:
    """Returns the rows of `traces.rtt` that a picture of round trips draws."""
    return until_end(trace(run, "rtt").dropna(subset=["rtt_s", "srtt_s"], how="all"), run, span_s)


@with_literal_texts
def rtt(
    run: Run,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    *,
    most: int | None = MAX_FLOWS,
    rto: bool = False,
    log: bool = False,
    ax: Axes | None = None,
) -> Figure:
    """Draws RTT samples and SRTT, one panel per flow, from `traces.rtt`; the axis fits the RTTs.

    The RTO, including its backoff, is drawn if it fits on this axis. With `rto`, it is always drawn, if necessary on a
    logarithmic axis. With `log`, the axis is always logarithmic. Without `flows`, it shows the `most` flows with the
    longest RTTs (None for all).
    """
    rows = trace(run, "rtt")
    longest = rows.groupby("flow", observed=True)["rtt_s"].max()
    samples = rtt_rows(run, span_s)
    names, note = chosen_senders(run, flows, most, longest, "longest round trips", rows=samples, lacks=LACKS)
    shown_span_s = shown_s(run, span_s)
    title = titled(f"{name_of(run)}: {WITH_RTO if rto else 'round trips'}", note)
    figure, axes = panels(len(names), title, shown_span_s, ax=ax, once="SRTT")
    for panel, name in zip(axes, names, strict=True):
        points = rtt_points(run, name)
        measured = within(points.dropna(subset=["rtt_s"]), shown_span_s)
        steps = as_steps(points, shown_span_s)
        # SRTT is drawn on top, because the dense samples would otherwise hide it.
        panel.step(steps["time_s"], 1e3 * steps["srtt_s"], where="post", color=ORANGE, lw=1.2, label="SRTT", zorder=4)
        (dots,) = panel.plot(
            measured["time_s"], 1e3 * measured["rtt_s"], ".", ms=2, color=BLUE, label="measured", zorder=3
        )
        dots.set_rasterized(len(measured) > MAX_SHAPES)
        if rto or (len(measured) and steps["rto_s"].max() <= NEAR * measured["rtt_s"].max()):
            panel.step(steps["time_s"], 1e3 * steps["rto_s"], where="post", color=VERMILION, lw=1.1, label="RTO")
        if log or (rto and len(measured) and steps["rto_s"].max() > WIDE * measured["rtt_s"].min()):
            logarithmic(panel, "y")
        elif rto or measured.empty:
            panel.set_ylim(bottom=0)
        mark_changes(panel, run, shown_span_s)
        panel.set_ylabel(f"round trip, {name} [ms]")
    legend(figure, axes, ax)
    return figure


PICTURES = {
    "rtt": Kind(
        draw=rtt,
        of="flow",
        traces=("rtt",),
        title="round trips",
        rows=rtt_rows,
        lacks=LACKS,
        needs_sender=True,
        line=Line(
            read=lambda run, flow, span: within(rtt_points(run, flow).dropna(subset=["rtt_s"]), span),
            column="rtt_s",
            label="round trip",
            size="rtt_s",
            largest="longest round trips",
            lacks="RTT samples",
            rows=lambda run, span: within(trace(run, "rtt").dropna(subset=["rtt_s"]), span),
            in_ms=True,
        ),
    )
}
