"""Rate, delay, outages and losses of time-varying links."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.errors import ScenarioError
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind
from longpipe.pictures.route import of_route, read, routes
from longpipe.pictures.style import DASHES, OUTAGE, color, legend, panels, titled
from longpipe.scenario.coding import es_n0
from longpipe.scenario.network import Graph, Link
from longpipe.scenario.spread import AT_ONCE_BPS
from longpipe.scenario.topology import links_of
from longpipe.scenario.variations import Coded

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

PS: Final = 1e12
PARTS_OF_DB: Final = 1e9
# Maximum number of intervals over each of which the rate of a schedule's opportunities is averaged.
PARTS: Final = 400
# Bound on the rounding errors of times [s].
_ROUNDED_S: Final = 1e-9
# Ratio of the top of a panel to its largest value, so that a line at the maximum is drawn in its full width.
ABOVE: Final = 1.05


def path_series(scenario: Scenario, span_s: tuple[float, float] | None = None) -> dict[str, pd.DataFrame]:
    """Returns the series of each time-varying link by name; for a changing route, the series of the route instead.

    There is a row for each time at which a property changes. Columns: `time_s`; `rate_bps` from then on (for a
    schedule, the mean over an `interval_s` of the time span, by default of the run); `delay_s` at that time; `loss`,
    the loss probability from then on; `out`, whether an outage begins or continues; and, for a link with adaptive
    coding, `esn0_db` at that time. If the delay jumps or a route changes, there are two rows with the same time, the
    first of which has the previous delay. While there is no route, `delay_s` is absent. No random numbers are drawn.
    """
    resolved = scenario.resolved
    names = [node["name"] for node in resolved["nodes"]]
    end_s = resolved["duration_ps"] / PS
    changing = [flow for flow in resolved["flows"] if "rerouting" in flow]
    of_changing = {
        link
        for flow in changing
        for direction in ("route", "return_route")
        for route in routes(flow, direction)
        for link in route.links
    }
    links = links_of(scenario.network)
    network = scenario.network
    own_names = {node.name for node in network.nodes} if isinstance(network, Graph) else set()
    transmitters = _transmitters(resolved, {k for k, name in enumerate(names) if name in own_names})
    return {flow["name"]: of_route(resolved, flow, end_s) for flow in changing} | {
        f"{names[link['from']]}->{names[link['to']]}": _of_link(
            {**link, "rate_bps": transmitters.get(link["from"], link["rate_bps"])},
            _path_of(links.get(k // 2), k % 2 == 1),
            end_s,
            span_s or (0.0, end_s),
        )
        for k, link in enumerate(resolved["links"])
        if "motion" in link and k not in of_changing
    }


def _transmitters(resolved: Mapping[str, Any], own: Set[int]) -> dict[int, int]:
    """Returns the rate [bit/s] of each transmitter over satellites, by the node behind it.

    The radio links from this node have the delay of their distance, and pass packets at once. `own` are the nodes of
    the scenario, before which there are no transmitters.
    """
    links = resolved["links"]
    radio = {k for k, link in enumerate(links) if link["rate_bps"] == AT_ONCE_BPS and "motion" in link}
    behind = {links[k]["from"] for k in radio} - own
    return {link["to"]: link["rate_bps"] for k, link in enumerate(links) if link["to"] in behind and k not in radio}


def _path_of(link: Link | None, is_back: bool) -> object:
    """Returns the path of a direction of a link; None if the link is not one of the scenario."""
    return link and ((link.return_path if is_back else None) or link.path)


def interval_s(span_s: tuple[float, float]) -> float:
    """Returns the length [s] of intervals: the shortest 1, 2 or 5 times a power of ten that gives at most PARTS."""
    minimum_s = (span_s[1] - span_s[0]) / PARTS
    power = 10.0 ** math.floor(math.log10(minimum_s))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= minimum_s * (1 - 1e-9))


def _of_link(link: dict[str, Any], path: object, end_s: float, span_s: tuple[float, float]) -> pd.DataFrame:
    """Returns the series of a resolved link, whose `path` in the scenario also has the Es/N0 of adaptive coding."""
    motion = link["motion"]
    coded = np.array(es_n0("path", path), dtype=float) if isinstance(path, Coded) else np.empty((0, 2))
    esn0_s, esn0_db = coded[:, 0] / PS, coded[:, 1] / PARTS_OF_DB
    rate = pd.Series(dict(_rates(motion.get("service"), link["rate_bps"], end_s, span_s)), name="rate_bps", dtype=float)
    outages = motion.get("outages", {"intervals_ps": []})["intervals_ps"]
    out_at = {0.0: False} | {
        at / PS: begins for outage in outages for at, begins in zip(outage, (True, False), strict=True)
    }
    out = pd.Series(out_at, name="out", dtype=bool)
    steps = link["loss"].get("steps_ps", []) if link["loss"]["kind"] == "over-time" else []
    loss = pd.Series({0.0: 0.0} | {at / PS: share for at, share in steps}, name="loss", dtype=float)
    knots = motion.get("delay", {"knots_ps": [[0, link["delay_ps"]]], "between": "hold"})
    knot_s, delay_s = np.array(knots["knots_ps"], dtype=float).T / PS
    times = np.unique(np.concatenate([rate.index, out.index, loss.index, knot_s, esn0_s, [end_s]]))
    times = times[times <= end_s]
    table = pd.DataFrame(index=pd.Index(times, name="time_s"))
    for series in (rate, loss, out):
        table[series.name] = series.sort_index().reindex(times, method="ffill")
    table["delay_s"] = read(times, knot_s, delay_s, linear=knots["between"] == "linear")
    columns = ["time_s", "rate_bps", "delay_s", "loss", "out"]
    if isinstance(path, Coded):
        table["esn0_db"] = read(times, esn0_s, esn0_db, linear=path.between == "linear")
        columns.append("esn0_db")
    linear = knots["between"] == "linear"
    jumps = knot_s[1:][(np.diff(knot_s) == 0) & (knot_s[1:] <= end_s)] if linear else np.empty(0)
    if jumps.size:
        # Of two points at one time, `read` returned the second one; a row with the first one precedes it.
        previous_rows = table.loc[np.unique(jumps)]
        first_points = np.searchsorted(knot_s, previous_rows.index.to_numpy(), side="left")
        table = pd.concat([previous_rows.assign(delay_s=delay_s[first_points]), table]).sort_index(kind="stable")
    table.attrs["drawn"] = "default" if linear else "steps-post"
    return table.reset_index(names="time_s")[columns]


def _rates(
    service: dict[str, Any] | None, constant_bps: int, end_s: float, span_s: tuple[float, float]
) -> Iterator[tuple[float, float]]:
    """Yields times, each with the rate from that time on."""
    if service is None:
        yield 0.0, constant_bps
    elif service["kind"] == "steps":
        cycle_s = service.get("cycle_ps", 0) / PS
        for cycle in range(int(end_s // cycle_s) + 1 if cycle_s else 1):
            yield from ((cycle * cycle_s + at / PS, rate) for at, rate in service["steps"])
    else:
        instants_s = np.array(service["instants_ps"], dtype=float) / PS
        width = interval_s(span_s)
        first, last = math.floor(span_s[0] / width + 1e-9), math.ceil(min(span_s[1], end_s) / width - 1e-9)
        edges = np.minimum(np.arange(first, last + 1) * width, end_s)
        # A schedule repeats after its last opportunity.
        cycles_s = np.arange(int(end_s // instants_s[-1]) + 1) * instants_s[-1]
        # The opportunity at the end of an interval belongs to it, because schedules begin at 1 ms, not at 0.
        opportunities = np.searchsorted((cycles_s[:, None] + instants_s).ravel(), edges + _ROUNDED_S, side="right")
        rates = 8 * service["bytes"] * np.diff(opportunities) / np.diff(edges)
        yield from zip(edges[:-1].tolist(), rates.tolist(), strict=True)


@with_literal_texts
def path(scenario: Scenario, span_s: tuple[float, float] | None = None, called: str | None = None) -> Figure:
    """Draws the rate, delay and, if present, Es/N0 and loss of each time-varying link or route; outages are shaded.

    Lines have different dashes, so that equal ones, such as both directions of a link, remain visible. `called` is the
    scenario's name in the title, by default its own. Raises ScenarioError if no link varies over time.
    """
    tables = path_series(scenario, span_s)
    if not tables:
        waiting = _accesses(scenario)
        grants = f"; the picture grants shows the waits at {', '.join(waiting)}" if waiting else ""
        raise ScenarioError(f"path: no link is time-varying; needs network.path, or path of a link in a graph{grants}")
    lossy = any((table["loss"] > 0).any() for table in tables.values())
    end_s = max(float(table["time_s"].iloc[-1]) for table in tables.values())
    coded = any("esn0_db" in table for table in tables.values())
    shown_span_s = span_s or (0.0, end_s)
    links = scenario.resolved["links"]
    scheduled = any(link.get("motion", {}).get("service", {}).get("kind") == "opportunities" for link in links)
    notes = [f"rates of schedules are means over {interval_s(shown_span_s):g} s each"] if scheduled else []
    if waiting := _accesses(scenario):
        notes.append(f"without waits for transmissions at {', '.join(waiting)} (picture grants)")
    title = titled(f"{called or scenario.name}: links over time", "; ".join(notes))
    figure, axes = panels(2 + lossy + coded, title, shown_span_s)
    # The panel of Es/N0, if there is one, is above the others.
    below = axes[coded:]
    for number, (name, table) in enumerate(tables.items()):
        line_style: dict[str, Any] = {"color": color(number), "ls": DASHES[number % len(DASHES)], "lw": 1.1}
        _draw(below, table, line_style, name)
        if "esn0_db" in table:
            axes[0].plot(table["time_s"], table["esn0_db"], **line_style)
    _shade_outages(list(axes), list(tables.values()), end_s)
    below[0].set_ylabel("rate [Mbit/s]")
    below[1].set_ylabel("delay [ms]")
    for panel in below:
        panel.set_ylim(0, ABOVE * _largest(panel) or None)
    if coded:
        axes[0].set_ylabel("Es/N0 [dB]")
    legend(figure, [below[0]])
    return figure


def _accesses(scenario: Scenario) -> list[str]:
    """Returns the names of the directed links with medium access, whose delays depend on the traffic."""
    resolved = scenario.resolved
    names = [node["name"] for node in resolved["nodes"]]
    return [f"{names[link['from']]}->{names[link['to']]}" for link in resolved["links"] if "access" in link]


def _shade_outages(axes: list[Axes], tables: list[pd.DataFrame], end_s: float) -> None:
    """Shades the outages of all links in all panels, with one entry for the legend."""
    label = "outage"
    for table in tables:
        begins = table["time_s"][table["out"] & ~table["out"].shift(fill_value=False)]
        ends = table["time_s"][~table["out"] & table["out"].shift(fill_value=False)]
        for begin, end in zip(begins, [*ends, end_s], strict=False):
            for panel in axes:
                panel.axvspan(begin, end, label=label, **OUTAGE)
            # Matplotlib's legends omit labels that begin with an underscore.
            label = "_"


def _largest(panel: Axes) -> float:
    """Returns the largest value that the lines of a panel show; 0 if there is none."""
    return max((float(np.nanmax(y)) for line in panel.lines if np.isfinite(y := line.get_ydata()).any()), default=0.0)


def _draw(axes: list[Axes], table: pd.DataFrame, line_style: dict[str, Any], name: str) -> None:
    rate = table["rate_bps"].where(~table["out"], 0.0)
    axes[0].step(table["time_s"], rate / 1e6, where="post", label=name, **line_style)
    axes[1].plot(table["time_s"], 1e3 * table["delay_s"], drawstyle=table.attrs["drawn"], **line_style)
    if len(axes) > 2:
        axes[2].step(table["time_s"], table["loss"], where="post", **line_style)
        axes[2].set_ylabel("probability of a loss")


PICTURES: Final = {"path": Kind(draw=path, of="links")}
