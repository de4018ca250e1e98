"""Closed forms from the literature, with which tests compare simulated runs."""

import math
from dataclasses import dataclass
from typing import Final

# BBR version 1 (Cardwell et al. 2016): gain of the pacing rate while BBR probes for bandwidth.
BBR_PROBE_GAIN: Final = 1.25
# Number of phases in a cycle of gains; each lasts one minimum RTT.
BBR_PHASES: Final = 8
# Interval and duration of ProbeRTT [s], with four segments in flight.
BBR_PROBE_RTT_INTERVAL_S: Final = 10.0
BBR_PROBE_RTT_S: Final = 0.2


def pftk_bps(mss_bytes: float, rtt_s: float, loss: float, timeout_s: float, acked: int = 1) -> float:
    """Returns the throughput [bit/s] of Reno with timeouts, if the receiver's window does not limit it.

    `loss` is the probability that the first segment of a round is lost; all later segments of the round are then lost,
    too (Padhye, Firoiu, Towsley and Kurose, IEEE/ACM ToN 8(2), 2000; the formula for received data).
    """
    third = (2 + acked) / (3 * acked)
    window = third + math.sqrt(8 * (1 - loss) / (3 * acked * loss) + third**2)
    rounds = acked * window / 2
    kept = 1 - loss
    # Probability that a loss ends in a timeout, because fewer than three duplicates arrive.
    by_timeout = min(1.0, (1 - kept**3) * (1 + kept**3 * (1 - kept ** (window - 3))) / (1 - kept**window))
    backoff = 1 + loss + sum(2**i * loss ** (i + 1) for i in range(1, 6))
    received = kept / loss + window / 2 + by_timeout
    took_s = rtt_s * (rounds + 1) + by_timeout * backoff * timeout_s / kept
    return float(8 * mss_bytes * received / took_s)


@dataclass(frozen=True)
class DctcpQueue:
    """Queue [packets] of synchronized DCTCP flows, and its period [RTTs]."""

    largest: float
    smallest: float
    period: float


def dctcp_queue(threshold: float, pipe: float, flows: int) -> DctcpQueue:
    """Returns the queue sawtooth of N = `flows` DCTCP flows, with C RTT = `pipe` and K = `threshold` [packets].

    In each period the windows exceed W* = (C RTT + K) / N for one RTT. The fraction of marked packets is then
    alpha = sqrt(2 / W*), and every flow reduces its window by the fraction alpha / 2 (Alizadeh et al., SIGCOMM 2010,
    equations 3 to 12).
    """
    amplitude = math.sqrt(2 * flows * (pipe + threshold)) / 2
    largest = threshold + flows
    return DctcpQueue(largest, largest - amplitude, amplitude / flows)


def bbr_probe_rtt_share(rtt_s: float) -> float:
    """Returns the share of time that one BBR flow spends in ProbeRTT, in which it sends almost nothing.

    ProbeRTT begins 10 s after the minimum RTT was last measured, and lasts for the longer of 200 ms and an RTT after
    the data in flight has drained.
    """
    duration_s = max(BBR_PROBE_RTT_S, rtt_s)
    return duration_s / (BBR_PROBE_RTT_INTERVAL_S + duration_s)
