"""Throughput over time."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.pictures.recorded import Run, chosen, flow_names, name_of, shown_s, trace
from longpipe.pictures.style import DASHES, GREY, PALETTE, legend, panels, titled

MOST_FLOWS = 8
INTERVALS = 100


def throughput_series(
    run: Run, flows: Sequence[str], interval_s: float, span_s: tuple[float, float] | None = None
) -> pd.DataFrame:
    """Rate of acknowledged data [bit/s] by flow, a column each; the index is the middle of each interval [s]."""
    sequences = trace(run, "sequence")
    begin_s, end_s = shown_s(run, span_s)
    edges = np.arange(begin_s, end_s + interval_s / 2, interval_s)
    acks = sequences[sequences["event"] == 1]
    rates = {}
    for flow in flows:
        own = acks[acks["flow"] == flow]
        reached = np.concatenate(([0], own["sequence_bytes"].cummax().to_numpy(dtype=np.float64)))
        # What had been acknowledged at each edge.
        at_edges = reached[np.searchsorted(own["time_s"].to_numpy(), edges, side="right")]
        rates[flow] = np.diff(at_edges) * 8 / interval_s
    return pd.DataFrame(rates, index=pd.Index((edges[:-1] + edges[1:]) / 2, name="time_s"))


def throughput(
    run: Run,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    interval_s: float | None = None,
    *,
    most: int | None = MOST_FLOWS,
    ax: Axes | None = None,
) -> Figure:
    """Rate of acknowledged data by flow, and of all those together, from `traces.sequence`.

    Without `flows`, of the `most` that sent most, the others summed up, and all; None for each. `interval_s` is what
    each point averages over: by default a hundredth of the time shown.
    """
    sequences = trace(run, "sequence")
    reached = sequences[sequences["event"] == 1].groupby("flow", observed=True)["sequence_bytes"].max()
    names, note = chosen(run, flows, most, reached, "most data")
    others = [name for name in flow_names(run.scenario) if name not in names] if note else []
    begin_s, end_s = shown_s(run, span_s)
    interval_s = interval_s or (end_s - begin_s) / INTERVALS
    series = throughput_series(run, [*names, *others], interval_s, span_s) / 1e6
    averaged = f"{1e3 * interval_s:g} ms" if interval_s < 1 else f"{interval_s:g} s"
    title = titled(f"{name_of(run)}: data acknowledged, over {averaged} each", note)
    figure, (panel,) = panels(1, title, (begin_s, end_s), height=3.6, ax=ax)
    if len(names) > 1:
        total = series.sum(axis=1)
        drawn = len(names) + len(others)
        whole = "all" if drawn == len(flow_names(run.scenario)) else "these"
        panel.plot(series.index, total, color="black", lw=1.6, label=f"{whole} {drawn}")
    if others:
        panel.plot(series.index, series[others].sum(axis=1), color=GREY, lw=1.1, label=f"{len(others)} others")
    for number, name in enumerate(names):
        again, colour = divmod(number, len(PALETTE))
        style = DASHES[again % len(DASHES)]
        panel.plot(series.index, series[name], color=PALETTE[colour], ls=style, lw=1.1, label=name)
    panel.set_ylim(bottom=0)
    panel.set_ylabel("throughput [Mbit/s]")
    legend(figure, [panel], ax)
    return figure
