"""Jitter of a path: random delays of packets that keep their order, from the departures of a busy bottleneck.

A busy bottleneck sends packets at a constant rate. Delays of the packets behind it appear as deviations of the ACKs
from that rate, over any interval. If each packet has a delay that is uniform from 0 to a range, and packets keep their
order, then a packet arrives at the latest of its own time and those of its predecessors. The range is the one with
which such packets deviate as much as the observed ones do.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe.fit.estimate import FitEstimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.fit.departures import BusyIntervals

    Numbers = NDArray[np.float64]

# Distance of two compared deviations: minimum number of ACKs, and minimum time [s], which exceeds the range of most
# jitter, so that both are independent.
_APART_ACKS: Final = 10
_APART_S: Final = 0.05
# Minimum number of pairs of deviations.
_LEAST_PAIRS: Final = 50
# Smallest range [s] that counts as jitter: receivers delay SACKs by up to a millisecond, hosts ACKs by less.
_LEAST_S: Final = 0.3e-3
# Deviations of neighbouring ACKs are at least this share of those that jitter causes; those of a rate that varies are
# smaller.
_LEAST_NEAR: Final = 0.5
# Number of simulated packets, largest range [s], and number of halvings of the search.
_PACKETS: Final = 20_000
_MOST_S: Final = 0.2
_HALVINGS: Final = 30
# Relative half-width of the interval: in 12 captures of Linux with netem's jitter of 1 to 15 ms, the estimates differ
# from the ranges by -2 to +19 %.
_WITHIN: Final = 0.3


@dataclass(frozen=True)
class FittedJitter:
    """Delays that are uniform from 0 to `range_s` [s] and keep the order of packets."""

    range_s: FitEstimate
    # Standard deviation of the delays of packets that a busy bottleneck sends [s].
    deviation_s: float

    @property
    def mean_s(self) -> FitEstimate:
        """Mean delay [s]."""
        return FitEstimate(*(end / 2 for end in (self.range_s.value, self.range_s.low, self.range_s.high)))

    @property
    def conditioner(self) -> dict[str, Any]:
        """Returns the jitter as a conditioner of a scenario."""
        half = f"{round(self.range_s.value * 5e5)} us"
        return {"kind": "jitter", "delay": half, "jitter": half, "order": "fifo"}


def jitter(busy: BusyIntervals, rates: Numbers, packet_bits: float) -> FittedJitter | None:
    """Returns the jitter that intervals of a busy bottleneck show, given its rate in each; None if they show none."""
    off = busy.length_s - busy.bits / rates
    is_held = busy.jitter_s > 0
    usual = busy.bits[~is_held]
    if not len(usual):
        return None
    each = max(1, round(float(np.median(usual)) / packet_bits))
    packet_s = packet_bits / float(np.median(rates))
    apart = max(_APART_ACKS, ceil(_APART_S / (each * packet_s)))
    total, held = np.cumsum(off), np.cumsum(is_held)
    alike = (busy.run[apart:] == busy.run[:-apart]) & (held[apart:] == held[:-apart])
    if alike.sum() < _LEAST_PAIRS:
        return None
    observed = _spread((total[apart:] - total[:-apart])[alike])
    uniform = np.random.default_rng(0).random(_PACKETS)
    low, high = 0.0, _MOST_S
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _spread(_apart(_delays(uniform, middle, packet_s, each), apart)) < observed:
            low = middle
        else:
            high = middle
    near = _spread(_apart(_delays(uniform, high, packet_s, each), 1))
    if high < _LEAST_S or _spread(off[~is_held]) < _LEAST_NEAR * near:
        return None
    deviation = float(_delays(uniform, high, packet_s, each).std())
    return FittedJitter(FitEstimate(high, high * (1 - _WITHIN), high * (1 + _WITHIN)), deviation)


def _delays(uniform: Numbers, range_s: float, packet_s: float, each: int) -> Numbers:
    """Returns the delays of every `each`-th packet that keeps its order, given uniform numbers from 0 to 1."""
    sent = packet_s * np.arange(len(uniform))
    found: Numbers = (np.maximum.accumulate(sent + range_s * uniform) - sent)[::each]
    return found


def _apart(delays: Numbers, by: int) -> Numbers:
    found: Numbers = delays[by:] - delays[:-by]
    return found


def _spread(values: Numbers) -> float:
    """Returns half of the range that contains the middle 68 % of the values: a normal distribution's deviation."""
    low, high = np.quantile(values, (0.16, 0.84))
    return float(high - low) / 2
