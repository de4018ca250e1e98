"""Delay of a satellite path as points: one per step, or two if the route changes."""

from __future__ import annotations

import numpy as np

from longpipe.satellites.constellation import Constellation
from longpipe.satellites.positions import earth_fixed_m
from longpipe.satellites.round_trips import AT_ONCE, LIGHT_M_PER_S, no_route
from longpipe.satellites.routes import Router
from longpipe.satellites.stations import Station


def knots(
    constellation: Constellation, stations: tuple[Station, Station], begin_s: float, step_s: float, count: int
) -> tuple[list[tuple[int, float]], list[tuple[int, int]]]:
    """Returns steps with their one-way delays [s], and the pairs of steps between which there is no route.

    The route is computed at each step. If the route changes, there are two points, the first of which has the previous
    route's delay. Raises ScenarioError if there is never a route.
    """
    router = Router(constellation, stations)
    places = np.array([station.earth_fixed_m for station in stations])
    delays_s: list[tuple[int, float]] = []
    gaps: list[tuple[int, int]] = []
    last: tuple[int, ...] = ()
    for first in range(0, count, AT_ONCE):
        steps = np.arange(first, min(first + AT_ONCE, count))
        fixed, _ = earth_fixed_m(constellation, begin_s + steps * step_s)
        for step, satellites in zip(steps.tolist(), fixed, strict=True):
            _, predecessors = router.shortest(satellites, np.array([0]))
            (padded,) = router.routes(predecessors, np.array([0]), np.array([1]))
            route = tuple(padded[padded >= 0].tolist())
            if last and route != last:
                delays_s.append((step, _seconds(places, satellites, last)))
            if route:
                delays_s.append((step, _seconds(places, satellites, route)))
            elif gaps and gaps[-1][1] == step:
                gaps[-1] = (gaps[-1][0], step + 1)
            else:
                gaps.append((step, step + 1))
            last = route
    if not delays_s:
        raise no_route(constellation, *stations, begin_s=begin_s)
    return delays_s, gaps


def _seconds(places: np.ndarray, satellites: np.ndarray, route: tuple[int, ...]) -> float:
    """Returns the one-way delay of a route between two places, via satellites at the given positions [m]."""
    points = np.vstack([places[0], satellites[list(route)], places[1]])
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum() / LIGHT_M_PER_S)
