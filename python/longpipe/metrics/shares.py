"""Max-min fair shares: throughput of each flow if the flows with demand shared each link equally."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from longpipe.scenario.paths import paths

if TYPE_CHECKING:
    from longpipe.scenario import Scenario


def max_min_shares(
    demands_bps: ArrayLike, capacities_bps: ArrayLike, routes: Sequence[Sequence[int]] | None = None
) -> npt.NDArray[np.float64]:
    """Returns each demand's max-min fair share [bit/s], shape (n,): the demand, or an equal part of what is left.

    `routes` contains the links of each flow, as indices into `capacities_bps`; without it, all flows share one link.
    All shares increase together until a flow's demand is satisfied or a link on its route is full (Bertsekas and
    Gallager 1992, section 6.5.2; ATM Forum/98-0876 section 7 for one link).
    """
    demands = np.asarray(demands_bps, dtype=float)
    left = np.atleast_1d(np.asarray(capacities_bps, dtype=float)).copy()
    routes = [(0,)] * demands.size if routes is None else routes
    # Element k of `flows` and `links` is the flow and the link of the k-th hop of all routes.
    flows = np.repeat(np.arange(demands.size), [len(route) for route in routes])
    links = np.array([link for route in routes for link in route], dtype=np.int64)
    shares, rising = np.zeros_like(demands), np.ones(demands.size, dtype=bool)
    while rising.any():
        users = np.bincount(links[rising[flows]], minlength=left.size)
        # Share at which each link is full if all of its rising flows reach it.
        levels = np.divide(left, users, out=np.full_like(left, math.inf), where=users > 0)
        full = levels.min()
        # Flows whose shares are final: those with smaller demands, or otherwise those over the link that is full first.
        satisfied = rising & (demands <= full)
        if satisfied.any():
            shares[satisfied] = demands[satisfied]
        else:
            satisfied = np.zeros_like(rising)
            satisfied[flows[rising[flows] & (levels[links] == full)]] = True
            shares[satisfied] = full
        rising &= ~satisfied
        left -= np.bincount(links, weights=(shares * satisfied)[flows], minlength=left.size)
        left = np.maximum(left, 0.0)
    return shares


def relative_throughputs(
    throughputs_bps: ArrayLike,
    demands_bps: ArrayLike,
    capacities_bps: ArrayLike,
    routes: Sequence[Sequence[int]] | None = None,
) -> npt.NDArray[np.float64]:
    """Returns x_i / e_i for flows with demand: throughput over max-min fair share (ATM Forum/98-0876 section 7)."""
    shares = max_min_shares(demands_bps, capacities_bps, routes)
    x = np.asarray(throughputs_bps, dtype=float)
    return x[shares > 0] / shares[shares > 0]


def of_paths(
    scenario: Scenario,
    throughputs_bps: npt.NDArray[np.float64],
    demands: npt.NDArray[np.float64],
    left_bps: Mapping[int, float] | None = None,
) -> npt.NDArray[np.float64]:
    """Returns `relative_throughputs` of TCP over the scenario's links, accounting for headers and cells.

    `left_bps` is the available capacity [bit/s] of each link that has less than its rate, by the link's number.
    Delivered datagrams, without their headers, are first subtracted from the capacities of their links.
    """
    resolved = scenario.resolved
    flow_paths = paths(resolved)
    capacities = np.array([link["rate_bps"] for link in resolved["links"]], dtype=float)
    for link, rate_bps in (left_bps or {}).items():
        capacities[link] = rate_bps
    over_tcp = ~np.isnan(demands)
    for index in np.flatnonzero(~over_tcp):
        capacities[list(flow_paths[index].route)] -= throughputs_bps[index]
    # Bytes on the wire per byte of payload.
    wire = np.array([path.packet_bytes / path.mss_bytes for path in flow_paths])[over_tcp]
    routes = [path.route for path, tcp in zip(flow_paths, over_tcp, strict=True) if tcp]
    sent = throughputs_bps[over_tcp] * wire
    return relative_throughputs(sent, demands[over_tcp] * wire, np.maximum(capacities, 0.0), routes)
