"""Warnings about rates and delays of a scenario that the paths of its links replace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from longpipe.scenario.network import Dumbbell, Link
from longpipe.scenario.series import mean_rate_bps
from longpipe.scenario.starlink import Starlink
from longpipe.scenario.starlink_draws import Drawn
from longpipe.units import RATE, TIME

if TYPE_CHECKING:
    from longpipe.scenario import Scenario
    from longpipe.scenario.paths import Resolved

# Nodes of a dumbbell's trunk.
TRUNK: Final = ("switch1", "switch2")
# Path that leaves rate and delay to the link, as written in a scenario.
CONSTANT: Final = "{kind = 'moving'}"
# Factor by which a rounded rate may be outside the range of a path's rates.
_ROUNDED: Final = 1.01


class _Direction(NamedTuple):
    """A direction of a link that varies over time, with its fields in the scenario.

    `where` is the part of the scenario with the link's fields, `prefix` begins the names of the direction's rate and
    delay, and `path` is the name of the path that applies. `is_own` states that the direction is the forward one, or
    that the path has values of its own for the return direction. `motion` is the resolved path, and None for routes
    over satellites in a graph.
    """

    link: Dumbbell | Link
    where: str
    prefix: str
    path: str
    is_own: bool
    motion: Mapping[str, Any] | None

    def written(self, name: str) -> str | None:
        """Returns the direction's "rate" or "delay" as written; None for an absent field or a dumbbell's default."""
        whole = self.prefix + name
        text: str | None = getattr(self.link, whole)
        return text if whole in self.link.model_fields_set else None

    def slot_rates_bps(self) -> set[int]:
        """Returns the quantiles from which a Starlink path draws its rates [bit/s]; empty for other paths.

        A short run has only some of these rates.
        """
        path = self.link.path if self.path == "path" else self.link.return_path
        if not isinstance(path, Starlink):
            return set()
        is_opposite = self.path == "path" and self.prefix == "return_"
        return set(Drawn(self.path, path.opposite() if is_opposite else path, 0).slot_rates_bps)

    def replaced(self, name: str, effect: str, values: str) -> str:
        """Returns a line about the direction's "rate" or "delay", which its path replaces by `values`."""
        line = f"{self.where}.{self.prefix}{name}: {effect}; {self.where}.{self.path} has {values}"
        if self.is_own:
            return line
        return f"{line} in both directions; for a constant return direction, set {self.where}.return_path = {CONSTANT}"


def replaced_rates(scenario: Scenario) -> Iterator[str]:
    """Yields a line per rate, given or default, that a path replaces and that still determines sizes in BDP and auto.

    Rates within the range of those of the direction's own path were given for these sizes, and cause no line.
    """
    for direction in _directions(scenario):
        rates_bps, values = _rates(direction, scenario.resolved["duration_ps"])
        written = direction.written("rate")
        used = written or _forward_rate(direction.link)
        rate_bps = RATE.parse(used)
        if not rates_bps or rate_bps in rates_bps or (direction.is_own and _is_near(rate_bps, rates_bps)):
            continue
        if written is not None:
            yield direction.replaced("rate", f"{used} only determines sizes in BDP and auto", values)
        elif direction.is_own:
            yield direction.replaced("rate", f"not given, {used} determines sizes in BDP and auto", values)


def replaced_delays(scenario: Scenario) -> Iterator[str]:
    """Yields a line per delay that was given, but that a path replaces by others.

    The delay of a link in a graph causes no line, because it is mandatory.
    """
    for direction in _directions(scenario):
        written = direction.written("delay") if direction.prefix else None
        if written is None:
            continue
        if direction.motion is None:
            yield direction.replaced("delay", f"{written} is not used", "the delays of satellites")
            continue
        delays_ps = {knot[1] for knot in direction.motion.get("delay", {}).get("knots_ps", ())}
        if delays_ps and TIME.parse(written) not in delays_ps:
            values = _range("delay", *(TIME.format(bound(delays_ps)) for bound in (min, max)))
            yield direction.replaced("delay", f"{written} is not used", values)


def _directions(scenario: Scenario) -> Iterator[_Direction]:
    """Yields the directions that have a path, of a dumbbell's trunk or of a graph's links."""
    network = scenario.network
    # Each link with the name of its part of the scenario, the prefix of its forward fields, and its nodes.
    links: list[tuple[Dumbbell | Link, str, str, tuple[str, str]]]
    if network.kind == "dumbbell":
        links = [(network, "network", "trunk_", TRUNK)]
    else:
        links = [(link, f"network.links[{k}]", "", link.between) for k, link in enumerate(network.links)]
    varying = [row for row in links if row[0].path or row[0].return_path]
    motions = _motions(scenario.resolved) if varying else {}
    for link, field, prefix, (first, last) in varying:
        if link.path:
            yield _Direction(link, field, prefix, "path", True, motions.get((first, last)))
        path = "return_path" if link.return_path else "path"
        # A Starlink path has rates and delays of its own for either direction.
        is_own = path == "return_path" or isinstance(link.path, Starlink)
        yield _Direction(link, field, "return_", path, is_own, motions.get((last, first)))


def _motions(resolved: Resolved) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Returns the variation of each link of a resolved scenario, which is empty for a static one, by its nodes."""
    names = [node["name"] for node in resolved["nodes"]]
    return {(names[link["from"]], names[link["to"]]): link.get("motion", {}) for link in resolved["links"]}


def _forward_rate(link: Dumbbell | Link) -> str:
    """Returns the rate of a link's forward direction, which is the default of the other direction's rate."""
    return link.rate if isinstance(link, Link) else link.trunk_rate


def _rates(direction: _Direction, duration_ps: int) -> tuple[set[int], str]:
    """Returns the rates [bit/s] of a direction's path, also in words; empty if the rate is that of the link.

    A schedule is represented by its mean rate over the run.
    """
    service = (direction.motion or {}).get("service")
    if service is None:
        return set(), ""
    if service["kind"] == "opportunities":
        mean_bps = round(mean_rate_bps(service, duration_ps))
        return {mean_bps}, f"a mean rate of {RATE.format(int(float(f'{mean_bps:.4g}')))}"
    rates_bps = {step[1] for step in service["steps"]} | direction.slot_rates_bps()
    return rates_bps, _range("rate", *(RATE.format(bound(rates_bps)) for bound in (min, max)))


def _is_near(rate_bps: int, rates_bps: set[int]) -> bool:
    """Returns whether a rate is in the range of others, apart from rounding."""
    return min(rates_bps) / _ROUNDED <= rate_bps <= max(rates_bps) * _ROUNDED


def _range(quantity: str, lowest: str, highest: str) -> str:
    """Returns the range of a path's rates or delays in words."""
    return f"a {quantity} of {lowest}" if lowest == highest else f"{quantity}s of {lowest} to {highest}"
