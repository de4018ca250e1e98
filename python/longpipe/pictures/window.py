"""cwnd and ssthresh over time."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.pictures.recorded import Run, as_steps, chosen, of_flow, shown_s, trace
from longpipe.pictures.style import BLUE, GREY, VERMILION, byte_unit, legend, panels, titled

MOST_FLOWS = 5
# Height of a panel over the largest window.
NEAR = 1.12


def window_steps(run: Run, flow: str, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """A flow's windows as steps: time_s, cwnd_bytes, ssthresh_bytes; an unlimited threshold is nan."""
    rows = of_flow(trace(run, "cwnd"), flow)[["time_s", "cwnd_bytes", "ssthresh_bytes"]]
    return as_steps(rows.replace({"ssthresh_bytes": {np.inf: np.nan}}), shown_s(run, span_s))


def window(
    run: Run,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    *,
    most: int | None = MOST_FLOWS,
    ax: Axes | None = None,
) -> Figure:
    """Cwnd and ssthresh of each flow, a panel each, from `traces.cwnd`; the receiver's window where it is near.

    Without `flows`, of the `most` with the largest windows; None for all.
    """
    largest = trace(run, "cwnd").groupby("flow", observed=True)["cwnd_bytes"].max()
    names, note = chosen(run, flows, most, largest, "largest windows")
    steps = {name: window_steps(run, name, span_s) for name in names}
    limits = {flow["name"]: flow["tcp"]["receiver_window_bytes"] for flow in run.scenario.resolve()["flows"]}
    title = titled(f"{run.scenario.name}: congestion window and slow start threshold", note)
    figure, axes = panels(len(names), title, shown_s(run, span_s), ax=ax)
    top = max(1.0, *(frame["cwnd_bytes"].max() for frame in steps.values() if len(frame)))
    divisor, unit = byte_unit(top)
    for panel, name in zip(axes, names, strict=True):
        frame = steps[name]
        panel.step(frame["time_s"], frame["cwnd_bytes"] / divisor, where="post", color=BLUE, lw=1.1, label="cwnd")
        threshold = frame["ssthresh_bytes"] / divisor
        panel.step(frame["time_s"], threshold, where="post", color=VERMILION, lw=1.1, ls="--", label="ssthresh")
        if limits[name] <= NEAR * top:
            panel.axhline(limits[name] / divisor, color=GREY, lw=0.9, ls=":", label="receiver's window")
        panel.set_ylim(0, NEAR * top / divisor)
        panel.set_ylabel(f"{name} [{unit}]")
    legend(figure, axes, ax)
    return figure
