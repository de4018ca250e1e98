"""The Starlink path of a site: its parameters from measurements, and the scenario and report of the fit.

A parameter that the measurements do not determine has the value of the year's set, and the report names it.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe.examples import example
from longpipe.fit.report import FitReport
from longpipe.fit.starlink.delays import Delay, Delays, fit_delays
from longpipe.fit.starlink.losses import Losses, fit_losses
from longpipe.fit.starlink.observed import Direction, Observed, Test, Transport, observe
from longpipe.fit.starlink.quantiles import INNER, Ends
from longpipe.fit.starlink.rates import LEAST, Known, Rates, fit_rates, shape
from longpipe.fit.starlink.slots import parts
from longpipe.fit.starlink.transfers import Efficiency, efficiency
from longpipe.scenario import Scenario
from longpipe.scenario.defaults import fields_of_file
from longpipe.scenario.short_file import short_toml
from longpipe.scenario.starlink_draws import SLOT_PS, parameter_sets
from longpipe.units import RATE, TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

_PATH: Final = "network.path."
_DIRECTIONS: Final[tuple[Direction, ...]] = ("down", "up")
_WORDS: Final = {"down": "from the satellite", "up": "to the satellite"}
# First years of the parameter sets, the latest first.
_YEARS: Final = ((2025, 2025), (2023, 2023), (0, 2022))
_PS: Final = 1e12
_MSS: Final = 1448
_LOW, _HIGH = 0.025, 0.975
# Greatest share of tests that did not fill the path.
_MOST_PARTIAL: Final = 0.05
_MIN_RATE_BPS: Final = 1000.0


def fit_starlink(files: Sequence[str], fixed: Mapping[str, object] | None = None) -> FitReport:
    """Returns the fit of a Starlink path to the files of a site; `fixed` has known scenario fields by dotted name.

    Raises ScenarioError for a file without measurements of such a path, or with those of another target.
    """
    return _Fit(files, observe(files), dict(fixed or {})).report()


class _Fit:
    """The estimates of a site's parameters, gathered with their texts."""

    def __init__(self, files: Sequence[str], observed: Observed, fixed: Mapping[str, object]) -> None:
        self.files, self.observed, self.fixed = files, observed, fixed
        self.known = {name.removeprefix(_PATH): value for name, value in fixed.items() if name.startswith(_PATH)}
        begin = datetime.fromtimestamp(observed.begin_s, UTC)
        year = self.known.get("year", next(name for since, name in _YEARS if begin.year >= since))
        self.path: dict[str, Any] = {"kind": "starlink", "year": year, "begin": f"{begin:%Y-%m-%dT%H:%M:%S}"}
        # Checks the known fields.
        self.base = Scenario.example("starlink").with_(**{"network.path": self.path, **fixed})
        path: Any = self.base.network.path  # type: ignore[union-attr]
        self.of_year = parameter_sets()[path.site or path.year]
        self.rows: dict[str, dict[str, Any]] = {}
        self.undetermined: list[str] = []
        self.notes = [*observed.notes]

    def _value(self, name: str) -> Any:  # noqa: ANN401 - a value of any field
        return self.known.get(name, self.of_year[name])

    def _s(self, name: str) -> float:
        return TIME.parse(self._value(name)) / _PS

    def report(self) -> FitReport:
        """Returns the report with the scenario."""
        delays = self._delays()
        self._rates(delays)
        self._losses(delays)
        self.undetermined += [
            "the limits of the queues, and the delay and losses at the edges of slots: they are those of "
            f"{self.path['year']}",
            "which satellites served the site: the scenario has others, with the same distribution (network.path.seed)",
        ]
        fields = fields_of_file(tomllib.loads(example("starlink")), "starlink")
        network = fields["network"] | {"path": self.path}
        for name, direction in (("trunk_rate", "down"), ("return_rate", "up")):
            network[name] = self._value_of(f"{direction}_rate")[3]
        fields["network"] = network
        changes = {
            "network.path": self.path,
            **{f"network.{name}": network[name] for name in ("trunk_rate", "return_rate")},
        }
        scenario = Scenario.example("starlink").with_(**{**changes, **self.fixed})
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return FitReport(
            file=f"{self.files[0]}{more}", flow="Starlink path", duration_s=self.observed.length_s, mss=_MSS,
            scenario=scenario, toml=short_toml(scenario, fields, self.fixed), estimates=self.rows, rate_steps=[],
            controls={}, queues={}, distance=None, undetermined=self.undetermined, doubts=(), notes=self.notes,
            series={}, is_transfer=False,
        )  # fmt: skip

    def _value_of(self, name: str) -> Any:  # noqa: ANN401 - a value of any field
        return self.path.get(name, self._value(name))

    # Delays.

    def _delay(self) -> Delay:
        network: Any = self.base.network
        at_exit = all(series.is_to_the_exit for series in self.observed.probes)
        beyond = 0 if at_exit else 2 * (TIME.parse(network.access_delay) + TIME.parse(network.exit_delay))
        edges = (self._s("edge_before") + self._s("edge_after")) / (SLOT_PS / _PS) * 2 * self._s("edge_delay")
        low, high = (TIME.parse(text) / _PS for text in self._value("long_step_rtt"))
        return Delay(
            self._s("down_grant"), self._s("up_grant"), float(self._value("long_step")), (low, high),
            float(self._value("change")), beyond / _PS, edges,
        )  # fmt: skip

    def _delays(self) -> Delays | None:
        of_year = np.array([TIME.parse(text) / _PS for text in self._value("base_rtt")])
        site_delay, ends = self._delay(), Ends.of(of_year)
        delays = fit_delays(self.observed.probes, site_delay, ends) if self.observed.probes else None
        if delays is None:
            self.undetermined.append(
                f"base RTTs, jitter and changes of the satellite: there are fewer than {LEAST} slots with round trips "
                "(ping -D, irtt)"
            )
            return None
        evidence = f"{delays.slots} {'slots' if delays.wait_draws.size else 'measurements'} with round trips"
        if "base_rtt" not in self.known:
            self._quantiles("base_rtt", delays.quantiles, delays.quantile_draws, "s", evidence)
            texts = [f"{1e3 * value:.3f} ms" for value in ends.whole(delays.quantiles)]
            self.path["base_rtt"] = texts
        if site_delay.exit_s:
            self.undetermined.append(
                "how much of the base RTT lies between point of presence and server: network.access_delay is "
                f"{self.base.network.access_delay}"  # type: ignore[union-attr]
            )
        self._grants(delays, site_delay, evidence)
        self._shares(delays, evidence)
        return delays

    def _grants(self, delays: Delays, site_delay: Delay, evidence: str) -> None:
        if delays.wait is None:
            self.undetermined.append(
                "the waits for grants: they need single round trips at times that are no multiples of a grant"
            )
            return
        if "up_grant" in self.known or "down_grant" in self.known:
            return
        self._row("up_grant", delays.wait, delays.wait_draws, "s", f"the jitter in {evidence}", site_delay.up_grant_s)
        for name, value in (("up_grant", site_delay.up_grant_s), ("down_grant", site_delay.down_grant_s)):
            self.path[name] = f"{1e3 * value * delays.wait:.3f} ms"
        self.undetermined.append(
            "the grants of each direction: down_grant is in the ratio of the year's set to up_grant"
        )

    def _shares(self, delays: Delays, evidence: str) -> None:
        for name, value, draws, unit in (
            ("long_step", delays.long_step, delays.long_step_draws, "of slots"),
            ("change", delays.change, delays.change_draws, "per slot"),
        ):
            if name in self.known:
                continue
            if value is None:
                self.undetermined.append(f"{name}: it needs round trips in successive slots")
                continue
            self._row(name, value, draws, unit, evidence)
            self.path[name] = float(f"{value if name == 'long_step' else max(value, 0.01):.3g}")

    # Rates.

    def _rates(self, delays: Delays | None) -> None:
        ends = {
            direction: Ends.of(np.array([float(RATE.parse(text)) for text in self._value(f"{direction}_rate")]))
            for direction in _DIRECTIONS
        }
        tests_of = {direction: some for direction in _DIRECTIONS if (some := self._chosen(direction))}
        tests = {direction: of_direction for direction, (of_direction, _) in tests_of.items()}
        daily = [(float(hour), float(factor)) for hour, factor in self._value("daily")]
        change = self._value_of("change")
        site = Known(
            float(self._value("noise")), float(change), float(self._value("first_second")),
            float(self._value("last_second")), self.base.network.path.utc_offset, daily,  # type: ignore[union-attr]
            "daily" in self.known,
        )  # fmt: skip
        rates = fit_rates(tests, site, ends)
        ratios = self._ratios(rates, ends, tests_of)
        if refused := [direction for direction, ratio in ratios.items() if not ratio.follows]:
            for direction in refused:
                of_direction, transport = tests_of.pop(direction)
                reason = f"{_words(transport)} would not be much faster on a path with twice the rate"
                self._bound(
                    f"{direction}_rate", of_direction, f"{reason}; needs UDP above the rate of the path, or BBR"
                )
            rates = fit_rates(
                {direction: some for direction, some in tests.items() if direction in tests_of}, site, ends
            )
        if rates.swing is None:
            self.undetermined.append("the daily curve: it needs tests at many hours, of a path that they fill")
        else:
            # The factor at the hour of the greatest one of the year's set.
            hour = max(site.daily, key=lambda point: point[1])[0]
            factors = 1 + rates.swing_draws
            self._row(f"daily {hour:g} h", 1 + rates.swing, factors, "of the rate", "the hours of the tests")
            self.path["daily"] = [[hour, float(f"{1 + rates.swing * value:.4g}")] for hour, value in shape(site.daily)]
        if rates.noise is None or "noise" in self.known:
            self.undetermined.append("noise: it needs rates of single seconds of UDP")
        else:
            self._row("noise", rates.noise, rates.noise_draws, "of the rate", "changes between seconds")
            self.path["noise"] = float(f"{min(rates.noise, 0.99):.3g}")
        for direction, (of_direction, transport) in tests_of.items():
            if direction in rates.quantiles and f"{direction}_rate" not in self.known:
                evidence = f"{rates.counts[direction]} parts of {len(of_direction)} tests"
                if ratio := ratios.get(direction):
                    evidence += f"; {_words(transport)} had {ratio.mean:.0%} of the rate on such a path"
                self._rate(direction, rates, ends[direction], ratio, evidence)

    def _chosen(self, direction: Direction) -> tuple[list[Test], Transport | None] | None:
        """Returns the tests that are used, and their transport; None if there are too few or they do not fill the path.

        Rates of the link are preferred to goodputs of TCP, of which the most frequent transport is used.
        """
        tests, name = self.observed.of(direction), f"{direction}_rate"
        link = [test for test in tests if test.transport is None]
        transport = None
        if len(link) < len(tests) - len(link):
            (transport, _), *_ = Counter(test.transport for test in tests if test.transport).most_common(1)
            link = [test for test in tests if test.transport == transport]
        if len(parts(link, 1.0, 1.0).values) < LEAST:
            if name not in self.known:
                self.undetermined.append(f"{name}: there are fewer than {LEAST} slots with tests {_WORDS[direction]}")
            return None
        partial = sum(test.is_full is False for test in link)
        if partial > _MOST_PARTIAL * len(link):
            self._bound(name, link, f"{partial} of {len(link)} tests of UDP offered less than the path carries")
            return None
        if len(link) < len(tests):
            self.notes.append(f"{len(tests) - len(link)} tests {_WORDS[direction]} of another kind are not counted")
        return link, transport

    def _bound(self, name: str, tests: Sequence[Test], reason: str) -> None:
        """Adds the greatest rate as a lower bound."""
        most = max(float(test.bps.max()) for test in tests)
        evidence = "a lower bound: the highest rate of a test"
        self.rows[name] = {"value": most, "low": most, "high": None, "unit": "bit/s", "known": evidence}
        self.undetermined.append(f"{name}: {reason}")

    def _ratios(
        self,
        rates: Rates,
        ends: Mapping[Direction, Ends],
        tests_of: Mapping[Direction, tuple[list[Test], Transport | None]],
    ) -> dict[Direction, Efficiency]:
        """Returns the efficiency of the transfers over TCP, by direction, unless the rate is known."""
        return {
            direction: self._efficiency(direction, ends[direction].whole(inner), tests, transport)
            for direction, inner in rates.quantiles.items()
            for tests, transport in (tests_of[direction],)
            if transport is not None and f"{direction}_rate" not in self.known
        }

    def _rate(self, direction: Direction, rates: Rates, ends: Ends, ratio: Efficiency | None, evidence: str) -> None:
        """Adds the quantiles of the rate, for TCP divided by its efficiency on such a path."""
        name = f"{direction}_rate"
        inner, draws = rates.quantiles[direction], rates.quantile_draws[direction]
        if ratio is not None:
            random = np.random.default_rng(2)
            inner = inner / ratio.mean
            draws = draws / (ratio.mean * (1 + ratio.error / ratio.mean * random.standard_normal((len(draws), 1))))
        self._quantiles(name, inner, draws, "bit/s", evidence)
        whole = np.maximum(ends.whole(inner), _MIN_RATE_BPS)
        self.path[name] = [f"{value / 1e6:.4g} Mbit/s" for value in whole]

    def _efficiency(
        self, direction: Direction, rates: Numbers, tests: Sequence[Test], transport: Transport
    ) -> Efficiency:
        other = "up_rate" if direction == "down" else "down_rate"
        path = {**self.known, **self.path, other: self._value_of(other)}
        path[f"{direction}_rate"] = [f"{max(value, _MIN_RATE_BPS) / 1e6:.4g} Mbit/s" for value in rates]
        length = float(np.median([test.end_s[-1] - test.begin_s[0] for test in tests]))
        return efficiency(self.base, path, direction, transport, min(length, _LONGEST_S))

    # Losses.

    def _losses(self, delays: Delays | None) -> None:
        _, longest = (TIME.parse(text) / _PS for text in self._value("burst"))
        rtt_s = 0.0 if delays is None else float(delays.quantiles[2])
        losses = fit_losses(self.observed.probes, longest, rtt_s)
        if losses is None:
            self.undetermined.append("losses and outages: they need single probes, at least 1000 (ping -D, irtt)")
            return
        evidence = f"{losses.probes} probes, {1e3 * losses.interval_s:.4g} ms apart"
        if losses.outage_every_s is None or losses.outage_s is None:
            self.undetermined.append("outages: there are fewer than 5 in which several probes were lost")
        else:
            every, length = losses.outage_draws.T
            for name, value, draws in (
                ("outage_every", losses.outage_every_s, every),
                ("outage", losses.outage_s, length),
            ):
                if name not in self.known:
                    self._row(name, value, draws, "seconds", evidence)
                    self.path[name] = f"{value:.4g} s"
        self._other_losses(losses, evidence)

    def _other_losses(self, losses: Losses, evidence: str) -> None:
        """Scales single losses and bursts, in the ratio of the year's set, to the share of probes lost in them."""
        self._row("loss without outages", losses.other, losses.other_draws, "per probe", evidence)
        scale = losses.other / self._expected_loss()
        for name in ("isolated_loss", "edge_burst"):
            if name not in self.known:
                self.path[name] = float(f"{min(1.0, self._value(name) * scale):.3g}")
        if "burst_every" not in self.known:
            self.path["burst_every"] = f"{min(self._s('burst_every') / max(scale, _NO_LOSS), _LONGEST_BURSTS_S):.4g} s"
        self.undetermined.append(
            "single losses apart from bursts: isolated_loss, burst_every and edge_burst have the ratios of "
            f"{self.path['year']}"
        )

    def _expected_loss(self) -> float:
        """Returns the share of probes that single losses and bursts lose with the parameters of the year's set."""
        low, high = (TIME.parse(text) / _PS for text in self._value("burst"))
        per_s = 1 / self._s("burst_every") + float(self._value("edge_burst")) / (SLOT_PS / _PS)
        one_way = float(self._value("isolated_loss")) + per_s * (low + high) / 2 * float(self._value("burst_loss"))
        return 2 * one_way

    # Rows of the report.

    def _quantiles(self, name: str, inner: Numbers, draws: Numbers, unit: str, evidence: str) -> None:
        for place, probability in enumerate(INNER):
            self._row(f"{name} {probability:.0%}", float(inner[place]), draws[:, place], unit, evidence)

    def _row(self, name: str, value: float, draws: Numbers, unit: str, evidence: str, scale: float = 1.0) -> None:
        """Adds an estimate with the wider of two intervals: quantiles of the draws, and these reflected at it."""
        # The expected probability below the kth of n draws is k / (n + 1); "linear" would give narrower intervals.
        below, above = np.quantile(draws, (_LOW, _HIGH), method="weibull").tolist()
        low, high = max(0.0, min(below, 2 * value - above)), max(above, 2 * value - below)
        self.rows[name] = {
            "value": scale * value, "low": scale * low, "high": scale * high, "unit": unit, "known": evidence,
        }  # fmt: skip


def _words(transport: Transport | None) -> str:
    """Returns the connections of a test in words."""
    if transport is None:
        return "UDP"
    return f"{transport.streams} connection{'s' * (transport.streams > 1)} of {transport.control or 'TCP'}"


# Longest simulated transfer [s].
_LONGEST_S: Final = 30.0
# Least scale of the losses, and longest mean interval of bursts [s].
_NO_LOSS: Final = 1e-9
_LONGEST_BURSTS_S: Final = 1e6
