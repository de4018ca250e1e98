"""Counters of a run that all of its flows share, and what follows from them for each link."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from longpipe.metrics.warm_up import begin_s, capacity
from longpipe.scenario.paths import Path, paths, ranked, sustained_bps
from longpipe.scenario.shapers import FULL_PACKET_BYTES, buckets, shaped_bps
from longpipe.units import TIME
from longpipe.verdicts.limits.fields import Fields
from longpipe.verdicts.limits.ports import PortCounters
from longpipe.verdicts.limits.used import Demands, Proxies
from longpipe.verdicts.loads import Loads

if TYPE_CHECKING:
    from longpipe.scenario import Scenario
    from longpipe.scenario.paths import Resolved

# Columns that the core returns, by part of the result and by name.
Columns = Mapping[str, Mapping[str, Any]]


class Reduction(NamedTuple):
    """Window reductions of a connection by one cause.

    `lasted_s` is the time until the next reductions [s], and `mean_window_bytes` the mean window in this time.
    """

    cause: str
    lasted_s: float
    mean_window_bytes: float


class Datagrams(NamedTuple):
    """Numbers of datagrams of a flow; `lost` are those lost before the last one that arrived."""

    sent: int = 0
    received: int = 0
    lost: int = 0


class RunCounters:
    """Counters of a run that all of its flows share."""

    def __init__(self, scenario: Scenario, columns: Columns) -> None:
        self.resolved: Resolved = scenario.resolved
        self.fields = Fields(scenario)
        self.begin_s = begin_s(columns)
        # Times are measured from the end of a warm-up, as the counters are.
        self.duration_s = TIME.parse(scenario.duration) / 1e12 - self.begin_s
        self.ports = PortCounters(self.resolved, columns["ports"], self.duration_s)
        self.paths = paths(self.resolved)
        self.loads = Loads(self.resolved, columns, self.paths, self.duration_s)
        self.demands = Demands(scenario, columns)
        self.proxies = Proxies(self.resolved, columns, self.ports)
        self.datagrams = _datagrams(columns)
        self.reductions = _reductions(columns)
        links, flows = self.resolved["links"], self.resolved["flows"]
        # Links with policers or shapers that may drop long packets.
        self.with_buckets = {k for k in self.ports.shaping if buckets(links[k])}
        self.with_outages = {k for k, link in enumerate(links) if "outages" in link.get("motion", ())}
        # Rate of each link, or of its shaper if this is slower.
        self.sustained_bps = [self._mean_rate_bps(link) for link in links]
        self._mean_bps = list(self.sustained_bps)
        shaped = {k: sustained_bps(links[k]) for k in self.ports.shaping}
        # Shapers that are slower than their links.
        self._shaped_bps = {k: rate_bps for k, rate_bps in shaped.items() if rate_bps < self.sustained_bps[k]}
        for k, rate_bps in self._shaped_bps.items():
            self.sustained_bps[k] = rate_bps
        self.ranks = ranked(self.resolved, self.sustained_bps)
        # Ranks that several links have.
        self.tied = {rank for rank, count in Counter(self.ranks.values()).items() if count > 1}
        # Number of flows whose data use each link.
        self.users_of = Counter([link for flow in flows for link in flow["route"]])
        self._limiting: dict[int, str] = {}
        self._share_bps: dict[int, float] = {}
        self.parts = _parts(self.resolved, self.paths)
        rank = self.ranks.__getitem__
        self.slowest = {
            flow: min([min(part.route, key=rank) for part in parts], key=rank) for flow, parts in self.parts.items()
        }
        self.users = Counter(self.slowest.values())
        relays = columns.get("relays", {})
        rows = zip(
            *(relays.get(name, ()) for name in ("connection", "sent_bytes", "timeouts", "fast_retransmits")),
            strict=True,
        )
        # Counters of the connections of split flows.
        self.relays = {connection: tuple(counted) for connection, *counted in rows}
        self.flows = {flow["name"]: flow for flow in flows}
        # Real stacks report the number of window reductions, but not their causes.
        self.real = frozenset(columns.get("stacks", {}).get("flow", ()))
        # Links that carry data, by which a link that only carries ACKs is recognized.
        self.carry_data = {link for flow in (*flows, *self.resolved["vbr"]) for link in flow["route"]}
        # Connections by the names of their further paths, and the links of these paths by connection.
        self.connections = {flow["name"]: flow["traffic"]["of"] for flow in flows if "of" in flow["traffic"]}
        self.further: dict[str, set[int]] = {}
        for path in self.paths if self.connections else ():
            if path.flow in self.connections:
                self.further.setdefault(self.connections[path.flow], set()).update(path.route)

    def _mean_rate_bps(self, link: Resolved) -> float:
        """Returns the mean rate [bit/s] of a directed link after the warm-up, without its outages."""
        if "service" not in link.get("motion", {}):
            return float(link["rate_bps"])
        begin_ps, end_ps = (round(1e12 * at_s) for at_s in (self.begin_s, self.begin_s + self.duration_s))
        return float((capacity(link, end_ps) - capacity(link, begin_ps)) / (end_ps - begin_ps))

    def limiting_field(self, link: int) -> str:
        """Returns the field of the rate of a directed link, or of its shaper if this is slower; "" if there is none."""
        if link not in self._limiting:
            self._limiting[link] = self._limiting_field(link)
        return self._limiting[link]

    def _limiting_field(self, link: int) -> str:
        fields = self.fields.of_link(link)
        if fields is None or link not in self._shaped_bps:
            return self.fields.rate_of(link)
        return fields.policy if fields.first("tbf") is None else fields.conditioners

    def ratio_of_shaper(self, link: int) -> float:
        """Returns the rate of the shapers and policers of a directed link, as a multiple of its own; inf if slower."""
        if link not in self.ports.shaping:
            return math.inf
        limit_bps, rate_bps = _conditioned_bps(self.resolved["links"][link]), self._mean_bps[link]
        return limit_bps / rate_bps if limit_bps >= rate_bps else math.inf

    def share_bps(self, link: int) -> float:
        """Returns the rate [bit/s] that a directed link, its shaper and its policers leave to each of its flows."""
        if link not in self._share_bps:
            self._share_bps[link] = self._rate_per_flow_bps(link)
        return self._share_bps[link]

    def _rate_per_flow_bps(self, link: int) -> float:
        if link not in self.ports.shaping:
            return self._mean_bps[link] / max(1, self.users_of[link])
        row = self.resolved["links"][link]
        share_bps = min(self._mean_bps[link], _conditioned_bps(row)) / max(1, self.users_of[link])
        of_flows = [bucket["rate_bps"] for bucket in buckets(row) if bucket["kind"] == "policer" and bucket["per_flow"]]
        return float(min([share_bps, *of_flows]))


def _conditioned_bps(link: Resolved) -> float:
    """Returns the rate [bit/s] of the shapers and policers of a directed link; inf without them."""
    return shaped_bps(link, math.inf, policers=True, packet_bytes=FULL_PACKET_BYTES)


def _parts(resolved: Resolved, whole_paths: Sequence[Path]) -> dict[str, list[Path]]:
    """Returns the paths of each flow's connections, from its sender to its receiver; one, without a proxy."""
    flows = resolved["flows"]
    if len(whole_paths) == len(flows):
        return {path.flow: [path] for path in whole_paths}
    connections = paths(resolved, parts=True)
    # Number of the connection whose proxy writes the data of a connection.
    previous = {flow["onward"]["flow"]: number for number, flow in enumerate(flows) if "onward" in flow}
    by_flow = {}
    for number, flow in enumerate(flows):
        # The last connection of a flow has the flow's name.
        if "onward" not in flow:
            chain = [number]
            while chain[0] in previous:
                chain.insert(0, previous[chain[0]])
            by_flow[flow["name"]] = [connections[part] for part in chain]
    return by_flow


def _datagrams(columns: Columns) -> dict[str, Datagrams]:
    """Returns the numbers of datagrams by flow."""
    datagrams = columns.get("datagrams", {})
    rows = zip(*(datagrams.get(name, ()) for name in ("flow", *Datagrams._fields)), strict=True)
    return {flow: Datagrams(*counts) for flow, *counts in rows}


def _reductions(columns: Columns) -> dict[str, list[Reduction]]:
    """Returns the window reductions by connection."""
    part = columns["reductions"]
    rows = zip(*(part[name] for name in ("cause", "reduced_s", "mean_window_bytes")), strict=True)
    by_connection: dict[str, list[Reduction]] = {}
    for connection, row in zip(part["connection"], rows, strict=True):
        by_connection.setdefault(connection, []).append(Reduction(*row))
    return by_connection
