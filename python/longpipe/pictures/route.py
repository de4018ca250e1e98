"""Delay of a flow's route over time-varying links and changing routes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd

PS: Final = 1e12


def routes(flow: Mapping[str, Any], way: str = "route") -> list[tuple[float, list[int]]]:
    """Returns a resolved flow's routes, each with the time [s] from which it is used."""
    changes = flow.get("rerouting", {}).get("changes", ())
    return [(0.0, flow[way]), *((change["at_ps"] / PS, change[way]) for change in changes)]


def of_route(resolved: Mapping[str, Any], flow: Mapping[str, Any], end_s: float) -> pd.DataFrame:
    """Returns the properties of a flow's route until `end_s` [s], with a row for each `time_s`.

    `rate_bps` is the minimum over its links; `delay_s` is the sum, and absent while there is no route; `loss` is 0, and
    `out` is true while there is no route or the host waits for one.
    """
    known, links = routes(flow), resolved["links"]
    gaps = np.array(links[known[0][1][0]].get("motion", {}).get("outages", {}).get("intervals_ps", [])) / PS
    parts = []
    for (begin, route), (end, _) in pairwise([*known, (end_s, [])]):
        delays = [links[k].get("motion", {}).get("delay") for k in route]
        knots = [np.array(delay["knots_ps"], dtype=float).T / PS if delay else None for delay in delays]
        inner = [own[0] for own in knots if own is not None]
        times = np.unique(np.concatenate([*inner, gaps.ravel(), [begin, end]]))
        times = times[(times >= begin) & (times <= min(end, end_s))]
        whole = resolved["nodes"][links[route[-1]]["to"]]["kind"] == "host"
        delay_s = np.full(len(times), 0.0 if whole else np.nan)
        for k, delay, own in zip(route, delays, knots, strict=True):
            if delay is None or own is None:
                delay_s += links[k]["delay_ps"] / PS
            else:
                delay_s += read(times, *own, linear=delay["between"] == "linear")
        out = np.array([not whole or any(first <= at < last for first, last in gaps) for at in times], dtype=bool)
        rate_bps = float(min(links[k]["rate_bps"] for k in route))
        parts.append(pd.DataFrame({"time_s": times, "rate_bps": rate_bps, "delay_s": delay_s, "loss": 0.0, "out": out}))
    table = pd.concat([part for part in parts if len(part)], ignore_index=True)
    held = any((links[k].get("motion", {}).get("delay") or {}).get("between") == "hold" for k in known[0][1])
    table.attrs["drawn"] = "steps-post" if held else "default"
    return table


def read(times: np.ndarray, knot_s: np.ndarray, delay_s: np.ndarray, *, linear: bool) -> np.ndarray:
    """Returns the delay at the given times; at a time with two points, this is the delay of the second one."""
    last = np.searchsorted(knot_s, times, side="right") - 1
    before = np.maximum(last, 0)
    if not linear:
        held: np.ndarray = delay_s[before]
        return held
    after = np.minimum(last + 1, len(knot_s) - 1)
    over = knot_s[after] - knot_s[before]
    share = np.divide(times - knot_s[before], over, out=np.zeros_like(times), where=over > 0)
    found: np.ndarray = delay_s[before] + np.where(last < 0, 0.0, share) * (delay_s[after] - delay_s[before])
    return found
