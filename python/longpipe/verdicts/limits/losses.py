"""What the counters show about the losses on a flow's path, and about the causes of its window reductions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from longpipe.aal5 import CELL_BYTES
from longpipe.verdicts.limits.activity import Activity
from longpipe.verdicts.limits.causes import OF_CAUSE, Limit
from longpipe.verdicts.limits.once import once
from longpipe.verdicts.limits.run import Datagrams
from longpipe.verdicts.limits.thresholds import (
    ARRIVED_ROUND_TRIPS,
    BUSY_RETURN,
    LOST_ACKS,
    SEGMENTS_PER_ROUND_TRIP,
    TOLERATED,
)

if TYPE_CHECKING:
    from longpipe.verdicts.limits.run import Reduction


class Losses(Activity):
    """Losses on a flow's path, and the causes of its window reductions."""

    @once
    def nothing_arrived(self) -> bool:
        """Returns whether none of the flow's data arrived in time; programs over real stacks may send nothing."""
        if self.delivered_bytes or (self.is_real and not self.sent_bytes):
            return False
        return self.max_round_trips >= ARRIVED_ROUND_TRIPS

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
        further = self.run.further.get(self.path.flow)
        return self.ports.losses_by_limit({*self.route, *further} if further else self.route, self._aqm)

    @once
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
        counts = self.run.datagrams.get(self.path.flow, Datagrams())
        lost = max(counts.lost, math.floor(counts.sent - counts.received - in_network))
        return lost / (counts.received + lost) if lost > 0 else 0.0

    @once
    def lost_to(self) -> Limit | None:
        """Returns the limit that losses indicate: the cause of the window reductions, or that of most losses.

        BBR and Copa set their rates from models of the path, and count no reductions. They ignore single losses.
        """
        if self.reduced_by is not None or not (self.timeouts or self.fast_retransmits):
            return self.reduced_by
        return self.most_losses if sum(self.losses.values()) >= TOLERATED * self.sent_segments else None

    @once
    def reduced_by(self) -> Limit | None:
        """Returns the cause that kept the window below the flow's share for the longest time; None without one.

        For datagrams, it is the cause of most losses.
        """
        if self.path.datagrams:
            return self.most_losses or "buffer"
        cause = None
        if self._reductions:
            cause = self._of_reductions()
        elif self.is_real:
            cause = self._of_counters()
        if cause in (None, "timeouts") and (self.nothing_arrived or self._is_waiting(cause)):
            # The losses reduced no window, because the sender has not detected them or lost its handshake.
            links = (*self.route, *self.return_route)
            cause = _most(self.ports.losses_by_limit(links, self._aqm)) or cause
        if cause == "timeouts" and self.timeouts and self.acks_lost >= LOST_ACKS and self.busy_back < BUSY_RETURN:
            # The sender retransmitted data that had arrived, because their ACKs were lost. A lost ACK causes a timeout,
            # but no duplicate ACKs.
            cause = _most(self.ports.losses_by_limit(self.return_route, self._aqm)) or cause
        return cause

    def _is_waiting(self, limit: Limit | None) -> bool:
        """Returns whether the sender waits for a timeout, or had timeouts although no data were lost."""
        if not self.is_real and self.sent_segments < SEGMENTS_PER_ROUND_TRIP * self.max_round_trips:
            return True
        return limit is None and self.timeouts > 0 and not self.losses

    @once
    def _reductions(self) -> Sequence[tuple[int, Reduction]]:
        """Returns the window reductions of the flow's connections, each with the number of its connection."""
        reductions = self.run.reductions
        if len(self.parts) == 1:
            return [(0, row) for row in reductions.get(self.path.flow, ())]
        return [(number, row) for number, part in enumerate(self.parts) for row in reductions.get(part.flow, ())]

    @once
    def _weights(self) -> Mapping[Limit, Mapping[int, float]]:
        """Returns the weights of the reductions by the limit that they indicate, and by the number of the connection.

        The weight of each reduction is the time until the next one, multiplied by the fraction of the flow's fair share
        by which the mean window fell short in this time. If the mean window never fell short, the weight is the time
        alone.
        """
        path, round_trip_s = self.path, max([part.round_trip_s for part in self.parts])
        share_bytes = self.share_bps * round_trip_s / 8 * path.mss_bytes / path.packet_bytes
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
                of_limit = weights.setdefault(limit, {})
                of_limit[number] = of_limit.get(number, 0) + weight
        return below if any(any(of_limit.values()) for of_limit in below.values()) else lasted

    def _of_reductions(self) -> Limit | None:
        """Returns the limit that the reductions with the largest weight indicate."""
        weights = self._weights
        if len(weights) == 1:
            return next(iter(weights))
        return max(weights, key=lambda limit: sum(weights[limit].values()), default=None)

    def _of_counters(self) -> Limit | None:
        """Returns what reduced the window of a real stack, which reports no causes: the cause of most losses."""
        if (self.timeouts or self.fast_retransmits) and self.losses:
            return _most(self.losses)
        if self.timeouts:
            return "timeouts"
        return "marks" if self.marks else None

    def port_of(self, limit: Limit) -> int:
        """Returns the link of the path whose port lost, or marked, the most packets for a reason that shows a limit.

        If reductions show the limit, it is a link of the connection that they kept below its share.
        """
        routes = [self.route, self.return_route]
        if of_connections := self._weights.get(limit):
            part = self.parts[max(of_connections, key=of_connections.__getitem__)]
            routes = [part.route, part.return_route, *routes]
        for ports in routes:
            if (port := self.ports.most_indicating(ports, limit, self._aqm)) is not None:
                return port
        return self.slowest

    @property
    def buffer_packets(self) -> float:
        """Returns the size, in full packets, of the buffer that lost the most packets; inf for an unlimited one."""
        buffer = self.run.resolved["links"][self.port_of("buffer")]["buffer"]
        if buffer is None:
            return math.inf
        packet = {"bytes": self.path.packet_bytes, "cells": self.path.packet_bytes / CELL_BYTES}
        return float(buffer["limit"] / packet.get(buffer["unit"], 1))


def _most(losses: Mapping[Limit, int]) -> Limit | None:
    """Returns the limit that most losses indicate, or None without losses."""
    return max(losses, key=lambda limit: losses[limit], default=None)
