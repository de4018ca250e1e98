"""Changes of a run's links over time: capacity, outages, and handovers to another route or satellite."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from longpipe.metrics.efficiency import payload_share
from longpipe.pictures.kinds.path import path_series
from longpipe.pictures.recorded import Run, shown_s
from longpipe.pictures.style import GREY, OUTAGE
from longpipe.scenario.paths import ranked, whole
from longpipe.scenario.shapers import FULL_PACKET_BYTES, shaped_bps
from longpipe.scenario.source import OVER_TCP

PS: Final = 1e12
# Maximum number of handovers that are marked; more would obscure the picture.
MAX_HANDOVERS: Final = 200


def capacity_steps(run: Run, flows: Sequence[str]) -> pd.DataFrame | None:
    """Returns the payload capacity of the given flows' slowest link as steps: time_s, capacity_bps.

    The capacity is the rate of the link, or of its shaper or policer, minus headers and cell overhead, and 0 during an
    outage. Beside TCP, datagrams with a smaller share of payload do not matter, because TCP could use the link alone.
    Returns None if the flows have no common capacity, because they differ in that link or in their share of payload.
    """
    resolved = run.scenario.resolved
    links, names = resolved["links"], [node["name"] for node in resolved["nodes"]]
    limits = [shaped_bps(link, math.inf, policers=True, packet_bytes=FULL_PACKET_BYTES) for link in links]
    ranks = ranked(resolved, [min(link["rate_bps"], limit) for link, limit in zip(links, limits, strict=True)])
    # Each flow with the number of its slowest link.
    slowest = [(min(flow["route"], key=ranks.__getitem__), flow) for flow in whole(resolved) if flow["name"] in flows]
    if len({number for number, _ in slowest}) != 1:
        return None
    number = slowest[0][0]
    link = links[number]
    # Shares of payload in a packet of each flow.
    of_tcp, of_datagrams = set[float](), set[float]()
    for _, flow in slowest:
        shares = of_tcp if flow["traffic"]["kind"] in OVER_TCP else of_datagrams
        shares.add(payload_share(resolved, link, flow))
    counted = of_tcp or of_datagrams
    share = max(counted)
    if len(counted) > 1 or max(of_datagrams, default=0.0) > share:
        return None
    if "service" not in link.get("motion", {}):
        steps = pd.DataFrame({"time_s": [0.0], "capacity_bps": [min(link["rate_bps"], limits[number]) * share]})
    else:
        rows = path_series(run.scenario).get(f"{names[link['from']]}->{names[link['to']]}")
        if rows is None:
            return None
        rates = rows["rate_bps"].where(~rows["out"], 0.0).clip(upper=limits[number]) * share
        steps = pd.DataFrame({"time_s": rows["time_s"], "capacity_bps": rates})
    last = steps.tail(1).assign(time_s=shown_s(run, None)[1])
    return pd.concat([steps, last], ignore_index=True)


def outages(run: Run, span_s: tuple[float, float] | None = None) -> list[tuple[float, float]]:
    """Returns the outages within the span, of all links on the flows' routes, each once, as start and end [s]."""
    begin_s, end_s = shown_s(run, span_s)
    motions = _motions(run)
    of_links = {
        (begin / PS, end / PS) for motion in motions for begin, end in motion.get("outages", {}).get("intervals_ps", ())
    }
    return sorted((begin, end) for begin, end in of_links if end > begin_s and begin < end_s)


def handovers_s(run: Run, span_s: tuple[float, float] | None = None) -> list[float]:
    """Returns the times [s] within the span at which a flow's route changes or its links' delay jumps.

    A delay that is held between its points jumps at each change; a linear one if two points have the same time.
    """
    begin_s, end_s = shown_s(run, span_s)
    times_s = {
        change["at_ps"] / PS
        for flow in run.scenario.resolved["flows"]
        for change in flow.get("rerouting", {}).get("changes", ())
    }
    for motion in _motions(run):
        if "delay" in motion:
            at, delays = np.array(motion["delay"]["knots_ps"], dtype=float).T
            jumps = np.diff(delays) != 0 if motion["delay"]["between"] == "hold" else np.diff(at) == 0
            times_s |= set((at[1:][jumps] / PS).tolist())
    return sorted(at for at in times_s if begin_s < at < end_s)


def change_alike(runs: Iterable[Run], span_s: tuple[float, float] | None = None) -> bool:
    """Returns whether all runs have the same outages and handovers within the span."""
    first, *following = [(outages(run, span_s), handovers_s(run, span_s)) for run in runs]
    return all(other == first for other in following)


def mark_changes(panel: Axes, run: Run, span_s: tuple[float, float] | None = None) -> None:
    """Shades outages in a panel with a time axis, and draws a line at each handover."""
    for number, (begin, end) in enumerate(outages(run, span_s)):
        label = "outage" if number == 0 else "_"
        panel.axvspan(begin, end, zorder=0.5, label=label, **OUTAGE)
    instants = handovers_s(run, span_s)
    for number, at in enumerate(instants if len(instants) <= MAX_HANDOVERS else ()):
        panel.axvline(at, color=GREY, lw=0.7, ls=(0, (1, 2)), zorder=0.6, label="handover" if number == 0 else "_")


def _motions(run: Run) -> list[dict[str, Any]]:
    """Returns the changes over time of each time-varying link on the flows' routes."""
    resolved = run.scenario.resolved
    used = {
        number for flow in resolved["flows"] for direction in ("route", "return_route") for number in flow[direction]
    }
    return [resolved["links"][number]["motion"] for number in sorted(used) if "motion" in resolved["links"][number]]
