"""Choice of the satellite that serves each ground station over time, by a rule and a minimum dwell time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from longpipe.satellites.visibility import Sight

Rule = Literal["nearest", "highest", "longest-visible", "table"]
# Interval [s] at which the remaining visibility of satellites is computed, and the longest visibility that is told
# apart.
LOOKAHEAD_STEP_S: Final = 5.0
LOOKAHEAD_S: Final = 1800.0


@dataclass(frozen=True)
class HandoverRule:
    """A station's rule; `table` has times [s] and satellites of the rule "table", in order of time."""

    station: int
    rule: Rule
    dwell_s: float = 0.0
    table: tuple[tuple[float, int], ...] = ()


@dataclass
class Serving:
    """The satellite that serves each station with a rule, updated from step to step.

    A station changes its satellite when the satellite is no longer visible, or when the rule prefers another one and
    the dwell time has passed. With the rule "longest-visible", only the loss of visibility causes a change.
    `places` returns the positions of all satellites [m] at times [s].
    """

    rules: Sequence[HandoverRule]
    sight: Sight
    places: Callable[[np.ndarray], np.ndarray]
    # Satellite and time of the latest handover [s] of each rule's station; -1 without a satellite.
    current: dict[int, tuple[int, float]] = field(default_factory=dict)

    def restrict(self, time_s: float, satellites_m: np.ndarray, distances_m: np.ndarray) -> np.ndarray:
        """Returns distances [m] by station and satellite, infinite for satellites that do not serve a station."""
        restricted = distances_m.copy()
        for rule in self.rules:
            row = distances_m[rule.station]
            serving = self._serving(rule, time_s, satellites_m, row)
            restricted[rule.station] = np.inf
            if serving >= 0:
                restricted[rule.station, serving] = row[serving]
        return restricted

    def _serving(self, rule: HandoverRule, time_s: float, satellites_m: np.ndarray, distances_m: np.ndarray) -> int:
        previous, since_s = self.current.get(rule.station, (-1, -np.inf))
        is_visible = previous >= 0 and np.isfinite(distances_m[previous])
        stays = is_visible and (rule.rule == "longest-visible" or time_s < since_s + rule.dwell_s)
        satellite = previous if stays else self._best(rule, time_s, satellites_m, distances_m)
        if satellite != previous:
            self.current[rule.station] = satellite, time_s
        return satellite

    def _best(self, rule: HandoverRule, time_s: float, satellites_m: np.ndarray, distances_m: np.ndarray) -> int:
        """Returns the satellite that the rule selects among the visible ones, or -1."""
        visible = np.nonzero(np.isfinite(distances_m))[0]
        if rule.rule == "table":
            row = bisect_right(rule.table, time_s, key=lambda entry: entry[0]) - 1
            listed = rule.table[row][1] if row >= 0 else -1
            return listed if listed in visible else -1
        if not len(visible):
            return -1
        if rule.rule == "nearest":
            return int(visible[np.argmin(distances_m[visible])])
        if rule.rule == "highest":
            return int(visible[np.argmax(self.sight.sines(rule.station, satellites_m[visible]))])
        return int(visible[np.argmax(self._remaining_s(rule.station, time_s, visible))])

    def _remaining_s(self, station: int, time_s: float, visible: np.ndarray) -> np.ndarray:
        """Returns the times [s] for which satellites remain visible, as multiples of the lookahead step."""
        in_view = self.sight.of_station(station)
        later_s = time_s + np.arange(1, round(LOOKAHEAD_S / LOOKAHEAD_STEP_S) + 1) * LOOKAHEAD_STEP_S
        is_visible = np.array([np.isfinite(in_view.distances_m(places[visible])[0]) for places in self.places(later_s)])
        has_set = ~is_visible
        remaining: np.ndarray = np.where(has_set.any(axis=0), has_set.argmax(axis=0), len(later_s))
        return remaining * LOOKAHEAD_STEP_S
