"""Routes between pairs of stations over a constellation at each step, and the delays of all used links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from longpipe.satellites.constellation import Constellation
from longpipe.satellites.handovers import HandoverRule, Serving
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
    """The first route of a pair, or a later one: its first step, its satellites, and the station at its end.

    The satellites are () if there is no route.
    """

    step: int
    satellites: tuple[int, ...]
    end: int


class StationPair(NamedTuple):
    """Index of a station, and the stations that its routes may lead to, each with a further delay [s] behind it."""

    first: int
    ends: tuple[tuple[int, float], ...]


class Failure(NamedTuple):
    """Failure of a satellite, or of a station, from `begin_s` to before `end_s`, as times of the run."""

    number: int
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class Conditions:
    """Failures that routes avoid, and handovers, which interrupt the routes of a station for its time in `gaps_s`."""

    satellites: tuple[Failure, ...] = ()
    stations: tuple[Failure, ...] = ()
    handovers: tuple[HandoverRule, ...] = ()
    # Time [s] without a route after each change of the satellite that serves a station, by station.
    gaps_s: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Ways:
    """Routes of pairs of stations over time, and the delays of the links that they use.

    `changes` are the routes of each pair, `longest_s` the longest one-way delay of each pair, and `knots` the steps and
    delays [s] of each link. A link is named by the direction in which a pair first uses it, and has the same delay in
    both directions. `interruptions` are the begins and ends [s] of times without a route after handovers, by pair.
    """

    changes: tuple[tuple[RouteChange, ...], ...]
    longest_s: tuple[float, ...]
    knots: dict[Hop, list[tuple[int, float]]]
    interruptions: tuple[tuple[tuple[float, float], ...], ...]


def ways(
    constellation: Constellation,
    stations: Sequence[Station],
    pairs: Sequence[StationPair],
    begin_s: float,
    step_s: float,
    count: int,
    conditions: Conditions = Conditions(),
) -> Ways:
    """Computes the shortest route by distance between each pair of stations, at `count` steps from `begin_s`.

    If a pair may end at several stations, the one with the lowest delay is used. Raises ScenarioError if a pair never
    has a route.
    """
    changes, longest = _changes(constellation, stations, pairs, (begin_s, step_s, count), conditions)
    for pair, routes in zip(pairs, changes, strict=True):
        if not any(change.satellites for change in routes):
            raise no_route(constellation, stations[pair.first], stations[pair.ends[0][0]], begin_s=begin_s)
    steps_afterwards = round(AFTERWARDS_S / step_s) + 1
    # Steps at which the delay of each link is needed.
    steps_of: dict[Hop, set[int]] = defaultdict(set)
    for pair, routes in zip(pairs, changes, strict=True):
        ends = [*(change.step for change in routes[1:]), count]
        for change, end in zip(routes, ends, strict=True):
            for hop in hops(pair.first, change):
                name = hop if hop in steps_of or hop[::-1] not in steps_of else hop[::-1]
                steps_of[name].update(range(change.step, min(end + steps_afterwards, count)))
    knots = _knots(constellation, stations, steps_of, begin_s, step_s)
    interruptions = tuple(
        tuple(_interruptions(pair, routes, dict(conditions.gaps_s), step_s))
        for pair, routes in zip(pairs, changes, strict=True)
    )
    return Ways(tuple(map(tuple, changes)), tuple(longest.tolist()), knots, interruptions)


def _changes(
    constellation: Constellation,
    stations: Sequence[Station],
    pairs: Sequence[StationPair],
    times: tuple[float, float, int],
    conditions: Conditions,
) -> tuple[list[list[RouteChange]], np.ndarray]:
    """Returns the routes of each pair, and the longest delay [s] of each; `times` are begin, step and count."""
    begin_s, step_s, count = times
    router = Router(constellation, stations)
    serving = Serving(
        conditions.handovers, router.sight, lambda times_s: earth_fixed_m(constellation, begin_s + times_s)[0]
    )
    sources, rows = np.unique([pair.first for pair in pairs], return_inverse=True)
    # All ends of all pairs, one after the other.
    owners = np.repeat(np.arange(len(pairs)), [len(pair.ends) for pair in pairs])
    targets = np.array([end for pair in pairs for end, _ in pair.ends])
    further_m = LIGHT_M_PER_S * np.array([delay_s for pair in pairs for _, delay_s in pair.ends])
    starts = np.searchsorted(owners, np.arange(len(pairs) + 1))
    changes: list[list[RouteChange]] = [[] for _ in pairs]
    longest = np.zeros(len(pairs))
    for step, satellites in _places(constellation, begin_s, step_s, range(count)):
        time_s = step * step_s
        satellites[_failed(conditions.satellites, time_s)] = np.nan
        ground_m = router.sight.distances_m(satellites)
        ground_m[_failed(conditions.stations, time_s)] = np.inf
        if conditions.handovers:
            ground_m = serving.restrict(time_s, satellites, ground_m)
        lengths, predecessors = router.shortest(satellites, sources, ground_m)
        totals = lengths[rows[owners], targets] + further_m
        best = [first + int(np.argmin(totals[first:last])) for first, last in pairwise(starts.tolist())]
        for number, padded in enumerate(router.routes(predecessors, rows, targets[best])):
            route, end = tuple(padded[padded >= 0].tolist()), int(targets[best[number]])
            latest = changes[number][-1] if changes[number] else None
            if latest is None or route != latest.satellites or (route and end != latest.end):
                changes[number].append(RouteChange(step, route, end))
            if route:
                longest[number] = max(longest[number], totals[best[number]] / LIGHT_M_PER_S)
    return changes, longest


def _failed(failures: Sequence[Failure], time_s: float) -> list[int]:
    """Returns the numbers of what has failed at a time of the run [s]."""
    return [failure.number for failure in failures if failure.begin_s <= time_s < failure.end_s]


def _interruptions(
    pair: StationPair, routes: Sequence[RouteChange], gaps_s: dict[int, float], step_s: float
) -> Iterator[tuple[float, float]]:
    """Yields the times [s] without a route after a station of the pair has changed its satellite."""
    for before, after in pairwise(routes):
        if not before.satellites or not after.satellites:
            continue
        gap_s = gaps_s.get(pair.first, 0.0) if before.satellites[0] != after.satellites[0] else 0.0
        if before.end == after.end and before.satellites[-1] != after.satellites[-1]:
            gap_s = max(gap_s, gaps_s.get(after.end, 0.0))
        if gap_s > 0:
            yield after.step * step_s, after.step * step_s + gap_s


def hops(first: int, change: RouteChange) -> list[Hop]:
    """Returns the links of a route from station `first`; an empty list if there is no route."""
    return list(pairwise((-1 - first, *change.satellites, -1 - change.end))) if change.satellites else []


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
