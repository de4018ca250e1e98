"""Token buckets that pass no full packet of a flow, and outages of the links on its path."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from longpipe.units import SIZE
from longpipe.verdicts.limits.losses import Losses
from longpipe.verdicts.limits.once import once
from longpipe.verdicts.limits.remedy import Remedy, larger_bucket

if TYPE_CHECKING:
    from longpipe.scenario.paths import Resolved


class Obstacles(Losses):
    """What stops a flow's packets altogether: buckets below a packet, and outages."""

    @once
    def blocking(self) -> tuple[int, int] | None:
        """Returns the link and the number of its first conditioner that drops all full packets of the flow."""
        for link in self.run.with_buckets.intersection(self.route) if self.run.with_buckets else ():
            fields = self.run.fields.of_link(link)
            for i, conditioner in enumerate(fields.conditioners_now if fields is not None else ()):
                # A policer that marks instead of dropping passes ECN-capable packets.
                drops = getattr(conditioner, "exceed", "drop") == "drop" or not self.is_ecn_capable
                if conditioner.has_bucket and drops:
                    mtu_bytes = SIZE.parse(conditioner.mtu) if conditioner.mtu else math.inf
                    if min(SIZE.parse(conditioner.burst), mtu_bytes) < self.longest_bytes:
                        return link, i
        return None

    def is_blocked_by(self, kind: str) -> bool:
        """Returns whether a conditioner of this kind drops all full packets of the flow."""
        if self.blocking is None:
            return False
        link, i = self.blocking
        fields = self.run.fields.of_link(link)
        return fields is not None and bool(fields.conditioners_now[i].kind == kind)

    def unblocked(self) -> Remedy | None:
        """Returns a conditioner that passes the flow's full packets, instead of the one that drops all of them."""
        if self.blocking is None:
            return None
        link, i = self.blocking
        fields = self.run.fields.of_link(link)
        return None if fields is None else larger_bucket(fields, i, self.longest_bytes)

    @once
    def out_link(self) -> int:
        """Returns the link of the path that had outages for the longest time."""
        links = (*self.route, *self.return_route)
        return max(links, key=lambda link: sum(self._outages_s(link)))

    @once
    def outages(self) -> float:
        """Returns the largest share of the active time in which a link had an outage, or the flow had no route."""
        shares = [self._without_route_s] if "rerouting" in self.flow else [0.0]
        if self.run.with_outages:
            with_outages = self.run.with_outages.intersection((*self.route, *self.return_route))
            shares += [sum(self._outages_s(link)) for link in with_outages]
        return max(shares) / self.active_s

    @once
    def _without_route_s(self) -> float:
        """Returns the duration [s] in the active time without a route to the receiver, or back to the sender."""
        links, begin_s = self.run.resolved["links"], self.run.begin_s
        begin_s, end_s = begin_s + self.start_s, begin_s + self.end_s
        # The first routes, and those after each change; each is used until the next change.
        changes = [{**self.flow, "at_ps": 0}, *self.flow["rerouting"]["changes"]]
        ends_s = [min(change["at_ps"] / 1e12, end_s) for change in changes[1:]] + [end_s]
        missing_s = 0.0
        for change, until_s in zip(changes, ends_s, strict=True):
            forward, back = change["route"], change["return_route"]
            # Without a route to the other host, the links of a route lead only to a node before it.
            is_complete = (
                links[forward[-1]]["to"] == links[back[0]]["from"]
                and links[back[-1]]["to"] == links[forward[0]]["from"]
            )
            missing_s += 0.0 if is_complete else max(0.0, until_s - max(change["at_ps"] / 1e12, begin_s))
        return missing_s

    def _outages_s(self, link: int) -> list[float]:
        """Returns the durations [s] of a link's outages in the active time."""
        begin_s = self.run.begin_s
        return outages_s(self.run.resolved["links"][link], begin_s + self.start_s, begin_s + self.end_s)


def outages_s(link: Resolved, begin_s: float, end_s: float) -> list[float]:
    """Returns the durations [s] of the outages of a resolved link, as far as they are between two times."""
    intervals = link.get("motion", {}).get("outages", {}).get("intervals_ps", ())
    spans = (min(until_ps / 1e12, end_s) - max(since_ps / 1e12, begin_s) for since_ps, until_ps in intervals)
    return [span_s for span_s in spans if span_s > 0]
