"""Result of a fit in the form in which it is shown and written, for all kinds of files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError
from longpipe.ip import IPV6_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from longpipe.fit.check import FittedGoodput
    from longpipe.fit.outages import FittedOutage
    from longpipe.fit.policer import FittedPolicer
    from longpipe.scenario import Scenario

# Posterior probability below which a control or a queue is not listed.
LISTED: Final = 0.005
# Tolerated rounding of times and shares.
_ROUNDING: Final = 1e-6
# Note about a flow over IPv6.
IPV6_NOTE: Final = (
    f"the flow has IPv6 headers, which are {IPV6_BYTES} bytes longer than the scenario's IPv4 headers; the scenario's "
    "rate is lower than the estimate in the same ratio as its packets are shorter"
)
_SCALES: Final = {"bit/s": (1e-6, "Mbit/s", ".5g"), "s": (1e3, "ms", ".5g"), "packets": (1.0, "packets", ".0f")}


def check_base(flow: str, base_s: float) -> None:
    """Raises ScenarioError if the base RTT [s] of a flow is impossible."""
    if not 0 < base_s < math.inf:
        raise ScenarioError(f"{flow}: base RTT: {1e3 * base_s:.6g} ms; needs a time above 0")


@dataclass(frozen=True, eq=False)
class FitReport:
    """A fitted path: its scenario, its estimates, and the unknowns that the file does not determine.

    An estimate has `value`, 95 % interval `low` to `high`, `unit`, and `known`, which states its origin. `low` is None
    if the value is an upper bound; `high` is None if it is a lower bound.
    """

    file: str
    flow: str
    duration_s: float
    mss: int
    scenario: Scenario
    # The scenario's file, with only the fields that the fit or its caller sets.
    toml: str
    estimates: Mapping[str, Mapping[str, Any]]
    # Rates over time; empty if the rate is constant: `at_s`, `earliest_s`, `rate_bps`, `low`, `high`.
    rate_steps: Sequence[Mapping[str, float]]
    # Probabilities of the sender's controls and of the queue's disciplines; empty where unknown.
    controls: Mapping[str, float]
    queues: Mapping[str, float]
    # Distance of the best simulation from the observed flow; None if nothing was simulated.
    distance: float | None
    undetermined: Sequence[str]
    # Reasons why the estimates may be wrong, which are printed before the estimates.
    doubts: Sequence[str]
    notes: Sequence[str]
    # Observed series: `time_s`, `delivered_bytes`, `rtt_s`, `in_flight_bytes` at equal intervals, and `lost_s`.
    series: Mapping[str, Sequence[float]]
    # Goodputs of the file and of the scenario; None if the scenario was not run (`longpipe.fit.check`).
    goodput: FittedGoodput | None = None
    # Policer that explains the losses, if one does.
    policer: FittedPolicer | None = None
    outages: Sequence[FittedOutage] = ()
    # Probabilities of the controls of each flow that shares the bottleneck, in the order of `network.group`.
    others: Sequence[Mapping[str, float]] = ()
    # Whether other flows, which the scenario lacks, may have changed the flow, so that no prediction has an interval.
    is_bounded: bool = True
    # Whether the file is that of a transfer, whose goodput the scenario must have.
    is_transfer: bool = True

    def __post_init__(self) -> None:
        """Raises ScenarioError for an impossible estimate: the file, or its reading, is wrong."""
        if "base RTT" in self.estimates:
            check_base(self.head, self.estimates["base RTT"]["value"])
        for problem in self._impossible():
            raise ScenarioError(f"{self.head}: {problem}")

    def _impossible(self) -> Iterator[str]:
        loss = self.estimates.get("loss", {}).get("value")
        shares = {"loss": loss, **self.controls, **self.queues}
        for name, share in shares.items():
            if share is not None and not 0 <= share <= 1 + _ROUNDING:
                yield f"{name}: {share:.6g}; needs a share of 0 to 1"
        last = self.duration_s * (1 + _ROUNDING)
        times = [*self.series.get("lost_s", ()), *(row["at_s"] for row in self.rate_steps)]
        for at in times:
            if not -_ROUNDING <= at <= last:
                yield f"time: {at:.6g} s; needs a time within the {self.duration_s:.6g} s of the file"

    @property
    def warnings(self) -> list[str]:
        """Returns the doubts, and a warning if the scenario's goodput deviates from the file's."""
        return [*self.doubts, *([self.goodput.warning] if self.goodput and self.goodput.warning else [])]

    @property
    def findings(self) -> list[str]:
        """Returns lines about outages, the flows that share the bottleneck, the policer and the goodputs, if known."""
        sharing = [f"shares the bottleneck: {name}" for name in map(listed, self.others)]
        last = [statement.line for statement in (self.policer, self.goodput) if statement is not None]
        return [*(outage.line for outage in self.outages), *sharing, *last]

    @property
    def head(self) -> str:
        """Returns a head line that names the flow and its file."""
        return f"{self.flow} in {self.file}, {self.duration_s:.4g} s".replace("\n", " ")

    def step_lines(self) -> list[str]:
        """Returns a line for each rate over time."""
        return [
            f"rate from {row['at_s']:.4g} s on: {with_interval({**row, 'value': row['rate_bps'], 'unit': 'bit/s'})}"
            for row in self.rate_steps
        ]


def listed(shares: Mapping[str, float]) -> str:
    """Returns names with their probabilities, except the improbable ones."""
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share >= LISTED)


def with_interval(row: Mapping[str, Any]) -> str:
    """Returns a value with its interval and unit."""
    scale, unit, form = _SCALES.get(row["unit"], (1.0, row["unit"], ".3g"))
    value = format(scale * row["value"], form)
    if row["low"] is None:
        return f"at most {value} {unit}"
    if row["high"] is None:
        return f"at least {value} {unit}"
    return f"{value} {unit} ({format(scale * row['low'], form)} to {format(scale * row['high'], form)})"
