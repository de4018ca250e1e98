"""What the counters of a run show about each flow: the evidence from which its limit is determined."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from longpipe.aal5 import CELL_BYTES
from longpipe.metrics.warm_up import begin_s, capacity
from longpipe.scenario.datagrams import longest_bytes
from longpipe.scenario.paths import Path, paths, ranked, sustained_bps
from longpipe.scenario.shapers import FULL_PACKET_BYTES, buckets, shaped_bps
from longpipe.units import SIZE, TIME
from longpipe.verdicts.limits.causes import OF_CAUSE, Limit
from longpipe.verdicts.limits.fields import Fields, LinkFields
from longpipe.verdicts.limits.once import once
from longpipe.verdicts.limits.ports import PortCounters
from longpipe.verdicts.limits.remedy import MORE, Remedy, larger_bucket
from longpipe.verdicts.limits.used import Demands, Proxies
from longpipe.verdicts.loads import Loads, active_time

if TYPE_CHECKING:
    from longpipe.scenario import Scenario
    from longpipe.scenario.paths import Resolved

# Columns that the core returns, by part of the result and by name.
Columns = Mapping[str, Mapping[str, Any]]
# Share of time in which a link is busy at and above which it limits a flow.
BUSY: Final = 0.9
# Share of time in which a link is busy at and above which a larger buffer in front of it gains little.
FULL: Final = 0.8
# Share of its equal share of the slowest link at and above which this link limits a flow: losses and windows only keep
# it from exceeding its share.
FAIR: Final = 0.75
# Share of its equal share of the slowest link at and above which a flow that nothing else limits gains by a faster link.
MOST: Final = 2 / 3
# Share below which a policer may limit a flow although the link behind it is busy with other flows.
STARVED: Final = 0.25
# Share of its equal share of the slowest link at and above which a larger buffer, or tail drop, only distributes the
# link among its flows in another way.
HALF: Final = 0.5
# Share of the RTT in queues below which packets do not wait.
QUEUED: Final = 0.05
# Rate of the next link, as a multiple, at and above which its queue drops or marks fewer packets.
MUCH_FASTER: Final = 1.5
# Share of the rate of another link at and above which this link prevents a rise of the goodput by 5 %.
BOUNDED: Final = 0.94
# Factor below which a faster link gains nothing of note, because the next one is as slow.
LEAST_HEADROOM: Final = 1.06
# Share of lost datagrams at and above which the path limits their source.
MUCH: Final = 0.06
# Share of lost ACKs at and above which they explain window reductions that no loss of data explains.
LOST_ACKS: Final = 0.02
# Busy share of a return link at and above which waiting ACKs explain timeouts and probes of the tail.
WAIT: Final = 0.5
# Number of RTTs, with full queues, in which data of a flow have arrived unless they were lost.
ARRIVED_ROUND_TRIPS: Final = 2
# Segments per RTT, with full queues, below which a sender waits for a timeout: any window allows at least one.
WAITING: Final = 0.5
# Counters of a flow that are evidence of their own.
_COUNTERS: Final = (
    "start_s", "completion_s", "delivered_bytes", "sent_bytes", "sent_segments", "timeouts", "fast_retransmits",
)  # fmt: skip


@dataclass(frozen=True)
class Reduction:
    """Window reductions of a connection by one cause.

    `lasted_s` is the time until the next reductions [s], and `mean_window_bytes` the mean window in this time.
    """

    cause: str
    lasted_s: float
    mean_window_bytes: float


class Run:
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
        shaped = {k: sustained_bps(links[k]) for k in self.ports.shaping}
        # Shapers that are slower than their links.
        self._shaped_bps = {k: rate_bps for k, rate_bps in shaped.items() if rate_bps < self.sustained_bps[k]}
        for k, rate_bps in self._shaped_bps.items():
            self.sustained_bps[k] = rate_bps
        self.ranks = ranked(self.resolved, self.sustained_bps)
        # Number of flows whose data use each link.
        self.users_of = Counter([link for flow in flows for link in flow["route"]])
        self._limiting: dict[int, str] = {}
        self.parts = _parts(self.resolved, self.paths)
        self.slowest = {
            flow: min((k for part in parts for k in part.route), key=self.ranks.__getitem__)
            for flow, parts in self.parts.items()
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
        for path in self.paths:
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
        own = self.fields.of_link(link)
        if own is None or link not in self._shaped_bps:
            return self.fields.rate_of(link)
        return own.policy if own.first("tbf") is None else own.conditioners

    def ratio_of_shaper(self, link: int) -> float:
        """Returns the rate of the shapers and policers of a directed link, as a multiple of its own; inf if slower."""
        row = self.resolved["links"][link]
        if link not in self.ports.shaping:
            return math.inf
        limit_bps = shaped_bps(row, math.inf, policers=True, packet_bytes=FULL_PACKET_BYTES)
        rate_bps = self._mean_rate_bps(row)
        return limit_bps / rate_bps if limit_bps >= rate_bps else math.inf

    def share_bps(self, link: int) -> float:
        """Returns the rate [bit/s] that a directed link, its shaper and its policers leave to each of its flows."""
        row = self.resolved["links"][link]
        limit_bps = shaped_bps(row, math.inf, policers=True, packet_bytes=FULL_PACKET_BYTES)
        share_bps = min(self._mean_rate_bps(row), limit_bps) / max(1, self.users_of[link])
        of_flows = (one["rate_bps"] for one in buckets(row) if one["kind"] == "policer" and one["per_flow"])
        return float(min([share_bps, *of_flows]))


class Evidence:
    """Counters of one flow, and of the ports on its path; times are in seconds, after the warm-up."""

    def __init__(self, run: Run, path: Path, counted: Mapping[str, Any]) -> None:
        self.run, self.path, self.ports = run, path, run.ports
        self.flow = run.flows[path.flow]
        self.sent_bytes: int = counted["sent_bytes"]
        self.sent_segments: int = counted["sent_segments"]
        self.delivered_bytes: int = counted["delivered_bytes"]
        # Most real stacks do not report their timeouts.
        self.timeouts: float = 0 if math.isnan(counted["timeouts"]) else counted["timeouts"]
        self.fast_retransmits: int = counted["fast_retransmits"]
        self.marks: int = counted["mark_reductions"]
        self.start_s, self.end_s = active_time(counted["start_s"], counted["completion_s"], run.begin_s, run.duration_s)
        self.active_s = self.end_s - self.start_s
        # Connections of the flow from its sender to its receiver, of which each proxy ends one.
        self.parts = run.parts[path.flow]
        self.route = tuple(link for part in self.parts for link in part.route)
        self.return_route = tuple(link for part in self.parts for link in part.return_route)
        if len(self.parts) > 1:
            rows = [run.relays[part.flow] for part in self.parts if part.flow in run.relays]
            self.timeouts, self.fast_retransmits = (sum(row[i] for row in rows) for i in (1, 2))
        # Of equally slow links, other flows may use one for a part of the run, because routes change.
        bottleneck = run.slowest[path.flow]
        slow = [link for link in self.route if run.ranks[link] == run.ranks[bottleneck]]
        self.slowest = max(slow, key=run.ports.used.__getitem__) if len(slow) > 1 else bottleneck
        self.slowest_back = max(self.return_route, key=run.ports.used.__getitem__)
        self.is_real = path.flow in run.real

    @property
    def has_started(self) -> bool:
        """Returns whether the flow's start is before the end of the run."""
        return self.start_s < self.run.duration_s

    @property
    def is_further_path(self) -> bool:
        """Returns whether this is a further path of a connection, whose first path has the limit."""
        return self.path.flow in self.run.connections

    @once
    def idle(self) -> float:
        """Returns the share of time after the last byte was delivered."""
        return 1 - self.active_s / max(self.run.duration_s - self.start_s, self.active_s)

    @once
    def round_trip_s(self) -> float:
        """Returns the RTT with the mean queues in both directions; of a split flow, the longest of its connections."""
        return max(part.round_trip_s + self.ports.delay_s((*part.route, *part.return_route)) for part in self.parts)

    @property
    def has_no_ack(self) -> bool:
        """Returns whether the active time is shorter than the RTT without queues, so that no ACK has arrived."""
        return not self.path.datagrams and self.active_s < sum([part.round_trip_s for part in self.parts])

    @property
    def owners(self) -> list[LinkFields]:
        """Returns the fields of the links of the route and of the return route, as far as fields determine them."""
        found = map(self.run.fields.of_link, (*self.route, *self.return_route))
        return [own for own in found if own is not None]

    @once
    def max_round_trips(self) -> float:
        """Returns the number of RTTs in the active time, each with the longest queues of the run."""
        return self.active_s / max(map(self.ports.max_round_trip_s, self.parts))

    @once
    def round_trips(self) -> float:
        """Returns the number of RTTs in the active time, each with the mean queues of the run."""
        return self.active_s / self.round_trip_s

    @once
    def busy(self) -> float:
        """Returns the share of the active time in which the slowest link, or its shaper, was busy."""
        return self.run.loads.busy(self.slowest, self.ports.used[self.slowest], self.start_s, self.end_s)

    @once
    def busy_back(self) -> float:
        """Returns the share of the active time in which the busiest link on the return path was busy."""
        return self.run.loads.busy(self.slowest_back, self.ports.used[self.slowest_back], self.start_s, self.end_s)

    @once
    def queued(self) -> float:
        """Returns the share of the RTT that packets wait in queues; of a split flow, that of its last connection."""
        delay_s = self.ports.delay_s((*self.path.route, *self.path.return_route))
        return delay_s / (self.path.round_trip_s + delay_s)

    @once
    def queued_back(self) -> float:
        """Returns the share of the RTT that ACKs wait in queues; of a split flow, those of its last connection."""
        delay_s = self.ports.delay_s((*self.path.route, *self.path.return_route))
        return self.ports.delay_s(self.path.return_route) / (self.path.round_trip_s + delay_s)

    @once
    def window_used(self) -> float:
        """Returns the mean share of the receiver window in flight, by Little's law; 0 for datagrams.

        Of a split flow, it is that of its last connection. The windows of flows that arrive over time are not known to
        be used at the same time.
        """
        path = self.path
        if path.datagrams or self.flow["traffic"]["kind"] == "flow-arrivals":
            return 0.0
        round_trip_s = path.round_trip_s + self.ports.delay_s((*path.route, *path.return_route))
        in_flight = self.sent_bytes / self.active_s * round_trip_s
        return min(1.0, in_flight * path.packet_bytes / path.mss_bytes / path.window_bytes)

    @property
    def window_segments(self) -> float:
        """Returns the receiver window in full segments; inf for datagrams."""
        return math.inf if self.path.datagrams else self.path.window_bytes / self.path.packet_bytes

    @once
    def proxy_used(self) -> tuple[str, float]:
        """Returns the proxy whose buffer is used most, "" without a proxy, and the mean share of its buffer."""
        return self.run.proxies.used(self.path.flow, self.active_s)

    @once
    def is_served(self) -> bool:
        """Returns whether the application, not the network, limited the flow: for datagrams, whether few were lost."""
        if self.path.datagrams:
            return self.lost_datagrams < MUCH
        return self.run.demands.is_served(self.path, self.active_s, self.round_trip_s)

    @once
    def acks_lost(self) -> float:
        """Returns the share of ACKs that were lost at the ports of the return path."""
        return self.ports.lost_share(self.return_route)

    @once
    def share(self) -> float:
        """Returns the flow's rate on the slowest link as a fraction of its equal share of the link or its shaper.

        inf if other classes leave nothing to share.
        """
        return self._own_bps / self._share_bps if self._share_bps > 0 else math.inf

    @property
    def _own_bps(self) -> float:
        """Returns the flow's rate on links, including headers."""
        return 8 * self.delivered_bytes / self.path.mss_bytes * self.path.packet_bytes / self.active_s

    @once
    def _share_bps(self) -> float:
        """Returns the flow's equal share of the slowest link, or of its shaper [bit/s]."""
        return self.run.sustained_bps[self.slowest] / self.run.users[self.run.slowest[self.path.flow]]

    @property
    def is_shaped(self) -> bool:
        """Returns whether the shaper of the slowest link, rather than the link, limits what it sends."""
        return self.ports.is_shaped(self.slowest)

    @once
    def has_its_share(self) -> bool:
        """Returns whether the slowest link was busy, or carried the flow's share of it although packets were lost."""
        if self.reduced_by == "policer":
            return self.busy >= BUSY and self.share >= STARVED and not self.path.datagrams
        if self.flow["traffic"]["kind"] == "flow-arrivals":
            # Flows arrive whether or not the link is busy, so that it delays all that it does not carry at once.
            return True
        if self.path.datagrams:
            # Datagrams do not slow down, so that they fill any buffer whose link is busy.
            return self.busy >= (HALF if self.reduced_by in ("buffer", "AQM") else FULL)
        # BBR and Copa do not respond to single losses. A proxy may limit them, too.
        ignores_losses = self.reduced_by is None and self.most_losses not in (None, "policer") and len(self.parts) == 1
        if self.reduced_by in ("buffer", "AQM", "marks") or ignores_losses:
            # The signals of a queue follow from the rate of its link: a larger buffer, or tail drop, only distributes
            # the link among its flows in another way.
            if self.busy >= FULL or self.share >= FAIR:
                return self.busy >= BUSY or self.ratio_of_next(self.slowest) >= LEAST_HEADROOM
            # A next link of a similar rate would drop or mark the packets instead.
            return min(self.share, self.busy) >= HALF and self.ratio_of_next(self.slowest) >= MUCH_FASTER
        if self.reduced_by is None and self.queued >= HALF:
            # The queues, not the window, determine the RTT and with it the rate.
            return self.busy >= FULL or self.share >= HALF
        if self.reduced_by is None and self.queued < QUEUED and self.window_used >= HALF:
            # A faster link shortens no queue, so that the RTT and with it the rate of a full window remain.
            return self.busy >= BUSY and self.share >= HALF
        if self.reduced_by == "random loss" and self.run.users_of[self.slowest] > 1 and self.queued >= STARVED:
            # Without the losses of all flows, the link would still be shared.
            return self.busy >= FULL or self.share >= FAIR
        is_free = self.reduced_by is None and max(self.window_used, self.proxy_used[1]) < HALF
        return self.busy >= BUSY or self.share >= (MOST if is_free else FAIR)

    @once
    def is_bounded_elsewhere(self) -> bool:
        """Returns whether another link or shaper, whose rate another field determines, would hold the flow to its rate.

        A flow that uses both links alone, and loses nothing, is held to the rate of the second one.
        """
        users, rates_bps, slowest = self.run.users_of, self.run.sustained_bps, self.slowest
        if users[slowest] == 1 and BOUNDED * self.run.ratio_of_shaper(slowest) <= 1:
            return True
        is_alone = users[slowest] == 1 and self.reduced_by is None
        own_bps, alone_bps = self._own_bps / BOUNDED, rates_bps[slowest] / BOUNDED if is_alone else 0.0
        slow = {
            link
            for link in self.route
            if rates_bps[link] <= own_bps or (users[link] == 1 and rates_bps[link] <= alone_bps)
        }
        slow.discard(slowest)
        changed = self.run.limiting_field(slowest) if slow else ""
        return any(self.run.limiting_field(link) not in ("", changed) for link in slow)

    def headroom(self, link: int) -> float:
        """Returns the factor, at most `MORE`, by which a link may be faster before the next one limits the flow.

        The factor is `MORE` if the next one has nearly the same rate, because no rate of this link then helps much.
        """
        factor = self.ratio_of_next(link)
        return min(MORE, factor) if factor >= LEAST_HEADROOM else MORE

    def ratio_of_next(self, link: int) -> float:
        """Returns the rate per flow of the next link that another field determines, as a multiple of that of a link."""
        fields, changed = self.run.fields, self.run.fields.rate_of(link)
        others = [other for other in self.route if fields.rate_of(other) != changed]
        present_bps = self.run.share_bps(link)
        if present_bps == 0:
            return math.inf
        return min((self.run.share_bps(other) / present_bps for other in others), default=math.inf)

    @once
    def blocking(self) -> tuple[int, int] | None:
        """Returns the link and the number of its first conditioner that drops all full packets of the flow."""
        for link in self.run.with_buckets.intersection(self.route):
            own = self.run.fields.of_link(link)
            for i, one in enumerate(own.conditioners_now if own is not None else ()):
                if one.has_bucket and (getattr(one, "exceed", "drop") == "drop" or not self.is_ecn_capable):
                    longest = min(SIZE.parse(one.burst), SIZE.parse(one.mtu) if one.mtu else math.inf)
                    if longest < self.longest_bytes:
                        return link, i
        return None

    @property
    def is_ecn_capable(self) -> bool:
        """Returns whether the flow's packets can be marked."""
        return not self.path.datagrams and self.flow["tcp"].get("ecn", {"kind": "off"}) not in ("off", {"kind": "off"})

    def is_blocked_by(self, kind: str) -> bool:
        """Returns whether a conditioner of this kind drops all full packets of the flow."""
        if self.blocking is None:
            return False
        link, i = self.blocking
        own = self.run.fields.of_link(link)
        return own is not None and bool(own.conditioners_now[i].kind == kind)

    def unblocked(self) -> Remedy | None:
        """Returns a conditioner that passes the flow's full packets, instead of the one that drops all of them."""
        if self.blocking is None:
            return None
        link, i = self.blocking
        own = self.run.fields.of_link(link)
        return None if own is None else larger_bucket(own, i, self.longest_bytes)

    @once
    def longest_bytes(self) -> int:
        """Returns the length of the flow's longest IP packet."""
        return longest_bytes(self.flow["traffic"]) if self.path.datagrams else self.path.packet_bytes

    @once
    def nothing_arrived(self) -> bool:
        """Returns whether none of the flow's data arrived in time; programs over real stacks may send nothing."""
        demands = not self.is_real or self.sent_bytes > 0
        return demands and not self.delivered_bytes and self.max_round_trips >= ARRIVED_ROUND_TRIPS

    @property
    def is_disordered(self) -> bool:
        """Returns whether packets of the flow may have arrived out of order, or twice."""
        return "rerouting" in self.flow or self.ports.may_disorder((*self.route, *self.return_route))

    @once
    def _aqm(self) -> Limit:
        """Returns the limit that drops of a policy indicate."""
        return "buffer" if self.ports.all_sized_by_buffer(self.route) else "AQM"

    @once
    def losses(self) -> Mapping[Limit, int]:
        """Returns the losses at the ports of the route by the limit that they indicate."""
        further = self.run.further.get(self.path.flow, ())
        return self.ports.losses_by_limit({*self.route, *further}, self._aqm)

    @property
    def most_losses(self) -> Limit | None:
        """Returns the limit that most losses at the ports of the route indicate; None without losses."""
        return _most(self.losses)

    @once
    def lost_datagrams(self) -> float:
        """Returns a lower bound on the share of lost datagrams.

        The core counts lost datagrams that were sent before the last one that arrived. Of those sent after it, the ones
        that cannot still be in the network were also lost.
        """
        in_network = float(self.ports.max_queued(self.path.route))
        in_network += self.sent_segments / self.active_s * self.path.delay_ps / 1e12
        sent, received, lost = self.run.datagrams.get(self.path.flow, (0, 0, 0))
        lost = max(lost, math.floor(sent - received - in_network))
        return lost / (received + lost) if lost > 0 else 0.0

    @once
    def reduced_by(self) -> Limit | None:
        """Returns the cause that kept the window below the flow's share for the longest time; None without one.

        For datagrams, it is the cause of most losses.
        """
        if self.path.datagrams:
            return _most(self.losses) or "buffer"
        found = None
        if self._reductions:
            found = self._of_reductions()
        elif self.run.reductions is None or self.is_real:
            found = self._of_counters()
        is_waiting = not self.is_real and self.sent_segments < WAITING * self.max_round_trips
        is_waiting = is_waiting or (found is None and self.timeouts > 0 and not self.losses)
        if (self.nothing_arrived or is_waiting) and found in (None, "timeouts"):
            # The losses reduced no window, because the sender has not detected them or lost its handshake.
            both = (*self.route, *self.return_route)
            found = _most(self.ports.losses_by_limit(both, self._aqm)) or found
        if found == "timeouts" and self.timeouts and self.acks_lost >= LOST_ACKS and self.busy_back < WAIT:
            # The sender retransmitted data that had arrived, because their ACKs were lost. A lost ACK causes a timeout,
            # but no duplicate ACKs.
            found = _most(self.ports.losses_by_limit(self.return_route, self._aqm)) or found
        return found

    @once
    def _reductions(self) -> Sequence[tuple[int, Reduction]]:
        """Returns the window reductions of the flow's connections, each with the number of its connection."""
        known = self.run.reductions or {}
        return [(number, row) for number, part in enumerate(self.parts) for row in known.get(part.flow, ())]

    @once
    def _weights(self) -> Mapping[Limit, Mapping[int, float]]:
        """Returns the weights of the reductions by the limit that they indicate, and by the number of the connection.

        The weight of each reduction is the time until the next one, multiplied by the fraction of the flow's fair share
        by which the mean window fell short in this time. If the mean window never fell short, the weight is the time
        alone.
        """
        share_bytes = (
            self._share_bps
            * max(part.round_trip_s for part in self.parts)
            / 8
            * self.path.mss_bytes
            / self.path.packet_bytes
        )
        rows = self._reductions
        if {row.cause for _, row in rows} > {"none"} and not self.is_disordered:
            # After a loss, a sender without SACK retransmits data that have arrived, and takes the answers for losses.
            rows = [(number, row) for number, row in rows if row.cause != "none"]
        below: dict[Limit, dict[int, float]] = {}
        lasted: dict[Limit, dict[int, float]] = {}
        for number, row in rows:
            limit = OF_CAUSE[row.cause]
            limit = self._aqm if limit == "AQM" else limit
            missing = max(0.0, 1 - row.mean_window_bytes / share_bytes)
            for weights, weight in ((below, row.lasted_s * missing), (lasted, row.lasted_s)):
                own = weights.setdefault(limit, {})
                own[number] = own.get(number, 0) + weight
        return below if any(any(own.values()) for own in below.values()) else lasted

    def _of_reductions(self) -> Limit | None:
        """Returns the limit that the reductions with the largest weight indicate."""
        return max(self._weights, key=lambda limit: sum(self._weights[limit].values()), default=None)

    def _of_counters(self) -> Limit | None:
        """Returns what reduced a window without reductions by cause: the cause of most losses.

        Real stacks, and runs that were stored before senders recorded their reductions, have no reductions by cause.
        """
        if (self.timeouts or self.fast_retransmits) and self.losses:
            return _most(self.losses)
        if self.timeouts:
            return "timeouts"
        return "marks" if self.marks else None

    def port_of(self, limit: Limit) -> int:
        """Returns the link of the path whose port lost, or marked, the most packets for a reason that shows a limit.

        If reductions show the limit, it is a link of the connection that they kept below its share.
        """
        of_connections = self._weights.get(limit)
        part = self.parts[max(of_connections, key=of_connections.__getitem__)] if of_connections else None
        ways = [(part.route, part.return_route)] if part else []
        for ports in (*(way for pair in ways for way in pair), self.route, self.return_route):
            counted = {port: packets for port in ports if (packets := self.ports.indicating(port, limit, self._aqm))}
            if counted:
                return max(counted, key=counted.__getitem__)
        return self.slowest

    @property
    def buffer_packets(self) -> float:
        """Returns the size, in full packets, of the buffer that lost the most packets; inf for an unlimited one."""
        buffer = self.run.resolved["links"][self.port_of("buffer")]["buffer"]
        if buffer is None:
            return math.inf
        packet = {"bytes": self.path.packet_bytes, "cells": self.path.packet_bytes / CELL_BYTES}
        return float(buffer["limit"] / packet.get(buffer["unit"], 1))

    @once
    def out_link(self) -> int:
        """Returns the link of the path that had outages for the longest time."""
        both = (*self.route, *self.return_route)
        return max(both, key=lambda link: sum(self._outages_s(link)))

    @once
    def outages(self) -> float:
        """Returns the largest share of the active time in which a link of the path transmitted nothing."""
        with_outages = self.run.with_outages.intersection((*self.route, *self.return_route))
        return max((sum(self._outages_s(link)) for link in with_outages), default=0.0) / self.active_s

    def _outages_s(self, link: int) -> list[float]:
        """Returns the durations [s] of a link's outages in the active time."""
        begin_s = self.run.begin_s
        return outages_s(self.run.resolved["links"][link], begin_s + self.start_s, begin_s + self.end_s)


def evidence(scenario: Scenario, columns: Columns) -> Iterator[Evidence]:
    """Yields the evidence about each flow of a run, in the order of the flows."""
    run, flows = Run(scenario, columns), columns["flows"]
    # Runs stored by early versions have no column for reductions due to marks.
    marks = flows.get("mark_reductions") or repeat(0)
    for path, mark_reductions, *counted in zip(run.paths, marks, *(flows[name] for name in _COUNTERS), strict=False):
        yield Evidence(run, path, {"mark_reductions": mark_reductions, **dict(zip(_COUNTERS, counted, strict=True))})


def outages_s(link: Resolved, begin_s: float, end_s: float) -> list[float]:
    """Returns the durations [s] of the outages of a resolved link, as far as they are between two times."""
    intervals = link.get("motion", {}).get("outages", {}).get("intervals_ps", ())
    spans = (min(until_ps / 1e12, end_s) - max(since_ps / 1e12, begin_s) for since_ps, until_ps in intervals)
    return [span_s for span_s in spans if span_s > 0]


def _most(losses: Mapping[Limit, int]) -> Limit | None:
    """Returns the limit that most losses indicate, or None without losses."""
    return max(losses, key=lambda limit: losses[limit], default=None)


def _parts(resolved: Resolved, known: Sequence[Path]) -> dict[str, list[Path]]:
    """Returns the paths of each flow's connections, from its sender to its receiver; one, without a proxy."""
    flows = resolved["flows"]
    if len(known) == len(flows):
        return {path.flow: [path] for path in known}
    every = paths(resolved, parts=True)
    before = {flow["onward"]["flow"]: number for number, flow in enumerate(flows) if "onward" in flow}
    found = {}
    for number, flow in enumerate(flows):
        if "onward" not in flow:
            chain = [number]
            while chain[0] in before:
                chain.insert(0, before[chain[0]])
            found[flow["name"]] = [every[part] for part in chain]
    return found


def _datagrams(columns: Columns) -> dict[str, tuple[int, int, int]]:
    """Returns, for each datagram flow, the numbers sent, received, and lost before the last one that arrived."""
    datagrams = columns.get("datagrams", {})
    rows = zip(*(datagrams.get(name, ()) for name in ("flow", "sent", "received", "lost")), strict=True)
    return {flow: (sent, received, lost) for flow, sent, received, lost in rows}


def _reductions(columns: Columns) -> dict[str, list[Reduction]] | None:
    """Returns the window reductions by connection; None for a run that was stored before senders recorded them."""
    if "reductions" not in columns:
        return None
    part = columns["reductions"]
    rows = zip(*(part[name] for name in ("cause", "reduced_s", "mean_window_bytes")), strict=True)
    found: dict[str, list[Reduction]] = {}
    for connection, row in zip(part["connection"], rows, strict=True):
        found.setdefault(connection, []).append(Reduction(*row))
    return found
