"""Outages of a path, from the times without ACKs in a capture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from longpipe.fit.departures import BusyIntervals
    from longpipe.fit.observed import ObservedFlow

    Flags = NDArray[np.bool_]

# Minimum time without an ACK that counts as an outage of the path, in seconds and in RTTs.
_MIN_S: Final = 1.0
_MIN_RTTS: Final = 5.0
# Share of lost packets, among those that waited at the begin of an outage, above which the outage dropped them.
_DROPPED: Final = 0.5


@dataclass(frozen=True)
class FittedOutage:
    """An outage of the bottleneck: begin, earliest and latest end [s after the first data packet].

    ACKs arrived neither after `last_ack_s` nor before `next_ack_s`; the last packet delivered before the outage was
    sent at `last_sent_s`. If the outage does not drop packets, they wait for its end. The latest end of an outage in
    which the capture ends is that of the capture.
    """

    begin_s: float
    earliest_end_s: float
    latest_end_s: float
    last_sent_s: float
    last_ack_s: float
    next_ack_s: float
    # Time from which on packets wait only for the packets before them.
    settled_s: float
    drops: bool

    @property
    def end_s(self) -> float:
        """The middle of the times at which the outage may have ended."""
        return (self.earliest_end_s + self.latest_end_s) / 2

    @property
    def line(self) -> str:
        """Returns a line that states the outage."""
        end = f"{self.latest_end_s:.4g} s"
        if self.earliest_end_s < self.latest_end_s:
            end = f"between {self.earliest_end_s:.4g} and {end}"
        packets = "drops packets" if self.drops else "packets wait for its end"
        return (
            f"outage from {self.begin_s:.4g} s to {end}; {packets}: no data arrived for "
            f"{self.next_ack_s - self.last_ack_s:.3g} s, although data was sent"
        )


def fitted_outages(flow: ObservedFlow, base_s: float) -> tuple[FittedOutage, ...]:
    """Returns the outages of a path with a base RTT of `base_s`: times without ACKs of new data, far above the RTT.

    Packets cross the bottleneck when they are sent, if it is idle, and their ACKs arrive a base RTT later. The outage
    begins when the last packet departs whose ACK arrives. If packets wait, the first ACK shows its end; if packets are
    dropped, it ends between the sending of the last packet that is lost and of the first that arrives.
    """
    least = max(_MIN_S, _MIN_RTTS * float(np.median(flow.rtt)))
    times = np.append(0.0, flow.ack_s)
    end_byte = np.maximum.accumulate(flow.sent_byte + flow.sent_bytes)
    outages = []
    for gap in np.flatnonzero(np.diff(np.append(times, flow.duration_s)) > least).tolist():
        last_ack_s = float(times[gap])
        is_over = gap + 1 < len(times)
        next_ack_s = float(times[gap + 1]) if is_over else flow.duration_s
        sent = int(np.searchsorted(flow.sent_s, last_ack_s, side="right"))
        acked_bytes = int(flow.ack_delivered[gap - 1]) if gap else 0
        if not sent or end_byte[sent - 1] <= acked_bytes:
            continue
        begin_s = max(last_ack_s - base_s, 0.0)
        last_sent_s = float(np.max(flow.sent_s[flow.sent_acked_s <= last_ack_s], initial=-1.0))
        is_waiting = ~(flow.sent_acked_s <= last_ack_s) & (flow.sent_s >= last_sent_s) & (flow.sent_s <= last_ack_s)
        drops = not is_over or bool(flow.sent_lost[is_waiting].mean() > _DROPPED) if is_waiting.any() else True
        latest_end_s = next_ack_s - base_s if is_over else flow.duration_s
        earliest_end_s = latest_end_s
        if drops and is_over:
            is_probe = flow.sent_lost & (flow.sent_s > begin_s) & (flow.sent_s < latest_end_s)
            earliest_end_s = float(np.max(flow.sent_s[is_probe], initial=begin_s))
        outages.append(
            FittedOutage(
                begin_s, earliest_end_s, latest_end_s, last_sent_s, last_ack_s, next_ack_s, next_ack_s + base_s, drops
            )
        )
    return tuple(outages)


def lost_in(flow: ObservedFlow, outages: Sequence[FittedOutage]) -> Flags:
    """Returns the lost transmissions whose losses say nothing about the queue without an outage.

    An outage lost them or delayed them so much that they were retransmitted, or they met the packets that had waited.
    """
    during = np.zeros(len(flow.sent_s), bool)
    for outage in outages:
        during |= (flow.sent_s >= outage.last_sent_s) & (flow.sent_s < outage.settled_s)
    return during & flow.sent_lost


def outside(busy: BusyIntervals, outages: Sequence[FittedOutage]) -> BusyIntervals:
    """Returns the intervals without those that contain a part of an outage."""
    during = np.zeros(len(busy), bool)
    for outage in outages:
        during |= (busy.begin_s < outage.next_ack_s) & (busy.begin_s + busy.length_s > outage.last_ack_s)
    return busy.where(~during)
