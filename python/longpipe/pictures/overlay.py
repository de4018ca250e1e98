"""Comparison of runs on the same axes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from longpipe.errors import ScenarioError
from longpipe.pictures.queue import busiest, queue_by_flow
from longpipe.pictures.recorded import Run, config_of, flow_names, name_of, shown_s, trace, within
from longpipe.pictures.rtt import rtt_points
from longpipe.pictures.sequence import sequence_events
from longpipe.pictures.style import MOST_SHAPES, Unit, colour, legend, panels, unit_for
from longpipe.pictures.throughput import INTERVALS, averaged, throughput_series
from longpipe.pictures.window import window_steps

Span = tuple[float, float]
# Pictures of a single flow.
_COLUMNS: Final[Mapping[str, tuple[Callable[[Run, str, Span], pd.DataFrame], str, str]]] = {
    "window": (window_steps, "cwnd_bytes", "congestion window"),
    "sequence": (lambda run, flow, span: sequence_events(run, flow, span).acknowledged, "ack_bytes", "acknowledged"),
    "rtt": (
        lambda run, flow, span: within(rtt_points(run, flow).dropna(subset=["rtt_s"]), span),
        "rtt_s",
        "round trip",
    ),
}
OVERLAID: Final = (*_COLUMNS, "queue", "throughput")


def overlay(
    runs: Mapping[str, Run],
    kind: str,
    flows: Sequence[str],
    span_s: Span | None = None,
    *,
    unit: Unit = "segments",
    port: str | None = None,
    interval_s: float | None = None,
) -> Figure:
    """Draws one line per run: cwnd, ACKs or RTTs of one flow, total throughput, or a port's queue.

    Units and checks are as in `pictures.compare`.
    """
    if kind not in OVERLAID:
        raise ScenarioError(f"overlaid: {kind!r} is stacked or has many points; needs one of {', '.join(OVERLAID)}")
    first = next(iter(runs.values()))
    spans = [shown_s(run, span_s) for run in runs.values()]
    span = (min(begin for begin, _ in spans), max(end for _, end in spans))
    interval_s = interval_s or (span[1] - span[0]) / INTERVALS
    if kind == "queue":
        samples = trace(first, "vc_queue")
        counted = "packets" if "queue_packets" in samples else "cells"
        port = port or busiest(samples, f"queue_{counted}")
        drawn = {label: queue_by_flow(run, port, span_s).sum(axis=1) for label, run in runs.items()}
        what, across = f"buffer of {port}", f"held [{counted}]"
    elif kind == "throughput":
        drawn = {
            label: throughput_series(run, flows or flow_names(run.scenario), interval_s, span_s).sum(axis=1) / 1e6
            for label, run in runs.items()
        }
        of = f" of {', '.join(flows)}" if flows else ""
        what, across = f"data arrived{of}, {averaged(interval_s)}", "throughput [Mbit/s]"
    else:
        read, column, called = _COLUMNS[kind]
        found = {
            label: read(run, flows[0], shown_s(run, span_s)).set_index("time_s")[column] for label, run in runs.items()
        }
        divisor, word = 1e-3, "ms"
        if kind != "rtt":
            top = max((float(values.max()) for values in found.values() if len(values)), default=0.0)
            divisor, word = unit_for(unit, top, config_of(first.scenario, flows[0])["mss_bytes"])
        drawn = {label: values / divisor for label, values in found.items()}
        what, across = f"{called} of {flows[0]}", f"{called}, {flows[0]} [{word}]"
    names = dict.fromkeys(name_of(run) for run in runs.values())
    figure, (panel,) = panels(1, f"{', '.join(names)}: {what}", span, height=3.6)
    for number, (label, values) in enumerate(drawn.items()):
        own = colour(number)
        if kind == "rtt":
            (dots,) = panel.plot(values.index, values, ".", ms=2, color=own, label=label)
            dots.set_rasterized(len(values) > MOST_SHAPES)
        else:
            style = "default" if kind == "throughput" else "steps-post"
            panel.plot(values.index, values, color=own, lw=1.2, drawstyle=style, label=label)
    if kind != "rtt":
        panel.set_ylim(bottom=0)
    panel.set_ylabel(across)
    legend(figure, [panel])
    return figure
