"""Closed forms from the literature, with which simulated runs are compared."""

from __future__ import annotations

import math
from typing import Final

# Gain of the window of BBR version 1 (Cardwell et al. 2016).
BBR_WINDOW_GAIN: Final = 2.0
# Fraction of the BDP (C RTT) that DCTCP's marking threshold must exceed.
DCTCP_PART: Final = 1 / 7


def mathis_bps(mss_bytes: float, rtt_s: float, loss: float, acked: int = 1) -> float:
    """Returns the throughput [bit/s] of Reno if every 1/`loss`-th segment is lost and nothing else limits it.

    The window grows from W/2 to W by one segment every `acked` RTTs, if each ACK acknowledges `acked` segments (Mathis,
    Semke, Mahdavi and Ott, ACM CCR 27(3), 1997).
    """
    return 8 * mss_bytes / rtt_s * math.sqrt(1.5 / (acked * loss))


def md1_wait_s(load: float, service_s: float) -> float:
    """Returns the mean wait [s] of Poisson arrivals with constant service times (Pollaczek and Khinchine)."""
    return load * service_s / (2 * (1 - load))
