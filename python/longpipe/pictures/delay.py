"""Queueing delay at a port, over time and as a distribution, and the port's drops and marks."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from longpipe.drops import CAUSES
from longpipe.errors import ScenarioError, nearest
from longpipe.pictures.changes import mark_changes
from longpipe.pictures.ports import default_port, use_of_ports
from longpipe.pictures.recorded import Run, check_flows, check_port, chosen, name_of, shown_s, trace, within
from longpipe.pictures.style import (
    ASH,
    BLUE,
    DASHES,
    GREEN,
    GREY,
    MOST_SHAPES,
    ORANGE,
    PALETTE,
    PURPLE,
    SKY,
    VERMILION,
    colour,
    figure_of,
    legend,
    logarithmic,
    panels,
    plain,
    title_of,
    titled,
)

MOST_FLOWS: Final = 8
INTERVALS: Final = 100
# Legend text of each cause.
_TOLD: Final = {
    "marked": ("marked", GREEN),
    "overflow": ("buffer full", VERMILION),
    "aqm": ("dropped by the policy or AQM", ORANGE),
    "injected_loss": ("injected loss", GREY),
    "outage": ("outage", BLUE),
    "bit_error": ("bit error", PURPLE),
    "partial_frame": ("incomplete frame", PALETTE[6]),
    "ack_filter": ("ACK filter", SKY),
    "no_route": ("no route", ASH),
    "policer": ("policer", PALETTE[0]),
}


def port_of(run: Run, port: str | None) -> str:
    """Returns the selected port, by default that with the longest mean delay; raises ScenarioError if it is unused."""
    check_port(run.scenario, port)
    longest = default_port([run], "delay")
    if port is not None and port not in (known := [*map(str, use_of_ports(run, "delay").index)]):
        raise ScenarioError(f"port: {port!r} sent no packet; {nearest(port, known)}")
    return port or longest


def delay_points(run: Run, port: str | None = None, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """Returns the packets that left a port: time_s, flow, acks, bytes, and delay_s, the queueing delay."""
    rows = trace(run, "delay")
    rows = rows[rows["port"].astype(str) == port_of(run, port)]
    return within(rows, span_s)[["time_s", "flow", "acks", "bytes", "delay_s"]].reset_index(drop=True)


def drop_counts(
    run: Run,
    port: str | None = None,
    span_s: tuple[float, float] | None = None,
    interval_s: float | None = None,
    *,
    flows: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Returns counts of packets that a port dropped or marked, by cause (columns) and the interval's start [s] (index).

    Defaults: the port that dropped or marked the most packets, intervals of a hundredth of the time shown, and all
    flows.
    """
    rows = _of_flows(trace(run, "drops"), flows)
    if port is None and len(rows):
        port = default_port([run], "drops", flows)
    rows = rows[rows["port"].astype(str) == port]
    begin_s, end_s = shown_s(run, span_s)
    interval_s = interval_s or (end_s - begin_s) / INTERVALS
    edges = np.arange(begin_s, end_s + interval_s / 2, interval_s)
    causes = rows["cause"].astype(str)
    counts = {name: np.histogram(rows["time_s"][causes == name], edges)[0] for name in CAUSES}
    return pd.DataFrame(counts, index=pd.Index(edges[:-1], name="time_s"))


def _of_flows(rows: pd.DataFrame, flows: Sequence[str] | None) -> pd.DataFrame:
    """Returns the rows of the given flows, or all rows if `flows` is None."""
    return rows if not flows else rows[rows["flow"].astype(str).isin(list(flows))]


def delay(
    run: Run,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    *,
    port: str | None = None,
    most: int | None = MOST_FLOWS,
    log: bool = False,
    ax: Axes | None = None,
) -> Figure:
    """Draws the queueing delay of each packet at a port, by flow, with the mean; from `traces.delay`.

    Defaults: the port at which packets waited longest, and the `most` flows with the most packets (None for all). With
    `log`, the delay axis is logarithmic, and packets that did not wait are omitted.
    """
    port = port_of(run, port)
    points = delay_points(run, port, span_s)
    counts = points["flow"].astype(str).value_counts()
    names, note = chosen(run, flows, most, counts, "most packets")
    begin_s, end_s = shown_s(run, span_s)
    title = titled(f"{name_of(run)}: queueing delay at {port}", note)
    figure, (panel,) = panels(1, title, (begin_s, end_s), height=3.6, ax=ax)
    for number, name in enumerate(names):
        own = points[points["flow"].astype(str) == name]
        if len(own):
            (dots,) = panel.plot(own["time_s"], 1e3 * own["delay_s"], ".", ms=2, color=colour(number), label=name)
            dots.set_rasterized(len(own) > MOST_SHAPES)
    edges = np.linspace(begin_s, end_s, INTERVALS + 1)
    packets, _ = np.histogram(points["time_s"], edges)
    waited, _ = np.histogram(points["time_s"], edges, weights=points["delay_s"])
    means = np.divide(1e3 * waited, packets, out=np.full(INTERVALS, np.nan), where=packets > 0)
    over = (end_s - begin_s) / INTERVALS
    shown = f"{1e3 * over:g} ms" if over < 1 else f"{over:g} s"
    panel.plot((edges[:-1] + edges[1:]) / 2, means, color="black", lw=1.2, label=f"mean of all packets over {shown}")
    mark_changes(panel, run, span_s)
    if log:
        logarithmic(panel, "y")
    else:
        panel.set_ylim(bottom=0)
    panel.set_ylabel("queueing delay [ms]")
    legend(figure, [panel], ax)
    return figure


def drops(
    run: Run,
    span_s: tuple[float, float] | None = None,
    *,
    flows: Sequence[str] | None = None,
    port: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draws the packets that a port dropped or marked, by cause, in hundredths of the time shown; from `traces.drops`.

    Defaults: the port that dropped or marked the most packets, and all flows; `flows` selects the data and ACKs of some
    flows.
    """
    check_flows(run.scenario, flows)
    if port is None:
        port = default_port([run], "drops", flows)
    elif port not in (known := sorted(map(str, use_of_ports(run, "drops", flows).index))):
        raise ScenarioError(f"port: {port!r} lost or marked no packet; {nearest(port, known)}")
    counts = drop_counts(run, port, span_s, flows=flows)
    begin_s, end_s = shown_s(run, span_s)
    interval_s = (end_s - begin_s) / INTERVALS
    each = f"{1e3 * interval_s:g} ms" if interval_s < 1 else f"{interval_s:g} s"
    of = f" of {', '.join(flows)}" if flows else ""
    title = f"{name_of(run)}: packets{of} lost or marked at {port}"
    figure, (panel,) = panels(1, title, (begin_s, end_s), height=3.6, ax=ax)
    below = np.zeros(len(counts))
    for name in CAUSES:
        if counts[name].any():
            text, own_colour = _TOLD[name]
            label = f"{text}: {counts[name].sum()}"
            panel.bar(counts.index, counts[name], interval_s, below, align="edge", color=own_colour, label=label)
            below = below + counts[name].to_numpy()
    panel.yaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_ylim(bottom=0)
    panel.set_ylabel(f"packets in {each}")
    legend(figure, [panel], ax)
    return figure


def delay_cdf(
    runs: Run | Mapping[str, Run],
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    *,
    port: str | None = None,
    most: int | None = MOST_FLOWS,
    log: bool = False,
) -> Figure:
    """Draws the cumulative distribution of a port's queueing delay; from `traces.delay`.

    One run is drawn with a line for each flow and one for all flows; several runs are drawn with one line each,
    labelled with the run's key. By default, the port is the one at which packets of the first run waited longest. With
    `log`, the delay axis is logarithmic and begins at the shortest delay above 0.
    """
    several = runs if isinstance(runs, Mapping) else {"": runs}
    first = next(iter(several.values()))
    port = port_of(first, port)
    note, lines = "", {}
    if len(several) > 1:
        lines = {label: _of_flows(delay_points(run, port, span_s), flows)["delay_s"] for label, run in several.items()}
    else:
        points = delay_points(first, port, span_s)
        names, note = chosen(first, flows, most, points["flow"].astype(str).value_counts(), "most packets")
        by_flow = {name: points["delay_s"][points["flow"].astype(str) == name] for name in names}
        lines = {name: own for name, own in by_flow.items() if len(own)}
        if len(lines) > 1:
            lines = {"all packets": points["delay_s"], **lines}
    figure = figure_of(4.4)
    panel = figure.subplots()
    plain(panel)
    for number, (label, waits) in enumerate(lines.items()):
        ordered = np.sort(1e3 * waits.to_numpy())
        shares = np.arange(1, len(ordered) + 1) / len(ordered)
        whole = label == "all packets"
        place = number - ("all packets" in lines)
        panel.step(
            np.concatenate(([0.0], ordered)),
            np.concatenate(([0.0], shares)),
            where="post",
            color="black" if whole else colour(place),
            ls="-" if whole else DASHES[place // len(PALETTE) % len(DASHES)],
            lw=1.8 if whole else 1.2,
            label=label,
        )
    if log:
        least_ms = min(
            (1e3 * float(waits[waits > 0].min()) for waits in lines.values() if (waits > 0).any()), default=1
        )
        logarithmic(panel, "x")
        panel.set_xlim(left=least_ms)
    else:
        panel.set_xlim(left=0)
    panel.set_ylim(0, 1)
    panel.set_xlabel("queueing delay [ms]")
    panel.set_ylabel("share of packets that waited no longer")
    called = ", ".join(dict.fromkeys(name_of(run) for run in several.values()))
    title_of(figure, titled(f"{called}: queueing delay at {port}", note))
    if len(lines) > 1:
        legend(figure, [panel])
    return figure
