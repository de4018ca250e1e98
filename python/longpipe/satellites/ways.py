"""Routes between pairs of stations over a constellation at each step, and the delays of all used links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from longpipe.satellites.constellation import Constellation
from longpipe.satellites.positions import earth_fixed_m
from longpipe.satellites.round_trips import AT_ONCE, LIGHT_M_PER_S, no_route
from longpipe.satellites.routes import Router
from longpipe.satellites.stations import Station

# Time [s], after a route's last use of a link, for which the link's delay is still computed, for packets in flight.
AFTERWARDS_S: Final = 2.0

# Number of a satellite, or -1 - i for station i.
Node = int
Hop = tuple[Node, Node]


@dataclass(frozen=True)
class Ways:
    """Each pair's first route and route changes as (step, satellites), where () means that there is no route.

    `longest_s` is the longest one-way delay of each pair; `knots` contains the steps and delays [s] of each link. A
    link is named by the direction in which a pair first uses it, and has the same delay in both directions.
    """

    changes: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]
    longest_s: tuple[float, ...]
    knots: dict[Hop, list[tuple[int, float]]]


def ways(
    constellation: Constellation,
    stations: Sequence[Station],
    pairs: Sequence[tuple[int, int]],
    begin_s: float,
    step_s: float,
    count: int,
) -> Ways:
    """Computes the shortest route by distance between each pair of stations, at `count` steps from `begin_s`.

    `pairs` are indices of stations. Raises ScenarioError if a pair never has a route.
    """
    router = Router(constellation, stations)
    sources, rows = np.unique([a for a, _ in pairs], return_inverse=True)
    targets = np.array([b for _, b in pairs])
    changes: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in pairs]
    longest = np.zeros(len(pairs))
    for step, satellites in _places(constellation, begin_s, step_s, range(count)):
        lengths, before = router.shortest(satellites, sources)
        routes = router.ways(before, rows, targets)
        for pair, way in enumerate(routes):
            route = tuple(way[way >= 0].tolist())
            if not changes[pair] or route != changes[pair][-1][1]:
                changes[pair].append((step, route))
            if route:
                longest[pair] = max(longest[pair], lengths[rows[pair], targets[pair]] / LIGHT_M_PER_S)
    for (a, b), own in zip(pairs, changes, strict=True):
        if not any(route for _, route in own):
            raise no_route(constellation, stations[a], stations[b])
    after = round(AFTERWARDS_S / step_s) + 1
    wanted: dict[Hop, set[int]] = defaultdict(set)
    for pair, own in enumerate(changes):
        ends = [*(step for step, _ in own[1:]), count]
        for (step, route), end in zip(own, ends, strict=True):
            for hop in hops(pairs[pair], route):
                known = hop if hop in wanted or hop[::-1] not in wanted else hop[::-1]
                wanted[known].update(range(step, min(end + after, count)))
    knots = _knots(constellation, stations, wanted, begin_s, step_s)
    return Ways(tuple(map(tuple, changes)), tuple(longest.tolist()), knots)


def hops(pair: tuple[int, int], route: tuple[int, ...]) -> list[Hop]:
    """Returns the links of a pair's route; an empty list if there is no route."""
    return list(pairwise((-1 - pair[0], *route, -1 - pair[1]))) if route else []


def _places(
    constellation: Constellation, begin_s: float, step_s: float, steps: Sequence[int]
) -> Iterator[tuple[int, np.ndarray]]:
    for first in range(0, len(steps), AT_ONCE):
        some = np.array(steps[first : first + AT_ONCE])
        fixed, _ = earth_fixed_m(constellation, begin_s + some * step_s)
        yield from zip(some.tolist(), fixed, strict=True)


def _knots(
    constellation: Constellation,
    stations: Sequence[Station],
    wanted: dict[Hop, set[int]],
    begin_s: float,
    step_s: float,
) -> dict[Hop, list[tuple[int, float]]]:
    ground = np.array([station.earth_fixed_m for station in stations])
    by_step: dict[int, list[Hop]] = defaultdict(list)
    for hop, steps in wanted.items():
        for step in steps:
            by_step[step].append(hop)
    knots: dict[Hop, list[tuple[int, float]]] = {hop: [] for hop in wanted}
    for step, satellites in _places(constellation, begin_s, step_s, sorted(by_step)):
        # Negative numbers index stations from the end.
        places = np.concatenate([satellites, ground[::-1]])
        links = np.array(by_step[step])
        seconds = np.linalg.norm(places[links[:, 0]] - places[links[:, 1]], axis=1) / LIGHT_M_PER_S
        for hop, delay_s in zip(by_step[step], seconds.tolist(), strict=True):
            knots[hop].append((step, delay_s))
    return knots
