"""Round trips of a Starlink site: quantiles over slots, waits for grants, long steps, and changes of the satellite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.fit.starlink.quantiles import INNER, Ends, matched, simulated_parts
from longpipe.fit.starlink.rates import LEAST
from longpipe.fit.starlink.slots import SlotParts, Slots, joined, shares, slots
from longpipe.scenario.starlink_draws import PROBABILITIES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.fit.starlink.observed import Probes

    Numbers = NDArray[np.float64]

RESAMPLES: Final = 80
# Slots in a block that is resampled, because successive slots may have the same satellite.
_BLOCK: Final = 20
# A slot is long if its level exceeds the median by more than this many ranges between the quartiles.
_LONG: Final = 2.5
# Least share of slots with a long step that are long.
_LEAST_SEEN: Final = 0.1
# Scales of the grants that are tried, as multiples of those of the year's set.
_SCALES: Final = np.geomspace(0.2, 3.0, 300)
# Greatest relative deviation of the jitter at a good scale.
_DEVIATION: Final = 0.03
# Number of slots with which scales are tried, and greatest number of scales that are kept.
_FEW: Final = 500
_MOST_SCALES: Final = 9
# Length of the mean of unit vectors at the phases of the requests in a grant, above which the requests of a slot do not
# sample all phases.
_SAME_PHASE: Final = 0.7
# Probability of the quantile to which levels are limited for it.
_TOP: Final = 0.9
# Least number of pairs of successive slots for the probability of a change.
_LEAST_PAIRS: Final = 200
# Greatest number of simulated slots.
_SIMULATED: Final = 6_000


@dataclass(frozen=True)
class Delay:
    """Parameters of the delay: grants [s], long steps [s], their probability, that of a change, and the exit [s].

    `exit_s` is the round trip between point of presence and target. `edge_s` is the mean of the additional delay of
    both directions at the edges of slots.
    """

    down_grant_s: float
    up_grant_s: float
    long_step: float
    long_step_s: tuple[float, float]
    change: float
    exit_s: float
    edge_s: float


@dataclass(frozen=True, eq=False)
class Delays:
    """Estimates with draws of them: inner quantiles of the base RTT [s], and further parameters.

    A parameter that the probes do not determine is None. `wait` is the scale of both grants relative to those known.
    """

    quantiles: Numbers
    quantile_draws: Numbers
    wait: float | None
    wait_draws: Numbers
    long_step: float | None
    long_step_draws: Numbers
    change: float | None
    change_draws: Numbers
    slots: int


def fit_delays(probes: Sequence[Probes], site_delay: Delay, ends: Ends) -> Delays | None:
    """Returns the estimates; None if there are too few probes."""
    of_slots = slots(probes)
    if len(of_slots.number) >= LEAST:
        return _of_slots(of_slots, site_delay, ends)
    rows = [
        (float(rtt), float(span.mean()), shares(*span), 1, True, number)
        for series in probes
        if series.spans_s is not None
        for number, (span, rtt) in enumerate(zip(series.spans_s, series.rtt_s, strict=True))
        if span[1] > span[0]
    ]
    return _of_means(joined(rows), site_delay, ends) if len(rows) >= LEAST else None


def _of_means(parts: SlotParts, site_delay: Delay, ends: Ends) -> Delays:
    """Returns the estimates from means over measurements, which have the mean wait for grants and the mean of edges."""
    random = np.random.default_rng(0)
    constant = (site_delay.down_grant_s + site_delay.up_grant_s) / 2 + site_delay.exit_s + site_delay.edge_s
    simulate = simulated_parts(parts, 0.0, site_delay.change, random)
    # Long steps are added to the levels of whole measurements, because their slots are rare.
    shape = len(simulate(np.zeros(len(PROBABILITIES))))
    longer = np.where(random.random(shape) < site_delay.long_step, random.uniform(*site_delay.long_step_s, shape), 0.0)

    def of(places: NDArray[np.int64], begin: Numbers | None) -> Numbers:
        measured = np.quantile(parts.values[places] - constant, INNER)
        return matched(measured, lambda quantiles: simulate(quantiles) + longer, ends, begin)

    count = len(parts.values)
    quantiles = of(np.arange(count), None)
    draws = [of(random.integers(0, count, count), quantiles) for _ in range(RESAMPLES)]
    nothing = np.zeros(0)
    return Delays(quantiles, np.array(draws), None, nothing, None, nothing, None, nothing, count)


def _of_slots(of_slots: Slots, site_delay: Delay, ends: Ends) -> Delays:
    model = _Model(of_slots, site_delay, ends)
    numbers = of_slots.number
    blocks = numbers // _BLOCK
    _, begins, counts = np.unique(blocks, return_index=True, return_counts=True)
    random = np.random.default_rng(1)
    every = np.arange(len(numbers))
    estimate = model.solve(every, None, len(model.scales) // 2)
    draws = []
    for _ in range(RESAMPLES):
        resample = random.integers(0, len(begins), len(begins))
        places = np.concatenate([np.arange(begins[k], begins[k] + counts[k]) for k in resample])
        draws.append(model.solve(places, estimate, int(random.integers(len(model.scales)))))
    return Delays(
        estimate.quantiles, np.array([draw.quantiles for draw in draws]),
        estimate.scale if model.has_phases else None, np.array([draw.scale for draw in draws]),
        estimate.long_step, np.array([draw.long_step for draw in draws]),
        estimate.change, np.array([draw.change for draw in draws if draw.change is not None]),
        len(numbers),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Solution:
    quantiles: Numbers
    scale: float
    long_step: float
    change: float | None


class _Model:
    """Simulated levels of slots whose requests have the measured times, with fixed random numbers."""

    def __init__(self, of_slots: Slots, site_delay: Delay, ends: Ends) -> None:
        self.known, self.ends = site_delay, ends
        self.levels = of_slots.levels_s
        self.jitter = _jitter(of_slots.rtt_s)
        # The next slot, if it has a level.
        follows = np.searchsorted(of_slots.number, of_slots.number + 1)
        follows = np.minimum(follows, len(of_slots.number) - 1)
        self.next = np.where(of_slots.number[follows] == of_slots.number + 1, follows, -1)
        phases = np.exp(2j * np.pi * of_slots.since_s / site_delay.up_grant_s)
        self.has_phases = float(np.abs(np.nanmean(phases, axis=1)).mean()) < _SAME_PHASE
        random = np.random.default_rng(0)
        count = max(_SIMULATED, len(self.levels)) // len(self.levels)
        rows = np.tile(np.arange(len(self.levels)), count)
        if len(rows) > _SIMULATED:
            rows = random.choice(rows, _SIMULATED, replace=False)
        random.shuffle(rows)
        self.since = of_slots.since_s[rows]
        # Stratified, because a sampling error would add to that of the measured slots.
        self.base, self.long, self.longer = ((random.permutation(len(rows)) + 0.5) / len(rows) for _ in range(3))
        self.phases = random.random((4, len(rows)))
        self.scales = self._good_scales() if self.has_phases else np.ones(1)
        waits = [self._waits(float(scale)) for scale in self.scales]
        self.waits = [np.nanmedian(wait, axis=1) for wait in waits]
        self.others = [np.nanmedian(self._waits(float(scale), 2), axis=1) for scale in self.scales]

    def _good_scales(self) -> Numbers:
        """Returns the scales of the grants with which simulated slots have the measured jitter.

        The jitter is no monotone function of the scale, because the interval of the requests and that of the grants
        determine which phases of a grant the requests of a slot meet.
        """
        jitters = np.array([_jitter(self._waits(float(scale), count=_FEW)) for scale in _SCALES])
        off = np.abs(jitters / self.jitter - 1)
        is_good = off <= max(_DEVIATION, float(off.min()))
        # The jitter between two tried scales may be that of neither.
        is_good[:-1] |= is_good[1:].copy()
        is_good[1:] |= is_good[:-1].copy()
        good = _SCALES[is_good]
        return np.quantile(good, np.linspace(0, 1, min(_MOST_SCALES, len(good))), method="nearest")

    def _waits(self, scale: float, first: int = 0, count: int | None = None) -> Numbers:
        """Returns the waits of each request of the simulated slots, or of some of them, for both grants."""
        up, down = self.known.up_grant_s * scale, self.known.down_grant_s * scale
        begin_up, begin_down = self.phases[first, :count] * up, self.phases[first + 1, :count] * down
        since = self.since[:count]
        wait_up = np.mod(begin_up[:, None] - since, up)
        waits: Numbers = wait_up + np.mod(begin_down[:, None] - since - wait_up, down)
        return waits

    def solve(self, places: NDArray[np.int64], begin: _Solution | None, chosen: int) -> _Solution:
        """Returns the parameters for some of the measured slots, with the chosen one of the scales of the grants."""
        scale, wait, other = float(self.scales[chosen]), self.waits[chosen], self.others[chosen]
        levels = self.levels[places] - self.known.exit_s
        limit = _long_limit(levels)
        share, short = float((levels > limit).mean()), levels[levels <= limit]
        measured = np.quantile(short, INNER)
        long_step = self.known.long_step if begin is None else begin.long_step
        inner = measured - float(wait.mean()) if begin is None else begin.quantiles
        low, high = self.known.long_step_s
        for _ in range(3 if begin is None else 1):
            longer = np.where(self.long < long_step, low + self.longer * (high - low), 0.0)

            def short_levels(quantiles: Numbers, added: Numbers = wait + longer) -> Numbers:
                simulated = np.interp(self.base, PROBABILITIES, quantiles) + added
                return simulated[simulated <= limit]

            inner = matched(measured, short_levels, self.ends, inner)
            base = np.interp(self.base, PROBABILITIES, self.ends.whole(inner)) + wait
            # The share of long levels beyond that of other slots is that of long steps, most of which are long.
            without = float((base > limit).mean())
            is_seen = float((base + low + self.longer * (high - low) > limit).mean())
            long_step = float(np.clip((share - without) / max(is_seen - without, _LEAST_SEEN), 0.0, 1.0))
        kept = self._kept(places, base - wait + longer, wait, other)
        return _Solution(inner, scale, long_step, None if kept is None else 1 - kept)

    def _kept(self, places: NDArray[np.int64], base: Numbers, wait: Numbers, other: Numbers) -> float | None:
        """Returns the share of slots that keep the satellite of the slot before: a ratio of covariances.

        The covariance of successive slots is that share of the covariance of two slots with the same satellite.
        """
        pairs = places[self.next[places] >= 0]
        if len(pairs) < _LEAST_PAIRS:
            return None
        top = float(np.quantile(self.levels, _TOP))
        one, two = (np.minimum(self.levels[some], top) for some in (pairs, self.next[pairs]))
        same = [np.minimum(base + some + self.known.exit_s, top) for some in (wait, other)]
        mean = (float(one.mean()) + float(two.mean())) / 2
        measured = float(((one - mean) * (two - mean)).mean())
        simulated = float(np.cov(same[0], same[1])[0, 1])
        return float(np.clip(measured / simulated, 0.0, 1.0)) if simulated > 0 else None


def _jitter(rows: Numbers) -> float:
    """Returns the mean range between the quartiles of the rows, in which missing values are NaN.

    The quartiles are those of `np.nanquantile`, which would handle one row after the other.
    """
    ordered = np.sort(rows, axis=1)
    last = np.count_nonzero(~np.isnan(rows), axis=1) - 1
    low, high = (_at(ordered, last * share) for share in (0.25, 0.75))
    return float((high - low).mean())


def _at(ordered: Numbers, places: Numbers) -> Numbers:
    """Returns the value of each ordered row at a place between two columns, by linear interpolation."""
    rows, lower = np.arange(len(ordered)), np.floor(places).astype(int)
    low, high = ordered[rows, lower], ordered[rows, np.ceil(places).astype(int)]
    part = places - lower
    # From the nearer of the two values, as NumPy does.
    values: Numbers = np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part))
    return values


def _long_limit(levels: Numbers) -> float:
    """Returns the level above which one is long in comparison with the median and the quartiles."""
    low, middle, high = np.quantile(levels, (0.25, 0.5, 0.75))
    return float(middle + _LONG * (high - low))
