"""Jitter of a path: random delays of packets, and whether packets overtake, from departures of a busy bottleneck.

A busy bottleneck sends packets at a constant rate. Delays of the packets behind it appear as deviations of the ACKs
from that rate, over any interval. Each packet has a delay that is uniform from 0 to a range. If packets keep their
order, then a packet arrives at the latest of its own time and those of its predecessors. If they overtake each other,
arrival k is compared with departure k. The range is the one with which such packets deviate as much as the observed
ones do.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from longpipe.fit.estimate import FitEstimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.fit.departures import BusyIntervals

    Numbers = NDArray[np.float64]

Order = Literal["fifo", "free"]

# Distance of two compared deviations: minimum number of ACKs, and minimum time [s], which exceeds the range of most
# jitter, so that both are independent.
_APART_ACKS: Final = 10
_APART_S: Final = 0.05
# Minimum number of pairs of deviations.
_MIN_PAIRS: Final = 50
# Smallest range [s] that counts as jitter: receivers delay SACKs by up to a millisecond, hosts ACKs by less.
_MIN_S: Final = 0.3e-3
# Deviations of neighboring ACKs are at least this share of those that jitter causes; those of a rate that varies are
# smaller.
_MIN_NEAR: Final = 0.5
# Number of simulated packets, largest range [s], and number of halvings of the search.
_PACKETS: Final = 20_000
_MAX_S: Final = 0.2
_HALVINGS: Final = 30
# Minimum number of overtaken packets that are expected of packets that may overtake each other, at which their absence
# shows that packets keep their order.
_MIN_OVERTAKEN: Final = 20.0
# Relative half-width of the interval: in 12 captures of Linux with netem's jitter of 1 to 15 ms, the estimates differ
# from the ranges by -2 to +19 %.
_WITHIN: Final = 0.3


@dataclass(frozen=True)
class FittedJitter:
    """Delays that are uniform from 0 to `range_s` [s].

    `order` is "fifo" if packets keep their order, "free" if they overtake each other, and None if it is unknown.
    """

    range_s: FitEstimate
    order: Order | None
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
        return {"kind": "jitter", "delay": half, "jitter": half, "order": self.order or "fifo"}


def jitter(busy: BusyIntervals, rates: Numbers, packet_bits: float, *, overtakes: bool) -> FittedJitter | None:
    """Returns the jitter that intervals of a busy bottleneck show, given its rate in each; None if they show none.

    `overtakes` states whether packets overtook each other.
    """
    off = busy.length_s - busy.bits / rates
    # Where packets overtake each other, SACK blocks report many that are not lost.
    is_held = (busy.jitter_s > 0) & (not overtakes)
    usual = busy.bits[~is_held]
    if not len(usual):
        return None
    each = max(1, round(float(np.median(usual)) / packet_bits))
    packet_s = packet_bits / float(np.median(rates))
    apart = max(_APART_ACKS, ceil(_APART_S / (each * packet_s)))
    total, held = np.cumsum(off), np.cumsum(is_held)
    alike = (busy.run[apart:] == busy.run[:-apart]) & (held[apart:] == held[:-apart])
    if alike.sum() < _MIN_PAIRS:
        return None
    observed = _spread((total[apart:] - total[:-apart])[alike])
    uniform = np.random.default_rng(0).random(_PACKETS)

    def delays(range_s: float) -> Numbers:
        return _delays(uniform, range_s, packet_s, each, overtakes=overtakes)

    low, high = 0.0, _MAX_S
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _spread(_apart(delays(middle), apart)) < observed:
            low = middle
        else:
            high = middle
    near = _spread(_apart(delays(high), 1))
    if high < _MIN_S or _spread(off[~is_held]) < _MIN_NEAR * near:
        return None
    range_estimate = FitEstimate(high, high * (1 - _WITHIN), high * (1 + _WITHIN))
    order: Order | None = "free" if overtakes else None
    if not overtakes and len(busy) * each * _overtaken(float(range_estimate.low), packet_s) >= _MIN_OVERTAKEN:
        order = "fifo"
    return FittedJitter(range_estimate, order, float(delays(high).std()))


def _overtaken(range_s: float, packet_s: float) -> float:
    """Returns the probability that a packet overtakes its predecessor if packets may overtake each other."""
    return max(1 - packet_s / range_s, 0.0) ** 2 / 2


def _delays(uniform: Numbers, range_s: float, packet_s: float, each: int, *, overtakes: bool) -> Numbers:
    """Returns the delays of every `each`-th packet, given uniform numbers from 0 to 1.

    If packets overtake each other, delay k is the time from departure k to arrival k.
    """
    sent = packet_s * np.arange(len(uniform))
    arrivals = sent + range_s * uniform
    in_order = np.sort(arrivals) if overtakes else np.maximum.accumulate(arrivals)
    delays: Numbers = (in_order - sent)[::each]
    return delays


def _apart(delays: Numbers, by: int) -> Numbers:
    differences: Numbers = delays[by:] - delays[:-by]
    return differences


def _spread(values: Numbers) -> float:
    """Returns half of the range that contains the middle 68 % of the values: a normal distribution's deviation."""
    low, high = np.quantile(values, (0.16, 0.84))
    return float(high - low) / 2
