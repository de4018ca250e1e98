"""Throughput over time."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.analysis.paths import paths
from longpipe.pictures.recorded import Run, chosen, flow_names, name_of, shown_s, trace
from longpipe.pictures.style import DASHES, GREY, PALETTE, legend, panels, titled

MOST_FLOWS = 8
INTERVALS = 100
# Headroom above the highest throughput.
NEAR = 3


def throughput_series(
    run: Run, flows: Sequence[str], interval_s: float, span_s: tuple[float, float] | None = None
) -> pd.DataFrame:
    """Returns the rate of delivered data [bit/s] by flow, a column each; the index is the middle of each interval [s].

    Each byte counts once, when it first comes: before a gap is filled, and before an ACK tells of it.
    """
    arrivals = trace(run, "arrivals")
    begin_s, end_s = shown_s(run, span_s)
    edges = np.arange(begin_s, end_s + interval_s / 2, interval_s)
    rates = {}
    for flow in flows:
        own = arrivals[arrivals["flow"] == flow]
        arrived = np.concatenate(([0], own["bytes"].to_numpy(dtype=np.int64).cumsum()))
        rates[flow] = np.diff(arrived[np.searchsorted(own["time_s"].to_numpy(), edges, side="right")]) * 8 / interval_s
    return pd.DataFrame(rates, index=pd.Index((edges[:-1] + edges[1:]) / 2, name="time_s"))


def capacity_bps(run: Run, flows: Sequence[str]) -> float | None:
    """Returns the payload capacity of these flows' slowest link [bit/s]: its rate minus headers and cell overhead.

    None where it is no one number: another link or another segment for some of them, a rate that moves.
    """
    resolved = run.scenario.resolved
    own = [path for path in paths(resolved) if path.flow in flows]
    of = {(path.bottleneck, path.mss_bytes, path.packet_bytes) for path in own}
    if len(of) != 1:
        return None
    ((link, mss_bytes, packet_bytes),) = of
    if "service" in resolved["links"][link].get("motion", {}):
        return None
    return float(resolved["links"][link]["rate_bps"] * mss_bytes / packet_bytes)


class Rates(NamedTuple):
    """Throughput of the flows shown and of the sum of all others [bit/s], by interval."""

    names: list[str]
    others: list[str]
    note: str
    interval_s: float
    series: pd.DataFrame


def rates(
    run: Run,
    flows: Sequence[str] | None,
    span_s: tuple[float, float] | None,
    interval_s: float | None,
    most: int | None,
) -> Rates:
    """Returns the throughput of the selected or `most` largest flows; default interval: a hundredth of the span."""
    arrived = trace(run, "arrivals").groupby("flow", observed=True)["bytes"].sum()
    names, note = chosen(run, flows, most, arrived, "most data")
    others = [name for name in flow_names(run.scenario) if name not in names] if note else []
    begin_s, end_s = shown_s(run, span_s)
    interval_s = interval_s or (end_s - begin_s) / INTERVALS
    return Rates(names, others, note, interval_s, throughput_series(run, [*names, *others], interval_s, span_s))


def averaged(interval_s: float) -> str:
    """Note for the title on the averaging interval."""
    return f"over {1e3 * interval_s:.4g} ms each" if interval_s < 1 else f"over {interval_s:.4g} s each"


def throughput(
    run: Run,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    interval_s: float | None = None,
    *,
    most: int | None = MOST_FLOWS,
    ax: Axes | None = None,
) -> Figure:
    """Draws the rate of delivered data by flow and in total, from `traces.arrivals`.

    Without `flows`, of the `most` that got most, the others summed up, and all; None for each. `interval_s` is what
    each point averages over: by default a hundredth of the time shown. A thin line is what the link carries.
    """
    names, others, note, interval_s, series = rates(run, flows, span_s, interval_s, most)
    series /= 1e6
    title = titled(f"{name_of(run)}: data arrived, {averaged(interval_s)}", note)
    figure, (panel,) = panels(1, title, shown_s(run, span_s), height=3.6, ax=ax)
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
    carried = capacity_bps(run, [*names, *others])
    highest = float(series.sum(axis=1).max())
    if carried is not None and carried / 1e6 <= NEAR * highest:
        panel.axhline(carried / 1e6, color=GREY, lw=0.8, ls=":", label="what the link carries")
    panel.set_ylim(bottom=0)
    panel.set_ylabel("throughput [Mbit/s]")
    legend(figure, [panel], ax)
    return figure
