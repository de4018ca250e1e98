"""Departures from the bottleneck, inferred from ACKs, and the intervals in which the bottleneck was busy.

All times are arrival times of ACKs: the departure time plus the delay from the bottleneck back to the sender.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.fit.observed import ObservedFlow

    Numbers = NDArray[np.float64]
    Counts = NDArray[np.int64]

# Standard deviation of the time by which Linux delays a SACK: 0.1 to 1.1 ms (tcp_comp_sack_delay_ns and its slack).
_HELD_S: Final = 0.4e-3


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


def departures(seen: ObservedFlow, arrived: Counts, rate_bps: float) -> tuple[Numbers, Counts]:
    """Returns departure times of transmissions that arrived, and for each ACK the index of the last one it reports.

    The receiver may delay an ACK until more packets arrive. Only the last packet that an ACK reports has an RTT without
    this delay, so the departures of the other packets are computed backwards from its departure.
    """
    acked = seen.sent_acked_s[arrived]
    bits = np.cumsum((seen.sent_bytes[arrived] + seen.headers) * 8.0)
    lasts = np.flatnonzero(np.append(np.diff(acked) > 0, True))
    group = np.searchsorted(lasts, np.arange(len(arrived)))
    left = np.minimum(acked, acked[lasts][group] - (bits[lasts][group] - bits) / rate_bps)
    return left, lasts


def busy_intervals(seen: ObservedFlow, base_s: float, rate_bps: float) -> BusyIntervals:
    """Returns the intervals in which packets left back to back.

    The packets that an ACK reports left back to back, directly after the last packet that the previous ACK reports, if
    each of them arrived before its predecessor had left. The first interval of each run is omitted, because a shaper
    may have saved tokens for its first packets. `rate_bps` is an approximate rate.
    """
    arrived = np.flatnonzero(~np.isnan(seen.sent_acked_s))
    left, lasts = departures(seen, arrived, rate_bps)
    bits = np.cumsum((seen.sent_bytes[arrived] + seen.headers) * 8.0)
    acked = seen.sent_acked_s[arrived][lasts]
    follows = np.append(False, seen.sent_s[arrived][1:] + base_s < left[:-1])
    # The last packets of ACKs i and i + 1 belong to the same run if all packets of ACK i + 1 directly follow their
    # predecessors.
    idle = np.add.reduceat(~follows, np.append(0, lasts[:-1] + 1))
    busy = (idle[1:] == 0) & (np.diff(acked) > 0)
    run = np.cumsum(~busy)
    inner = busy & np.append(False, busy[:-1])
    held = np.where(seen.sent_sacked[arrived][lasts], _HELD_S, 0.0)
    jitter = np.hypot(held[1:], held[:-1])
    return BusyIntervals(
        acked[:-1][inner], np.diff(acked)[inner], np.diff(bits[lasts])[inner], run[inner], jitter[inner]
    )


def in_pieces(busy: BusyIntervals, least_bits: float) -> BusyIntervals:
    """Returns the intervals of each run joined into pieces of at least `least_bits`; remainders are omitted."""
    starts: list[int] = []
    ends: list[int] = []
    total, begin, previous = 0.0, 0, -1
    for place, (bits, run) in enumerate(zip(busy.bits.tolist(), busy.run.tolist(), strict=True)):
        if run != previous:
            total, begin, previous = 0.0, place, run
        total += bits
        if total >= least_bits:
            starts.append(begin)
            ends.append(place + 1)
            total, begin = 0.0, place + 1
    first, last = np.array(starts, dtype=int), np.array(ends, dtype=int)
    ends_s = busy.begin_s + busy.length_s
    moved = np.append(0.0, np.cumsum(busy.bits))
    # Delays of ACKs within a piece cancel each other.
    jitter = np.hypot(busy.jitter_s[first], busy.jitter_s[last - 1]) / 2**0.5
    return BusyIntervals(
        busy.begin_s[first], ends_s[last - 1] - busy.begin_s[first], moved[last] - moved[first], busy.run[first], jitter
    )
