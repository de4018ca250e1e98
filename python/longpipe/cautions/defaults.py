"""Warnings about fields that a scenario does not set, and whose defaults determine the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from longpipe.scenario.motion import OwnSatellites, Satellites
from longpipe.scenario.paths import Path, Resolved, paths, sustained_bps
from longpipe.scenario.profiles import CLASSIC
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.topology import links_of
from longpipe.units import RATE, SIZE, TIME
from longpipe.verdicts.limits.fields import Fields

if TYPE_CHECKING:
    from longpipe.scenario import Scenario
    from longpipe.scenario.network import Link

_RATES: Final = ("access_rate", "trunk_rate")
_DELAYS: Final = ("trunk_delay", "access_delay", "exit_delay")
# Share of the RTT at and above which default delays determine it.
_MOST: Final = 0.5
# Share of the duration for which a window grows after a loss, at and above which the MSS determines the goodput.
_SLOW: Final = 0.1
# Share of the rate of a flow at and above which its window does not limit it.
_NEARLY: Final = 0.9


def default_rates(scenario: Scenario) -> Iterator[str]:
    """Yields a line per rate of a dumbbell that is a default and limits flows, although another rate was given."""
    network, resolved = scenario.network, scenario.resolved
    if network.kind != "dumbbell":
        return
    rates = {name: getattr(network, name) for name in _RATES}
    defaults = [name for name, rate in rates.items() if name not in network.model_fields_set]
    if len(defaults) != 1:
        return
    (name,), (other,) = defaults, rates.keys() - set(defaults)
    fields = Fields(scenario)
    limited = [path for path in paths(resolved) if fields.rate_of(path.bottleneck) == f"network.{name}"]
    if limited:
        yield (
            f"network.{name}: the default, {rates[name]}, limits {_who(limited)}, not network.{other}, "
            f"{rates[other]}; set it to choose another rate"
        )


def default_delays(scenario: Scenario) -> Iterator[str]:
    """Yields a line if default delays of a dumbbell are most of the RTT, although another rate or delay was given.

    A dumbbell of cells is the LAN of the ATM Forum by default, so that its delays cause no line.
    """
    network = scenario.network
    if scenario.framing == "aal5" or network.kind != "dumbbell" or network.path or network.return_path:
        return
    if network.model_fields_set.isdisjoint((*_RATES, *_DELAYS)):
        return
    # Number of times that an RTT contains each delay.
    times = {"trunk_delay": 2 if network.return_delay is None else 1, "access_delay": 2, "exit_delay": 2}
    parts_ps = {name: count * TIME.parse(getattr(network, name)) for name, count in times.items()}
    defaults = [name for name, part_ps in parts_ps.items() if part_ps and name not in network.model_fields_set]
    back_ps = 0 if network.return_delay is None else TIME.parse(network.return_delay)
    round_trip_ps, default_ps = sum(parts_ps.values()) + back_ps, sum([parts_ps[name] for name in defaults])
    if defaults and default_ps >= _MOST * round_trip_ps:
        names = ", ".join(f"network.{name}" for name in defaults)
        yield (
            f"{names}: the defaults are {TIME.format(default_ps)} of the propagation RTT, "
            f"{TIME.format(round_trip_ps)}; set network.{defaults[0]} to choose another RTT"
        )


def default_segments(scenario: Scenario) -> Iterator[str]:
    """Yields a line if, with the default MSS, windows grow for a large part of the run after a loss."""
    resolved = scenario.resolved
    if scenario.framing == "aal5" or scenario.tcp.profile != CLASSIC:
        return
    flow_paths, growing_s = paths(resolved), []
    users = Counter([path.bottleneck for path in flow_paths])
    for path in flow_paths:
        share_bps = sustained_bps(resolved["links"][path.bottleneck]) / users[path.bottleneck]
        pipe_bytes = share_bps * path.round_trip_s / 8
        if path.endless and path.mss_bytes == SIZE.parse(_default("mss")) and path.window_bytes >= pipe_bytes:
            growing_s.append(pipe_bytes / path.packet_bytes / 2 * path.round_trip_s)
    if growing_s and 1e12 * max(growing_s) >= _SLOW * resolved["duration_ps"]:
        yield (
            f"tcp.mss: the default is {_default('mss')}, so that a window that grows by a segment per round "
            f"trip needs {max(growing_s):.1f} s to fill the link again after a loss; set it, as to 1448 B for Ethernet"
        )


def default_windows(scenario: Scenario) -> Iterator[str]:
    """Yields a line if default receiver windows limit transfers or streams; greedy flows have lines about windows."""
    if scenario.tcp.profile != CLASSIC:
        return
    resolved, default_bytes = scenario.resolved, SIZE.parse(_default("receiver_window"))
    traffic = {flow["name"]: flow["traffic"] for flow in resolved["flows"]}
    windows = {flow["name"]: flow["tcp"]["receiver_window_bytes"] for flow in resolved["flows"]}
    limited = []
    for path in paths(resolved):
        wanted_bps = _wanted_bps(traffic[path.flow], path, sustained_bps(resolved["links"][path.bottleneck]))
        if windows[path.flow] == default_bytes and 8 * path.window_bytes / path.round_trip_s < _NEARLY * wanted_bps:
            limited.append(path)
    if limited:
        rate = RATE.format(round(8 * default_bytes / limited[0].round_trip_s / 1e4) * 10_000)
        yield (
            f"tcp.receiver_window: the default, {_default('receiver_window')}, limits {_who(limited)} to "
            f"{rate}; set it to choose another window, as 'auto'"
        )


def _wanted_bps(traffic: Resolved, path: Path, link_bps: float) -> float:
    """Returns the rate [bit/s] on links that a transfer of many windows, or a stream, needs; 0 for other traffic."""
    if traffic["kind"] == "stream":
        return min(link_bps, float(traffic["rate_bps"]) / path.mss_bytes * path.packet_bytes)
    is_long = traffic["kind"] == "transfer" and traffic["size_bytes"] > path.window_bytes
    return link_bps if is_long else 0.0


def default_buffer(scenario: Scenario) -> Iterator[str]:
    """Yields a line if IP routers have the default buffer at ports for which the scenario sets none."""
    if scenario.framing == "aal5" or scenario.has_buffer:
        return
    kinds = [node["kind"] for node in scenario.resolved["nodes"]]
    links = links_of(scenario.network).values()
    kept = [link for link in links if not _is_spread(link)]
    spread = [link for link in links if _is_spread(link)]
    resolved = scenario.resolved["links"]
    if spread and all(link.buffer for link in spread):
        # Links of satellites follow those of the scenario.
        resolved = resolved[: 2 * len(kept)]
    links_with_buffer = {i for i, link in enumerate(kept) if link.buffer}
    ports = [link for k, link in enumerate(resolved) if k // 2 not in links_with_buffer and link["buffer"] is not None]
    sizes = {link["buffer"]["limit"] for link in ports if kinds[link["from"]] == "switch"}
    if sizes:
        packets = f"{min(sizes)}" if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)}"
        yield (
            f"switch.buffer: not given, routers have {scenario.switch.buffer} ({packets} packets); set it to choose "
            f"another size"
        )


def _is_spread(link: Link) -> bool:
    """Returns whether the resolved scenario contains satellites and their links instead of this link."""
    return isinstance(link.path, Satellites | OwnSatellites) and link.path.as_ == "graph"


def _who(limited: list[Path]) -> str:
    """Returns the name of a flow, or the number of several flows."""
    return f"{len(limited)} flows" if len(limited) > 1 else limited[0].flow


def _default(name: str) -> str:
    """Returns the default of a field of TCP."""
    return str(Tcp.model_fields[name].default)
