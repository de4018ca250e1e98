"""Departures from the bottleneck, inferred from ACKs, and the intervals in which the bottleneck was busy.

All times are arrival times of ACKs: the departure time plus the delay from the bottleneck back to the sender.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from longpipe.fit.observed import ObservedFlow

    Numbers = NDArray[np.float64]
    Counts = NDArray[np.int64]
    Flags = NDArray[np.bool_]

# Standard deviation of the time by which Linux delays a SACK: 0.1 to 1.1 ms (tcp_comp_sack_delay_ns and its slack).
_HELD_S: Final = 0.4e-3
# Number of later ACKs with which the departure of a packet is compared, if several flows share the bottleneck.
_LATER: Final = 8
# Share of packets that arrive after a later one, from which on packets overtake each other behind the bottleneck; none
# do in 120 captures of Linux without reordering.
_OVERTAKEN: Final = 0.001
# Flows share a queue if the differences of their RTTs vary by less than this share of the RTTs' variation, or less than
# the time of this number of ACKs.
_MAX_OFF: Final = 0.3
_MAX_PACKETS: Final = 4.0


@dataclass(frozen=True, eq=False)
class BusyIntervals:
    """Intervals between two ACKs in which the bottleneck sent without pause: begin [s], length [s] and bits sent.

    `run` is the number of a run of consecutive intervals. `jitter_s` is the standard deviation [s] of the length due to
    SACKs that the receiver delayed.
    """

    begin_s: Numbers
    length_s: Numbers
    bits: Numbers
    run: Counts
    jitter_s: Numbers

    def __len__(self) -> int:
        return len(self.bits)

    def where(self, chosen: Any) -> BusyIntervals:  # noqa: ANN401 - flags, a slice or indices
        """Returns the chosen intervals."""
        return BusyIntervals(*(getattr(self, column.name)[chosen] for column in fields(self)))


@dataclass(frozen=True, eq=False)
class Packets:
    """Transmissions through a bottleneck in the order of sending, of one flow or of several.

    `sent_s`, `bits` of the IP packet, `lost`, `acked_s` (NaN if not acknowledged) and `sacked` have an element for each
    transmission, as has `flow`, the number of its flow: 0 for the fitted one. ACKs arrive as if all flows had the base
    RTT of flow 0. If packets overtake each other, the ACK of arrival k of a flow is that of transmission k.
    """

    sent_s: Numbers
    bits: Numbers
    lost: Flags
    acked_s: Numbers
    sacked: Flags
    flow: Counts


def overtakes(flow: ObservedFlow) -> bool:
    """Returns whether packets of a flow arrived after later ones that took their turn at the bottleneck behind them."""
    acked = flow.sent_acked_s[~np.isnan(flow.sent_acked_s)]
    earliest_later = np.minimum.accumulate(acked[::-1])[::-1][1:]
    return bool((acked[:-1] > earliest_later).sum() > _OVERTAKEN * len(acked))


def _in_order(flow: ObservedFlow) -> tuple[Numbers, Flags]:
    """Returns the times of ACKs in the order of transmissions that arrived, and whether SACK blocks reported them."""
    if not overtakes(flow):
        return flow.sent_acked_s, flow.sent_sacked
    arrived = np.flatnonzero(~np.isnan(flow.sent_acked_s))
    order = arrived[np.argsort(flow.sent_acked_s[arrived], kind="stable")]
    acked, sacked = flow.sent_acked_s.copy(), flow.sent_sacked.copy()
    acked[arrived], sacked[arrived] = flow.sent_acked_s[order], flow.sent_sacked[order]
    return acked, sacked


def longer_s(flow: ObservedFlow, other: ObservedFlow) -> float | None:
    """Returns by how much the base RTT of another flow exceeds that of a flow [s]; None if they share no queue.

    Packets that are sent at about the same time wait equally long in a shared queue, so that the difference of their
    RTTs is constant. To one receiver, the base RTTs are equal.
    """
    sent_s, other_sent_s = flow.rtt_at_s - flow.rtt, other.rtt_at_s - other.rtt
    inside = (other_sent_s > sent_s[0]) & (other.rtt_at_s < flow.rtt_at_s[-1])
    if not inside.any():
        return 0.0
    order = np.argsort(sent_s, kind="stable")
    # RTTs of the flow, interpolated to the times at which the other flow's packets were sent.
    flow_rtt = np.interp(other_sent_s[inside], sent_s[order], flow.rtt[order])
    differences = other.rtt[inside] - flow_rtt
    longer = 0.0 if _receiver(other) == _receiver(flow) else float(np.median(differences))
    packet_s = float(np.median(np.diff(flow.ack_s)))
    deviation = float(np.median(np.abs(differences - longer)))
    variation = float(np.median(np.abs(flow_rtt - np.median(flow_rtt))))
    return longer if deviation <= max(_MAX_OFF * variation, _MAX_PACKETS * packet_s) else None


def _receiver(flow: ObservedFlow) -> str:
    return flow.flow.split(" > ")[1].rpartition(":")[0]


def packets_of(
    observed: ObservedFlow, longer: Mapping[str, float], lost_in_outages: Callable[[ObservedFlow], Flags]
) -> Packets:
    """Returns the transmissions of a flow, and of those with which it shares the bottleneck.

    Transmissions that `lost_in_outages` returns do not count as lost, because they say nothing about the queue.

    `longer` has the difference [s] of the base RTT of each of these from that of the flow, by name. It is assumed to
    arise behind the bottleneck.
    """
    flows = (observed, *(flow for flow in observed.shared if flow.flow in longer))
    sent_s = np.concatenate([flow.sent_s for flow in flows])
    order = np.argsort(sent_s, kind="stable")
    acks = [_in_order(flow) for flow in flows]

    def merged(columns: list[Any]) -> Any:  # noqa: ANN401 - arrays of several types
        return np.concatenate(columns)[order]

    return Packets(
        sent_s[order],
        merged([(flow.sent_bytes + flow.headers) * 8.0 for flow in flows]),
        merged([flow.sent_lost & ~lost_in_outages(flow) for flow in flows]),
        merged([acked_s - longer.get(flow.flow, 0.0) for flow, (acked_s, _) in zip(flows, acks, strict=True)]),
        merged([sacked for _, sacked in acks]),
        merged([np.full(len(flow.sent_s), number) for number, flow in enumerate(flows)]),
    )


def departures(packets: Packets, arrived: Counts, rate_bps: float) -> tuple[Numbers, Counts]:
    """Returns departure times of transmissions that arrived, and the indices of the last ones that each ACK reports.

    The receiver may delay an ACK until more packets arrive. Only the last packet that an ACK reports has an RTT without
    this delay, so the departures of the other packets are computed backwards from the next such packet.
    """
    acked, flow = packets.acked_s[arrived], packets.flow[arrived]
    bits = np.cumsum(packets.bits[arrived])
    by_flow = np.argsort(flow, kind="stable")
    ends = np.append((np.diff(acked[by_flow]) > 0) | (np.diff(flow[by_flow]) > 0), True)
    lasts = np.sort(by_flow[ends])
    # The ACK that reports each transmission, as an index of `lasts`.
    group = np.minimum(np.searchsorted(lasts, np.arange(len(arrived))), len(lasts) - 1)
    exact = acked[lasts]
    for _ in range(_LATER if flow.any() else 0):
        # The timer of delayed ACKs is visible only in the packets of other flows that left earlier than they should.
        exact = np.append(np.minimum(exact[:-1], exact[1:] - np.diff(bits[lasts]) / rate_bps), exact[-1:])
    departed = np.minimum(acked, exact[group] - (bits[lasts][group] - bits) / rate_bps)
    return departed, lasts


def busy_intervals(packets: Packets, base_s: float, rate_bps: float) -> BusyIntervals:
    """Returns the intervals in which packets left back to back.

    The packets that an ACK reports left back to back, directly after the last packet that the previous ACK reports, if
    each of them arrived before its predecessor had left. The first interval of each run is omitted, because a shaper
    may have saved tokens for its first packets. `rate_bps` is an approximate rate.
    """
    arrived = np.flatnonzero(~np.isnan(packets.acked_s))
    departed, lasts = departures(packets, arrived, rate_bps)
    bits = np.cumsum(packets.bits[arrived])
    acked = departed[lasts]
    follows = np.append(False, packets.sent_s[arrived][1:] + base_s < departed[:-1])
    # The last packets of ACKs i and i + 1 belong to the same run if all packets of ACK i + 1 directly follow their
    # predecessors.
    idle = np.add.reduceat(~follows, np.append(0, lasts[:-1] + 1))
    busy = (idle[1:] == 0) & (np.diff(acked) > 0)
    run = np.cumsum(~busy)
    # Without the first interval of each run.
    inner = busy & np.append(False, busy[:-1])
    sack_delay_s = np.where(packets.sacked[arrived][lasts], _HELD_S, 0.0)
    # The delays of both ends are independent, so that their variances add up.
    jitter = np.hypot(sack_delay_s[1:], sack_delay_s[:-1])
    return BusyIntervals(
        acked[:-1][inner], np.diff(acked)[inner], np.diff(bits[lasts])[inner], run[inner], jitter[inner]
    )


def in_pieces(busy: BusyIntervals, least_bits: float) -> BusyIntervals:
    """Returns the intervals of each run joined into pieces of at least `least_bits`; remainders are omitted."""
    starts: list[int] = []
    ends: list[int] = []
    total, begin, previous = 0.0, 0, -1
    for index, (bits, run) in enumerate(zip(busy.bits.tolist(), busy.run.tolist(), strict=True)):
        if run != previous:
            total, begin, previous = 0.0, index, run
        total += bits
        if total >= least_bits:
            starts.append(begin)
            ends.append(index + 1)
            total, begin = 0.0, index + 1
    first, last = np.array(starts, dtype=int), np.array(ends, dtype=int)
    ends_s = busy.begin_s + busy.length_s
    sent_bits = np.append(0.0, np.cumsum(busy.bits))
    # Delays of ACKs within a piece cancel each other.
    jitter = np.hypot(busy.jitter_s[first], busy.jitter_s[last - 1]) / 2**0.5
    return BusyIntervals(
        busy.begin_s[first],
        ends_s[last - 1] - busy.begin_s[first],
        sent_bits[last] - sent_bits[first],
        busy.run[first],
        jitter,
    )
