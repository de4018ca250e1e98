"""Losses of a Starlink site from single probes: outages, which lose several in succession, and all other losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.fit.starlink.observed import Probes

    Numbers = NDArray[np.float64]

DRAWS: Final = 2000
# Least number of probes, and of losses that only outages can cause.
_LEAST: Final = 1000
_LEAST_RUNS: Final = 5
# Two lost probes are successive if they are at most this many intervals apart.
_NEXT: Final = 1.5
# Range of the probability that an outage that loses a probe also loses the next one.
_STAYS: Final = (1e-4, 1 - 1e-6)


@dataclass(frozen=True, eq=False)
class Losses:
    """Mean interval and mean duration of outages [s], and the share of probes lost otherwise, with bootstrap draws.

    The estimates of outages are None if too few probes were lost in succession. `interval_s` is the time between
    probes.
    """

    outage_every_s: float | None
    outage_s: float | None
    outage_draws: Numbers
    other: float
    other_draws: Numbers
    interval_s: float
    probes: int


def fit_losses(probes: Sequence[Probes], longest_burst_s: float, rtt_s: float) -> Losses | None:
    """Returns the estimates; None without enough probes whose losses are known one by one.

    Bursts of losses last at most `longest_burst_s`, so that more probes in succession are lost only in outages. Their
    durations are exponentially distributed, so that the number of probes lost in one is geometrically distributed.
    """
    counted = [series for series in probes if series.lost_s is not None]
    sent = sum(len(series.time_s) + len(series.lost_s) for series in counted if series.lost_s is not None)
    if sent < _LEAST:
        return None
    interval_s = float(np.median(np.concatenate([np.diff(np.sort(series.time_s)) for series in counted])))
    runs = np.concatenate([_runs(series.lost_s, interval_s) for series in counted if series.lost_s is not None])
    least = math.floor(longest_burst_s / interval_s) + 2
    total_s = sent * interval_s
    random = np.random.default_rng(0)
    long = runs[runs >= least]
    lost_short = float(runs[runs < least].sum())
    if len(long) < _LEAST_RUNS:
        # All losses count as others.
        lost = float(runs.sum())
        return Losses(
            None, None, np.zeros((0, 2)), lost / sent, random.gamma(lost + 0.5, 1 / sent, DRAWS), interval_s, sent
        )  # fmt: skip
    excess = float((long - least).sum())
    # Posterior distributions with Jeffreys' priors: of the geometric distribution, and of the number of outages.
    stays = np.append((excess + 0.5) / (excess + len(long) + 1), random.beta(excess + 0.5, len(long) + 0.5, DRAWS))
    counts = np.append(len(long), random.gamma(len(long) + 0.5, 1.0, DRAWS))
    stays = np.clip(stays, *_STAYS)
    mean_s = -interval_s / np.log(stays)
    # A probe crosses the path twice, so that an outage is longer by the time between, of about half an RTT.
    of_outage = mean_s / interval_s * (1 - stays) * np.exp(rtt_s / 2 / mean_s)
    every_s = total_s * of_outage * stays ** (least - 1) / counts
    short = np.array([_short(float(stay), least) for stay in stays])
    # Probes that outages lose in shorter runs.
    in_outages = total_s / every_s * of_outage * short
    events = np.append(lost_short, random.gamma(lost_short + 0.5, 1.0, DRAWS))
    other_losses = np.maximum(0.0, events - in_outages) / sent
    return Losses(
        float(every_s[0]), float(mean_s[0]), np.column_stack([every_s, mean_s])[1:], float(other_losses[0]),
        other_losses[1:],
        interval_s, sent,
    )  # fmt: skip


def _short(stay: float, least: int) -> float:
    """Returns the mean number of probes in runs below `least` for each outage that loses a probe."""
    lengths = np.arange(1, least)
    return float((lengths * stay ** (lengths - 1) * (1 - stay)).sum())


def _runs(lost_s: Numbers, interval_s: float) -> Numbers:
    """Returns the numbers of probes that were lost in succession."""
    if not len(lost_s):
        return np.zeros(0)
    times = np.sort(lost_s)
    begins = np.flatnonzero(np.append(True, np.diff(times) > _NEXT * interval_s))
    return np.diff(np.append(begins, len(times))).astype(float)
