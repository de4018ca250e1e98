"""Closed-form estimates from one flow: base RTT, bottleneck rate and its steps, queue, losses by cause, buffer.

While segments wait, the bottleneck is busy, and the departures of two successive segments are one transmission time
apart (`departures`, `rates`). The waiting time of a segment is the time from its arrival to its departure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.fit.departures import BusyIntervals, Packets, busy_intervals, departures, longer_s, overtakes, packets_of
from longpipe.fit.estimate import FitEstimate
from longpipe.fit.jitter import FittedJitter, jitter
from longpipe.fit.outages import FittedOutage, fitted_outages, lost_in, outside
from longpipe.fit.policer import FittedPolicer, policer
from longpipe.fit.rates import RateStep, constant_rate, rate_steps, served_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.fit.observed import ObservedFlow

    Numbers = NDArray[np.float64]
    Counts = NDArray[np.int64]
    Flags = NDArray[np.bool_]

# Quantile of the queue lengths that is used as the maximum, and the smallest maximum [packets] with which a queue may
# have overflowed.
_HIGHEST: Final = 0.9995
_MIN_QUEUE: Final = 2.0
# A loss may be due to a full queue if the queue has at least the share _FULL of its maximum length. The queue lengths
# found at overflows vary by _SLACK packets plus the share _SPREAD, because they are measured with packets that were
# sent shortly before or after the lost ones.
_FULL: Final = 0.85
_SLACK: Final = 1.25
_SPREAD: Final = 0.01
# A queue is assumed to have overflowed if the losses near its maximum would be random with a probability below this.
_CHANCE: Final = 1e-3
# Share by which the rate may be too high when waiting times are computed from it.
_RATE_SLACK: Final = 3e-4
# Distance [packets] from the longest queue within which losses are not a policer's, if a policer explains the others.
_NEAR: Final = 2.0
# Candidate limits, as distances [packets] from the queue length at the median loss.
_LIMITS: Final = range(-2, 4)
# Deviation of jitter [packets] above which the size of the buffer is estimated from the shortest queues, and number of
# deviations within which queues count as equally long.
_BLUR: Final = 0.2
_DEVIATIONS: Final = 3.0
# Parts of the range of jitter that the smallest RTT sample contains, since packets keep their order: usually, and at
# most (0 to 0.32 in 10 captures of Linux).
_SHORTEST: Final = (0.1, 0.5)


@dataclass(frozen=True, eq=False)
class PathFeatures:
    """Features of a path that are computed from a capture without simulation.

    Rates are of IP packets, queues in packets.
    """

    base_rtt_s: FitEstimate
    # The rate, or the median rate if it varies; None if the bottleneck was never busy for long enough, in which case
    # `fastest_bps` is a lower bound.
    rate_bps: FitEstimate | None
    fastest_bps: float
    # Rates over time; empty if the rate is constant.
    steps: tuple[RateStep, ...]
    # Waiting time of each transmission [s], and the time until the queue that it found on arrival had left [s]; NaN if
    # unknown. A lost transmission has no waiting time.
    wait_s: Numbers
    queued_ahead_s: Numbers
    # Whether each transmission was lost at a full queue, and whether it was lost elsewhere.
    overflow: Flags
    elsewhere: Flags
    # Length of the longest queue [packets], excluding the packet in transmission.
    longest: float
    # Limit of the queue; None if it never overflowed.
    buffer: FitEstimate | None
    # Names of the flows with which the flow shares the queue.
    shared: tuple[str, ...] = ()
    # Policer that explains the losses.
    policer: FittedPolicer | None = None
    # Jitter behind the bottleneck; None if there is none or if it is unknown.
    jitter: FittedJitter | None = None
    outages: tuple[FittedOutage, ...] = ()

    @property
    def rate_or_bound_bps(self) -> float:
        """Rate of the bottleneck, or its lower bound if the rate is unknown."""
        return self.rate_bps.value if self.rate_bps is not None else self.fastest_bps


def features(observed: ObservedFlow) -> PathFeatures:
    """Returns the estimates of an observation.

    In turn: the base RTT, the rates and the jitter, the waiting times, the queue lengths, and the cause of each loss.
    """
    base_s, longer_s_by_flow = _base_rtt(observed)
    packet_bits = observed.packet_bytes * 8.0
    fastest_bps = _fastest(observed)
    sharing = [other for other in observed.shared if other.flow in longer_s_by_flow]
    outages = fitted_outages(observed, base_s, sharing)
    packets = packets_of(observed, longer_s_by_flow, lambda flow: lost_in(flow, outages))
    rates = _rates(packets, base_s, fastest_bps, packet_bits, outages, has_overtaking=overtakes(observed))
    rate_bps = rates.rate.value if rates.rate is not None else fastest_bps
    jitter_range_s = rates.jitter.range_s.value if rates.jitter is not None else 0.0
    jitter_packets = rates.jitter.deviation_s * rate_bps / packet_bits if rates.jitter is not None else 0.0
    wait = _waits(packets, base_s, rates.over_time)
    queued_ahead = _queued_ahead(packets, base_s, wait, rates.over_time)
    for outage in outages:
        # Packets wait for the end of an outage, or for a retransmission, not only for the packets before them.
        is_during_outage = (packets.sent_s > outage.last_sent_s) & (packets.sent_s < outage.settled_s)
        wait[is_during_outage] = queued_ahead[is_during_outage] = np.nan
    lost = packets.lost
    queue = _packets(np.where(lost, queued_ahead, wait), packets.sent_s + base_s, rates.over_time, packet_bits)
    longest, overflow = _overflow(queue, lost, jitter_packets)
    fitted_policer, policed = _policed(packets, wait, queue, longest - _NEAR - _DEVIATIONS * jitter_packets)
    if fitted_policer is not None:
        # A policer's losses occur at queues of any length, some of them by chance near the longest one.
        overflow = lost & ~policed
    arrived_queue = queue[~lost & ~np.isnan(queue)]
    is_of_flow = packets.flow == 0
    return PathFeatures(
        base_rtt_s=FitEstimate(
            base_s - _SHORTEST[0] * jitter_range_s,
            base_s - packet_bits / rate_bps / 2 - _SHORTEST[1] * jitter_range_s,
            base_s,
        ),
        rate_bps=rates.rate,
        fastest_bps=fastest_bps,
        steps=rates.steps,
        wait_s=wait[is_of_flow],
        queued_ahead_s=queued_ahead[is_of_flow],
        overflow=overflow[is_of_flow],
        elsewhere=(lost & ~overflow)[is_of_flow],
        # Jitter makes queues appear longer.
        longest=max(longest - _DEVIATIONS * jitter_packets, 0.0),
        buffer=_limit(queue[overflow], arrived_queue, jitter_packets) if overflow.any() else None,
        shared=tuple(longer_s_by_flow),
        policer=fitted_policer,
        jitter=rates.jitter,
        outages=outages,
    )


def _base_rtt(observed: ObservedFlow) -> tuple[float, dict[str, float]]:
    """Returns the base RTT [s], and by how much that of each other flow of the queue is longer [s], if it is known."""
    differences = {other.flow: longer_s(observed, other) for other in observed.shared}
    longer = {name: difference for name, difference in differences.items() if difference is not None}
    # The other flows may have sent before the queue had grown.
    base_of_others = [float(other.rtt.min()) - longer[other.flow] for other in observed.shared if other.flow in longer]
    return min([float(observed.rtt.min()), *base_of_others]), longer


@dataclass(frozen=True)
class _Rates:
    """Rate of the bottleneck with its steps, rates [bit/s] over arrival times of ACKs [s], and the path's jitter."""

    rate: FitEstimate | None
    steps: tuple[RateStep, ...]
    over_time: list[tuple[float, float]]
    jitter: FittedJitter | None


def _rates(
    packets: Packets,
    base: float,
    fastest: float,
    packet: float,
    outages: tuple[FittedOutage, ...],
    *,
    has_overtaking: bool,
) -> _Rates:
    """Estimates rates and jitter; `packet` is the size of a packet [bit], `fastest` a lower bound of the rate."""

    def busy_at(base_s: float, rate_bps: float) -> BusyIntervals:
        return outside(busy_intervals(packets, base_s, rate_bps), outages)

    rough = constant_rate(busy_at(base, fastest), packet)
    busy = busy_at(base, rough.value if rough is not None else fastest)
    rate = constant_rate(busy, packet)
    steps = rate_steps(busy, packet, base / 2)
    over_time = _over_time(steps, base, rate.value if rate is not None else fastest)
    if rate is None:
        return _Rates(None, steps, over_time, None)
    delays = jitter(busy, _rates_at(over_time, busy.begin_s), packet, overtakes=has_overtaking)
    if delays is not None:
        # A packet that jitter delays appears to wait although the bottleneck is idle.
        certainly_busy = busy_at(base + delays.range_s.value, rate.value)
        if (rate_when_busy := constant_rate(certainly_busy, packet)) is not None:
            rate, steps = rate_when_busy, rate_steps(certainly_busy, packet, base / 2)
            over_time = _over_time(steps, base, rate.value)
    return _Rates(rate, steps, over_time, delays)


def _over_time(steps: tuple[RateStep, ...], base: float, bps: float) -> list[tuple[float, float]]:
    """Returns the rates [bit/s] over the arrival times of ACKs [s]; `bps` is the rate if it is constant."""
    return [
        (rate_step.at_s + base / 2 if rate_step.at_s else 0.0, rate_step.rate_bps.value) for rate_step in steps
    ] or [(0.0, bps)]


def _fastest(observed: ObservedFlow) -> float:
    """Returns the 99.9 % quantile of delivery rates over one minimum RTT, at least 20 ms [bit/s of IP packets]."""
    times, delivered = observed.ack_s, observed.ack_delivered.astype(float)
    width = max(float(observed.rtt.min()), 0.02)
    before = np.searchsorted(times, times - width, side="right") - 1
    inside = before >= 0
    if not inside.any():
        inside, before = np.ones(len(times), bool), np.zeros(len(times), int)
    spans = np.maximum(times[inside] - times[before[inside]], width)
    moved = (delivered[inside] - delivered[before[inside]]) / spans
    return float(np.quantile(moved, 0.999)) * 8 * observed.packet_bytes / observed.mss


def _rates_at(over_time: list[tuple[float, float]], times_s: Numbers) -> Numbers:
    """Returns the rate [bit/s] at each time."""
    at, rates = (np.array(column) for column in zip(*over_time, strict=True))
    at_times: Numbers = rates[np.maximum(np.searchsorted(at, times_s, side="right") - 1, 0)]
    return at_times


def _waits(packets: Packets, base: float, over_time: list[tuple[float, float]]) -> Numbers:
    """Returns the waiting times of transmissions that arrived."""
    arrived = np.flatnonzero(~np.isnan(packets.acked_s))
    left = packets.acked_s[arrived].copy()
    rates = _rates_at(over_time, left)
    for rate in np.unique(rates).tolist():
        at_rate = rates == rate
        left[at_rate] = departures(packets, arrived, rate)[0][at_rate]
    wait_of_arrived = np.clip(left - packets.sent_s[arrived] - base, 0.0, None)
    # Near a step, the lower rate is used, because the time of the step is not exact.
    slowest = np.min([_rates_at(over_time, left + off) for off in (-base, 0.0, base)], axis=0)
    wait = np.full(len(packets.sent_s), np.nan)
    wait[arrived] = _without_held_sacks(packets, wait_of_arrived, arrived, slowest)
    return wait


def _queued_ahead(packets: Packets, base: float, wait: Numbers, over_time: list[tuple[float, float]]) -> Numbers:
    """Returns the queue that each transmission found on arrival, as its transmission time [s].

    This is the queue that the last earlier transmission that was not lost found, plus that transmission, minus the
    packets that left in between.
    """
    places = np.maximum.accumulate(np.where(np.isnan(wait), -1, np.arange(len(wait))))
    behind = np.append(-1, places[:-1])
    has_predecessor = behind >= 0
    predecessors = behind[has_predecessor]
    transmission_s = packets.bits[predecessors] / _rates_at(over_time, packets.sent_s[has_predecessor] + base)
    ahead = np.full(len(wait), np.nan)
    ahead[has_predecessor] = np.clip(
        wait[predecessors] + transmission_s - (packets.sent_s[has_predecessor] - packets.sent_s[predecessors]),
        0.0,
        None,
    )
    return ahead


def _without_held_sacks(packets: Packets, wait: Numbers, arrived: Counts, rates: Numbers) -> Numbers:
    """Returns the waiting times; those of SACKed packets are limited to the wait behind their predecessors."""
    shorter = wait.copy()
    gap = np.diff(packets.sent_s[arrived], prepend=0.0)
    transmission_s = packets.bits[arrived] / (rates * (1 - _RATE_SLACK))
    for index in np.flatnonzero(packets.sacked[arrived]).tolist():
        if index:
            behind = max(0.0, shorter[index - 1] + transmission_s[index - 1] - gap[index])
            shorter[index] = min(wait[index], behind)
    return shorter


def _packets(wait: Numbers, arrival_s: Numbers, over_time: list[tuple[float, float]], packet_bits: float) -> Numbers:
    """Returns the numbers of packets that leave during the waiting times."""
    queue: Numbers = (served_bits(over_time, arrival_s + wait) - served_bits(over_time, arrival_s)) / packet_bits
    return queue


def _overflow(queue: Numbers, lost: Flags, jitter: float = 0.0) -> tuple[float, Flags]:
    """Returns the length [packets] of the longest observed queue, and which losses occurred at a full queue.

    A queue with a limit drops packets when its length is within a packet or two of its maximum. Random losses would
    rarely occur there. Waiting times contain the path's jitter, which deviates by `jitter` packets.
    """
    full = np.zeros(len(lost), bool)
    is_measured = ~np.isnan(queue)
    if not (is_measured & ~lost).any():
        return 0.0, full
    # A quantile is used instead of the maximum, because delayed ACKs increase a few samples.
    longest = float(np.quantile(queue[is_measured & ~lost], _HIGHEST))
    candidates = queue[lost & is_measured]
    candidates = candidates[candidates >= _FULL * longest - 1 - _DEVIATIONS * jitter]
    if longest < _MIN_QUEUE or not len(candidates):
        return longest, full
    limit = float(np.median(candidates))
    margin = _SLACK + _SPREAD * limit + _DEVIATIONS * jitter
    near = is_measured & (np.abs(queue - limit) <= margin)
    # No packet enters a queue that is longer than its limit, apart from errors of measured queues.
    if (is_measured & ~lost & (queue > limit + margin)).sum() > (near & lost).sum():
        return longest, full
    if _chance(int((near & lost).sum()), int(lost.sum()), float(near.sum() / is_measured.sum())) < _CHANCE:
        full = near & lost
    return longest, full


def _policed(packets: Packets, wait: Numbers, queue: Numbers, long: float) -> tuple[FittedPolicer | None, Flags]:
    """Returns the policer that explains all losses, or those at queues below `long`, and the explained losses."""
    lost = packets.lost
    fitted_policer = policer(packets, wait, lost)
    if fitted_policer is not None and fitted_policer.is_good:
        return fitted_policer, lost
    short = lost & ~(queue >= long)
    policer_of_short = policer(packets, wait, short)
    if policer_of_short is not None and policer_of_short.is_good:
        return policer_of_short, short
    return fitted_policer, lost


def _limit(at_loss: Numbers, kept: Numbers, jitter: float) -> FitEstimate:
    """Returns the number of packets that the queue holds in addition to the one in transmission.

    The packet in transmission has partly left already. A lost packet therefore finds more than `limit` and at most
    `limit + 1` packets, and a packet that is not lost finds at most `limit`. Jitter that deviates by `jitter` packets
    makes queues appear longer, so that the shortest ones are the most exact.
    """
    low, middle, high = np.quantile(at_loss, (0.05, 0.5, 0.95))
    if jitter > _BLUR:
        lowest = float(np.floor(low))
        below = 1 + float(np.ceil(_DEVIATIONS / 2 * jitter))
        return FitEstimate(max(lowest, 1.0), max(lowest - below, 0.0), float(np.ceil(middle)) + 1)
    longest = np.sort(kept[kept <= np.quantile(kept, _HIGHEST)])[-len(at_loss) :]

    def misfit(limit: float) -> float:
        beyond = np.clip(limit - at_loss, 0, 1) + np.clip(at_loss - limit - 1, 0, 1)
        return float(beyond.mean() + np.clip(longest - limit, 0, 1).mean())

    lowest = min((float(np.floor(middle)) + step for step in _LIMITS), key=misfit)
    return FitEstimate(
        max(lowest, 1.0), max(min(float(np.floor(low)), lowest) - 1, 0.0), max(float(np.ceil(high)), lowest + 1)
    )


def _chance(count: int, losses: int, share: float) -> float:
    """Returns the probability that at least `count` of the losses are in a part that has this share of all packets."""
    from scipy.stats import binom

    return float(binom.sf(count - 1, losses, share))
