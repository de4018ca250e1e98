"""Each flow's share of the delivered data over time."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind
from longpipe.pictures.kinds.throughput import arrived_bytes, averaged, note_on_arrivals, rates
from longpipe.pictures.recorded import EmptyPictureError, Run, name_of, shown_flow, shown_s
from longpipe.pictures.style import GREY, MAX_SHAPES, color, legend, panels, titled

MAX_FLOWS = 8


@with_literal_texts
def shares(
    run: Run,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    interval_s: float | None = None,
    *,
    most: int | None = MAX_FLOWS,
    others: bool = False,
    ax: Axes | None = None,
) -> Figure:
    """Draws each flow's share of the delivered data per interval, stacked, from `traces.arrivals`.

    Without `flows`, it shows the `most` flows that received the most data, and the sum of all others; None shows all
    flows. Shares are relative to the sum over all flows, or over the named ones unless `others` adds the sum of the
    rest. `interval_s` is by default a hundredth of the time shown. Intervals without arrivals are blank.
    """
    names, rest, note, interval_s, series = rates(run, flows, span_s, interval_s, most, others=others)
    if nothing := note_on_arrivals(series, flows):
        raise EmptyPictureError(f"flow: {nothing}; needs another flow or a longer time", "no data arrived")
    parts = series[names].copy()
    if rest:
        parts[f"{len(rest)} others"] = series[rest].sum(axis=1)
    total = parts.sum(axis=1)
    parts = parts.div(total.where(total > 0), axis=0)
    title = titled(f"{name_of(run)}: shares of the data arrived, {averaged(interval_s)}", note)
    figure, (panel,) = panels(1, title, shown_s(run, span_s), height=3.6, ax=ax)
    below = np.zeros(len(parts))
    for number, name in enumerate(parts):
        own_color = GREY if name not in names else color(number)
        flow_share = parts[name].fillna(0.0).to_numpy()
        panel.bar(
            parts.index,
            flow_share,
            interval_s,
            below,
            color=own_color,
            label=shown_flow(run, str(name)),
            linewidth=0,
            rasterized=parts.size > MAX_SHAPES,
        )
        below = below + flow_share
    panel.set_ylim(0, 1)
    panel.set_yticks(np.linspace(0, 1, 6))
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    panel.set_ylabel("share of throughput")
    legend(figure, [panel], ax)
    return figure


PICTURES = {
    "shares": Kind(
        draw=shares,
        of="flows",
        traces=("arrivals",),
        title="shares of the data arrived",
        no_overlay="shares stacks the flows of one run",
        sizes=arrived_bytes,
        largest="most data",
    )
}
