"""Occupancy of a switch port's buffer by flow over time."""

from collections.abc import Hashable, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.errors import nearest
from longpipe.pictures.changes import mark_changes
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind
from longpipe.pictures.ports import PortMeasure, default_port, measured_ports
from longpipe.pictures.recorded import (
    EmptyPictureError,
    Run,
    as_steps,
    check_flows,
    check_port,
    flow_names,
    name_of,
    shown_s,
    trace,
)
from longpipe.pictures.style import GREY, MAX_SHAPES, PALETTE, color, legend, panels

MAX_FLOWS = 8
OTHERS, ACKS = "others", "ACKs"
OCCUPANCY = PortMeasure(
    # The time span is ignored, because a sample before it may still hold in it.
    rows=lambda run, _span: trace(run, "vc_queue"),
    per_port=lambda rows: rows.groupby(rows["port"].astype(str))[
        "queue_packets" if "queue_packets" in rows else "queue_cells"
    ].max(),
    no_port="all were empty at every sample; needs a queue, or a shorter vc_queue_interval",
    no_port_of_flows="was in a buffer at any sample; needs another flow",
    empty_title="always empty",
)


def queue_by_flow(
    run: Run,
    port: str,
    span_s: tuple[float, float] | None = None,
    *,
    most: int | None = MAX_FLOWS,
    flows: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Returns the occupancy of a port's buffer over time_s, with a column for each flow's data and one for all ACKs.

    The unit is cells, or packets if the framing is ip. All flows except the `most` largest are summed as others; None
    shows all flows. `flows` names the flows with a column instead.
    """
    samples = trace(run, "vc_queue")
    unit = "queue_packets" if "queue_packets" in samples else "queue_cells"
    samples = samples[samples["port"] == port]
    holders = samples["flow"].astype(str).where(~samples["acks"].astype(bool), ACKS + samples["flow"].astype(str))
    steps = samples.assign(holder=holders).pivot_table(unit, "time_s", "holder", observed=True, sort=False)
    steps = steps.sort_index().ffill().fillna(0)
    is_ack = steps.columns.str.startswith(ACKS)
    data = steps.loc[:, ~is_ack]
    ranked = list(data.mean().sort_values(ascending=False, kind="stable").index)
    shown_flows = [name for name in data.columns if name in (ranked[:most] if flows is None else flows)]
    occupancy = data[sorted(shown_flows, key=_natural)].copy()
    if merged := [name for name in ranked if name not in shown_flows]:
        occupancy[f"{len(merged)} {OTHERS}"] = data[merged].sum(axis=1)
    if is_ack.any():
        occupancy[ACKS] = steps.loc[:, is_ack].sum(axis=1)
    return as_steps(occupancy.reset_index(), shown_s(run, span_s)).set_index("time_s")


@with_literal_texts
def queue(
    run: Run,
    port: str | None = None,
    span_s: tuple[float, float] | None = None,
    *,
    most: int | None = MAX_FLOWS,
    flows: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draws a switch port's buffer by flow, stacked, from `traces.vc_queue`; default: the port with the longest queue.

    Shows the `most` flows with the largest occupancy, and the sum of all others; None shows all flows. `flows`
    names the flows to show instead; then the default is a port that they used.
    """
    check_flows(run.scenario, flows)
    check_port(run.scenario, port)
    samples = trace(run, "vc_queue")
    unit = "packets" if "queue_packets" in samples else "cells"
    if port is None:
        port = default_port([run], OCCUPANCY, flows)
    elif port not in (filled := [*map(str, measured_ports(run, OCCUPANCY).index)]):
        raise EmptyPictureError(f"port: {port!r} was always empty; {nearest(port, filled)}", OCCUPANCY.empty_title)
    occupancy = queue_by_flow(run, port, span_s, most=most, flows=flows)
    if not occupancy.to_numpy().any():
        raise EmptyPictureError(
            f"port: {port!r} was empty in the time shown; needs another port or time", OCCUPANCY.empty_title
        )
    figure, (panel,) = panels(1, f"{name_of(run)}: buffer of {port}", shown_s(run, span_s), height=3.6, ax=ax)
    sums = [name for name in occupancy.columns if name == ACKS or name.endswith(OTHERS)]
    names = flow_names(run.scenario)
    # A flow's color is that of its place in this order. With few flows, or with named ones, the order is the same in
    # every run, so that a flow has the same color in all panels of a comparison.
    order = list(flows) if flows is not None else names if len(names) <= len(PALETTE) else list(occupancy.columns)
    colors = [GREY if name in sums else color(order.index(name)) for name in occupancy.columns]
    panel.stackplot(
        occupancy.index,
        occupancy.to_numpy().T,
        step="post",
        labels=list(occupancy.columns),
        colors=colors,
        linewidth=0,
        rasterized=occupancy.size > MAX_SHAPES,
    )
    capacity = _capacity(run, port, unit)
    if capacity is not None:
        panel.axhline(capacity, color="black", lw=1, ls="--", label=f"limit, {capacity} {unit}")
    mark_changes(panel, run, span_s)
    panel.set_ylim(bottom=0)
    panel.set_ylabel(f"held [{unit}]")
    legend(figure, [panel], ax)
    return figure


def _capacity(run: Run, port: str, unit: str) -> int | None:
    """Returns the limit of a port's buffer if it is finite and in this unit, otherwise None."""
    resolved = run.scenario.resolved
    names = [node["name"] for node in resolved["nodes"]]
    for link in resolved["links"]:
        if f"{names[link['from']]}->{names[link['to']]}" == port and link["buffer"]:
            return int(link["buffer"]["limit"]) if link["buffer"]["unit"] == unit else None
    return None


def _natural(column: Hashable) -> tuple[str, int]:
    """Returns a key that sorts names by their final number: flow2 before flow10, and a name without a number first."""
    name = str(column)
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :] or -1)


def _mean_held(run: Run, span_s: tuple[float, float], port: str | None) -> pd.Series:
    """Returns the mean occupancy of a port's buffer by each flow."""
    if port is None or port not in measured_ports(run, OCCUPANCY).index:
        return pd.Series(dtype=float)
    return queue_by_flow(run, port, span_s, most=None).drop(columns=ACKS, errors="ignore").mean()


PICTURES = {
    "queue": Kind(
        draw=queue,
        of="port",
        traces=("vc_queue",),
        title="buffer by flow",
        adds_flows=True,
        no_overlay="queue stacks the flows of one run",
        selects_flows=False,
        port_measure=OCCUPANCY,
        sizes=_mean_held,
        largest="largest queue",
    )
}
