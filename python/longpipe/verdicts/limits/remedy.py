"""Remedies as data: one change of a field of a scenario, and the changes that several limits name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from longpipe.scenario.motion import OwnSatellites, Satellites
from longpipe.scenario.short_file import inline_toml
from longpipe.scenario.starlink import Starlink
from longpipe.scenario.starlink_draws import value_of as starlink_value
from longpipe.scenario.variations import Coded, File, Moving
from longpipe.units import RATE, SIZE, SYMBOLS, TIME

if TYPE_CHECKING:
    from longpipe.scenario import Scenario
    from longpipe.verdicts.limits.evidence import Evidence
    from longpipe.verdicts.limits.fields import LinkFields

# Factor by which a remedy raises a rate, unless another link is the next limit: a rate that is still too low only
# distributes the losses in another way.
MORE: Final = 32
# Maximum number of characters of a list or table in a sentence.
_LONGEST: Final = 80
# Path that leaves rate and delay to the link: without variation and outages.
_CONSTANT: Final = {"kind": "moving"}
# Longest mean interval of the bursts of losses of a Starlink path.
_LONGEST_INTERVAL: Final = "2400 h"
# Remedy of a medium access whose capacity follows from the rate of its link.
LINK_RATE: Final = "rate"
# Limit of the time in a queue above that in any buffer.
_LONGEST_QUEUE: Final = "100 s"


@dataclass(frozen=True)
class Remedy:
    """A change of one field of a scenario: `scenario.with_(**{remedy.field: remedy.value})` applies it.

    `field` is dotted, as in "network.links.2.rate". `value` is a text, a number, or a table or list as in a scenario
    file.
    """

    field: str
    value: Any

    def applied_to(self, scenario: Scenario) -> Scenario:
        """Returns the scenario with the changed field; raises ScenarioError if another field forbids the value."""
        return scenario.with_(**{self.field: self.value})

    @property
    def in_words(self) -> str:
        """Returns an instruction: "set FIELD to VALUE"; a long list or table is only described."""
        value = self.value if isinstance(self.value, str) else inline_toml(self.value)
        if len(value) > _LONGEST:
            value = f"the {'list' if isinstance(self.value, list) else 'table'} that --json prints as remedy_value"
        return f"set {self.field} to {value}"

    def __str__(self) -> str:
        """Returns the assignment, as in a scenario file."""
        return f"{self.field} = {inline_toml(self.value)}"


def faster(evidence: Evidence, link: int) -> Remedy | None:
    """Returns a higher rate of a directed link, which is that of its path if this varies the rate.

    None if its medium access has rates of a standard, or a cell whose links have equal rates.

    It is at most the rate of the next slower link or policer, because packets beyond that would only be lost there.
    """
    fields = evidence.run.fields.of_link(link)
    if fields is None or not fields.rate or not _may_be_faster(fields):
        return None
    factor = evidence.headroom(link)
    match fields.path_now:
        case Moving(rate=steps) if steps:
            return Remedy(f"{fields.path}.rate", [[at, _raised(rate, factor)] for at, rate in steps])
        case Coded(symbol_rate=rate):
            return Remedy(f"{fields.path}.symbol_rate", SYMBOLS.format(round(factor * SYMBOLS.parse(rate))))
        case File() if "service" in evidence.run.resolved["links"][link].get("motion", {}):
            highest = max(_rates_bps(evidence.run.resolved["links"][link]["motion"]["service"]))
            return Remedy(fields.path, {**_CONSTANT, "rate": [["0 s", RATE.format(MORE * highest)]]})
        case Starlink(direction=direction) as path:
            rates = starlink_value(path, f"{direction}_rate")
            return Remedy(f"{fields.path}.{direction}_rate", [_raised(rate, factor) for rate in rates])
    return Remedy(fields.rate, _rate(round(factor * evidence.run.resolved["links"][link]["rate_bps"])))


def _may_be_faster(fields: LinkFields) -> bool:
    """Returns whether the rate of a link alone can be raised: not if its medium access has fixed rates, or a cell."""
    access = fields.access_now
    return access is None or not (access.has_rates or getattr(access, "cell", None))


def deep_queue(fields: LinkFields) -> Remedy | None:
    """Returns a tail-drop queue, or, if the queue is that of a Starlink path, one with a much longer limit.

    None if no field determines the discipline.
    """
    if isinstance(fields.path_now, Starlink) and fields.policy_now.kind == "tail-drop":
        return Remedy(f"{fields.path}.{fields.path_now.direction}_queue", _LONGEST_QUEUE)
    return Remedy(fields.policy, "tail-drop") if fields.policy else None


def faster_shaper(evidence: Evidence, link: int) -> Remedy | None:
    """Returns twice the rate of the shaper of a directed link: `tbf`, or CAKE's."""
    fields = evidence.run.fields.of_link(link)
    if fields is None:
        return None
    tbf = next((i for i, conditioner in enumerate(fields.conditioners_now) if conditioner.kind == "tbf"), None)
    policy = fields.policy_now
    shaped_bps = RATE.parse(fields.conditioners_now[tbf].rate) if tbf is not None else math.inf
    if policy.kind == "cake" and policy.rate is not None and RATE.parse(policy.rate) < shaped_bps:
        return Remedy(fields.policy, {**policy.model_dump(exclude_none=True), "rate": _raised(policy.rate)})
    return None if tbf is None else faster_bucket(fields, tbf)


def granted(evidence: Evidence, link: int, fields: LinkFields) -> Remedy | None:
    """Returns more capacity that a directed link's medium access grants; None if it grants that of the link.

    This is capacity without a request, which other stations leave and which therefore suits a cell of any number of
    stations, or a higher limit of a station, or a faster carrier.
    """
    rate_bps = evidence.run.resolved["links"][link]["rate_bps"]
    name = fields.access_now.remedy
    if name == LINK_RATE:
        return faster(evidence, link)
    present = getattr(fields.access_now, name) if name else None
    if present is None or RATE.parse(present) >= rate_bps:
        return None
    return Remedy(f"{fields.access}.{name}", _rate(rate_bps))


def faster_bucket(fields: LinkFields, i: int) -> Remedy:
    """Returns twice the rate of a policer or `tbf`, or of all its rates if it has a peak rate."""
    bucket = fields.conditioners_now[i]
    if bucket.peak is None:
        return Remedy(f"{fields.conditioners}.{i}.rate", _raised(bucket.rate))
    changed = {"rate": _raised(bucket.rate), "peak": _raised(bucket.peak)}
    return Remedy(fields.conditioners, _with_item(fields, i, changed))


def larger_bucket(fields: LinkFields, i: int, longest_bytes: int) -> Remedy:
    """Returns a policer or `tbf` that passes packets of this length, and has a larger bucket."""
    bucket = fields.conditioners_now[i]
    burst_bytes = SIZE.parse(bucket.burst)
    is_short = bucket.mtu is not None and SIZE.parse(bucket.mtu) < longest_bytes
    burst = f"{max(4 * burst_bytes, 4 * longest_bytes)} B"
    if is_short and burst_bytes >= longest_bytes:
        return Remedy(f"{fields.conditioners}.{i}.mtu", f"{longest_bytes} B")
    if is_short:
        return Remedy(fields.conditioners, _with_item(fields, i, {"mtu": f"{longest_bytes} B", "burst": burst}))
    return Remedy(f"{fields.conditioners}.{i}.burst", burst)


def constant_path(fields: LinkFields, evidence: Evidence) -> Remedy:
    """Returns a path without outages; one of a file or of satellites becomes a link with constant rate and delay.

    Over satellites, which replace the delay of the link, this is the delay of the flow's first route.
    A Starlink path keeps its rates and delays, and loses its most frequent kind of losses.
    """
    if isinstance(fields.path_now, Starlink):
        rarer = {"isolated_loss": 0.0, "edge_burst": 0.0}
        name = next((name for name in rarer if starlink_value(fields.path_now, name)), "burst_every")
        return Remedy(f"{fields.path}.{name}", rarer.get(name, _LONGEST_INTERVAL))
    if isinstance(fields.path_now, Moving | Coded) and (
        fields.path_now.outages.intervals or fields.path_now.outages.every
    ):
        return Remedy(f"{fields.path}.outages", {})
    if isinstance(fields.path_now, Moving) and fields.path_now.rate:
        return Remedy(f"{fields.path}.rate", [])
    if isinstance(fields.path_now, Satellites | OwnSatellites):
        delay_ps = evidence.run.fields.satellite_delay_ps(evidence.flow, fields.path_now)
        return Remedy(fields.path, {**_CONSTANT, "delay": [["0 s", TIME.format(delay_ps)]]})
    return Remedy(fields.path, dict(_CONSTANT))


def steady_delay(fields: LinkFields) -> Remedy | None:
    """Returns a path whose delay does not vary; None if it varies neither by the path nor by its rate."""
    match fields.path_now:
        case Moving(delay=steps) if len(steps) > 1:
            return Remedy(f"{fields.path}.delay", [])
        case Moving(rate=steps) if len(steps) > 1:
            return Remedy(f"{fields.path}.rate", [])
        case None | Moving() | Coded():
            return None
    return Remedy(fields.path, dict(_CONSTANT))


def in_order(fields: LinkFields) -> Remedy | None:
    """Returns a link that keeps the order of packets and duplicates none; None if it does so already."""
    kept = [conditioner for conditioner in fields.conditioners_now if not conditioner.disorders]
    if len(kept) < len(fields.conditioners_now):
        return Remedy(fields.conditioners, [conditioner.model_dump(exclude_none=True) for conditioner in kept])
    if fields.path_now is not None and getattr(fields.path_now, "order", "fifo") == "free":
        return Remedy(f"{fields.path}.order", "fifo")
    return None


def _with_item(fields: LinkFields, i: int, changes: dict[str, str]) -> list[dict[str, Any]]:
    tables = [conditioner.model_dump(exclude_none=True) for conditioner in fields.conditioners_now]
    tables[i] |= changes
    return tables


@lru_cache
def _rate(rate_bps: int) -> str:
    return RATE.format(rate_bps)


def _raised(rate: str, factor: float = MORE) -> str:
    return RATE.format(round(factor * RATE.parse(rate)))


def _rates_bps(service: dict[str, Any]) -> list[int]:
    """Returns the rates of a path [bit/s]; those of a schedule are its mean over each line's millisecond."""
    if service["kind"] == "opportunities":
        return [round(8000 * service["bytes"] * len(service["instants_ps"]) / (service["instants_ps"][-1] / 1e9))]
    return [rate for _, rate in service["steps"]]
