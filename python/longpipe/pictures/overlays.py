"""Several runs, or several flows of one run, as lines on the same axes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, NoReturn

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.errors import ScenarioError, nearest
from longpipe.pictures.changes import change_alike, mark_changes
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.ports import default_port
from longpipe.pictures.queue import queue_by_flow
from longpipe.pictures.recorded import (
    MOST_LISTED,
    SENDER_LACKS,
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
    within,
)
from longpipe.pictures.rtt import rtt_points
from longpipe.pictures.sequence import sequence_events, sequence_rows
from longpipe.pictures.style import (
    DASHES,
    MOST_SHAPES,
    PALETTE,
    Unit,
    colour,
    legend,
    logarithmic,
    panels,
    titled,
    unit_for,
)
from longpipe.pictures.throughput import INTERVALS, averaged, draw_capacities, note_on_arrivals, throughput_series
from longpipe.pictures.window import window_rows, window_steps

Span = tuple[float, float]
MOST_FLOWS: Final = len(PALETTE)
MOST_RUNS: Final = 6


class _Line(NamedTuple):
    """A quantity of one flow over time: how to read it from a run, its column, and its name."""

    read: Callable[[Run, str, Span], pd.DataFrame]
    column: str
    called: str
    # Trace and its column by which the largest flows are selected, and their description.
    trace: str
    size: str
    largest: str
    # What a flow lacks that has no line, and the function that returns the rows of the trace that are drawn.
    lacks: str
    rows: Callable[[Run, Span | None], pd.DataFrame]


_LINES: Final[Mapping[str, _Line]] = {
    "window": _Line(
        window_steps, "cwnd_bytes", "congestion window", "cwnd", "cwnd_bytes", "largest windows",
        "congestion window", window_rows,
    ),
    "sequence": _Line(
        lambda run, flow, span: sequence_events(run, flow, span).acknowledged,
        "ack_bytes", "acknowledged", "sequence", "sequence_bytes", "most data",
        "ACKs", lambda run, span: (rows := sequence_rows(run, span))[rows["event"] == 1],
    ),
    "rtt": _Line(
        lambda run, flow, span: within(rtt_points(run, flow).dropna(subset=["rtt_s"]), span),
        "rtt_s", "round trip", "rtt", "rtt_s", "longest round trips",
        "RTT samples", lambda run, span: within(trace(run, "rtt").dropna(subset=["rtt_s"]), span),
    ),
}  # fmt: skip
# Pictures in which several runs, or several flows of one run, can be lines.
OVERLAID: Final = (*_LINES, "queue", "throughput")
FLOWS_OVERLAID: Final = tuple(_LINES)


def line_rows(kind: str, run: Run, span_s: Span | None) -> pd.DataFrame:
    """Returns the rows of the trace from which the line of a flow is drawn; `kind` is in FLOWS_OVERLAID."""
    return _LINES[kind].rows(run, span_s)


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
    most: int | None = MOST_FLOWS,
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
    if kind not in _LINES:
        raise ScenarioError(f"kind: {kind!r}; {nearest(str(kind), FLOWS_OVERLAID)}")
    return _overlay_flows(runs, kind, flows, span_s, most, unit or "bytes", log, ax)


def check_number(runs: int) -> None:
    """Raises ScenarioError for too few or too many runs of a picture."""
    if not 2 <= runs <= MOST_RUNS:
        raise ScenarioError(f"runs: {runs}; needs 2 to {MOST_RUNS}")


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


def check_stacked(kind: str, flows: Sequence[str] | None) -> None:
    """Raises ScenarioError for flows of a picture of queues, which has all of them."""
    if kind == "queue" and flows:
        raise ScenarioError(f"flows: {', '.join(flows)}; not with queue, which stacks all flows")


def _overlay_runs(
    runs: Mapping[str, Run],
    kind: str,
    chosen: Sequence[str] | None,
    span_s: Span | None,
    unit: Unit,
    port: str | None,
    interval_s: float | None,
    log: bool,
    ax: Axes | None,
) -> Figure:
    check_stacked(kind, chosen)
    flows, note = list(chosen or ()), ""
    if kind in _LINES:
        flows, note = one_flow(kind, chosen, runs, lambda run: line_rows(kind, run, span_s), SENDER_LACKS[kind])
    first = next(iter(runs.values()))
    spans = [shown_s(run, span_s) for run in runs.values()]
    span = (min(begin for begin, _ in spans), max(end for _, end in spans))
    interval_s = interval_s or (span[1] - span[0]) / INTERVALS
    if kind == "queue":
        samples = trace(first, "vc_queue")
        counted = "packets" if "queue_packets" in samples else "cells"
        port = port or default_port(runs.values(), "queue")
        drawn = {label: queue_by_flow(run, port, span_s).sum(axis=1) for label, run in runs.items()}
        what, across = f"buffer of {port}", f"held [{counted}]"
    elif kind == "throughput":
        drawn = {
            label: throughput_series(run, flows or flow_names(run.scenario), interval_s, span_s).sum(axis=1) / 1e6
            for label, run in runs.items()
        }
        what, across = f"data arrived{of_flows(flows)}, {averaged(interval_s)}", "throughput [Mbit/s]"
    else:
        drawn, word = _scaled(kind, {label: (run, flows[0]) for label, run in runs.items()}, span_s, unit)
        called = _LINES[kind].called
        what, across = f"{called} of {flows[0]}", f"{called}, {flows[0]} [{word}]"
    if kind == "throughput":
        note = note_on_arrivals(pd.DataFrame(drawn), flows)
    if not note and not any(series.any() for series in drawn.values()):
        _raise_empty(runs, kind, flows, port, span_s)
    if kind == "throughput":
        shown = {label: set(flows or flow_names(run.scenario)) for label, run in runs.items()}
        ended = {label for label, run in runs.items() if shown[label].intersection(getattr(run, "died", ()))}
        drawn = {f"{label}, died" if label in ended else label: series for label, series in drawn.items()}
    # A run without a line is in the legend, with the reason.
    drawn = {label if len(series) else f"{label}: none": series for label, series in drawn.items()}
    names = dict.fromkeys(name_of(run) for run in runs.values())
    figure, (panel,) = panels(1, titled(f"{', '.join(names)}: {what}", note), span, height=3.6, ax=ax)
    _draw(panel, kind, drawn, log=log)
    if change_alike(runs.values(), span):
        mark_changes(panel, first, span)
    if kind == "throughput":
        panel.set_autoscaley_on(True)
        draw_capacities(panel, list(runs.values()), flows, max(float(series.max()) for series in drawn.values()))
        panel.set_ylim(bottom=0)
    panel.set_ylabel(across)
    legend(figure, [panel], ax)
    return figure


def _raise_empty(
    runs: Mapping[str, Run], kind: str, flows: Sequence[str], port: str | None, span_s: Span | None
) -> NoReturn:
    """Raises EmptyPictureError, which lists the flows that have a line, if any have."""
    if kind not in _LINES:
        short = f"no queue at {port}"
        raise EmptyPictureError(f"port: {short} in any run in the time shown; needs another port or time", short)
    short = f"no {_LINES[kind].lacks}{of_flows(flows[:1])}"
    able = flows_with_rows(runs.values(), lambda run: line_rows(kind, run, span_s))
    helps = nearest("", able, MOST_LISTED) if able else "needs a TCP sender, or a longer time"
    raise EmptyPictureError(f"flow: {short} in any run in the time shown; {helps}", short)


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
    line = _LINES[kind]
    rows = trace(run, line.trace)
    sizes = rows.groupby("flow", observed=True)[line.size].max()
    able = line_rows(kind, run, span_s)
    names, note = chosen_senders(run, flows, most, sizes, line.largest, drawn=able, lacks=line.lacks)
    drawn, word = _scaled(kind, {name: (run, name) for name in names}, span_s, unit)
    title = titled(f"{name_of(run)}: {line.called}", note)
    figure, (panel,) = panels(1, title, shown_s(run, span_s), height=3.6, ax=ax)
    _draw(panel, kind, drawn, log=log)
    mark_changes(panel, run, span_s)
    panel.set_ylabel(f"{line.called} [{word}]")
    legend(figure, [panel], ax)
    return figure


def _scaled(
    kind: str, sources: Mapping[str, tuple[Run, str]], span_s: Span | None, unit: Unit
) -> tuple[dict[str, pd.Series], str]:
    """Returns a series for each label, read from a flow of a run, in a common unit, and the unit's name."""
    line = _LINES[kind]
    found = {
        label: line.read(run, flow, shown_s(run, span_s)).set_index("time_s")[line.column]
        for label, (run, flow) in sources.items()
    }
    if kind == "rtt":
        return {label: 1e3 * values for label, values in found.items()}, "ms"
    top = max((float(values.max()) for values in found.values() if len(values)), default=0.0)
    units = {
        label: unit_for(unit, top, config_of(run.scenario, flow)["mss_bytes"]) for label, (run, flow) in sources.items()
    }
    return {label: values / units[label][0] for label, values in found.items()}, next(iter(units.values()))[1]


def _draw(panel: Axes, kind: str, drawn: Mapping[str, pd.Series], *, log: bool) -> None:
    """Draws one line per label; RTT samples are dots. The axis starts at 0 for quantities other than RTTs."""
    for number, (label, values) in enumerate(drawn.items()):
        if kind == "rtt":
            (dots,) = panel.plot(values.index, values, ".", ms=2, color=colour(number), label=label)
            dots.set_rasterized(len(values) > MOST_SHAPES)
        else:
            style = "default" if kind == "throughput" else "steps-post"
            dashes = DASHES[number // len(PALETTE) % len(DASHES)]
            panel.plot(values.index, values, color=colour(number), ls=dashes, lw=1.2, drawstyle=style, label=label)
    if log:
        logarithmic(panel, "y")
    elif kind != "rtt":
        panel.set_ylim(bottom=0)
