"""Queueing delay at a port, over time and as a distribution, and the port's drops and marks."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from longpipe.errors import nearest
from longpipe.pictures.changes import mark_changes
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind
from longpipe.pictures.ports import PortMeasure, default_port, measured_ports
from longpipe.pictures.recorded import (
    EmptyPictureError,
    Run,
    check_flows,
    check_port,
    chosen,
    edges_s,
    name_of,
    of_flows,
    rows_of,
    shown_s,
    trace,
    within,
)
from longpipe.pictures.style import (
    ASH,
    BLUE,
    DASHES,
    GREEN,
    GREY,
    MAX_SHAPES,
    ORANGE,
    PALETTE,
    PURPLE,
    SKY,
    VERMILION,
    color,
    figure_of,
    interval_text,
    legend,
    logarithmic,
    panels,
    plain,
    title_of,
    titled,
)
from longpipe.result.drops import CAUSES

MAX_FLOWS: Final = 8
INTERVALS: Final = 100
# Quantile of the delays above 0 at which a logarithmic axis of a distribution begins: the smallest delays, of which
# there are few, would take most of the axis.
LOG_BEGINS: Final = 0.01
# Packets without delay on a logarithmic axis: legend text, and mark at the lower edge [points].
AT_EDGE: Final = "no delay (at the lower edge)"
EDGE_MARK: Final = "|"
EDGE_SIZE: Final = 4
MEAN_DELAY: Final = PortMeasure(
    rows=lambda run, span_s: within(trace(run, "delay"), span_s),
    per_port=lambda rows: rows.groupby(rows["port"].astype(str))["delay_s"].mean(),
    no_port="no packet left any port in the time shown; needs a longer time",
    no_port_of_flows="left any port in the time shown; needs another flow",
    empty_title="no packet",
)
DROPS: Final = PortMeasure(
    rows=lambda run, span_s: within(trace(run, "drops"), span_s),
    per_port=lambda rows: rows["port"].astype(str).value_counts(),
    only_selected_flows=True,
    no_port="none lost or marked a packet in the time shown; needs a smaller buffer, or a policy that drops or marks",
    no_port_of_flows="was lost or marked in the time shown; needs another flow",
    empty_title="none",
)
# Color of each cause; causes beyond the list have its colors again.
_COLORS: Final = dict(
    zip(
        CAUSES,
        cycle((GREEN, VERMILION, ORANGE, GREY, BLUE, PURPLE, PALETTE[6], SKY, ASH, PALETTE[0])),
        strict=False,
    )
)


def port_of(
    runs: Sequence[Run],
    port: str | None,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
) -> str:
    """Returns the selected port, by default that with the longest mean delay of those that packets of `flows` left.

    Raises ScenarioError for an unknown flow or port, and EmptyPictureError if none of these packets left the port.
    """
    for run in runs:
        check_flows(run.scenario, flows)
        check_port(run.scenario, port)
    longest = default_port(runs, MEAN_DELAY, flows, span_s)
    sending_ports = {str(name) for run in runs for name in measured_ports(run, MEAN_DELAY, flows, span_s).index}
    if port is not None and port not in sending_ports:
        raise EmptyPictureError(
            f"port: {port!r} sent no packet{of_flows(flows)} in the time shown; {nearest(port, sorted(sending_ports))}",
            MEAN_DELAY.empty_title,
        )
    return port or longest


def delay_points(run: Run, port: str | None = None, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """Returns the packets that left a port: time_s, flow, acks, bytes, and delay_s, the queueing delay."""
    return _points_at(run, port_of([run], port, span_s=span_s), None, span_s)


def _points_at(run: Run, port: str, flows: Sequence[str] | None, span_s: tuple[float, float] | None) -> pd.DataFrame:
    """Returns the packets of some flows that left a port, of which there may be none, with the columns of a point."""
    rows = within(trace(run, "delay"), span_s)
    rows = rows_of(rows[rows["port"].astype(str) == port], flows)
    return rows[["time_s", "flow", "acks", "bytes", "delay_s"]].reset_index(drop=True)


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
    rows = rows_of(trace(run, "drops"), flows)
    if port is None and len(rows):
        port = default_port([run], DROPS, flows, span_s)
    rows = rows[rows["port"].astype(str) == port]
    begin_s, end_s = shown_s(run, span_s)
    interval_s = interval_s or (end_s - begin_s) / INTERVALS
    edges = edges_s(begin_s, end_s, interval_s)
    causes = rows["cause"].astype(str)
    counts = {name: np.histogram(rows["time_s"][causes == name], edges)[0] for name in CAUSES}
    return pd.DataFrame(counts, index=pd.Index(edges[:-1], name="time_s"))


def _absent(flows: Sequence[str] | None, counts: pd.Series) -> str:
    """Returns a note that names the selected flows without packets, or "" if there are none."""
    absent = [name for name in flows or () if not counts.get(name, 0)]
    return f"no packet{of_flows(absent)}" if absent else ""


def _check_waited(delays_s: pd.Series, port: str, flows: Sequence[str] | None, *, log: bool) -> None:
    """Raises EmptyPictureError if a logarithmic axis would show none of the delays, because all are 0."""
    if log and not delays_s.any():
        raise EmptyPictureError(
            f"log: no packet{of_flows(flows)} waited at {port}; needs a linear axis, or another port",
            "no packet waited",
        )


@with_literal_texts
def delay(
    run: Run,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    *,
    port: str | None = None,
    most: int | None = MAX_FLOWS,
    log: bool = False,
    ax: Axes | None = None,
) -> Figure:
    """Draws the queueing delay of each packet at a port, by flow, with the mean; from `traces.delay`.

    Defaults: the port at which packets waited longest, and the `most` flows with the most packets (None for all). With
    `flows`, the default is a port that they use, and the mean is that of their packets. With `log`, the delay axis is
    logarithmic, packets that did not wait are drawn at its lower edge, and the legend states their number.
    """
    port = port_of([run], port, flows, span_s)
    points = _points_at(run, port, flows, span_s)
    _check_waited(points["delay_s"], port, flows, log=log)
    counts = points["flow"].astype(str).value_counts()
    names, note = chosen(run, flows, most, counts, "most packets")
    begin_s, end_s = shown_s(run, span_s)
    unwaited = "" if points["delay_s"].any() else "no packet waited"
    title = titled(
        f"{name_of(run)}: queueing delay{of_flows(flows)} at {port}", note or _absent(flows, counts) or unwaited
    )
    figure, (panel,) = panels(1, title, (begin_s, end_s), height=3.6, ax=ax)
    for number, name in enumerate(names):
        flow_points = points[points["flow"].astype(str) == name]
        if len(flow_points):
            drawn_points = flow_points[flow_points["delay_s"] > 0] if log else flow_points
            (dots,) = panel.plot(
                drawn_points["time_s"], 1e3 * drawn_points["delay_s"], ".", ms=2, color=color(number), label=name
            )
            dots.set_rasterized(len(flow_points) > MAX_SHAPES)
        if log:
            _at_edge(panel, flow_points[flow_points["delay_s"] == 0]["time_s"], color(number))
    edges = edges_s(begin_s, end_s, (end_s - begin_s) / INTERVALS)
    packets, _ = np.histogram(points["time_s"], edges)
    waited, _ = np.histogram(points["time_s"], edges, weights=points["delay_s"])
    means = np.divide(1e3 * waited, packets, out=np.full(INTERVALS, np.nan), where=packets > 0)
    over = interval_text((end_s - begin_s) / INTERVALS)
    whole = "these packets" if flows else "all packets"
    panel.plot((edges[:-1] + edges[1:]) / 2, means, color="black", lw=1.2, label=f"mean of {whole} over {over}")
    mark_changes(panel, run, span_s)
    if log:
        logarithmic(panel, "y")
        if unwaiting := int((points["delay_s"] == 0).sum()):
            # An entry of the legend without data: the marks have the colors of their flows.
            label = f"{AT_EDGE}: {unwaiting} of {len(points)} packets"
            panel.plot([], [], ls="none", marker=EDGE_MARK, ms=EDGE_SIZE, color=GREY, label=label)
    else:
        panel.set_ylim(bottom=0)
    panel.set_ylabel("queueing delay [ms]")
    legend(figure, [panel], ax)
    return figure


def _at_edge(panel: Axes, times_s: pd.Series, own_color: str) -> None:
    """Marks packets that a logarithmic axis cannot show at its lower edge."""
    place = panel.get_xaxis_transform()
    (marks,) = panel.plot(times_s, np.zeros(len(times_s)), EDGE_MARK, ms=EDGE_SIZE, color=own_color, transform=place)
    marks.set_clip_on(False)
    marks.set_rasterized(len(times_s) > MAX_SHAPES)


@with_literal_texts
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
        port = default_port([run], DROPS, flows, span_s)
    elif port not in (lossy_ports := sorted(map(str, measured_ports(run, DROPS, flows, span_s).index))):
        raise EmptyPictureError(
            f"port: {port!r} lost or marked no packet{of_flows(flows)} in the time shown; {nearest(port, lossy_ports)}",
            DROPS.empty_title,
        )
    counts = drop_counts(run, port, span_s, flows=flows)
    begin_s, end_s = shown_s(run, span_s)
    interval_s = (end_s - begin_s) / INTERVALS
    title = f"{name_of(run)}: packets{of_flows(flows)} lost or marked at {port}"
    figure, (panel,) = panels(1, title, (begin_s, end_s), height=3.6, ax=ax)
    below = np.zeros(len(counts))
    for name in CAUSES:
        if counts[name].any():
            label = f"{name.replace('_', ' ')}: {counts[name].sum()}"
            panel.bar(counts.index, counts[name], interval_s, below, align="edge", color=_COLORS[name], label=label)
            below = below + counts[name].to_numpy()
    panel.yaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_ylim(bottom=0)
    panel.set_ylabel(f"packets in {interval_text(interval_s)}")
    legend(figure, [panel], ax)
    return figure


def _draw_distributions(panel: Axes, lines: Mapping[str, pd.Series], whole: str, longest_ms: float) -> None:
    """Draws the distribution function of each line's delays; that of the line `whole` is black."""
    for number, (label, waits) in enumerate(lines.items()):
        ordered = np.sort(1e3 * waits.to_numpy())
        shares = np.arange(1, len(ordered) + 1) / len(ordered)
        is_whole = label == whole
        place = number - (whole in lines)
        panel.step(
            # Each line continues to the longest delay of all, so that one whose packets did not wait is visible.
            np.concatenate(([0.0], ordered, [longest_ms] if len(ordered) else [])),
            np.concatenate(([0.0], shares, [1.0] if len(ordered) else [])),
            where="post",
            color="black" if is_whole else color(place),
            ls="-" if is_whole else DASHES[place // len(PALETTE) % len(DASHES)],
            lw=1.8 if is_whole else 1.2,
            label=label,
        )


@with_literal_texts
def delay_cdf(
    runs: Run | Mapping[str, Run],
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    *,
    port: str | None = None,
    most: int | None = MAX_FLOWS,
    log: bool = False,
) -> Figure:
    """Draws the cumulative distribution of a port's queueing delay; from `traces.delay`.

    One run is drawn with a line for each flow and one for all flows; several runs are drawn with one line each,
    labeled with the run's key, for the packets of all `flows` together. By default, the port is the one at which
    packets waited longest in any run; with `flows`, it is a port that they use. With `log`, the delay axis is
    logarithmic and begins at the smallest of the lines' 1 % quantiles of delays above 0.
    """
    several = runs if isinstance(runs, Mapping) else {"": runs}
    first = next(iter(several.values()))
    port = port_of(list(several.values()), port, flows, span_s)
    points = {label: _points_at(run, port, flows, span_s) for label, run in several.items()}
    counts = {label: run_points["flow"].astype(str).value_counts() for label, run_points in points.items()}
    note, lines, flows_text = "", {}, of_flows(flows)
    whole = "these packets" if flows else "all packets"
    if len(several) > 1:
        for label, run_points in points.items():
            absent = _absent(flows, counts[label]) if len(run_points) else MEAN_DELAY.empty_title
            lines[f"{label}: {absent}" if absent else label] = run_points["delay_s"]
        flows_text = f"{flows_text} together" if flows and len(flows) > 1 else flows_text
    else:
        ((run_points, sizes),) = zip(points.values(), counts.values(), strict=True)
        names, note = chosen(first, flows, most, sizes, "most packets")
        note = note or _absent(flows, sizes)
        by_flow = {name: run_points["delay_s"][run_points["flow"].astype(str) == name] for name in names}
        lines = {name: waits for name, waits in by_flow.items() if len(waits)}
        if len(lines) > 1:
            lines = {whole: run_points["delay_s"], **lines}
    together = pd.concat(list(lines.values()))
    _check_waited(together, port, flows, log=log)
    longest_ms = 1e3 * float(together.max())
    figure = figure_of(4.4)
    panel = figure.subplots()
    plain(panel)
    _draw_distributions(panel, lines, whole, longest_ms)
    if log:
        logarithmic(panel, "x")
        begin_s = min(float(waits[waits > 0].quantile(LOG_BEGINS)) for waits in lines.values() if waits.any())
        panel.set_xlim(left=1e3 * begin_s)
    else:
        panel.set_xlim(left=0)
        if longest_ms == 0:
            # All delays are 0: a line at the axis would look like an empty picture.
            panel.plot([0.0], [1.0], "o", color="black", label="no packet waited", clip_on=False)
    panel.set_ylim(0, 1)
    panel.set_xlabel("queueing delay [ms]")
    panel.set_ylabel("share of packets that waited no longer")
    called = ", ".join(dict.fromkeys(name_of(run) for run in several.values()))
    title_of(figure, titled(f"{called}: queueing delay{flows_text} at {port}", note))
    if len(lines) > 1 or longest_ms == 0:
        legend(figure, [panel])
    return figure


def _packets(run: Run, span_s: tuple[float, float], _port: str | None) -> pd.Series:
    """Returns the number of packets that left any port, by flow."""
    return within(trace(run, "delay"), span_s)["flow"].astype(str).value_counts()


def _remark_on_delays(panel: Axes, flows: Sequence[str]) -> str:
    """Names the flows without packets, and moves the number of packets without delay from the label to the remark.

    Panels share their labels.
    """
    labels = {str(line.get_label()) for line in panel.lines}
    remarks = [f"no packet{of_flows(absent)}"] if (absent := [name for name in flows if name not in labels]) else []
    for line in panel.lines:
        mark, _, count = str(line.get_label()).partition(": ")
        if mark == AT_EDGE:
            line.set_label(mark)
            remarks.append(f"no delay: {count}")
            break
    return ", ".join(remarks)


def _counts(panel: Axes, _flows: Sequence[str]) -> str:
    """Moves the counts of a panel of drops from the labels, which all panels share, to the remark."""
    counts = []
    for bars in panel.containers:
        cause, _, count = str(bars.get_label()).rpartition(": ")
        bars.set_label(cause)
        counts.append(f"{count} {cause}")
    return ", ".join(counts)


PICTURES = {
    "delay": Kind(
        draw=delay,
        of="port",
        traces=("delay",),
        title="queueing delay{of}",
        port_measure=MEAN_DELAY,
        sizes=_packets,
        largest="most packets",
        remark=_remark_on_delays,
    ),
    "delay-cdf": Kind(draw=delay_cdf, of="port", traces=("delay",)),
    "drops": Kind(
        draw=drops,
        of="port",
        traces=("drops",),
        title="packets{of} lost or marked",
        no_overlay="drops counts packets by cause",
        port_measure=DROPS,
        remark=_counts,
    ),
}
