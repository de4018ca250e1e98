"""Comparison of runs in panels of one figure, with the same picture of each run."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.errors import ScenarioError, nearest
from longpipe.pictures import KINDS, kind_of
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind
from longpipe.pictures.kinds.throughput import INTERVALS, averaged
from longpipe.pictures.overlays import check_number, check_selected, one_flow
from longpipe.pictures.ports import PortMeasure, default_port, measured_ports
from longpipe.pictures.recorded import (
    EmptyPictureError,
    Run,
    check_flows,
    check_port,
    flow_names,
    name_of,
    of_flows,
    shown_s,
)
from longpipe.pictures.style import PALETTE, figure_of, font_points, legend, one_legend, plain, title_of, titled

# Pictures that a comparison draws in panels.
COMPARED: Final = tuple(name for name in KINDS if kind_of(name).title)
# Parameters of pictures that are not options of a comparison: it has a parameter of the same name, or sets them itself.
_NO_OPTIONS: Final = frozenset({"run", "runs", "kind", "flows", "span_s", "ax", "note", "others"})


@with_literal_texts
def compare(
    runs: Mapping[str, Run],
    kind: str = "window",
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
    if kind not in COMPARED:
        raise ScenarioError(f"kind: {kind!r}; {nearest(str(kind), COMPARED)}")
    check_number(len(runs))
    picture = kind_of(kind)
    _check_options(kind, picture, options)
    for run in runs.values():
        check_flows(run.scenario, flows)
    names, note = _selected_flows(kind, picture, flows, runs, span_s)
    title, omitted, options = _title_and_options(picture, names, runs, span_s, options)
    figure = figure_of(max(4.4, 2.4 * len(runs) + 0.8))
    axes = list(figure.subplots(len(runs), 1, sharex=True, squeeze=False)[:, 0])
    empty: list[EmptyPictureError] = []
    for panel, (label, run) in zip(axes, runs.items(), strict=True):
        plain(panel)
        panel.set_title(label, loc="left", fontsize=font_points(10))
        try:
            with one_legend():
                picture.draw(run, span_s=span_s, ax=panel, **options)
        except EmptyPictureError as error:
            panel.set_title(f"{label}: {error.short}", loc="left", fontsize=font_points(10))
            empty.append(error)
            continue
        if remark := picture.remark(panel, names):
            panel.set_title(f"{label}: {remark}", loc="left", fontsize=font_points(10))
        # Removes the picture's own title, which is centered.
        panel.set_title("")
    if len(empty) == len(runs):
        raise empty[0]
    _complete(axes)
    spans = [shown_s(run, span_s) for run in runs.values()]
    axes[-1].set_xlim(min(begin for begin, _ in spans), max(end for _, end in spans))
    _share_range(axes)
    called = dict.fromkeys(name_of(run) for run in runs.values())
    title_of(figure, titled(f"{', '.join(called)}: {title}", note or omitted))
    legend(figure, axes)
    return figure


def _check_options(kind: str, picture: Kind, options: Collection[str]) -> None:
    accepted = [name for name in picture.options if name not in _NO_OPTIONS]
    for name in options:
        if name not in accepted:
            raise ScenarioError(f"{name}: not an option of {kind}; {nearest(name, accepted)}")


def _title_and_options(
    picture: Kind,
    names: list[str],
    runs: Mapping[str, Run],
    span_s: tuple[float, float] | None,
    options: dict[str, Any],
) -> tuple[str, str, dict[str, Any]]:
    """Returns the title of a comparison, a note on omitted flows, and the options with which all panels are drawn."""
    if picture.of == "flow":
        options = {"flows": names, **({"unit": "segments"} if "unit" in picture.options else {}), **options}
        with_rto = " and retransmission timeout" if options.get("rto") else ""
        return f"{picture.title}{with_rto} of {names[0]}", "", options
    title = picture.title
    if picture.port_measure is not None:
        options = {**options, "port": _shown_port(picture.port_measure, names, runs, options.get("port"), span_s)}
        title = f"{title.format(of=of_flows(names))} at {options['port']}"
    selected, note = _largest_flows(picture, names, runs, span_s, options.get("port"))
    if "interval_s" in picture.options:
        lengths = {end - begin for begin, end in (shown_s(run, span_s) for run in runs.values())}
        # All runs use the same interval, so that their points can be compared.
        options = {"interval_s": max(lengths) / INTERVALS, **options}
        title = f"{title}, {averaged(options['interval_s'])}"
    return title, note, {**selected, **options}


def _shown_port(
    measure: PortMeasure,
    flows: list[str],
    runs: Mapping[str, Run],
    port: str | None,
    span_s: tuple[float, float] | None,
) -> str:
    """Returns the port that all panels show; raises ScenarioError if there is nothing to show in any run."""
    if port is None:
        return default_port(runs.values(), measure, flows, span_s)
    check_port(next(iter(runs.values())).scenario, port)
    ports = {str(name) for run in runs.values() for name in measured_ports(run, measure, flows, span_s).index}
    if port not in ports:
        lacks = f"{measure.empty_title}{of_flows(flows)} in all runs"
        raise EmptyPictureError(f"port: {port!r}: {lacks}; {nearest(port, sorted(ports))}", measure.empty_title)
    return port


def _complete(axes: Sequence[Axes]) -> None:
    """Gives empty panels the vertical axis of the others, and leaves the labels of the time axis to the last panel."""
    panel_with_data = next((panel for panel in axes if panel.has_data()), axes[0])
    for panel in axes:
        if not panel.has_data():
            panel.set(
                ylabel=panel_with_data.get_ylabel(),
                yscale=panel_with_data.get_yscale(),
                ylim=panel_with_data.get_ylim(),
            )
        panel.label_outer()
    axes[-1].set_xlabel(panel_with_data.get_xlabel() or "time [s]")


def _selected_flows(
    kind: str,
    picture: Kind,
    flows: Sequence[str] | None,
    runs: Mapping[str, Run],
    span_s: tuple[float, float] | None,
) -> tuple[list[str], str]:
    """Returns the flows given, or the first flow with data for a picture of a single one, and a note that states it."""
    check_selected(kind, flows)
    rows = picture.rows
    if rows is None:
        return list(flows or ()), ""
    return one_flow(kind, flows, runs, lambda run: rows(run, span_s), picture.lacks)


def _largest_flows(
    picture: Kind, names: list[str], runs: Mapping[str, Run], span_s: tuple[float, float] | None, port: str | None
) -> tuple[dict[str, Any], str]:
    """Returns options with the flows to draw, and a note on omitted ones: by default the largest over all runs.

    The selection and its order are the same in every panel, so that each flow has the same color in all of them.
    """
    flows_of_runs = list(dict.fromkeys(name for run in runs.values() for name in flow_names(run.scenario)))
    if names or picture.sizes is None:
        return ({"flows": names} if names else {}), ""
    if len(flows_of_runs) <= len(PALETTE):
        return ({"flows": flows_of_runs} if picture.selects_flows else {}), ""
    sizes: dict[str, float] = dict.fromkeys(flows_of_runs, 0.0)
    for run in runs.values():
        for name, size in picture.sizes(run, shown_s(run, span_s), port).items():
            sizes[str(name)] = sizes.get(str(name), 0.0) + float(size)
    largest = sorted(flows_of_runs, key=lambda name: -sizes[name])[: len(PALETTE)]
    flows = [name for name in flows_of_runs if name in largest]
    note = f"the {len(flows)} of {len(flows_of_runs)} flows with the {picture.largest} in all runs"
    return {"flows": flows, **({"others": True} if "others" in picture.options else {})}, note


def _share_range(axes: Sequence[Axes]) -> None:
    """Sets a common vertical range if all panels have the same unit and scale."""
    if len({(panel.get_ylabel(), panel.get_yscale()) for panel in axes}) == 1:
        low, high = zip(*(panel.get_ylim() for panel in axes), strict=True)
        for panel in axes:
            panel.set_ylim(min(low), max(high))
