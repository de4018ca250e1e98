"""Delay of a flow's route over time-varying links and changing routes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

PS: Final = 1e12


class Route(NamedTuple):
    """Numbers of the links that a flow's packets cross in order, and the time from which they do."""

    begin_s: float
    links: list[int]


def routes(flow: Mapping[str, Any], direction: str = "route") -> list[Route]:
    """Returns a resolved flow's routes over time; `direction` is "route" for data, "return_route" for ACKs."""
    changes = flow.get("rerouting", {}).get("changes", ())
    return [Route(0.0, flow[direction]), *(Route(change["at_ps"] / PS, change[direction]) for change in changes)]


def of_route(resolved: Mapping[str, Any], flow: Mapping[str, Any], end_s: float) -> pd.DataFrame:
    """Returns the properties of a flow's route until `end_s` [s], with a row for each `time_s`.

    `rate_bps` is the minimum over its links; `delay_s` is the sum, and absent while there is no route; `loss` is 0, and
    `out` is true while there is no route or the host waits for one.
    """
    flow_routes, links = routes(flow), resolved["links"]
    # While its host waits for a new route, the outages are those of the host's own link, the first of every route.
    first_link = links[flow_routes[0].links[0]]
    outages = np.array(first_link.get("motion", {}).get("outages", {}).get("intervals_ps", [])) / PS
    parts = []
    for (begin, route), (end, _) in pairwise([*flow_routes, Route(end_s, [])]):
        delays = [links[link].get("motion", {}).get("delay") for link in route]
        # Times [s] and delays [s] of the points between which the delay of a time-varying link is interpolated.
        knots = [np.array(delay["knots_ps"], dtype=float).T / PS if delay else None for delay in delays]
        knot_times = [points[0] for points in knots if points is not None]
        times = np.unique(np.concatenate([*knot_times, outages.ravel(), [begin, end]]))
        times = times[(times >= begin) & (times <= min(end, end_s))]
        # A route that ends at a switch stands for a time without a route to the receiver.
        reaches_host = resolved["nodes"][links[route[-1]]["to"]]["kind"] == "host"
        delay_s = np.full(len(times), 0.0 if reaches_host else np.nan)
        for link, delay, points in zip(route, delays, knots, strict=True):
            if delay is None or points is None:
                delay_s += links[link]["delay_ps"] / PS
            else:
                delay_s += read(times, *points, linear=delay["between"] == "linear")
        in_outage = [any(first <= at < last for first, last in outages) for at in times]
        out = np.array([not reaches_host or waits for waits in in_outage], dtype=bool)
        rate_bps = float(min(links[link]["rate_bps"] for link in route))
        parts.append(pd.DataFrame({"time_s": times, "rate_bps": rate_bps, "delay_s": delay_s, "loss": 0.0, "out": out}))
    table = pd.concat([part for part in parts if len(part)], ignore_index=True)
    first_delays = [links[link].get("motion", {}).get("delay") or {} for link in flow_routes[0].links]
    constant_between = any(delay.get("between") == "hold" for delay in first_delays)
    table.attrs["drawn"] = "steps-post" if constant_between else "default"
    return table


def read(times: np.ndarray, knot_s: np.ndarray, delay_s: np.ndarray, *, linear: bool) -> np.ndarray:
    """Returns the delay at the given times, which is constant before the first and after the last point.

    Between two points, it is interpolated if `linear`, and otherwise that of the earlier one. At a time with two
    points, it is the delay of the second one.
    """
    latest = np.searchsorted(knot_s, times, side="right") - 1
    previous = np.maximum(latest, 0)
    if not linear:
        steps: np.ndarray = delay_s[previous]
        return steps
    after = np.minimum(latest + 1, len(knot_s) - 1)
    distance = knot_s[after] - knot_s[previous]
    share = np.divide(times - knot_s[previous], distance, out=np.zeros_like(times), where=distance > 0)
    line: np.ndarray = delay_s[previous] + np.where(latest < 0, 0.0, share) * (delay_s[after] - delay_s[previous])
    return line
