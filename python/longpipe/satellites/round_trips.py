"""RTTs and routes over time, between pairs of ground stations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import pandas as pd

from longpipe.errors import ScenarioError
from longpipe.satellites.checks import doubts_of_errors, doubts_of_links
from longpipe.satellites.constellation import Constellation
from longpipe.satellites.links import sighted
from longpipe.satellites.positions import earth_fixed_m
from longpipe.satellites.routes import Router
from longpipe.satellites.stations import Station
from longpipe.satellites.visibility import Sight

LIGHT_M_PER_S: Final = 299_792_458.0
# Number of instants for which positions are computed in one call.
AT_ONCE: Final = 50
MAX_INSTANTS: Final = 10_000_000
# Number of decimals of an RTT [ns] in a table, which gives a resolution of 1 ps.
DECIMALS: Final = 3


@dataclass(frozen=True)
class RoundTrips:
    """RTTs [s] and numbers of links by time and pair; infinite and 0, respectively, if there is no route.

    `changes` contains a row for each pair's first route and for each change: the time [s], the pair, and the
    satellites' numbers (an empty tuple if there is no route).
    """

    constellation: Constellation
    stations: Sequence[Station]
    pairs: Sequence[tuple[int, int]]
    begin_s: float
    times_s: np.ndarray
    rtt_s: np.ndarray
    hops: np.ndarray
    changes: Sequence[tuple[float, int, tuple[int, ...]]]
    # Warnings about satellites that have no position at some time.
    doubts: tuple[str, ...] = ()

    def label(self, pair: int) -> str:
        """Returns the label of a pair."""
        a, b = self.pairs[pair]
        return f"{self.stations[a].name} - {self.stations[b].name}"

    def route_at(self, pair: int, time_s: float) -> tuple[int, ...]:
        """Returns the satellites of a pair's route at a time, by number; an empty tuple if there is no route."""
        routes = [path for time, number, path in self.changes if number == pair and time <= time_s]
        return routes[-1] if routes else ()

    def table(self) -> pd.DataFrame:
        """Returns a row per time and pair: `time_s`, `from`, `to`, `rtt_ns` (missing if there is no route), `links`."""
        first = np.array([self.stations[a].name for a, _ in self.pairs], dtype=object)
        second = np.array([self.stations[b].name for _, b in self.pairs], dtype=object)
        count = len(self.times_s)
        rtt = np.where(np.isfinite(self.rtt_s), 1e9 * self.rtt_s, np.nan).round(DECIMALS)
        return pd.DataFrame(
            {
                "time_s": np.repeat(self.times_s, len(self.pairs)),
                "from": pd.Categorical(np.tile(first, count)),
                "to": pd.Categorical(np.tile(second, count)),
                "rtt_ns": rtt.ravel(),
                "links": self.hops.ravel(),
            }
        )

    def routes(self) -> pd.DataFrame:
        """Returns a row per route change: `time_s`, `from`, `to`, `satellites` as numbers joined with `-`, and `names`.

        The names of the satellites are separated by commas.
        """
        rows = [
            (time, self.stations[self.pairs[pair][0]].name, self.stations[self.pairs[pair][1]].name, path)
            for time, pair, path in self.changes
        ]
        table = pd.DataFrame(rows, columns=["time_s", "from", "to", "satellites"])
        names = self.constellation.names
        table["names"] = [", ".join(names[satellite] for satellite in path) for path in table["satellites"]]
        table["satellites"] = ["-".join(map(str, path)) for path in table["satellites"]]
        return table


def instants(duration_s: float, step_s: float) -> np.ndarray:
    """Returns 0, step, two steps, ... below the duration [s]. Raises ScenarioError if there are none or too many."""
    if not (step_s > 0 and duration_s > 0 and duration_s / step_s <= MAX_INSTANTS):
        raise ScenarioError(
            f"--duration, --step: {duration_s:g} s, {step_s:g} s; needs both above 0, and at most {MAX_INSTANTS} steps"
        )
    count = int(np.ceil(duration_s / step_s - 1e-9))
    # The inverse is used, because 0.1 is not a binary fraction, but its inverse is exact.
    inverse = round(1 / step_s)
    exact = inverse > 0 and abs(1 / step_s - inverse) < 1e-9 * inverse
    return np.arange(count) / inverse if exact else np.arange(count) * step_s


def round_trips(
    constellation: Constellation,
    stations: Sequence[Station],
    pairs: Sequence[tuple[int, int]] | None = None,
    *,
    duration_s: float,
    step_s: float,
    begin_s: float = 0.0,
    told: Callable[[float], None] | None = None,
) -> RoundTrips:
    """Computes RTTs at every step, by default for all pairs; `begin_s` is measured from the constellation's epoch.

    The shortest route by distance is computed at each time; an RTT is twice its length divided by the speed of light.
    `told` is called with the fraction that is complete. Raises ScenarioError if a pair never has a route.
    """
    pairs = list(combinations(range(len(stations)), 2)) if pairs is None else list(pairs)
    if not pairs:
        raise ScenarioError("stations: fewer than two; needs a pair, or several")
    times = instants(duration_s, step_s)
    router = Router(constellation, stations)
    sources, rows = np.unique([a for a, _ in pairs], return_inverse=True)
    targets = np.array([b for _, b in pairs])
    rtt = np.empty((len(times), len(pairs)))
    hops = np.zeros((len(times), len(pairs)), dtype=np.uint16)
    changes: list[tuple[float, int, tuple[int, ...]]] = []
    last = np.full((len(pairs), 1), -2)
    codes = np.zeros(len(constellation.names), dtype=np.int64)
    for index, satellites in enumerate(_places(constellation, begin_s + times, codes)):
        lengths, predecessors = router.shortest(satellites, sources)
        rtt[index] = 2 * lengths[rows, targets] / LIGHT_M_PER_S
        routes = router.routes(predecessors, rows, targets)
        count = (routes >= 0).sum(axis=1)
        # A route over n satellites has n + 1 links.
        hops[index] = np.where(count > 0, count + 1, 0)
        for pair in np.nonzero(_differ(last, routes))[0]:
            route = routes[pair]
            changes.append((float(times[index]), int(pair), tuple(int(satellite) for satellite in route[route >= 0])))
        last = routes
        if told is not None and index % AT_ONCE == 0:
            told(index / len(times))
    doubts = tuple(doubts_of_errors(constellation.names, codes))
    never = np.nonzero(~np.isfinite(rtt).any(axis=0))[0]
    if len(never):
        a, b = pairs[never[0]]
        reasons = [line for line in doubts if line not in constellation.doubts]
        raise no_route(constellation, stations[a], stations[b], begin_s=begin_s, more=len(never) - 1, doubts=reasons)
    return RoundTrips(constellation, stations, pairs, begin_s, times, rtt, hops, changes, doubts)


def no_route(
    constellation: Constellation,
    a: Station,
    b: Station,
    *,
    begin_s: float = 0.0,
    more: int = 0,
    doubts: Sequence[str] = (),
) -> ScenarioError:
    """Returns the error for two stations, and `more` other pairs, that never have a route.

    As possible reasons, the message contains the satellites in view at `begin_s`, links without a line of sight, and
    `doubts`.
    """
    further = f" (and {more} other pairs)" if more else ""
    obstructed = doubts_of_links(sighted(constellation.at_epoch()[1], constellation.links))
    (satellites,), _ = earth_fixed_m(constellation, np.array([begin_s]))
    visible = "at the start, " + ", ".join(_seen(constellation, station, satellites) for station in (a, b))
    reasons = "".join(f" ({line})" for line in (visible, *obstructed, *doubts))
    return ScenarioError(
        f"{a.name} - {b.name}: no route over {constellation.name} at any instant{further}; "
        f"needs stations that see the same satellite, or satellites that links connect{reasons}"
    )


def _seen(constellation: Constellation, station: Station, satellites_m: np.ndarray) -> str:
    """Returns how many satellites a station sees, and the highest satellite if it sees none."""
    sight = Sight.of(constellation, [station])
    visible = int(np.isfinite(sight.distances_m(satellites_m)).sum())
    elevations_deg = np.degrees(np.arcsin(sight.sines(0, satellites_m)))
    if visible or not np.isfinite(elevations_deg).any():
        return f"{station.name} sees {visible} satellite{'' if visible == 1 else 's'}"
    highest = int(np.nanargmax(elevations_deg))
    name = constellation.names[highest]
    return f"{station.name} sees none: the highest, {name}, is at {elevations_deg[highest]:.0f} degrees"


def _places(constellation: Constellation, times_s: np.ndarray, codes: np.ndarray) -> Iterator[np.ndarray]:
    """Yields the positions of all satellites at each time, and stores satellites' errors in `codes`."""
    for first in range(0, len(times_s), AT_ONCE):
        fixed, errors = earth_fixed_m(constellation, times_s[first : first + AT_ONCE])
        np.maximum(codes, errors.max(axis=0), out=codes)
        yield from fixed


def _differ(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Returns the rows in which two tables of routes differ."""
    width = max(before.shape[1], after.shape[1])
    before, after = (
        np.pad(routes, ((0, 0), (0, width - routes.shape[1])), constant_values=-1) for routes in (before, after)
    )
    differ: np.ndarray = np.any(before != after, axis=1)
    return differ
