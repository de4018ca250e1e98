"""Estimates in closed form from one flow: base RTT, bottleneck rate, queue, losses by cause, and the buffer.

The waiting time of a segment is its RTT less the minimum RTT. While segments wait, the bottleneck is busy, and two
segments that arrive one after the other depart by one transmission time apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.fit.observed import ObservedFlow

    Numbers = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# Number of pieces of a flow for the bootstrap of the rate, and its resamples.
_BLOCKS: Final = 40
_RESAMPLES: Final = 400
# Quantile of the queue lengths that is used as the maximum, and minimum of that for a queue to overflow [packets].
_HIGHEST: Final = 0.9995
_LEAST_QUEUE: Final = 2.0
# A loss may be due to a full queue if the queue has at least the share _FULL of its maximum length. Queue lengths at
# overflow differ by _SLACK packets and the share _SPREAD, because they are those of packets sent near the lost ones.
_FULL: Final = 0.85
_SLACK: Final = 1.25
_SPREAD: Final = 0.01
# A queue overflowed if the probability of as many losses by chance is below this.
_CHANCE: Final = 1e-3
# Minimum number of packets of a run that is used for the rate, and of all runs together.
_SHORTEST_RUN: Final = 8
_FEWEST_PACKETS: Final = 64
_CONFIDENCE: Final = (0.025, 0.975)


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def __contains__(self, truth: float) -> bool:
        return self.low <= truth <= self.high


@dataclass(frozen=True, eq=False)
class PathFeatures:
    """Features of a path that follow from a capture without simulation. Rates are of IP packets, queues in packets."""

    base_rtt_s: Estimate
    # None if the bottleneck was never busy for long enough; `fastest_bps` is then a lower bound.
    rate_bps: Estimate | None
    fastest_bps: float
    # Waiting time of each transmission, estimated from neighbouring ones [s]; NaN where unknown.
    wait_s: Numbers
    # Transmissions lost at a full queue, and those lost elsewhere.
    overflow: Flags
    elsewhere: Flags
    # Longest queue [packets], without the packet in transmission.
    longest: float
    # Limit of the queue; None where it never overflowed.
    buffer: Estimate | None


def features(seen: ObservedFlow) -> PathFeatures:
    """Returns the estimates of an observation."""
    base = float(seen.rtt.min())
    packet = seen.packet_bytes * 8.0
    fastest = _fastest(seen)
    wait = np.clip(seen.sent_acked_s - seen.sent_s - base, 0.0, None)
    rate = _rate(seen, base, fastest)
    bps = rate.value if rate is not None else fastest
    packet_s = packet / bps
    known = _filled(seen, wait)
    lost = seen.sent_lost
    longest, full = _overflow(known / packet_s, lost)
    buffer = None
    if full.any():
        at_loss = known[full] / packet_s
        # The queue holds `limit` packets in addition to the one in transmission, of which a part has left.
        low, middle, high = np.quantile(at_loss, (0.05, 0.5, 0.95))
        buffer = Estimate(float(np.floor(middle)), float(np.floor(low)) - 1, float(np.ceil(high)) + 1)
    return PathFeatures(
        base_rtt_s=Estimate(base, base - packet_s / 2, base),
        rate_bps=rate,
        fastest_bps=fastest,
        wait_s=known,
        overflow=full,
        elsewhere=lost & ~full,
        longest=longest,
        buffer=buffer,
    )


def _overflow(queue: Numbers, lost: Flags) -> tuple[float, Flags]:
    """Returns the longest queue that was observed [packets], and the losses at a full queue.

    A queue with a limit drops packets when its length is within a packet or two of its maximum. Random losses would
    rarely fall there.
    """
    full = np.zeros(len(lost), bool)
    known = ~np.isnan(queue)
    if not known.any():
        return 0.0, full
    # Delayed ACKs increase a few samples.
    longest = float(np.quantile(queue[known], _HIGHEST))
    candidates = queue[lost & known]
    candidates = candidates[candidates >= _FULL * longest - 1]
    if longest < _LEAST_QUEUE or not len(candidates):
        return longest, full
    limit = float(np.median(candidates))
    near = known & (np.abs(queue - limit) <= _SLACK + _SPREAD * limit)
    expected = lost.sum() * near.sum() / known.sum()
    found = int((near & lost).sum())
    if _poisson_tail(found, float(expected)) < _CHANCE:
        full = near & lost
        return max(longest, limit), full
    return longest, full


def _poisson_tail(count: int, mean: float) -> float:
    """Returns the probability of `count` or more events."""
    from scipy.stats import poisson

    return float(poisson.sf(count - 1, mean))


def _fastest(seen: ObservedFlow) -> float:
    """Returns the highest rate of delivery over any minimum RTT, in bits of IP packets per second."""
    times, delivered = seen.ack_s, seen.ack_delivered.astype(float)
    width = max(float(seen.rtt.min()), 0.02)
    before = np.searchsorted(times, times - width, side="right") - 1
    inside = before >= 0
    if not inside.any():
        inside, before = np.ones(len(times), bool), np.zeros(len(times), int)
    spans = np.maximum(times[inside] - times[before[inside]], width)
    moved = (delivered[inside] - delivered[before[inside]]) / spans
    return float(np.quantile(moved, 0.999)) * 8 * seen.packet_bytes / seen.mss


def _rate(seen: ObservedFlow, base: float, fastest: float) -> Estimate | None:
    """Returns the rate at which packets leave while others wait, None if too few do.

    The packets of an ACK left one right after the other, and right after the last packet of the ACK before, if each of
    them arrived before its predecessor had left. Only the last packet of an ACK has an RTT without the delay of the
    receiver, who may wait for more packets, so departures within an ACK are computed back from it.
    """
    arrived = np.flatnonzero(~np.isnan(seen.sent_acked_s))
    sent, acked = seen.sent_s[arrived], seen.sent_acked_s[arrived]
    bits = np.cumsum((seen.sent_bytes[arrived] + seen.headers) * 8.0)
    lasts = np.flatnonzero(np.append(np.diff(acked) > 0, True))
    group = np.searchsorted(lasts, np.arange(len(arrived)))
    left = acked[lasts][group] - (bits[lasts][group] - bits) / fastest
    left[lasts] = acked[lasts]
    follows = np.append(False, sent[1:] + base < left[:-1])
    # The last packets i and i + 1 belong to one run if all packets of ACK i + 1 follow their predecessors.
    idle = np.add.reduceat(~follows, np.append(0, lasts[:-1] + 1))
    runs = np.concatenate(([False], (idle[1:] == 0) & (np.diff(acked[lasts]) > 0), [False]))
    edges = np.flatnonzero(np.diff(runs.astype(np.int8)))
    spans: list[float] = []
    moved: list[float] = []
    most = max(_SHORTEST_RUN, len(lasts) // _BLOCKS)
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        if lasts[end] - lasts[begin] < _SHORTEST_RUN:
            continue
        # Long runs are cut, so that the interval counts what varies within them.
        cuts = lasts[np.unique(np.append(np.arange(begin, end, most), end))]
        spans += np.diff(acked[cuts]).tolist()
        moved += np.diff(bits[cuts]).tolist()
    span, bit = np.array(spans), np.array(moved)
    if not len(span) or bit.sum() < _FEWEST_PACKETS * seen.packet_bytes * 8:
        return None
    rates = bit / span
    draw = np.random.default_rng(0).integers(0, len(span), (_RESAMPLES, len(span)))
    low, high = np.quantile([_middle(rates[one], bit[one]) for one in draw], _CONFIDENCE)
    rate = _middle(rates, bit)
    # The times of the ACKs at both ends of a run are exact to about a packet.
    slack = rate * seen.packet_bytes * 8 / bit.sum()
    return Estimate(rate, min(float(low), rate - slack), max(float(high), rate + slack))


def _middle(values: Numbers, weights: Numbers) -> float:
    """Returns the weighted median."""
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(share, share[-1] / 2)]])


def _filled(seen: ObservedFlow, wait: Numbers) -> Numbers:
    """Returns the waiting times with those of lost transmissions taken from the transmission before."""
    places = np.where(np.isnan(wait), -1, np.arange(len(wait)))
    before = np.maximum.accumulate(places)
    gap = np.isnan(wait) & (before >= 0)
    filled = wait.copy()
    # The queue drains between the two.
    filled[gap] = np.clip(wait[before[gap]] - (seen.sent_s[gap] - seen.sent_s[before[gap]]), 0.0, None)
    return filled
