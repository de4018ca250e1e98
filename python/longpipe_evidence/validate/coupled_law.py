"""Predicts Prague's share against CUBIC over DualPI2, from the coupling law (RFC 9332) and each control's response.

The law assumes a constant p' and evenly spaced marks and drops; `SharePrediction.swing` shows whether p' is steady.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

# RTT of TCP Prague below which its rate does not depend on the RTT [s] (module 0.7, `prague_rtt_target`).
RTT_TARGET_S: Final = 0.025
# Coupling factor k, target delay [s], and proportional gain of DualPI2 [1/s] (RFC 9332 appendix A.1).
COUPLING: Final = 2.0
TARGET_S: Final = 0.015
BETA: Final = 3.2
# CUBIC's multiplicative decrease factor, and the coefficient and exponent of its response function (RFC 9438 section
# 4.6 and figure 5).
DECREASE: Final = 0.7
RESPONSE: Final = 1.054
EXPONENT: Final = 0.75


def prague_rate(marks: float, rtt_s: float) -> float:
    """Returns Prague's rate [packets/s] if a share `marks` of its packets is marked at equal distances.

    The window grows by a (1 - `marks`) packets per RTT, where a is 1, or (RTT / target)² below the target. A reduction
    by `marks` / 2 happens if there is a mark, if one RTT has passed since the previous mark that caused or requested a
    reduction, and if the target time has passed since the latest reduction. Below the target, reductions are therefore
    ceil(target / RTT) RTTs apart. With m marks in this period, a reduction follows every ceil(m) marks, so that m² = 2
    ceil(m) (1 - `marks`) (period / max(RTT, target))².
    """
    period_s = rtt_s * max(1, math.ceil(RTT_TARGET_S / rtt_s))
    scale = (1 - marks) * (period_s / max(rtt_s, RTT_TARGET_S)) ** 2
    # The largest solution is used: ceil(m) = c if (c - 1)² < 2 c `scale`.
    count = math.ceil(1 + scale + math.sqrt(scale * (scale + 2))) - 1
    return math.sqrt(2 * count * scale) / (marks * period_s)


def cubic_rate(drops: float, rtt_s: float) -> float:
    """Returns CUBIC's rate [packets/s] if a share `drops` of it is lost (RFC 9438), or Reno's if that is higher."""
    window = max(RESPONSE * (rtt_s / drops) ** EXPONENT, math.sqrt(1.5 / drops))
    return float(window / rtt_s)


@dataclass(frozen=True)
class SharePrediction:
    """Prediction for equal numbers of Prague and CUBIC flows over one DualPI2 queue."""

    # Share of all packets that are Prague's.
    share: float
    # Base probability p'.
    probability: float
    # Change in p' caused by one reduction of one CUBIC flow, as a multiple of p'. Above about a half, p' is not
    # constant.
    swing: float


def predicted_share(packets_per_s: float, rtt_s: float, flows: int = 1) -> SharePrediction:
    """Returns the prediction for a link of `packets_per_s` and a base RTT, with `flows` flows of each control.

    L4S packets are marked with probability k p'; the others are dropped with probability p'² and delayed by the target.
    A reduction of one CUBIC flow removes 1 - `DECREASE` of its packets from the classic queue; the proportional term
    then lowers p' by `BETA` times the change in delay.
    """
    low, high = 1e-6, 0.45
    while high / low > 1 + 1e-9:
        probability = math.sqrt(low * high)
        prague, cubic = _rates(probability, rtt_s)
        low, high = (probability, high) if flows * (prague + cubic) > packets_per_s else (low, probability)
    prague, cubic = _rates(low, rtt_s)
    classic_rtt_s = rtt_s + TARGET_S
    removed_s = (1 - DECREASE) * cubic * classic_rtt_s / packets_per_s
    return SharePrediction(prague / (prague + cubic), low, BETA * min(removed_s, TARGET_S) / low)


def _rates(probability: float, rtt_s: float) -> tuple[float, float]:
    return prague_rate(COUPLING * probability, rtt_s), cubic_rate(probability**2, rtt_s + TARGET_S)
