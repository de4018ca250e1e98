"""Throughput over time."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from longpipe.pictures.recorded import Run, chosen, shown_s, trace
from longpipe.pictures.style import PALETTE, legend, panels

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
) -> Figure:
    """Rate of acknowledged data by flow, and of all those together, from `traces.sequence`.

    `interval_s` is what each point averages over: by default a hundredth of the time shown.
    """
    names = chosen(run, flows, MOST_FLOWS)
    begin_s, end_s = shown_s(run, span_s)
    interval_s = interval_s or (end_s - begin_s) / INTERVALS
    series = throughput_series(run, names, interval_s, span_s) / 1e6
    averaged = f"{1e3 * interval_s:g} ms"
    title = f"{run.scenario.name}: data acknowledged, over {averaged} each"
    figure, (panel,) = panels(1, title, (begin_s, end_s), height=3.6)
    if len(names) > 1:
        total = series.sum(axis=1)
        panel.plot(series.index, total, color="black", lw=1.6, label=f"all {len(names)}")
    for number, name in enumerate(names):
        panel.plot(series.index, series[name], color=PALETTE[number % len(PALETTE)], lw=1.1, label=name)
    panel.set_ylim(bottom=0)
    panel.set_ylabel("throughput [Mbit/s]")
    legend(figure, [panel])
    return figure
