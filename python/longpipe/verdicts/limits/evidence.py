"""What the counters of a run show about each flow: the evidence from which its limit is determined."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Final

from longpipe.verdicts.limits.obstacles import Obstacles
from longpipe.verdicts.limits.once import once
from longpipe.verdicts.limits.remedy import MORE
from longpipe.verdicts.limits.run import Columns, RunCounters
from longpipe.verdicts.limits.thresholds import (
    BOUND_RATIO,
    BUSY,
    FAIR_SHARE,
    HALF,
    LONG_QUEUE,
    LOST_DATAGRAMS,
    MIN_HEADROOM,
    MOST_OF_SHARE,
    MUCH_FASTER,
    NEARLY_BUSY,
    SHORT_QUEUE,
    STARVED_SHARE,
)

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

# Counters of a flow that are evidence of their own.
_COUNTERS: Final = (
    "start_s", "completion_s", "delivered_bytes", "sent_bytes", "sent_segments", "timeouts", "fast_retransmits",
)  # fmt: skip


class Evidence(Obstacles):
    """Evidence about one flow: its activity, losses and obstacles, and whether it has its share of the slowest link."""

    @once
    def is_served(self) -> bool:
        """Returns whether the application, not the network, limited the flow: for datagrams, whether few were lost."""
        if self.path.datagrams:
            return self.lost_datagrams < LOST_DATAGRAMS
        return self.run.demands.is_served(self.path, self.active_s, self.round_trip_s)

    @property
    def is_shaped(self) -> bool:
        """Returns whether the shaper of the slowest link, rather than the link, limits what it sends."""
        return self.ports.is_shaped(self.slowest)

    @once
    def has_its_share(self) -> bool:
        """Returns whether the slowest link was busy, or carried the flow's share of it although packets were lost."""
        if self.reduced_by == "policer":
            return self.busy >= BUSY and self.share >= STARVED_SHARE and not self.path.datagrams
        if self.flow["traffic"]["kind"] == "flow-arrivals":
            # Flows arrive whether or not the link is busy, so that it delays all that it does not carry at once.
            return True
        if self.path.datagrams:
            # Datagrams do not slow down, so that they fill any buffer whose link is busy.
            return self.busy >= (HALF if self.reduced_by in ("buffer", "AQM") else NEARLY_BUSY)
        if self.reduced_by in ("buffer", "AQM", "marks") or self._ignores_losses:
            return self._has_its_share_despite_signals
        if self.reduced_by is None:
            return self._has_its_share_without_losses
        if self.reduced_by == "random loss" and self.run.users_of[self.slowest] > 1 and self.queued >= LONG_QUEUE:
            # Without the losses of all flows, the link would still be shared.
            return self.busy >= NEARLY_BUSY or self.share >= FAIR_SHARE
        return self.busy >= BUSY or self.share >= FAIR_SHARE

    @property
    def _ignores_losses(self) -> bool:
        """Returns whether losses reduced no window, as those of BBR and Copa; a proxy may limit these, too."""
        return self.reduced_by is None and self.most_losses not in (None, "policer") and len(self.parts) == 1

    @property
    def _has_its_share_despite_signals(self) -> bool:
        """Returns whether the link of a flow whose queues dropped or marked packets limits it.

        The signals of a queue follow from the rate of its link: a larger buffer, or tail drop, only distributes the
        link among its flows in another way. A next link of a similar rate would drop or mark the packets instead.
        """
        if self.busy >= BUSY:
            return True
        if self.busy >= NEARLY_BUSY or self.share >= FAIR_SHARE:
            return self.ratio_of_next(self.slowest) >= MIN_HEADROOM
        return min(self.share, self.busy) >= HALF and self.ratio_of_next(self.slowest) >= MUCH_FASTER

    @property
    def _has_its_share_without_losses(self) -> bool:
        """Returns whether the link of a flow limits it that did not reduce its window."""
        if self.queued >= HALF:
            # The queues, not the window, determine the RTT and with it the rate.
            return self.busy >= NEARLY_BUSY or self.share >= HALF
        if self.queued < SHORT_QUEUE and self.window_used >= HALF:
            # A faster link shortens no queue, so that the RTT and with it the rate of a full window remain.
            return self.busy >= BUSY and self.share >= HALF
        is_free = max(self.window_used, self.proxy_used[1]) < HALF
        return self.busy >= BUSY or self.share >= (MOST_OF_SHARE if is_free else FAIR_SHARE)

    @once
    def is_bounded_elsewhere(self) -> bool:
        """Returns whether another link or shaper, whose rate another field determines, would hold the flow to its rate.

        A flow that uses both links alone, and loses nothing, is held to the rate of the second one.
        """
        users, rates_bps, slowest = self.run.users_of, self.run.sustained_bps, self.slowest
        if users[slowest] == 1 and BOUND_RATIO * self.run.ratio_of_shaper(slowest) <= 1:
            return True
        is_alone = users[slowest] == 1 and self.reduced_by is None
        own_bps, alone_bps = self.own_bps / BOUND_RATIO, rates_bps[slowest] / BOUND_RATIO if is_alone else 0.0
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
        return min(MORE, factor) if factor >= MIN_HEADROOM else MORE

    def ratio_of_next(self, link: int) -> float:
        """Returns the rate per flow of the next link that another field determines, as a multiple of that of a link."""
        present_bps = self.run.share_bps(link)
        if present_bps == 0:
            return math.inf
        rate_of, share_bps = self.run.fields.rate_of, self.run.share_bps
        changed = rate_of(link)
        shares_bps = [share_bps(other) for other in self.route if rate_of(other) != changed]
        return min(shares_bps) / present_bps if shares_bps else math.inf


def evidence(scenario: Scenario, columns: Columns) -> Iterator[Evidence]:
    """Yields the evidence about each flow of a run, in the order of the flows."""
    run, flows = RunCounters(scenario, columns), columns["flows"]
    # Runs without ECN have no column for reductions due to marks.
    marks = flows.get("mark_reductions") or repeat(0)
    for path, mark_reductions, *counted in zip(run.paths, marks, *(flows[name] for name in _COUNTERS), strict=False):
        yield Evidence(run, path, {"mark_reductions": mark_reductions, **dict(zip(_COUNTERS, counted, strict=True))})
