"""Comparison of runs in panels of one figure, with the same picture of each run."""

from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import signature
from typing import Any, Final, Literal, get_args

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.errors import ScenarioError, nearest
from longpipe.pictures.delay import AT_EDGE, delay, drops
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.overlays import check_number, check_stacked, one_flow
from longpipe.pictures.ports import SHORT, default_port, use_of_ports
from longpipe.pictures.queue import ACKS, queue, queue_by_flow
from longpipe.pictures.rates import rates, rates_rows
from longpipe.pictures.recorded import (
    SENDER_LACKS,
    EmptyPictureError,
    Run,
    check_flows,
    check_port,
    flow_names,
    name_of,
    of_flows,
    shown_s,
    trace,
)
from longpipe.pictures.rtt import WITH_RTO, rtt, rtt_rows
from longpipe.pictures.sequence import sequence, sequence_rows
from longpipe.pictures.share import shares
from longpipe.pictures.style import PALETTE, figure_of, font_points, legend, one_legend, plain, title_of, titled
from longpipe.pictures.throughput import INTERVALS, averaged, throughput
from longpipe.pictures.window import window, window_rows

Kind = Literal["window", "sequence", "queue", "throughput", "rates", "rtt", "delay", "drops", "shares"]

# Sizes by which the flows of a picture of several flows are selected.
_LARGEST: Final = {"throughput": "most data", "shares": "most data", "delay": "most packets", "queue": "largest queue"}
# Pictures that show a single flow; all others show several flows. The rows of a trace are those that are drawn.
_OF_ONE: Final[Mapping[str, tuple[Callable[..., Figure], str]]] = {
    "window": (window, "congestion window and slow start threshold"),
    "sequence": (sequence, "segments and ACKs"),
    "rates": (rates, "rates of transmission and of arrival"),
    "rtt": (rtt, "round trips"),
}
_ROWS: Final[Mapping[str, Callable[[Run, tuple[float, float] | None], pd.DataFrame]]] = {
    "window": window_rows,
    "sequence": sequence_rows,
    "rates": rates_rows,
    "rtt": rtt_rows,
}
# Arguments of pictures that are arguments of a comparison, too, or that a comparison sets.
_OWN: Final = frozenset({"run", "runs", "kind", "flows", "span_s", "ax", "note", "others"})
# What the first flow lacks if another one is shown.
_LACKS: Final = {**SENDER_LACKS, "rates": "data"}
_OF_SEVERAL: Final[Mapping[str, tuple[Callable[..., Figure], str]]] = {
    "throughput": (throughput, "data arrived"),
    "queue": (queue, "buffer by flow"),
    "delay": (delay, "queueing delay{of}"),
    "drops": (drops, "packets{of} lost or marked"),
    "shares": (shares, "shares of the data arrived"),
}


@with_literal_texts
def compare(
    runs: Mapping[str, Run],
    kind: Kind = "window",
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    **options: Any,  # noqa: ANN401 - those of the picture
) -> Figure:
    """Draws the same picture of several runs, in one panel each, titled by the keys; panels with one unit share axes.

    Window, sequence, rates and rtt show one flow, by default the first that has data in any run, in segments where the
    unit would be bytes; throughput, shares, delay and queue show up to eight, by default the largest over all runs.
    `options` are those of the picture: `port`, `interval_s`, `unit`, `rto`.

    Raises ScenarioError for an option that the picture does not have. `overlay` draws the runs as lines on the same
    axes.
    """
    if kind not in get_args(Kind):
        raise ScenarioError(f"kind: {kind!r}; {nearest(str(kind), get_args(Kind))}")
    check_number(len(runs))
    picture, what = {**_OF_ONE, **_OF_SEVERAL}[kind]
    _check_options(kind, picture, options)
    for run in runs.values():
        check_flows(run.scenario, flows)
    names, note = _flows(kind, flows, runs, span_s)
    what, omitted, options = _what(kind, what, names, runs, span_s, options)
    figure = figure_of(max(4.4, 2.4 * len(runs) + 0.8))
    axes = list(figure.subplots(len(runs), 1, sharex=True, squeeze=False)[:, 0])
    nothing: list[EmptyPictureError] = []
    for panel, (label, run) in zip(axes, runs.items(), strict=True):
        plain(panel)
        panel.set_title(label, loc="left", fontsize=font_points(10))
        try:
            with one_legend():
                picture(run, span_s=span_s, ax=panel, **options)
        except EmptyPictureError as error:
            panel.set_title(f"{label}: {error.short}", loc="left", fontsize=font_points(10))
            nothing.append(error)
            continue
        if remark := _remark(kind, panel, names):
            panel.set_title(f"{label}: {remark}", loc="left", fontsize=font_points(10))
        panel.set_title("")
    if len(nothing) == len(runs):
        raise nothing[0]
    _complete(axes)
    spans = [shown_s(run, span_s) for run in runs.values()]
    axes[-1].set_xlim(min(begin for begin, _ in spans), max(end for _, end in spans))
    _alike(axes)
    called = dict.fromkeys(name_of(run) for run in runs.values())
    title_of(figure, titled(f"{', '.join(called)}: {what}", note or omitted))
    legend(figure, axes)
    return figure


def _check_options(kind: str, picture: Callable[..., Figure], options: Collection[str]) -> None:
    accepted = [name for name in signature(picture).parameters if name not in _OWN]
    for name in options:
        if name not in accepted:
            raise ScenarioError(f"{name}: not an option of {kind}; {nearest(name, accepted)}")


def _what(
    kind: str,
    what: str,
    names: list[str],
    runs: Mapping[str, Run],
    span_s: tuple[float, float] | None,
    options: dict[str, Any],
) -> tuple[str, str, dict[str, Any]]:
    """Returns what a picture shows, a note on omitted flows, and the picture's options, which all runs share."""
    if kind in _OF_ONE:
        options = {"flows": names, **({} if kind in ("rates", "rtt") else {"unit": "segments"}), **options}
        return f"{WITH_RTO if options.get('rto') else what} of {names[0]}", "", options
    if kind in SHORT:
        options = {**options, "port": _shown_port(kind, names, runs, options.get("port"), span_s)}
        what = f"{what.format(of=of_flows(names))} at {options['port']}"
    selected, note = _chosen(kind, names, runs, span_s, options.get("port"))
    if kind in ("throughput", "shares"):
        lengths = {end - begin for begin, end in (shown_s(run, span_s) for run in runs.values())}
        # All runs use the same interval, so that their points can be compared.
        options = {"interval_s": max(lengths) / INTERVALS, **options}
        what = f"{what}, {averaged(options['interval_s'])}"
    return what, note, {**selected, **options}


def _shown_port(
    kind: str, flows: list[str], runs: Mapping[str, Run], port: str | None, span_s: tuple[float, float] | None
) -> str:
    """Returns the port that all panels show; raises ScenarioError if there is nothing to show in any run."""
    if port is None:
        return default_port(runs.values(), kind, flows, span_s)
    check_port(next(iter(runs.values())).scenario, port)
    used = {str(name) for run in runs.values() for name in use_of_ports(run, kind, flows, span_s).index}
    if port not in used:
        of = of_flows(flows)
        raise EmptyPictureError(
            f"port: {port!r}: {SHORT[kind]}{of} in all runs; {nearest(port, sorted(used))}", SHORT[kind]
        )
    return port


def _complete(axes: Sequence[Axes]) -> None:
    """Gives empty panels the vertical axis of the others, and leaves the labels of the time axis to the last panel."""
    drawn = next((panel for panel in axes if panel.has_data()), axes[0])
    for panel in axes:
        if not panel.has_data():
            panel.set(ylabel=drawn.get_ylabel(), yscale=drawn.get_yscale(), ylim=drawn.get_ylim())
        panel.label_outer()
    axes[-1].set_xlabel(drawn.get_xlabel() or "time [s]")


def _remark(kind: str, panel: Axes, flows: Sequence[str]) -> str:
    """Returns what the title of a panel adds: counts of drops, or the selected flows without data; "" if none."""
    if kind == "drops":
        return _counts(panel)
    if kind in ("throughput", "rates"):
        drawn = any(np.nan_to_num(line.get_ydata()).any() for line in panel.lines)
        return "" if drawn else "no data arrived"
    if kind == "delay":
        labels = {str(line.get_label()) for line in panel.lines}
        absent = [name for name in flows if name not in labels]
        return ", ".join(filter(None, [f"no packet{of_flows(absent)}" if absent else "", _unwaiting(panel)]))
    return ""


def _unwaiting(panel: Axes) -> str:
    """Moves the number of packets without delay from the label, which all panels share, to the returned text."""
    for line in panel.lines:
        mark, _, count = str(line.get_label()).partition(": ")
        if mark == AT_EDGE:
            line.set_label(mark)
            return f"no delay: {count}"
    return ""


def _counts(panel: Axes) -> str:
    """Moves the counts of a panel of drops from the labels, which all panels share, to the returned text."""
    found = []
    for bars in panel.containers:
        cause, _, count = str(bars.get_label()).rpartition(": ")
        bars.set_label(cause)
        found.append(f"{count} {cause}")
    return ", ".join(found)


def _flows(
    kind: str, flows: Sequence[str] | None, runs: Mapping[str, Run], span_s: tuple[float, float] | None
) -> tuple[list[str], str]:
    """Returns the flows given, or the first flow with data for a picture of a single one, and a note that states it."""
    check_stacked(kind, flows)
    if kind not in _OF_ONE:
        return list(flows or ()), ""
    return one_flow(kind, flows, runs, lambda run: _ROWS[kind](run, span_s), _LACKS[kind])


def _chosen(
    kind: str, names: list[str], runs: Mapping[str, Run], span_s: tuple[float, float] | None, port: str | None
) -> tuple[dict[str, Any], str]:
    """Returns options with the flows to draw, and a note on omitted ones: by default the largest over all runs.

    The selection and its order are the same in every panel, so that each flow has the same colour in all of them.
    """
    known = list(dict.fromkeys(name for run in runs.values() for name in flow_names(run.scenario)))
    if names or kind == "drops":
        return ({"flows": names} if names else {}), ""
    if len(known) <= len(PALETTE):
        return ({} if kind == "queue" else {"flows": known}), ""
    sizes: dict[str, float] = dict.fromkeys(known, 0.0)
    for run in runs.values():
        for name, size in _sizes(kind, run, span_s, port).items():
            sizes[str(name)] = sizes.get(str(name), 0.0) + float(size)
    largest = sorted(known, key=lambda name: -sizes[name])[: len(PALETTE)]
    flows = [name for name in known if name in largest]
    note = f"the {len(flows)} of {len(known)} flows with the {_LARGEST[kind]} in all runs"
    return {"flows": flows, **({"others": True} if kind in ("throughput", "shares") else {})}, note


def _sizes(kind: str, run: Run, span_s: tuple[float, float] | None, port: str | None) -> pd.Series:
    """Returns the size of each flow by which the flows to draw are selected, in the time span."""
    begin_s, end_s = shown_s(run, span_s)
    if kind == "queue" and port:
        if port not in use_of_ports(run, kind).index:
            return pd.Series(dtype=float)
        return queue_by_flow(run, port, span_s, most=None).drop(columns=ACKS, errors="ignore").mean()
    rows = trace(run, "delay" if kind == "delay" else "arrivals")
    rows = rows[rows["time_s"].between(begin_s, end_s)]
    by_flow = rows.groupby(rows["flow"].astype(str))
    return by_flow.size() if kind == "delay" else by_flow["bytes"].sum()


def _alike(axes: Sequence[Axes]) -> None:
    """Sets a common vertical range if all panels have the same unit and scale."""
    if len({(panel.get_ylabel(), panel.get_yscale()) for panel in axes}) == 1:
        low, high = zip(*(panel.get_ylim() for panel in axes), strict=True)
        for panel in axes:
            panel.set_ylim(min(low), max(high))
