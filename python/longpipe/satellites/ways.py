"""Routes between pairs of stations over a constellation at each step, and the delays of all used links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

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


class RouteChange(NamedTuple):
    """The first route of a pair, or a later one: its first step, and its satellites, () if there is no route."""

    step: int
    satellites: tuple[int, ...]


@dataclass(frozen=True)
class Ways:
    """Routes of pairs of stations over time, and the delays of the links that they use.

    `changes` are the routes of each pair, `longest_s` the longest one-way delay of each pair, and `knots` the steps and
    delays [s] of each link. A link is named by the direction in which a pair first uses it, and has the same delay in
    both directions.
    """

    changes: tuple[tuple[RouteChange, ...], ...]
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
    changes: list[list[RouteChange]] = [[] for _ in pairs]
    longest = np.zeros(len(pairs))
    for step, satellites in _places(constellation, begin_s, step_s, range(count)):
        lengths, predecessors = router.shortest(satellites, sources)
        for pair, padded in enumerate(router.routes(predecessors, rows, targets)):
            route = tuple(padded[padded >= 0].tolist())
            if not changes[pair] or route != changes[pair][-1].satellites:
                changes[pair].append(RouteChange(step, route))
            if route:
                longest[pair] = max(longest[pair], lengths[rows[pair], targets[pair]] / LIGHT_M_PER_S)
    for (a, b), routes in zip(pairs, changes, strict=True):
        if not any(route for _, route in routes):
            raise no_route(constellation, stations[a], stations[b])
    steps_afterwards = round(AFTERWARDS_S / step_s) + 1
    # Steps at which the delay of each link is needed.
    steps_of: dict[Hop, set[int]] = defaultdict(set)
    for pair, routes in enumerate(changes):
        ends = [*(step for step, _ in routes[1:]), count]
        for (step, route), end in zip(routes, ends, strict=True):
            for hop in hops(pairs[pair], route):
                name = hop if hop in steps_of or hop[::-1] not in steps_of else hop[::-1]
                steps_of[name].update(range(step, min(end + steps_afterwards, count)))
    knots = _knots(constellation, stations, steps_of, begin_s, step_s)
    return Ways(tuple(map(tuple, changes)), tuple(longest.tolist()), knots)


def hops(pair: tuple[int, int], route: tuple[int, ...]) -> list[Hop]:
    """Returns the links of a pair's route; an empty list if there is no route."""
    return list(pairwise((-1 - pair[0], *route, -1 - pair[1]))) if route else []


def _places(
    constellation: Constellation, begin_s: float, step_s: float, steps: Sequence[int]
) -> Iterator[tuple[int, np.ndarray]]:
    """Yields steps with the positions of all satellites [m], which are computed for several steps at once."""
    for first in range(0, len(steps), AT_ONCE):
        block = np.array(steps[first : first + AT_ONCE])
        fixed, _ = earth_fixed_m(constellation, begin_s + block * step_s)
        yield from zip(block.tolist(), fixed, strict=True)


def _knots(
    constellation: Constellation,
    stations: Sequence[Station],
    steps_of: dict[Hop, set[int]],
    begin_s: float,
    step_s: float,
) -> dict[Hop, list[tuple[int, float]]]:
    """Returns the delays [s] of each link at the given steps."""
    ground = np.array([station.earth_fixed_m for station in stations])
    by_step: dict[int, list[Hop]] = defaultdict(list)
    for hop, steps in steps_of.items():
        for step in steps:
            by_step[step].append(hop)
    knots: dict[Hop, list[tuple[int, float]]] = {hop: [] for hop in steps_of}
    for step, satellites in _places(constellation, begin_s, step_s, sorted(by_step)):
        # Station i is the node -1 - i, which indexes the array from its end.
        places = np.concatenate([satellites, ground[::-1]])
        links = np.array(by_step[step])
        seconds = np.linalg.norm(places[links[:, 0]] - places[links[:, 1]], axis=1) / LIGHT_M_PER_S
        for hop, delay_s in zip(by_step[step], seconds.tolist(), strict=True):
            knots[hop].append((step, delay_s))
    return knots
