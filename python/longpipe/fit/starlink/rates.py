"""Rates of a Starlink site: quantiles over slots, the daily curve, and the deviations of single seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe.fit.starlink.quantiles import INNER, Ends, matched, resampled, simulated_parts
from longpipe.fit.starlink.slots import SlotParts, parts, variations
from longpipe.scenario.starlink_draws import HOURS_OF_DAY, at_hour

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.fit.starlink.observed import Direction, Test

    Numbers = NDArray[np.float64]

RESAMPLES: Final = 120
# Least number of values for quantiles, and for the daily curve.
LEAST: Final = 20
# Least standard deviation of the daily curve, whose range is -1 to 1, at the times of the tests.
_SPREAD: Final = 0.4
_LARGEST_SWING: Final = 0.9
_HALVINGS: Final = 30
_S_PER_HOUR: Final = 3600.0


@dataclass(frozen=True)
class Known:
    """Parameters that the rates presuppose: of the year's set, or known to the user."""

    noise: float
    change: float
    first_second: float
    last_second: float
    utc_offset: float
    daily: Sequence[tuple[float, float]]
    # Whether the daily curve is known.
    is_daily_known: bool


@dataclass(frozen=True, eq=False)
class Rates:
    """Estimates with draws of them: inner quantiles [bit/s] by direction, swing of the day, and noise.

    `swing` and `noise` are None if the tests do not determine them.
    """

    quantiles: Mapping[Direction, Numbers]
    quantile_draws: Mapping[Direction, Numbers]
    swing: float | None
    swing_draws: Numbers
    noise: float | None
    noise_draws: Numbers
    counts: Mapping[Direction, int]


def shape(daily: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Returns the curve whose greatest and least factors are 1 and -1, of which the daily curve is 1 + swing times."""
    middle = (max(factor for _, factor in daily) + min(factor for _, factor in daily)) / 2
    half = max(factor for _, factor in daily) - middle
    return [(hour, (factor - middle) / half) for hour, factor in daily]


def fit_rates(tests: Mapping[Direction, Sequence[Test]], site: Known, ends: Mapping[Direction, Ends]) -> Rates:
    """Returns the estimates from tests that fill the path, of the directions with enough of them."""
    random = np.random.default_rng(0)
    by_direction = {
        direction: of_direction
        for direction, measured in tests.items()
        if len((of_direction := parts(measured, site.first_second, site.last_second)).values) >= LEAST
    }
    rows = [variations(measured) for measured in tests.values()]
    noise, noise_draws = _noise([row for row in rows if len(row) >= LEAST], random)
    site = replace(site, noise=site.noise if noise is None else noise)
    swing, swing_draws = None, np.zeros(0)
    curves = {direction: _curve(part, site) for direction, part in by_direction.items()}
    has_daily = not site.is_daily_known and any(float(curve.std()) >= _SPREAD for curve in curves.values())
    if has_daily:
        swing = _swing(by_direction, curves)
    solved = {
        direction: _Solved(part, simulated_parts(part, site.noise, site.change, random), ends[direction])
        for direction, part in by_direction.items()
    }
    factors = {direction: _factors(by_direction[direction], curves[direction], swing, site) for direction in solved}
    quantiles = {
        direction: direction_rates.quantiles(factors[direction], None) for direction, direction_rates in solved.items()
    }
    draws: dict[Direction, list[Numbers]] = {direction: [] for direction in solved}
    swings = []
    for _ in range(RESAMPLES if solved else 0):
        places = {direction: resampled(part.groups, random) for direction, part in by_direction.items()}
        drawn_swing = swing
        if has_daily:
            drawn_swing = _swing(
                {direction: _chosen(part, places[direction]) for direction, part in by_direction.items()},
                {direction: curve[places[direction]] for direction, curve in curves.items()},
            )
            swings.append(drawn_swing)
        for direction, direction_rates in solved.items():
            factor = _factors(by_direction[direction], curves[direction], drawn_swing, site)
            draws[direction].append(direction_rates.quantiles(factor, quantiles[direction], places[direction]))
    return Rates(
        quantiles, {direction: np.array(measured) for direction, measured in draws.items()}, swing,
        np.array(swings) if has_daily else swing_draws, noise, noise_draws,
        {direction: len(part.values) for direction, part in by_direction.items()},
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Solved:
    """The values of a direction, and the function that simulates them."""

    part: SlotParts
    simulate: Any
    ends: Ends

    def quantiles(self, factors: Numbers, begin: Numbers | None, places: Any = slice(None)) -> Numbers:  # noqa: ANN401 - places in an array
        """Returns the inner quantiles of the level of the slots."""
        measured = np.quantile((self.part.values / factors)[places], INNER)
        return matched(measured, self.simulate, self.ends, begin)


def _chosen(part: SlotParts, places: NDArray[np.int64]) -> SlotParts:
    return replace(part, values=part.values[places], weights=part.weights[places])


def _curve(part: SlotParts, site: Known) -> Numbers:
    """Returns the daily curve, from -1 to 1, at the times of the values."""
    hours = (part.time_s / _S_PER_HOUR + site.utc_offset) % HOURS_OF_DAY
    curve = shape(site.daily)
    return np.array([at_hour(curve, float(hour)) for hour in hours])


def _factors(part: SlotParts, curve: Numbers, swing: float | None, site: Known) -> Numbers:
    """Returns the factors of the daily curve at the times of the values."""
    if swing is not None:
        return 1 + swing * curve
    hours = (part.time_s / _S_PER_HOUR + site.utc_offset) % HOURS_OF_DAY
    return np.array([at_hour(site.daily, float(hour)) for hour in hours])


def _swing(by_direction: Mapping[Direction, SlotParts], curves: Mapping[Direction, Numbers]) -> float:
    """Returns the swing for which the values, divided by the daily curve, are not correlated with the curve."""

    def correlation(swing: float) -> float:
        total = 0.0
        for direction, part in by_direction.items():
            curve = curves[direction]
            values = part.values / (1 + swing * curve)
            total += float(((values / values.mean() - 1) * curve).sum())
        return total

    low, high = -_LARGEST_SWING, _LARGEST_SWING
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if correlation(middle) > 0 else (low, middle)
    return (low + high) / 2


def _noise(rows: Sequence[Numbers], random: np.random.Generator) -> tuple[float | None, Numbers]:
    """Returns the estimated half-width of the uniform deviation of each second's rate, and bootstrap draws of it.

    The estimate is None without rows.
    """
    if not rows:
        return None, np.zeros(0)
    every = np.concatenate(rows)

    def half_width(means: Numbers) -> float:
        # A uniform deviation has a third of the square of its half-width as its variance.
        return float(np.sqrt(3 * max(0.0, 1.5 * means[1] - means[0])))

    draws = [half_width(every[random.integers(0, len(every), len(every))].mean(axis=0)) for _ in range(RESAMPLES)]
    return half_width(every.mean(axis=0)), np.array(draws)
