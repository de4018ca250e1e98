"""Throughput over time."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.pictures.changes import capacity_steps, mark_changes
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind
from longpipe.pictures.recorded import (
    Run,
    as_steps,
    chosen,
    edges_s,
    flow_names,
    name_of,
    of_flows,
    shown_flow,
    shown_s,
    trace,
    within,
)
from longpipe.pictures.style import DASHES, GREY, PALETTE, color, interval_text, legend, panels, titled

MAX_FLOWS = 8
INTERVALS = 100
# Maximum ratio of the capacity to the highest throughput for which the capacity is drawn: the axis would otherwise
# leave too little height for the throughputs.
NEAR = 3
# Labels and style of the capacity of one link, and of the links of several runs.
CAPACITY, CAPACITIES = "capacity of the link", "capacity of each run's link"
_DOTTED: Mapping[str, Any] = {"lw": 0.9, "ls": ":"}


def throughput_series(
    run: Run, flows: Sequence[str], interval_s: float, span_s: tuple[float, float] | None = None
) -> pd.DataFrame:
    """Returns the rate of delivered data [bit/s] with a column per flow; the index is each interval's middle [s].

    Each byte counts once, when it first arrives, even if data before it is still missing and no ACK has reported it.
    """
    arrivals = trace(run, "arrivals")
    begin_s, end_s = shown_s(run, span_s)
    edges = edges_s(begin_s, end_s, interval_s)
    rates = {}
    for flow in flows:
        of_flow = arrivals[arrivals["flow"] == flow]
        # Element k is the data of the first k arrivals.
        arrived = np.concatenate(([0], of_flow["bytes"].to_numpy(dtype=np.int64).cumsum()))
        arrivals_by = np.searchsorted(of_flow["time_s"].to_numpy(), edges, side="right")
        rates[flow] = np.diff(arrived[arrivals_by]) * 8 / interval_s
    return pd.DataFrame(rates, index=pd.Index((edges[:-1] + edges[1:]) / 2, name="time_s"))


def draw_capacity(panel: Axes, run: Run, flows: Sequence[str], highest_mbps: float, near: float = NEAR) -> None:
    """Draws the payload capacity of the flows' slowest link if it is at most `near` times the highest rate drawn."""
    capacity = _capacity_mbps(panel, run, flows)
    if capacity is not None and capacity.median() <= near * highest_mbps:
        panel.step(capacity.index, capacity, where="post", color=GREY, label=CAPACITY, **_DOTTED)


def draw_capacities(panel: Axes, runs: Sequence[Run], flows: Sequence[str], highest_mbps: float) -> None:
    """Draws the payload capacity of several runs: one line if all are equal, otherwise one in each run's color.

    The capacity is that for `flows`, or for all flows if none are given.
    """
    capacities = [_capacity_mbps(panel, run, flows or flow_names(run.scenario)) for run in runs]
    first = capacities[0]
    if first is not None and all(capacity is not None and capacity.equals(first) for capacity in capacities):
        draw_capacity(panel, runs[0], flows or flow_names(runs[0].scenario), highest_mbps)
        return
    for number, capacity in enumerate(capacities):
        if capacity is not None and capacity.median() <= NEAR * highest_mbps:
            panel.step(capacity.index, capacity, where="post", color=color(number), **_DOTTED)
            if CAPACITIES not in panel.get_legend_handles_labels()[1]:
                panel.plot([], [], color=GREY, label=CAPACITIES, **_DOTTED)


def _capacity_mbps(panel: Axes, run: Run, flows: Sequence[str]) -> pd.Series | None:
    """Returns the payload capacity [Mbit/s] for the flows by time [s], in the time that the panel shows, if any."""
    steps = capacity_steps(run, flows)
    return None if steps is None else as_steps(steps, panel.get_xlim()).set_index("time_s")["capacity_bps"] / 1e6


class Rates(NamedTuple):
    """Throughput [bit/s], by interval, of the flows that are shown and of all others together."""

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
    *,
    others: bool = False,
) -> Rates:
    """Returns the throughput of the selected or the `most` largest flows; the default interval is 1 % of the span.

    The flows that are not among the largest are in `others` of the result; with the argument `others`, the flows that
    are not selected are, too.
    """
    arrived = trace(run, "arrivals").groupby("flow", observed=True)["bytes"].sum()
    names, note = chosen(run, flows, most, arrived, "most data")
    rest = [name for name in flow_names(run.scenario) if name not in names] if note or others else []
    begin_s, end_s = shown_s(run, span_s)
    interval_s = interval_s or (end_s - begin_s) / INTERVALS
    return Rates(names, rest, note, interval_s, throughput_series(run, [*names, *rest], interval_s, span_s))


def note_on_arrivals(series: pd.DataFrame, flows: Sequence[str] | None) -> str:
    """Returns a note for the title if all rates are 0, or ""; `flows` are the selected flows."""
    return "" if series.to_numpy().any() else f"no data{of_flows(flows)} arrived in the time shown"


def averaged(interval_s: float) -> str:
    """Returns the note for the title on the averaging interval."""
    return f"over {interval_text(interval_s)} each"


@with_literal_texts
def throughput(
    run: Run,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    interval_s: float | None = None,
    *,
    most: int | None = MAX_FLOWS,
    others: bool = False,
    ax: Axes | None = None,
) -> Figure:
    """Draws the rate of delivered data by flow and in total, from `traces.arrivals`.

    Without `flows`, it shows the `most` flows that received the most data, the sum of all others, and the total; None
    shows all flows. With `flows`, `others` adds the sum of the rest. Each point is an average over `interval_s`, by
    default a hundredth of the time shown. A dotted line shows the capacity of the link, which may vary over time.
    Outages and handovers are marked.
    """
    names, rest, note, interval_s, series = rates(run, flows, span_s, interval_s, most, others=others)
    series /= 1e6
    note = note_on_arrivals(series, flows) or note
    title = titled(f"{name_of(run)}: data arrived, {averaged(interval_s)}", note)
    figure, (panel,) = panels(1, title, shown_s(run, span_s), height=3.6, ax=ax)
    if len(names) > 1:
        total = series.sum(axis=1)
        line_count = len(names) + len(rest)
        whole = "all" if line_count == len(flow_names(run.scenario)) else "these"
        panel.plot(series.index, total, color="black", lw=1.6, label=f"{whole} {line_count}")
    if rest:
        panel.plot(series.index, series[rest].sum(axis=1), color=GREY, lw=1.1, label=f"{len(rest)} others")
    for number, name in enumerate(names):
        style = DASHES[number // len(PALETTE) % len(DASHES)]
        panel.plot(series.index, series[name], color=color(number), ls=style, lw=1.1, label=shown_flow(run, name))
    draw_capacity(panel, run, [*names, *rest], float(series.sum(axis=1).max()))
    mark_changes(panel, run, span_s)
    panel.set_ylim(bottom=0)
    panel.set_ylabel("throughput [Mbit/s]")
    legend(figure, [panel], ax)
    return figure


def remark_on_arrivals(panel: Axes, _flows: Sequence[str]) -> str:
    """Returns a remark on a panel in which no data arrived, and otherwise an empty text."""
    return "" if any(np.nan_to_num(line.get_ydata()).any() for line in panel.lines) else "no data arrived"


def arrived_bytes(run: Run, span_s: tuple[float, float], _port: str | None) -> pd.Series:
    """Returns the data that arrived in a time span, by flow."""
    rows = within(trace(run, "arrivals"), span_s)
    return rows.groupby(rows["flow"].astype(str))["bytes"].sum()


PICTURES = {
    "throughput": Kind(
        draw=throughput,
        of="flows",
        traces=("arrivals",),
        title="data arrived",
        adds_flows=True,
        sizes=arrived_bytes,
        largest="most data",
        remark=remark_on_arrivals,
    )
}
