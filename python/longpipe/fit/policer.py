"""Recognition of a policer from the losses of one flow.

The method follows Flach et al. 2016, "An Internet-Wide Analysis of Traffic Policing", but estimates the bucket, too. A
policer drops a packet if and only if its token bucket holds fewer tokens than the packet needs, and it delays no
packet. Therefore a bucket exists, with a rate and a size, that is nearly empty at every loss and has tokens for every
packet that passed. Random losses occur at any number of tokens. A queue that overflows is such a bucket, too, but
packets that arrive shortly before its losses wait for about the burst divided by the rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.fit.departures import Packets

    Numbers = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# Minimum number of losses; Flach et al. need 15.
_MIN_LOSSES: Final = 15
# Errors of a bucket's content that are tolerated: packets, and a share of the bucket.
_SLACK_PACKETS: Final = 2.0
_SLACK: Final = 0.01
# Sizes of a bucket, as multiples of these errors, below which losses cannot be assigned to it.
_MIN_SLACKS: Final = 4.0
# Minimum shares of losses and of passed packets that agree with the bucket, and of those with which the bucket is
# stated in the scenario.
_AGREE: Final = 0.9
_GOOD: Final = 0.97
# Largest wait of packets around the losses, as a share of that in a queue with the bucket's rate and size.
_MAX_WAIT: Final = 0.6
# Rates that are tried, as multiples of the mean rate between the first and the last loss: the bucket may have been full
# in between, so that its rate is higher. Then rates between the best ones are tried with smaller errors of the content,
# because an error of the rate adds up over the capture.
_FACTORS: Final = np.append(np.linspace(0.99, 1.1, 56), np.linspace(1.11, 1.6, 50))
_TIMES_SLACK: Final = (10.0, 4.0, 2.0, 1.0)
_FINER: Final = 31
# Largest errors of the content in these steps, as a share of the bucket.
_MAX_SLACK: Final = 0.2
# Agreements that differ by less count as equal.
_SAME: Final = 0.002


@dataclass(frozen=True)
class FittedPolicer:
    """A token bucket that explains the losses of a flow.

    `is_good` is true if it explains nearly all of them, so that it is stated in the scenario.
    """

    rate_bps: float
    burst_bytes: float
    is_good: bool

    @property
    def line(self) -> str:
        """Returns one line about the policer and whether the scenario states it."""
        bucket = f"{self.rate_bps / 1e6:.3g} Mbit/s, burst {self.burst_bytes / 1e3:.3g} KB"
        statement = f"the losses look like a policer of about {bucket}"
        if self.is_good:
            return f"{statement}; the scenario has it as network.conditioners, instead of random losses"
        return (
            f"{statement}, which does not explain all of them; the scenario has random losses, which slow a flow more"
        )

    @property
    def conditioner(self) -> dict[str, Any]:
        """Returns the policer as a conditioner of a scenario."""
        return {
            "kind": "policer",
            "rate": f"{self.rate_bps / 1e6:.4g} Mbit/s",
            "burst": f"{self.burst_bytes / 1e3:.4g} KB",
        }


def policer(packets: Packets, wait_s: Numbers, lost: Flags) -> FittedPolicer | None:
    """Returns the policer that explains the losses `lost` of transmissions with the given waiting times, or None."""
    if int(lost.sum()) < _MIN_LOSSES:
        return None
    # The last transmissions may have been lost without the capture showing it.
    has_fate = packets.lost | ~np.isnan(packets.acked_s)
    times, size = packets.sent_s[has_fate], packets.bits[has_fate] / 8
    lost = lost[has_fate]
    passed = np.cumsum(np.where(lost, 0.0, size))
    first, last = np.flatnonzero(lost)[[0, -1]]
    span = times[last] - times[first]
    if span <= 0:
        return None
    mean = (passed[last] - passed[first]) / span
    best = _best_bucket(times, size, lost, mean)
    if best.agreement < _AGREE:
        return None
    around = wait_s[has_fate][np.clip(np.flatnonzero(lost) - 1, 0, None)]
    around = around[~np.isnan(around)]
    if len(around) and float(np.median(around)) > _MAX_WAIT * best.burst_bytes / best.rate:
        return None
    return FittedPolicer(float(8 * best.rate), best.burst_bytes, best.agreement >= _GOOD)


@dataclass(frozen=True)
class _Bucket:
    """A bucket with a rate [byte/s], and the smaller one of the shares of losses and passes that it explains.

    The agreement is 0 if the bucket is so small that errors of its content could explain all losses.
    """

    rate: float
    burst_bytes: float
    agreement: float


def _best_bucket(times: Numbers, size: Numbers, lost: Flags, mean: float) -> _Bucket:
    """Returns the bucket that explains the packets best, given the mean rate [byte/s] between the losses."""
    rates = mean * _FACTORS
    for times_slack in _TIMES_SLACK:
        tried = [_bucket(times, size, lost, rate, times_slack) for rate in rates]
        best_agreement = max(bucket.agreement for bucket in tried)
        best = [index for index, tried_bucket in enumerate(tried) if tried_bucket.agreement >= best_agreement - _SAME]
        middle = tried[best[len(best) // 2]]
        if best_agreement < _AGREE:
            break
        low, high = max(best[0] - 1, 0), min(best[-1] + 1, len(rates) - 1)
        rates = np.linspace(rates[low], rates[high], _FINER)
    return middle


def _bucket(times: Numbers, size: Numbers, lost: Flags, rate: float, times_slack: float) -> _Bucket:
    """Returns the bucket with this rate that is empty at the first loss, and how well it explains all packets.

    Errors of the content are tolerated up to `times_slack` times the usual ones.
    """
    first = int(np.argmax(lost))
    # Tokens that packets took from a full bucket, without those that flowed in when it was full.
    used_tokens = np.cumsum(np.where(lost, 0.0, size)) - rate * times
    used_before = used_tokens[: first + 1] - np.where(lost, 0.0, size)[: first + 1]
    burst = float(used_tokens[first] - used_before.min())
    tokens = _tokens(times, np.where(lost, 0.0, size), rate, burst)
    usual = _SLACK_PACKETS * float(size.max()) + _SLACK * burst
    if burst < _MIN_SLACKS * usual:
        return _Bucket(rate, burst, 0.0)
    slack = max(usual, min(times_slack * usual, _MAX_SLACK * burst))
    empty = tokens < size + slack
    return _Bucket(rate, burst, float(min(empty[lost].mean(), 1 - _forced(tokens, size, lost, slack))))


def _tokens(times: Numbers, used_bytes: Numbers, rate: float, burst: float) -> Numbers:
    """Returns the tokens that each packet finds; a bucket may owe tokens to packets that passed nevertheless."""
    # Free of the limit, the bucket would hold `free`; what flowed over is the running maximum of the excess.
    free = burst + rate * (times - times[0]) - np.append(0.0, np.cumsum(used_bytes)[:-1])
    tokens: Numbers = free - np.maximum.accumulate(np.maximum(free - burst, 0.0))
    return tokens


def _forced(tokens: Numbers, size: Numbers, lost: Flags, slack: float) -> float:
    """Returns the share of passed packets for which the bucket had too few tokens."""
    return float((tokens[~lost] < size[~lost] - slack).mean())
