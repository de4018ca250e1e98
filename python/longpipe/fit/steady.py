"""Goodput of a flow without its first part, and the deviations from a capture that are tolerated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.fit.model_error import GOODPUT, MEDIAN_RTT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

# Share of a run after which goodput and RTT are measured.
STEADY: Final = 1 / 3
# Maximum relative deviations that are tolerated: of a fitted path from its capture, and of predictions from Linux.
TOLERATED: Final = {GOODPUT: 0.05, MEDIAN_RTT: 0.1}


def goodput_bps(time_s: Numbers, delivered_bytes: Numbers, *, begin_s: float | None = None) -> float:
    """Returns the goodput [bit/s] of a flow after the first part of its series, or after `begin_s` [s]."""
    # A short series needs a first point: at the start, nothing was delivered.
    time, moved = np.append(0.0, time_s), np.append(0.0, delivered_bytes)
    first = int(np.argmax(time > (STEADY * time[-1] if begin_s is None else begin_s))) - 1
    return float(8 * (moved[-1] - moved[first]) / (time[-1] - time[first]))


def deviation_line(name: str, observed: float | None, simulated: tuple[float, float]) -> str:
    """Returns a warning if a measure of the fitted path deviates from the observed one by more than is tolerated.

    `simulated` is the mean over runs of the fitted path and the half-width of its interval, by which a deviation may
    exceed the tolerance. Returns "" if there is no reason for a warning.
    """
    if not observed or name not in TOLERATED:
        return ""
    deviation, allowed = simulated[0] / observed - 1, TOLERATED[name]
    if abs(deviation) <= max(allowed, simulated[1] / observed):
        return ""
    return (
        f"{name}: the fitted path's differs by {deviation:+.0%} from the observed; errors of up to {allowed:.0%} are "
        "usual, and predictions are at least as wrong"
    )
