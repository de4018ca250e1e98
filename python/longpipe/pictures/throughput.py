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
# Height of a line that is drawn over the highest throughput.
NEAR = 3


def throughput_series(
    run: Run, flows: Sequence[str], interval_s: float, span_s: tuple[float, float] | None = None
) -> pd.DataFrame:
    """Rate of acknowledged data [bit/s] by flow, a column each; the index is the middle of each interval [s].

    Of data after a gap, too, where SACK blocks (RFC 2018) tell that they have arrived.
    """
    sequences = trace(run, "sequence")
    begin_s, end_s = shown_s(run, span_s)
    edges = np.arange(begin_s, end_s + interval_s / 2, interval_s)
    told = sequences[sequences["event"] > 0]
    rates = {}
    for flow in flows:
        rates[flow] = np.diff(_arrived_bytes(told[told["flow"] == flow], edges)) * 8 / interval_s
    return pd.DataFrame(rates, index=pd.Index((edges[:-1] + edges[1:]) / 2, name="time_s"))


def _arrived_bytes(told: pd.DataFrame, edges_s: np.ndarray) -> np.ndarray:
    """What a flow's ACKs have told by each instant: all up to the last one's number, and blocks beyond it."""
    acks, blocks = told[told["event"] == 1], told[told["event"] == 2]
    reached = np.concatenate(([0], acks["sequence_bytes"].cummax().to_numpy(dtype=np.float64)))
    found = reached[np.searchsorted(acks["time_s"].to_numpy(), edges_s, side="right")]
    begins = blocks["sequence_bytes"].to_numpy(dtype=np.float64)
    ends = begins + blocks["length_bytes"].to_numpy(dtype=np.float64)
    known = np.searchsorted(blocks["time_s"].to_numpy(), edges_s, side="right")
    beyond, last = np.empty((0, 2)), 0
    for number, count in enumerate(known):
        new = np.column_stack([begins[last:count], ends[last:count]])
        beyond = _merged(np.concatenate([beyond, new]), found[number])
        found[number] += (beyond[:, 1] - beyond[:, 0]).sum()
        last = count
    return found


def _merged(spans: np.ndarray, floor: float) -> np.ndarray:
    """The parts above `floor` of spans, shape (n, 2), in order and without overlaps."""
    spans = np.maximum(spans[spans[:, 1] > floor], floor)
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    furthest = np.maximum.accumulate(spans[:, 1])
    first = np.ones(len(spans), dtype=bool)
    first[1:] = spans[1:, 0] > furthest[:-1]
    starts = np.flatnonzero(first)
    return np.column_stack([spans[starts, 0], furthest[np.append(starts[1:], len(spans)) - 1]]) if len(spans) else spans


def capacity_bps(run: Run, flows: Sequence[str]) -> float | None:
    """What the slowest link of these flows carries of their data [bit/s]: its rate less headers (and cells' tax).

    None where it is no one number: another link or another segment for some of them, a rate that moves.
    """
    resolved = run.scenario.resolve()
    own = [path for path in paths(resolved) if path.flow in flows]
    of = {(path.bottleneck, path.mss_bytes, path.packet_bytes) for path in own}
    if len(of) != 1:
        return None
    ((link, mss_bytes, packet_bytes),) = of
    if "service" in resolved["links"][link].get("motion", {}):
        return None
    return float(resolved["links"][link]["rate_bps"] * mss_bytes / packet_bytes)


class Rates(NamedTuple):
    """Throughput of the flows that a picture names, and of others that it sums up [bit/s], by interval."""

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
    """Of the flows named, or of the `most` that sent most; without `interval_s` by hundredths of the time shown."""
    sequences = trace(run, "sequence")
    reached = sequences[sequences["event"] == 1].groupby("flow", observed=True)["sequence_bytes"].max()
    names, note = chosen(run, flows, most, reached, "most data")
    others = [name for name in flow_names(run.scenario) if name not in names] if note else []
    begin_s, end_s = shown_s(run, span_s)
    interval_s = interval_s or (end_s - begin_s) / INTERVALS
    return Rates(names, others, note, interval_s, throughput_series(run, [*names, *others], interval_s, span_s))


def averaged(interval_s: float) -> str:
    """What a title says of the time that each point averages over."""
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
    """Rate of acknowledged data by flow, and of all those together, from `traces.sequence`.

    Without `flows`, of the `most` that sent most, the others summed up, and all; None for each. `interval_s` is what
    each point averages over: by default a hundredth of the time shown. A thin line is what the link carries.
    """
    names, others, note, interval_s, series = rates(run, flows, span_s, interval_s, most)
    series /= 1e6
    title = titled(f"{name_of(run)}: data acknowledged, {averaged(interval_s)}", note)
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
