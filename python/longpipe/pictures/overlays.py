"""Several runs, or several flows of one run, as lines on the same axes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NoReturn, cast

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.errors import ScenarioError, nearest
from longpipe.pictures import KINDS, kind_of
from longpipe.pictures.changes import change_alike, mark_changes
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind, Line, Span
from longpipe.pictures.kinds.queue import queue_by_flow
from longpipe.pictures.kinds.throughput import (
    INTERVALS,
    averaged,
    draw_capacities,
    note_on_arrivals,
    throughput_series,
)
from longpipe.pictures.ports import default_port
from longpipe.pictures.recorded import (
    MAX_LISTED,
    EmptyPictureError,
    Run,
    check_flows,
    chosen_senders,
    config_of,
    flow_names,
    flows_with_rows,
    name_of,
    of_flows,
    shown_s,
    trace,
)
from longpipe.pictures.style import (
    DASHES,
    MAX_SHAPES,
    PALETTE,
    Unit,
    color,
    legend,
    logarithmic,
    panels,
    titled,
    unit_for,
)

MAX_FLOWS: Final = len(PALETTE)
MAX_RUNS: Final = 6


# Pictures in which several flows of one run, or several runs, can be lines.
FLOWS_OVERLAID: Final = tuple(name for name in KINDS if kind_of(name).line is not None)
OVERLAID: Final = (*FLOWS_OVERLAID, *(name for name in KINDS if kind_of(name).adds_flows))


@with_literal_texts
def overlay(
    runs: Run | Mapping[str, Run],
    kind: str = "window",
    flows: Sequence[str] | None = None,
    span_s: Span | None = None,
    *,
    unit: Unit | None = None,
    port: str | None = None,
    interval_s: float | None = None,
    most: int | None = MAX_FLOWS,
    log: bool = False,
    ax: Axes | None = None,
) -> Figure:
    """Draws lines on the same axes: one per flow of a single run, or one per run of several runs by name.

    The lines are cwnd for window, acknowledged data for sequence, and RTT samples for rtt. Of a single run, the `most`
    flows with the largest values are drawn (None for all); of several runs, one flow each, by default the first with
    data in any run, or the sum of all flows for throughput, or the `port`'s queue for queue. Outages and handovers are
    marked if all runs have the same. `unit` is bytes, the default for flows, or segments, the default for runs; `log`
    makes the axis of RTTs logarithmic. Raises ScenarioError for another `kind`.
    """
    if isinstance(runs, Mapping):
        if kind not in OVERLAID:
            raise ScenarioError(f"overlay: {kind!r} is stacked or has many points; needs one of {', '.join(OVERLAID)}")
        check_number(len(runs))
        for run in runs.values():
            check_flows(run.scenario, flows)
        return _overlay_runs(runs, kind, flows, span_s, unit or "segments", port, interval_s, log, ax)
    if kind not in FLOWS_OVERLAID:
        raise ScenarioError(f"kind: {kind!r}; {nearest(str(kind), FLOWS_OVERLAID)}")
    return _overlay_flows(runs, kind, flows, span_s, most, unit or "bytes", log, ax)


def check_number(runs: int) -> None:
    """Raises ScenarioError for too few or too many runs of a picture."""
    if not 2 <= runs <= MAX_RUNS:
        raise ScenarioError(f"runs: {runs}; needs 2 to {MAX_RUNS}")


def one_flow(
    kind: str, flows: Sequence[str] | None, runs: Mapping[str, Run], rows: Callable[[Run], pd.DataFrame], lacks: str
) -> tuple[list[str], str]:
    """Returns the flow given, or the first flow with rows in any run, and a note if this is not the first of all.

    `lacks` is what the first flow lacks if another one is shown. Raises ScenarioError for several flows.
    """
    if flows:
        if len(flows) > 1:
            raise ScenarioError(f"flows: {', '.join(flows)}; needs one flow to compare by {kind}")
        return list(flows), ""
    first = flow_names(next(iter(runs.values())).scenario)[0]
    able = flows_with_rows(runs.values(), rows)
    if not able or able[0] == first:
        return [first], ""
    return able[:1], f"{able[0]} is the first flow that has {lacks} in the time shown"


def check_selected(kind: str, flows: Sequence[str] | None) -> None:
    """Raises ScenarioError for flows of a picture that has all of them."""
    if flows and not kind_of(kind).selects_flows:
        raise ScenarioError(f"flows: {', '.join(flows)}; not with {kind}, which stacks all flows")


def _overlay_runs(
    runs: Mapping[str, Run],
    kind: str,
    flow_choice: Sequence[str] | None,
    span_s: Span | None,
    unit: Unit,
    port: str | None,
    interval_s: float | None,
    log: bool,
    ax: Axes | None,
) -> Figure:
    """Draws a picture with a line for each run."""
    check_selected(kind, flow_choice)
    picture = kind_of(kind)
    line = picture.line
    flows, note = list(flow_choice or ()), ""
    if line is not None:
        flows, note = one_flow(kind, flow_choice, runs, lambda run: line.rows(run, span_s), picture.lacks)
    first = next(iter(runs.values()))
    spans = [shown_s(run, span_s) for run in runs.values()]
    span = (min(begin for begin, _ in spans), max(end for _, end in spans))
    interval_s = interval_s or (span[1] - span[0]) / INTERVALS
    # `what` is the quantity in the title, and `y_label` that on the axis.
    if picture.port_measure is not None:
        samples = trace(first, "vc_queue")
        counted = "packets" if "queue_packets" in samples else "cells"
        port = port or default_port(runs.values(), picture.port_measure)
        series_of = {label: queue_by_flow(run, port, span_s).sum(axis=1) for label, run in runs.items()}
        what, y_label = f"buffer of {port}", f"held [{counted}]"
    elif line is None:
        series_of = {
            label: throughput_series(run, flows or flow_names(run.scenario), interval_s, span_s).sum(axis=1) / 1e6
            for label, run in runs.items()
        }
        what, y_label = f"data arrived{of_flows(flows)}, {averaged(interval_s)}", "throughput [Mbit/s]"
    else:
        series_of, unit_name = _scaled(line, {label: (run, flows[0]) for label, run in runs.items()}, span_s, unit)
        what, y_label = f"{line.label} of {flows[0]}", f"{line.label}, {flows[0]} [{unit_name}]"
    draws_throughput = line is None and picture.port_measure is None
    if draws_throughput:
        note = note_on_arrivals(pd.DataFrame(series_of), flows)
    if not note and not any(series.any() for series in series_of.values()):
        _raise_empty(runs, line, flows, port, span_s)
    if draws_throughput:
        flows_of = {label: set(flows or flow_names(run.scenario)) for label, run in runs.items()}
        died = {label for label, run in runs.items() if flows_of[label].intersection(getattr(run, "died", ()))}
        series_of = {f"{label}, died" if label in died else label: series for label, series in series_of.items()}
    # A run without a line is in the legend, with the reason.
    series_of = {label if len(series) else f"{label}: none": series for label, series in series_of.items()}
    names = dict.fromkeys(name_of(run) for run in runs.values())
    figure, (panel,) = panels(1, titled(f"{', '.join(names)}: {what}", note), span, height=3.6, ax=ax)
    _draw(panel, picture, series_of, log=log)
    if change_alike(runs.values(), span):
        mark_changes(panel, first, span)
    if draws_throughput:
        panel.set_autoscaley_on(True)
        draw_capacities(panel, list(runs.values()), flows, max(float(series.max()) for series in series_of.values()))
        panel.set_ylim(bottom=0)
    panel.set_ylabel(y_label)
    legend(figure, [panel], ax)
    return figure


def _raise_empty(
    runs: Mapping[str, Run], line: Line | None, flows: Sequence[str], port: str | None, span_s: Span | None
) -> NoReturn:
    """Raises EmptyPictureError for an overlay in which no run has a line; it lists the flows that have one, if any."""
    if line is None:
        short = f"no queue at {port}"
        raise EmptyPictureError(f"port: {short} in the time shown, in any run; needs another port or time", short)
    short = f"no {line.lacks}{of_flows(flows[:1])}"
    able = flows_with_rows(runs.values(), lambda run: line.rows(run, span_s))
    helps = nearest("", able, MAX_LISTED) if able else "needs a TCP sender, or a longer time"
    raise EmptyPictureError(f"flow: {short} in the time shown, in any run; {helps}", short)


def _overlay_flows(
    run: Run,
    kind: str,
    flows: Sequence[str] | None,
    span_s: Span | None,
    most: int | None,
    unit: Unit,
    log: bool,
    ax: Axes | None,
) -> Figure:
    """Draws a picture with a line for each flow of a run."""
    picture = kind_of(kind)
    line = cast("Line", picture.line)
    rows = trace(run, picture.traces[0])
    sizes = rows.groupby("flow", observed=True)[line.size].max()
    rows_drawn = line.rows(run, span_s)
    names, note = chosen_senders(run, flows, most, sizes, line.largest, rows=rows_drawn, lacks=line.lacks)
    series_of, unit_name = _scaled(line, {name: (run, name) for name in names}, span_s, unit)
    title = titled(f"{name_of(run)}: {line.label}", note)
    figure, (panel,) = panels(1, title, shown_s(run, span_s), height=3.6, ax=ax)
    _draw(panel, picture, series_of, log=log)
    mark_changes(panel, run, span_s)
    panel.set_ylabel(f"{line.label} [{unit_name}]")
    legend(figure, [panel], ax)
    return figure


def _scaled(
    line: Line, sources: Mapping[str, tuple[Run, str]], span_s: Span | None, unit: Unit
) -> tuple[dict[str, pd.Series], str]:
    """Returns a series for each label, read from a flow of a run, in a common unit, and the unit's name."""
    series = {
        label: line.read(run, flow, shown_s(run, span_s)).set_index("time_s")[line.column]
        for label, (run, flow) in sources.items()
    }
    if line.in_ms:
        return {label: 1e3 * values for label, values in series.items()}, "ms"
    top = max((float(values.max()) for values in series.values() if len(values)), default=0.0)
    units = {
        label: unit_for(unit, top, config_of(run.scenario, flow)["mss_bytes"]) for label, (run, flow) in sources.items()
    }
    return {label: values / units[label][0] for label, values in series.items()}, next(iter(units.values()))[1]


def _draw(panel: Axes, picture: Kind, series_of: Mapping[str, pd.Series], *, log: bool) -> None:
    """Draws one line per label; RTT samples are dots. The axis starts at 0 for quantities other than RTTs."""
    dotted = picture.line is not None and picture.line.in_ms
    for number, (label, values) in enumerate(series_of.items()):
        if dotted:
            (dots,) = panel.plot(values.index, values, ".", ms=2, color=color(number), label=label)
            dots.set_rasterized(len(values) > MAX_SHAPES)
        else:
            style = "default" if picture.line is None and picture.port_measure is None else "steps-post"
            dashes = DASHES[number // len(PALETTE) % len(DASHES)]
            panel.plot(values.index, values, color=color(number), ls=dashes, lw=1.2, drawstyle=style, label=label)
    if log:
        logarithmic(panel, "y")
    elif not dotted:
        panel.set_ylim(bottom=0)
