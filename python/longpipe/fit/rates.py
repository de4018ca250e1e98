"""Rate of the bottleneck, constant or in steps, from the intervals in which it was busy."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.fit.departures import BusyIntervals, in_pieces
from longpipe.fit.estimate import FitEstimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

# Number of blocks into which a flow is divided for the bootstrap of its rate, and number of resamples.
_BLOCKS: Final = 40
_RESAMPLES: Final = 400
_CONFIDENCE: Final = (0.025, 0.975)
# Minimum numbers of packets in a piece: the first that leaves enough pieces is used. Minimum number of packets in all
# pieces together.
_PIECE_PACKETS: Final = (8, 4, 2)
_FEWEST_PACKETS: Final = 48
# Maximum number of pieces in which steps are searched, and minimum number of pieces for each rate.
_MAX_PIECES: Final = 2000
_MIN_PIECES: Final = 3
# Two rates of a flow count as one rate if they differ by less than this share, or by less than this number of standard
# deviations.
_MIN_STEP: Final = 0.03
_DEVIATIONS: Final = 5.0
# Maximum time [s] for which a busy host pauses.
_PAUSE_S: Final = 0.005
# Minimum standard deviation of the logarithm of a piece's rate, and the penalty of a step, in units of the variance
# times the logarithm of the number of pieces.
_MIN_NOISE: Final = 0.003
_PENALTY: Final = 6.0


@dataclass(frozen=True)
class RateStep:
    """A rate of the bottleneck from the time `at_s` [s after the first data packet, at the bottleneck].

    The step occurred between `earliest_s`, when the previous rate was last observed, and `at_s`. The first step begins
    at 0.
    """

    at_s: float
    earliest_s: float
    rate_bps: FitEstimate


def constant_rate(busy: BusyIntervals, packet_bits: float) -> FitEstimate | None:
    """Returns the rate with its interval; None if the bottleneck was busy for too few packets."""
    if busy.bits.sum() < _FEWEST_PACKETS * packet_bits:
        return None
    for min_packets in _PIECE_PACKETS:
        min_bits = min_packets * packet_bits
        if min_packets == _PIECE_PACKETS[0]:
            min_bits = max(min_bits, busy.bits.sum() / _BLOCKS)
        pieces = in_pieces(busy, min_bits)
        if pieces.bits.sum() >= _FEWEST_PACKETS * packet_bits:
            return _estimate(pieces, packet_bits)
    return None


def _estimate(pieces: BusyIntervals, packet_bits: float) -> FitEstimate:
    """Returns the median of the pieces' rates, weighted by bits, with a bootstrap interval."""
    rates = pieces.bits / pieces.length_s
    draw = np.random.default_rng(0).integers(0, len(rates), (_RESAMPLES, len(rates)))
    low, high = np.quantile(
        [_weighted_median(rates[resample], pieces.bits[resample]) for resample in draw], _CONFIDENCE
    )
    rate = _weighted_median(rates, pieces.bits)
    # The times of the ACKs at both ends of a run are exact to within about one packet.
    slack = rate * packet_bits / float(pieces.bits.sum())
    return FitEstimate(rate, min(float(low), rate - slack), max(float(high), rate + slack))


def _weighted_median(values: Numbers, weights: Numbers) -> float:
    """Returns the weighted median."""
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(share, share[-1] / 2)]])


def rate_steps(busy: BusyIntervals, packet_bits: float, half_rtt_s: float) -> tuple[RateStep, ...]:
    """Returns the rates over time; an empty tuple if there is only one rate.

    The times of the steps are those of ACKs minus `half_rtt_s`, the delay from the bottleneck to the sender.
    """
    pieces = in_pieces(busy, max(_PIECE_PACKETS[0] * packet_bits, busy.bits.sum() / _MAX_PIECES))
    if len(pieces) < 2 * _MIN_PIECES:
        return ()
    logs = np.log(pieces.bits / pieces.length_s)
    noise = max(_MIN_NOISE, 1.4826 * float(np.median(np.abs(np.diff(logs)))) / 2**0.5)
    weights = 1 / (noise**2 + (pieces.jitter_s / pieces.length_s) ** 2)
    edges = _segments(logs, weights, _PENALTY * float(np.log(len(logs))))
    edges = _join_equal_rates(logs, weights, edges)
    edges = _join_short_rates(pieces, logs, weights, edges, 2 * half_rtt_s)
    if len(edges) == 2:
        return ()
    steps: list[RateStep] = []
    for number, (first, last) in enumerate(pairwise(edges)):
        rate = _estimate(pieces.where(slice(first, last)), packet_bits)
        if not steps:
            steps.append(RateStep(0.0, 0.0, rate))
            continue
        previous_bps = steps[-1].rate_bps.value
        # The step lies between the centers of the pieces on both sides of the edge.
        begin_s, end_s = pieces.begin_s[edges[number] - 1], pieces.begin_s[first] + pieces.length_s[first]
        last_s, first_s = _edge(busy, begin_s, end_s, previous_bps, rate.value)
        steps.append(RateStep(max(0.0, first_s - half_rtt_s), max(0.0, last_s - half_rtt_s), rate))
    return tuple(steps)


def _edge(
    busy: BusyIntervals, begin_s: float, end_s: float, before_bps: float, after_bps: float
) -> tuple[float, float]:
    """Returns the last time [s] of the rate before a step and the first time [s] of the rate after it.

    The step lies between `begin_s` and `end_s`, where the deviations of busy intervals from both rates are smallest.
    """
    inside = np.flatnonzero((busy.begin_s >= begin_s) & (busy.begin_s + busy.length_s <= end_s + 1e-9))
    misfit = [np.abs(np.log(busy.bits[inside] / busy.length_s[inside] / rate)) for rate in (before_bps, after_bps)]
    costs = np.append(0.0, np.cumsum(misfit[0])) + np.append(np.cumsum(misfit[1][::-1])[::-1], 0.0)
    split = int(np.argmin(costs))
    last, first = inside[max(split - 1, 0)], inside[min(split, len(inside) - 1)]
    return float(busy.begin_s[last] + (busy.length_s[last] if split else 0.0)), float(busy.begin_s[first])


def _segments(values: Numbers, weights: Numbers, penalty: float) -> list[int]:
    """Returns the edges of the segments that minimize weighted squared deviations plus a penalty for each segment.

    This is optimal partitioning (Jackson et al. 2005) with the pruning of Killick, Fearnhead and Eckley (2012).
    """
    count = len(values)
    total, sums, squares = (np.append(0.0, np.cumsum(weights * values**power)) for power in (0, 1, 2))
    best = np.full(count + 1, np.inf)
    best[0] = -penalty
    previous = np.zeros(count + 1, dtype=int)
    starts = np.array([0])
    for end in range(_MIN_PIECES, count + 1):
        cost = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / (total[end] - total[starts])
        reached = best[starts] + cost
        nearest = int(np.argmin(reached))
        best[end], previous[end] = reached[nearest] + penalty, starts[nearest]
        starts = np.append(starts[reached <= best[end]], end - _MIN_PIECES + 1)
    edges = [count]
    while edges[-1] > 0:
        edges.append(int(previous[edges[-1]]))
    return edges[::-1]


def _join_equal_rates(values: Numbers, weights: Numbers, edges: list[int]) -> list[int]:
    """Removes edges between indistinguishable rates, in order of increasing difference, and returns the rest."""
    kept = list(edges)
    while len(kept) > 2:
        pieces = list(pairwise(kept))
        middles = [_weighted_median(values[a:b], weights[a:b]) for a, b in pieces]
        variances = [1 / weights[a:b].sum() for a, b in pieces]
        margins = [
            abs(middles[i + 1] - middles[i])
            - max(np.log1p(_MIN_STEP), _DEVIATIONS * (variances[i] + variances[i + 1]) ** 0.5)
            for i in range(len(middles) - 1)
        ]
        smallest = int(np.argmin(margins))
        if margins[smallest] >= 0:
            break
        del kept[smallest + 1]
    return kept


def _join_short_rates(
    pieces: BusyIntervals, values: Numbers, weights: Numbers, edges: list[int], rtt_s: float
) -> list[int]:
    """Joins short rates with the closer of their neighbors.

    Such a short rate can be an artifact: within an RTT (`rtt_s`), a burst of delayed ACKs looks like a higher rate,
    and a host that pauses for some milliseconds looks like a lower one. A rate is therefore also short if the packets
    that were sent at this rate would have taken less than _PAUSE_S more or less at the neighbor's rate.
    """
    kept = list(edges)
    while len(kept) > 2:
        spans_s = [pieces.begin_s[b - 1] + pieces.length_s[b - 1] - pieces.begin_s[a] for a, b in pairwise(kept)]
        middles = [_weighted_median(values[a:b], weights[a:b]) for a, b in pairwise(kept)]
        closer = [
            min((j for j in (i - 1, i + 1) if 0 <= j < len(middles)), key=lambda j: abs(middles[j] - middles[i]))
            for i in range(len(middles))
        ]
        shifts_s = [spans_s[i] * abs(float(np.expm1(middles[i] - middles[closer[i]]))) for i in range(len(middles))]
        short = [i for i in range(len(middles)) if spans_s[i] < rtt_s or shifts_s[i] < _PAUSE_S]
        if not short:
            break
        shortest = min(short, key=lambda i: spans_s[i])
        del kept[max(closer[shortest], shortest)]
        kept = _join_equal_rates(values, weights, kept)
    return kept


def served_bits(steps: Sequence[tuple[float, float]], times_s: Numbers) -> Numbers:
    """Returns the bits that a busy bottleneck sends from 0 to each time; `steps` are (time, rate), the first at 0."""
    starts_s = np.array([time for time, _ in steps])
    rates = np.array([rate for _, rate in steps])
    bits_before = np.append(0.0, np.cumsum(np.diff(starts_s) * rates[:-1]))
    step = np.maximum(np.searchsorted(starts_s, times_s, side="right") - 1, 0)
    served: Numbers = bits_before[step] + (times_s - starts_s[step]) * rates[step]
    return served
