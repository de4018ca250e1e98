"""Outages of a path, from the times without ACKs in a capture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from longpipe.fit.departures import BusyIntervals
    from longpipe.fit.observed import ObservedFlow

    Flags = NDArray[np.bool_]

# Minimum time without an ACK that may be an outage of the path, in seconds and in RTTs.
_MIN_S: Final = 1.0
_MIN_RTTS: Final = 5.0
# An outage dropped all packets that were sent into it. Random losses explain a run of as many losses if more than this
# number of such runs is expected in the capture.
_CHANCE: Final = 0.01
# Smallest number of ACKs, one after the other, for packets that waited in an outage. After a retransmission, one ACK
# acknowledges all of them.
_MIN_ACKS: Final = 3

Fate = Literal["drop", "hold"]


@dataclass(frozen=True)
class FittedOutage:
    """A time without ACKs of new data: begin, earliest and latest end [s after the first data packet].

    ACKs arrived neither after `last_ack_s` nor before `next_ack_s`; the last packet delivered before was sent at
    `last_sent_s`. `fate` is that of the packets in an outage of the bottleneck; None if lost retransmissions
    explain the time without ACKs as well, or if the capture ends in it.
    """

    begin_s: float
    earliest_end_s: float
    latest_end_s: float
    last_sent_s: float
    last_ack_s: float
    next_ack_s: float
    # Time from which on packets wait only for the packets before them.
    settled_s: float
    # Whether an ACK followed.
    is_over: bool
    fate: Fate | None

    @property
    def end_s(self) -> float:
        """The middle of the times at which the outage may have ended."""
        return (self.earliest_end_s + self.latest_end_s) / 2

    @property
    def silence(self) -> str:
        """Returns how long no data arrived."""
        return f"no data arrived for {self.next_ack_s - self.last_ack_s:.3g} s"

    @property
    def line(self) -> str:
        """Returns a line that states the outage."""
        end = f"{self.latest_end_s:.4g} s"
        if self.earliest_end_s < self.latest_end_s:
            end = f"between {self.earliest_end_s:.4g} and {end}"
        packets = "drops packets" if self.fate == "drop" else "packets wait for its end"
        return f"outage from {self.begin_s:.4g} s to {end}; {packets}: {self.silence}, although data was sent"


def fitted_outages(flow: ObservedFlow, base_s: float, sharing: Sequence[ObservedFlow]) -> tuple[FittedOutage, ...]:
    """Returns the times without ACKs of new data, far above the RTT, with the outages of the bottleneck among them.

    Packets cross the bottleneck when they are sent, if it is idle, and their ACKs arrive a base RTT of `base_s` later.
    The outage begins when the last packet departs whose ACK arrives. If packets wait, the first ACK shows its end; if
    packets are dropped, it ends between the sending of the last packet that is lost and of the first that arrives. In
    an outage, ACKs of the flows `sharing` the bottleneck do not arrive either.
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
        has_data = sent > 0 and end_byte[sent - 1] > acked_bytes
        if not has_data or any(((other.ack_s > last_ack_s) & (other.ack_s < next_ack_s)).any() for other in sharing):
            continue
        begin_s, latest_end_s = max(last_ack_s - base_s, 0.0), next_ack_s - base_s
        delivered_before = flow.sent_acked_s <= last_ack_s
        last_sent_s = float(np.max(flow.sent_s[delivered_before], initial=-1.0))
        inside = ~delivered_before & (flow.sent_s >= last_sent_s) & (flow.sent_s < latest_end_s)
        fate = _fate(flow, inside, last_ack_s) if is_over else None
        earliest_end_s = latest_end_s
        if fate == "drop":
            earliest_end_s = float(np.max(flow.sent_s[inside & flow.sent_lost], initial=begin_s))
        outages.append(
            FittedOutage(
                begin_s=begin_s,
                earliest_end_s=earliest_end_s,
                latest_end_s=latest_end_s,
                last_sent_s=last_sent_s,
                last_ack_s=last_ack_s,
                next_ack_s=next_ack_s,
                settled_s=next_ack_s + base_s,
                is_over=is_over,
                fate=fate,
            )
        )
    return tuple(outages)


def _fate(flow: ObservedFlow, inside: Flags, last_ack_s: float) -> Fate | None:
    """Returns the fate of the transmissions `inside` an outage; None if lost retransmissions explain the silence."""
    acks_s = flow.sent_acked_s[inside & ~flow.sent_lost]
    waited_s = flow.sent_acked_s[inside & ~flow.sent_lost & (flow.sent_s <= last_ack_s)]
    if len(np.unique(waited_s[~np.isnan(waited_s)])) >= _MIN_ACKS:
        return "hold"
    # If an outage lost only the ACKs of packets, the first ACK after it acknowledges them.
    first_ack_s = float(np.nanmin(flow.sent_acked_s[flow.sent_acked_s > last_ack_s]))
    if (acks_s > first_ack_s).any() or not (~inside).any():
        return None
    share = max(float(flow.sent_lost[~inside].mean()), 1 / int((~inside).sum()))
    runs = float((~inside).sum()) * share ** int(flow.sent_lost[inside].sum())
    return "drop" if runs < _CHANCE else None


def lost_in(flow: ObservedFlow, outages: Sequence[FittedOutage]) -> Flags:
    """Returns the lost transmissions whose losses do not depend on the usual queue of the bottleneck.

    These are the transmissions that an outage dropped or delayed beyond the retransmission timeout, those that arrived
    at the queue that an outage had filled, and those after the last ACK of the capture.
    """
    during = np.zeros(len(flow.sent_s), bool)
    for outage in outages:
        if outage.fate is not None or not outage.is_over:
            during |= (flow.sent_s >= outage.last_sent_s) & (flow.sent_s < outage.settled_s)
    return during & flow.sent_lost


def outside(busy: BusyIntervals, outages: Sequence[FittedOutage]) -> BusyIntervals:
    """Returns the intervals without those that contain a part of an outage."""
    during = np.zeros(len(busy), bool)
    for outage in outages:
        during |= (busy.begin_s < outage.next_ack_s) & (busy.begin_s + busy.length_s > outage.last_ack_s)
    return busy.where(~during)
