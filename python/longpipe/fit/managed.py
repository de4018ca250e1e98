"""Queues with AQM: whether losses or marks suggest AQM, and the disciplines that are simulated."""

from __future__ import annotations

from math import e, log
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.fit.features import PathFeatures
    from longpipe.fit.observed import ObservedFlow

    Counts = NDArray[np.int64]

# If losses are independent of the queue with a probability above this, a queue with AQM is not considered.
_UNRELATED: Final = 0.05
# Minimum number of losses for a test of their relation to the queue, and minimum number of reductions due to marks that
# indicate AQM.
_MIN_LOSSES: Final = 3
_MIN_REDUCTIONS: Final = 1
# With few exceptions, a queue with AQM drops only packets that found more than this number of packets.
_QUEUED: Final = 1.5
_MOSTLY: Final = 0.9
# Candidates for RED: minimum thresholds as shares of the queue that lost packets found, and drop probabilities at the
# maximum threshold, which is three times the minimum (Floyd).
_RED_SHARES: Final = (0.25, 0.4, 0.65, 1.0)
_RED_MOST: Final = (0.02, 0.1)
_MIN_THRESHOLD: Final = 2.0
_MAX_SHIFT: Final = 32


def chance_of_tail_drop(observed: ObservedFlow, features: PathFeatures) -> float:
    """Returns the weight of tail drop with random losses relative to AQM: 1 if AQM is not considered, 0 with marks.

    A rank test compares the queues that lost packets found with those that others found. Its probability p becomes
    the bound -e p ln p of the odds (Sellke, Bayarri and Berger 2001).
    """
    from scipy.stats import mannwhitneyu

    if features.overflow.sum() > features.elsewhere.sum():
        return 1.0
    if observed.ecn and len(observed.reduced_s) >= _MIN_REDUCTIONS:
        return 0.0
    is_measured = ~np.isnan(features.queued_ahead_s)
    lost, kept = is_measured & features.elsewhere, is_measured & ~observed.sent_lost
    if lost.sum() < _MIN_LOSSES:
        return 1.0
    queued = float((features.queued_ahead_s[lost] > _QUEUED * _packet_s(observed, features)).mean())
    p = float(mannwhitneyu(features.queued_ahead_s[lost], features.queued_ahead_s[kept], alternative="greater").pvalue)
    if queued < _MOSTLY or p >= _UNRELATED:
        return 1.0
    return -e * p * log(p) if p > 0 else 0.0


def _packet_s(observed: ObservedFlow, features: PathFeatures) -> float:
    return observed.packet_bytes * 8 / features.rate_or_bound_bps


def managed_policies(observed: ObservedFlow, features: PathFeatures) -> list[tuple[str, dict[str, Any]]]:
    """Returns the disciplines to simulate, as (name, `switch.policy`), with Linux's defaults."""
    ecn = {"ecn": True} if observed.ecn else {}
    policies: list[tuple[str, dict[str, Any]]] = [
        ("codel", {"kind": "codel", "arithmetic": "linux", **ecn}),
        ("fq-codel", {"kind": "fq-codel", "arithmetic": "linux", "rules": "linux", **ecn}),
        ("pie", {"kind": "pie", "rules": "linux", **ecn}),
    ]
    at_loss = features.queued_ahead_s[features.elsewhere & ~np.isnan(features.queued_ahead_s)]
    queues_s = np.append(at_loss, features.wait_s[marked(observed)])
    middle = float(np.median(queues_s)) / _packet_s(observed, features) if len(queues_s) else _MIN_THRESHOLD
    minima = dict.fromkeys(max(_MIN_THRESHOLD, share * middle) for share in _RED_SHARES)
    policies += [("red", {**_red(minimum, maximum), **ecn}) for minimum in minima for maximum in _RED_MOST]
    return policies


def marked(observed: ObservedFlow) -> Counts:
    """Returns the indices of the transmissions whose ACKs echoed a mark: a reduction follows such an ACK at once."""
    arrived = np.flatnonzero(~np.isnan(observed.sent_acked_s))
    order = arrived[np.argsort(observed.sent_acked_s[arrived], kind="stable")]
    place = np.searchsorted(observed.sent_acked_s[order], observed.reduced_s, side="right") - 1
    indices: Counts = order[place[place >= 0]]
    return indices


def _red(minimum: float, maximum: float) -> dict[str, Any]:
    """Returns RED as tc configures it: a burst of (2 min + max) / 3, and no gentle mode above the maximum threshold.

    The weight of the average is computed from the burst (tc-red(8); Floyd and Jacobson 1993).
    """
    burst = 5 * minimum / 3
    shifts = (n for n in range(1, _MAX_SHIFT) if burst + 1 - minimum <= (1 - (1 - 2.0**-n) ** burst) * 2**n)
    return {
        "kind": "red",
        "min": minimum,
        "max": 3 * minimum,
        "max_p": maximum,
        "weight": 2.0 ** -next(shifts),
        "gentle": False,
        "gap": "drawn",
    }
