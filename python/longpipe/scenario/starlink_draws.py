"""Draws the rate, delay and losses of a Starlink path over a run, and gives its queue.

All draws belong to a slot of 15 s or to a second in UTC, so a run that begins later sees the same values at the same
time of day. Only sums, products, quotients and comparisons of numbers are used, so that results are bit-identical on
all machines: exponential times are drawn by comparisons (von Neumann 1951), all others from quantiles.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from itertools import pairwise
from random import Random
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.scenario.points import Points
from longpipe.scenario.starlink import Starlink
from longpipe.units import RATE, TIME

PS: Final = 10**12
# Slots begin 12, 27, 42 and 57 s after each minute in UTC.
SLOT_PS: Final = 15 * PS
PHASE_PS: Final = 12 * PS
SECONDS_OF_SLOT: Final = 15
YEARS: Final = (2022, 2023, 2025)
# The first site of a year is that of the year's parameter set; the set of 2025 has no site.
YEAR_OF_SITE: Final[dict[str, int]] = {"belgium": 2022, "osnabrueck": 2023, "enschede": 2023}
PROBABILITIES: Final = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
# Losses of a boundary begin within this time after it.
EDGE_OF_LOSSES_PS: Final = 3 * PS // 10
# Number of slots before the run whose bursts and outages may reach into it.
EARLIER_SLOTS: Final = 4
MIN_RATE_BPS: Final = 1000
PS_PER_HOUR: Final = 3600 * PS
HOURS_OF_DAY: Final = 24


@cache
def parameter_sets() -> dict[int | str, dict[str, Any]]:
    """Returns the parameters of each year and site by name, from `starlink.csv`, which also names their sources."""
    rows = parameter_rows()
    sets: dict[int | str, dict[str, Any]] = {
        year: {row["field"]: json.loads(row[str(year)]) for row in rows} for year in YEARS
    }
    for site, year in YEAR_OF_SITE.items():
        own = {row["field"]: json.loads(row[site]) for row in rows if row.get(site)}
        sets[site] = sets[year] | own
    return sets


def parameter_rows() -> list[dict[str, str]]:
    """Returns the rows of `starlink.csv`: field, values as JSON by year, those of sites that differ, and the source."""
    import csv
    from importlib import resources

    text = (resources.files(__package__) / "starlink.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def value_of(path: Starlink, name: str) -> Any:  # noqa: ANN401 - a value of any field
    """Returns the value of a field of a path: its own, or that of the parameter set of its site or year."""
    given = getattr(path, name)
    return parameter_sets()[path.site or path.year][name] if given is None else given


def _check_site(where: str, path: Starlink) -> None:
    """Raises ScenarioError if there are no measurements of the site in the year."""
    if path.site is None or YEAR_OF_SITE[path.site] == path.year:
        return
    of_year = [site for site, year in YEAR_OF_SITE.items() if year == path.year]
    accepted = " or ".join(of_year) if of_year else "no site"
    raise ScenarioError(
        f"{where}.site: {path.site!r}; needs year = {YEAR_OF_SITE[path.site]}, or {accepted} with year = {path.year}"
    )


class Drawn:
    """The draws of one direction of a path for a run.

    Each method raises ScenarioError for its own fields: quantiles or hours that decrease, and edges of slots that
    overlap. Creating it raises ScenarioError for a start that is no date, and for a site that was not measured in the
    year.
    """

    def __init__(self, where: str, path: Starlink, duration_ps: int) -> None:
        from longpipe.satellites.epochs import utc

        _check_site(where, path)
        self.where, self.path, self.duration_ps = where, path, duration_ps
        begin = utc(f"{where}.begin", path.begin) - datetime(1970, 1, 1, tzinfo=UTC)
        self.begin_ps = begin // timedelta(microseconds=1) * 10**6

    @property
    def grant_ps(self) -> int:
        """Returns the interval of grants."""
        return TIME.parse(self._own("grant"))

    @property
    def queue_ps(self) -> int:
        """Returns the longest wait in the queue."""
        return TIME.parse(self._own("queue"))

    def _value(self, name: str) -> Any:  # noqa: ANN401 - a value of any field
        return value_of(self.path, name)

    def _own(self, name: str) -> Any:  # noqa: ANN401 - a value of any field
        return self._value(f"{self.path.direction}_{name}")

    def _ps(self, name: str) -> int:
        return TIME.parse(self._value(name))

    def _bounds(self, name: str) -> tuple[int, int]:
        low, high = (TIME.parse(text) for text in self._value(name))
        if high < low:
            raise ScenarioError(
                f"{self.where}.{name}: {TIME.format(low)} and then {TIME.format(high)}; needs increasing times"
            )
        return low, high

    def _random(self, purpose: str, number: int) -> Random:
        return Random(f"{self.path.seed}/{purpose}/{number}")  # noqa: S311 - a simulation

    # Slots.

    def _slots(self, earlier: int = 0) -> range:
        """Returns the numbers of the slots of the run, and of the `earlier` slots before it."""
        first = (self.begin_ps - PHASE_PS) // SLOT_PS
        last = (self.begin_ps + self.duration_ps - PHASE_PS) // SLOT_PS
        return range(first - earlier, last + 1)

    def _since(self, slot: int) -> int:
        """Returns the start of a slot in the time of the run [ps], which is negative before the run."""
        return slot * SLOT_PS + PHASE_PS - self.begin_ps

    @cached_property
    def _changes(self) -> float:
        return float(self._value("change"))

    def _satellite(self, slot: int) -> Random:
        """Returns the draws of a slot's satellite, which it keeps until it changes."""
        while self._random("change", slot).random() >= self._changes:
            slot -= 1
        return self._random("satellite", slot)

    def _levels(self, slot: int) -> tuple[float, float, int]:
        """Returns the probabilities of the slot's rates down and up, and its round trip without grants [ps]."""
        draws = self._satellite(slot)
        down, up, base, long, more = (draws.random() for _ in range(5))
        rtt = between_quantiles(self._base_rtts, base)
        if long < self._value("long_step"):
            low, high = self._bounds("long_step_rtt")
            rtt += low + more * (high - low)
        return down, up, round(rtt)

    @cached_property
    def _base_rtts(self) -> list[int]:
        return self._quantiles("base_rtt", TIME.parse)

    @cached_property
    def slot_rates_bps(self) -> list[int]:
        """Returns the quantiles of the rate of a slot."""
        return self._quantiles(f"{self.path.direction}_rate", RATE.parse)

    def _quantiles(self, name: str, parse: Any) -> list[int]:  # noqa: ANN401 - a function of a text
        texts = self._value(name)
        found: list[int] = [parse(text) for text in texts]
        for (before, low), (after, high) in pairwise(zip(texts, found, strict=True)):
            if high < low:
                raise ScenarioError(
                    f"{self.where}.{name}: {before} and then {after}; needs quantiles that do not decrease"
                )
        return found

    # Rate.

    def rates(self) -> Points:
        """Returns the steps of the rate [bit/s], one per second of UTC."""
        noise, first, last = (self._value(name) for name in ("noise", "first_second", "last_second"))
        hours = [(float(hour), float(factor)) for hour, factor in self._value("daily")]
        if any(after <= before for (before, _), (after, _) in pairwise(hours)):
            raise ScenarioError(f"{self.where}.daily: hours that do not increase; needs increasing hours")
        steps = Points()
        for slot in self._slots():
            down, up, _ = self._levels(slot)
            level = between_quantiles(self.slot_rates_bps, down if self.path.direction == "down" else up)
            draws = self._random(f"second/{self.path.direction}", slot)
            for second in range(SECONDS_OF_SLOT):
                factor = 1 - noise + 2 * noise * draws.random()
                factor *= first if second == 0 else last if second == SECONDS_OF_SLOT - 1 else 1
                begin = self._since(slot) + second * PS
                if begin + PS <= 0 or begin >= self.duration_ps:
                    continue
                local = (self.begin_ps + begin) / PS_PER_HOUR + self.path.utc_offset
                rate = level * factor * at_hour(hours, local % HOURS_OF_DAY)
                steps.append([max(0, begin), max(MIN_RATE_BPS, round(rate))])
        return steps

    # Delay.

    def delays(self) -> Points:
        """Returns the points of the one-way delay without waits for grants [ps].

        The grants of a slot begin at its first point, which is drawn within one interval of grants after the boundary.
        """
        grant, before, after = self.grant_ps, self._ps("edge_before"), self._ps("edge_after")
        extra = self._ps("edge_delay")
        if before + after + grant > SLOT_PS:
            raise ScenarioError(
                f"{self.where}.edge_after: {TIME.format(after)}; needs at most 15 s with edge_before and a grant"
            )
        series: list[list[int]] = []
        for slot in self._slots(1):
            half = self._levels(slot)[2] // 2
            begin = self._since(slot) + int(self._random(f"grant/{self.path.direction}", slot).random() * grant)
            series += [[begin, half + extra], [begin + after, half]]
            series.append([self._since(slot) + SLOT_PS - before, half + extra])
        early = [knot for knot in series if knot[0] <= 0]
        since, delay = early[-1]
        # The run begins between two grants; from the next one on, they are those of the slot.
        later = [knot for knot in series if 0 < knot[0] < self.duration_ps]
        granted = since % grant
        first = [[granted, delay]] if granted and (not later or granted < later[0][0]) else []
        return Points([[0, delay], *first, *later])

    # Losses.

    def losses(self) -> Points:
        """Returns the steps of the probability of a loss."""
        share = float(self._value("burst_loss"))
        spans = [(begin, end, share) for begin, end in self._bursts()]
        spans += [(begin, end, 1.0) for begin, end in self._outages()]
        within = [span for span in spans if span[1] > 0 and span[0] < self.duration_ps]
        return _steps_of_losses(float(self._value("isolated_loss")), within)

    def _bursts(self) -> Iterator[tuple[int, int]]:
        every = self._ps("burst_every")
        low, high = self._bounds("burst")
        for slot in self._slots(EARLIER_SLOTS):
            since = self._since(slot)
            draws = self._random(f"burst/{self.path.direction}", slot)
            edge, at, length = (draws.random() for _ in range(3))
            if edge < self._value("edge_burst"):
                begin = since + round(at * EDGE_OF_LOSSES_PS)
                yield begin, begin + low + round(length * (high - low))
            for begin in _poisson(draws, every):
                yield since + begin, since + begin + low + round(draws.random() * (high - low))

    def _outages(self) -> Iterator[tuple[int, int]]:
        every, mean = self._ps("outage_every"), self._ps("outage")
        for slot in self._slots(EARLIER_SLOTS):
            draws, since = self._random("outage", slot), self._since(slot)
            for begin in _poisson(draws, every):
                yield since + begin, since + begin + exponential(draws, mean)


def between_quantiles(values: Sequence[float], probability: float) -> float:
    """Returns the quantile at a probability below 1, linear between the values at `PROBABILITIES`."""
    at = bisect_right(PROBABILITIES, probability) - 1
    low, high = PROBABILITIES[at : at + 2]
    return values[at] + (values[at + 1] - values[at]) * ((probability - low) / (high - low))


def at_hour(hours: Sequence[tuple[float, float]], hour: float) -> float:
    """Returns the factor of an hour of the day, linear between the listed hours, also over midnight; 1 without any."""
    if not hours:
        return 1.0
    last, first = hours[-1], hours[0]
    listed = [(last[0] - HOURS_OF_DAY, last[1]), *hours, (first[0] + HOURS_OF_DAY, first[1])]
    at = bisect_right([one for one, _ in listed], hour) - 1
    (begin, before), (end, after) = listed[at : at + 2]
    return before + (after - before) * ((hour - begin) / (end - begin))


def exponential(draws: Random, mean: int) -> int:
    """Draws an exponentially distributed integer with the given mean, by comparisons only (von Neumann 1951)."""
    whole = 0
    while True:
        first = last = draws.random()
        run = 1
        while (next_ := draws.random()) < last:
            last, run = next_, run + 1
        if run % 2:
            return mean * whole + int(first * mean)
        whole += 1


def _poisson(draws: Random, every: int) -> Iterator[int]:
    """Yields the times [ps] of a Poisson process within a slot; the process has no memory, so each slot starts it."""
    at = exponential(draws, every)
    while at < SLOT_PS:
        yield at
        at += exponential(draws, every)


def _steps_of_losses(least: float, spans: Sequence[tuple[int, int, float]]) -> Points:
    """Returns the largest of `least` and the probabilities of the spans that cover each time, as steps from time 0."""
    events = sorted(
        [(max(0, begin), share, 1) for begin, _, share in spans] + [(end, share, -1) for _, end, share in spans]
    )
    steps = Points([[0, least]], second="d")
    active: dict[float, int] = {}
    for at, share, change in events:
        active[share] = active.get(share, 0) + change
        now = max([least, *(one for one, count in active.items() if count)])
        if steps[-1][0] == at:
            steps.columns[1][-1] = now
        elif steps[-1][1] != now:
            steps.append([at, now])
    return steps
