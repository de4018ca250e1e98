"""What the counters show about a flow's activity: its times, and how far it used links and windows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from longpipe.scenario.datagrams import longest_bytes
from longpipe.verdicts.limits.once import once
from longpipe.verdicts.loads import active_time

if TYPE_CHECKING:
    from longpipe.scenario.paths import Path
    from longpipe.verdicts.limits.fields import LinkFields
    from longpipe.verdicts.limits.run import RunCounters


class Activity:
    """Counters of one flow, and of the ports on its path; times are in seconds, after the warm-up."""

    def __init__(self, run: RunCounters, path: Path, counted: Mapping[str, Any]) -> None:
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
        self.route, self.return_route = path.route, path.return_route
        if len(self.parts) > 1:
            self.route = tuple([link for part in self.parts for link in part.route])
            self.return_route = tuple([link for part in self.parts for link in part.return_route])
            rows = [run.relays[part.flow] for part in self.parts if part.flow in run.relays]
            self.timeouts, self.fast_retransmits = (sum(row[i] for row in rows) for i in (1, 2))
        self.is_real = path.flow in run.real
        used, bottleneck = run.ports.used, run.slowest[path.flow]
        self.slowest = bottleneck
        if run.ranks[bottleneck] in run.tied:
            # Of equally slow links, other flows may use one for a part of the run, because routes change.
            slow = [link for link in self.route if run.ranks[link] == run.ranks[bottleneck]]
            self.slowest = max(slow, key=used.__getitem__)
        self.slowest_back = max(self.return_route, key=used.__getitem__)
        delay_s = run.ports.delay_s
        there_s, back_s = delay_s(path.route), delay_s(path.return_route)
        # RTT [s] with the mean queues in both directions; of a split flow, that of its last connection.
        self._last_round_trip_s = path.round_trip_s + there_s + back_s
        # RTT [s] with the mean queues in both directions; of a split flow, the longest of its connections.
        self.round_trip_s = self._last_round_trip_s
        if len(self.parts) > 1:
            self.round_trip_s = max(
                [part.round_trip_s + delay_s((*part.route, *part.return_route)) for part in self.parts]
            )
        # Shares of the RTT that packets, and ACKs alone, wait in queues; of a split flow, on its last connection.
        self.queued = (there_s + back_s) / self._last_round_trip_s
        self.queued_back = back_s / self._last_round_trip_s

    @property
    def has_started(self) -> bool:
        """Returns whether the flow's start is before the end of the run."""
        return self.start_s < self.run.duration_s

    @property
    def is_further_path(self) -> bool:
        """Returns whether this is a further path of a connection, whose first path has the limit."""
        return self.path.flow in self.run.connections

    @property
    def has_no_ack(self) -> bool:
        """Returns whether the active time is shorter than the RTT without queues, so that no ACK has arrived."""
        return not self.path.datagrams and self.active_s < sum([part.round_trip_s for part in self.parts])

    @property
    def owners(self) -> list[LinkFields]:
        """Returns the fields of the links of the route and of the return route, as far as fields determine them."""
        fields = map(self.run.fields.of_link, (*self.route, *self.return_route))
        return [field for field in fields if field is not None]

    def waiting_for_grants(self, ports: Iterable[int]) -> float:
        """Returns the largest share of the active time in which packets at one of the ports waited for a grant."""
        return min(1.0, max(map(self.ports.waiting_for_grant_s, ports)) / self.active_s)

    def waiting_for_medium(self, ports: Iterable[int]) -> float:
        """Returns the largest share of the active time in which packets at one of the ports waited for a medium."""
        return min(1.0, max(map(self.ports.waiting_for_medium_s, ports)) / self.active_s)

    @property
    def is_ecn_capable(self) -> bool:
        """Returns whether the flow's packets can be marked."""
        return not self.path.datagrams and self.flow["tcp"].get("ecn", {"kind": "off"}) not in ("off", {"kind": "off"})

    @once
    def longest_bytes(self) -> int:
        """Returns the length of the flow's longest IP packet."""
        return longest_bytes(self.flow["traffic"]) if self.path.datagrams else self.path.packet_bytes

    @once
    def idle(self) -> float:
        """Returns the share of time after the last byte was delivered."""
        return 1 - self.active_s / max(self.run.duration_s - self.start_s, self.active_s)

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
    def window_used(self) -> float:
        """Returns the mean share of the receiver window in flight, by Little's law; 0 for datagrams.

        Of a split flow, it is that of its last connection. The windows of flows that arrive over time are not known to
        be used at the same time.
        """
        path = self.path
        if path.datagrams or self.flow["traffic"]["kind"] == "flow-arrivals":
            return 0.0
        in_flight = self.sent_bytes / self.active_s * self._last_round_trip_s
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
    def acks_lost(self) -> float:
        """Returns the share of ACKs that were lost at the ports of the return path."""
        return self.ports.lost_share(self.return_route)

    @property
    def own_bps(self) -> float:
        """Returns the flow's rate on links, including headers."""
        return 8 * self.delivered_bytes / self.path.mss_bytes * self.path.packet_bytes / self.active_s

    @once
    def share_bps(self) -> float:
        """Returns the flow's equal share of the slowest link, or of its shaper [bit/s]."""
        return self.run.sustained_bps[self.slowest] / self.run.users[self.run.slowest[self.path.flow]]

    @once
    def share(self) -> float:
        """Returns the flow's rate on the slowest link as a fraction of its equal share of the link or its shaper.

        inf if other classes leave nothing to share.
        """
        return self.own_bps / self.share_bps if self.share_bps > 0 else math.inf
