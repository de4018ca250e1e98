"""Distributions of completion times and slowdowns of arriving flows."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.errors import ScenarioError
from longpipe.metrics.slowdowns import ALL, by_size
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind
from longpipe.pictures.recorded import Completing, check_flows, name_of, of_flows, rows_of
from longpipe.pictures.style import DASHES, PALETTE, color, figure_of, legend, logarithmic, plain, title_of


def completion_points(
    run: Completing, flows: Sequence[str] | None = None, span_s: tuple[float, float] | None = None
) -> pd.DataFrame:
    """Returns the completed flows: flow, size_bytes, arrival_s, time_s (until completion) and slowdown.

    `flows` selects flows of the scenario, and `span_s` selects those that arrived within a time span.
    """
    check_flows(run.scenario, flows)
    rows = run.completions
    rows = rows[rows["slowdown"].notna()]
    rows = rows_of(rows, flows)
    if span_s is not None:
        rows = rows[rows["arrival_s"].between(*span_s)]
    if not len(rows):
        raise ScenarioError("traffic: no arriving flow is complete; needs kind = 'flow-arrivals' and a longer run")
    rows = rows.assign(time_s=rows["completion_s"] - rows["arrival_s"])
    return rows[["flow", "size_bytes", "arrival_s", "time_s", "slowdown"]].reset_index(drop=True)


@with_literal_texts
def slowdowns(
    runs: Completing | Mapping[str, Completing],
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
) -> Figure:
    """Draws the cumulative distributions of completion time and slowdown of arriving flows.

    One run is drawn with a line for each size class and one for all flows; several runs are drawn with one line each,
    labeled with the run's key.
    """
    several = runs if isinstance(runs, Mapping) else {"": runs}
    if len(several) > 1:
        lines = {label: completion_points(run, flows, span_s) for label, run in several.items()}
    else:
        lines = dict(by_size(completion_points(next(iter(several.values())), flows, span_s)))
        if len(lines) == 2:
            # All flows are in one size class, so the line for all flows would repeat it.
            lines.pop(ALL)
    figure = figure_of(4.4)
    left, right = figure.subplots(1, 2, sharey=True)
    for number, (label, rows) in enumerate(lines.items()):
        for panel, column in ((left, "time_s"), (right, "slowdown")):
            _step(panel, rows[column].to_numpy(), label, number)
    for panel, text in ((left, "completion time [s]"), (right, "slowdown")):
        plain(panel)
        logarithmic(panel, "x")
        panel.set_ylim(0, 1)
        panel.set_xlabel(text)
    left.set_ylabel("share of flows up to this value")
    called = ", ".join(dict.fromkeys(name_of(run) for run in several.values()))
    title_of(figure, f"{called}: completion times of arriving flows{of_flows(flows)}")
    if len(lines) > 1:
        legend(figure, [left])
    return figure


def _step(panel: Axes, values: npt.NDArray[np.float64], label: str, number: int) -> None:
    """Draws an empirical distribution; the line for all flows is black."""
    ordered = np.sort(values)
    shares = np.arange(1, len(ordered) + 1) / len(ordered)
    panel.step(
        ordered,
        shares,
        where="post",
        color="black" if label == ALL else color(number),
        ls="-" if label == ALL else DASHES[number // len(PALETTE) % len(DASHES)],
        lw=1.8 if label == ALL else 1.2,
        label=label,
    )


PICTURES = {"slowdowns": Kind(draw=slowdowns, of="flows")}
