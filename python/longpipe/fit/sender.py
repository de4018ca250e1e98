"""Features of a capture's sender: pacing, the data in flight that it keeps to, and pauses of its application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.fit.observed import INITIAL_WINDOW

if TYPE_CHECKING:
    from longpipe.fit.observed import ObservedFlow
    from longpipe.fit.series import FlowSeries

# Number of new segments after the first ACK that show whether the sender paces them.
_EARLY: Final = 200
# A segment was not triggered by an ACK if it was sent later than this time [s], or this share of the base RTT if that
# is shorter, after the latest ACK. Hosts send within some 100 us of an ACK.
_LATE_S: Final = 1e-3
_LATE_SHARE: Final = 0.02
# Share of such segments above which the sender may pace. It is 0 in captures of Linux without pacing, and 0.9 with it.
_PACED: Final = 0.1
# Share of a transfer that counts as its start.
_START: Final = 1 / 3
# Minimum pause [s], and minimum pause in base RTTs, of an application without data.
_PAUSE_S: Final = 0.01
_PAUSE_SHARE: Final = 0.1


def may_pace(observed: ObservedFlow) -> bool | None:
    """Returns whether many early segments left between ACKs, because of pacing or of an application without data.

    None if no segment did, but the capture lacks the first flight: later, ACKs may be as frequent as paced segments.
    """
    is_new = np.maximum.accumulate(observed.sent_byte) == observed.sent_byte
    early = observed.sent_s[is_new & (observed.sent_s > observed.ack_s[0])][:_EARLY]
    since = early - observed.ack_s[np.searchsorted(observed.ack_s, early, side="right") - 1]
    if len(early) and (since > min(_LATE_S, _LATE_SHARE * observed.rtt.min())).mean() > _PACED:
        return True
    return False if len(early) and (observed.sent_s < observed.ack_s[0]).sum() <= INITIAL_WINDOW else None


def usual_flight(series: FlowSeries) -> int:
    """Returns the median data in flight [bytes] after the start of a transfer."""
    return round(float(np.median(series.in_flight[series.grid > _START * series.grid[-1]])))


def pauses(observed: ObservedFlow) -> list[tuple[float, float]]:
    """Returns start and end [s] of each time during which all data was acknowledged and the sender sent no more."""
    end = np.maximum.accumulate(observed.sent_byte + observed.sent_bytes)
    after = np.searchsorted(observed.ack_s, observed.sent_s[1:], side="left") - 1
    is_idle = (after >= 0) & (observed.ack_delivered[after] >= end[:-1])
    begins = observed.ack_s[after[is_idle]]
    ends = observed.sent_s[1:][is_idle]
    long = ends - begins > max(_PAUSE_S, _PAUSE_SHARE * float(observed.rtt.min()))
    return list(zip(begins[long].tolist(), ends[long].tolist(), strict=True))
