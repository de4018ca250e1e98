"""What transfers over TCP tell about the rate of a Starlink path: simulated transfers over a path like it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from longpipe.fit.starlink.observed import RAMP_S
from longpipe.run import simulate
from longpipe.scenario.base import kinds
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.starlink import Starlink
from longpipe.scenario.starlink_draws import Drawn
from longpipe.units import RATE, TIME

if TYPE_CHECKING:
    from longpipe.fit.starlink.observed import Direction, Transport
    from longpipe.scenario import Scenario

RUNS: Final = 10
# longpipe's names of controls that have a different name in Linux.
_NAMES: Final = {"reno": "linux-reno", "bbr2": "bbr3"}
_TCP_SHARE: Final = 1448 / 1500
# Least factor of the goodput if the rate is doubled, for the rate to follow from the goodput.
_LEAST_GAIN: Final = 1.6
# Time between the simulated transfers: other satellites, and other hours of the day.
_APART: Final = timedelta(hours=5, seconds=7)
_PS: Final = 1e12


class Efficiency(NamedTuple):
    """Goodput, in IP packets, over the rate of the path: mean and standard error; whether it depends on the rate."""

    mean: float
    error: float
    follows: bool


def efficiency(
    scenario: Scenario, path: Mapping[str, Any], direction: Direction, transport: Transport, length_s: float
) -> Efficiency:
    """Returns the efficiency of transfers of this length over the path, by simulation."""
    ratios = [_ratio(scenario, path, direction, transport, length_s, run) for run in range(RUNS)]
    name = f"{direction}_rate"
    doubled = {**path, name: [f"{2 * RATE.parse(text)} bit/s" for text in path[name]]}
    twice = [_ratio(scenario, doubled, direction, transport, length_s, run) for run in range(RUNS)]
    value = mean(ratios)
    return Efficiency(value, stdev(ratios) / RUNS**0.5, follows=2 * mean(twice) >= _LEAST_GAIN * value)


def _ratio(
    scenario: Scenario, path: Mapping[str, Any], direction: Direction, transport: Transport, length_s: float, run: int
) -> float:
    """Returns the goodput of a transfer, without its first seconds, over the mean rate of the path in this time."""
    begin = datetime(2023, 10, 1, tzinfo=UTC) + run * _APART
    fields = {**path, "direction": direction, "seed": run, "begin": f"{begin:%Y-%m-%dT%H:%M:%S}"}
    duration = f"{RAMP_S + length_s:.3f} s"
    control = _NAMES.get(transport.control, transport.control)
    changes: dict[str, object] = {
        "network.path": fields, "network.sources": transport.streams, "duration": duration, "warm_up": f"{RAMP_S:g} s",
        "tcp.congestion": control if control in kinds(Congestion) else "cubic",
    }  # fmt: skip
    if direction == "up":
        network: Any = scenario.network
        changes |= {"network.trunk_rate": network.return_rate, "network.return_rate": network.trunk_rate}
    steps = Drawn("path", Starlink.model_validate(fields), TIME.parse(duration)).rates()
    carried = 0.0
    for (at, rate), (end, _) in zip(steps, [*list(steps)[1:], [TIME.parse(duration), 0]], strict=True):
        carried += rate * max(0.0, end / _PS - max(at / _PS, RAMP_S))
    return simulate(scenario.with_(**changes), seed=run).total_bps / _TCP_SHARE / (carried / length_s)
