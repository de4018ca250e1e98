"""Phases of BBR as packets show them: arrival rates at the bottleneck, and delays in its queue.

A stack does not expose its state, so these measures apply to any implementation. Rates are relative to the link's rate,
and times are in round trips of the path without queues.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from longpipe.units import RATE, TIME

if TYPE_CHECKING:
    from longpipe.result import Result

_PORT: Final = "switch1->switch2"
# Time [s] by which Startup has ended; the first probes for bandwidth follow.
_STEADY_S: Final = 2.0
# Shares of the link's rate above which a sender builds a queue, and below which it drains one.
_ABOVE: Final = 1.06
_DRAINS: Final = 0.75
# Time for which ProbeRTT keeps the smaller window [s].
_PROBE_RTT_S: Final = 0.2

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Packets:
    """Arrival, transmission and waiting times [s] of the only flow's packets at the bottleneck, and the path's RTT."""

    arrival_s: Floats
    length_s: Floats
    wait_s: Floats
    round_trip_s: float

    def rates(self, window_s: float) -> tuple[Floats, Floats]:
        """Returns the ends of intervals of `window_s`, one beginning every quarter of it, and the rate in each."""
        ends = np.arange(window_s, self.arrival_s[-1], window_s / 4)
        arrived_s = np.concatenate([[0.0], np.cumsum(self.length_s)])
        by_end, by_begin = (np.searchsorted(self.arrival_s, times) for times in (ends, ends - window_s))
        return ends, (arrived_s[by_end] - arrived_s[by_begin]) / window_s


def _observed(result: "Result") -> _Packets:
    """Returns the packets at the bottleneck in the order of arrival: times, transmission times and waits [s]."""
    network: Any = result.scenario.network
    rate_bps = float(RATE.parse(network.trunk_rate))
    frame = result.traces["delay"]
    rows = frame[(frame.port == _PORT) & ~frame.acks.astype(bool)]
    length = rows.bytes.to_numpy(dtype=float) * 8 / rate_bps
    wait = rows.delay_s.to_numpy(dtype=float)
    arrival = rows.time_s.to_numpy(dtype=float) - length - wait
    order = np.argsort(arrival, kind="stable")
    round_trip_s = 2 * float(TIME.parse(network.trunk_delay)) / 1e12
    return _Packets(arrival[order], length[order], wait[order], round_trip_s)


def _drain(packets: _Packets) -> tuple[float, float, float]:
    """Returns when the rate first exceeds the link's and when it then falls [s], and the lowest rate that follows."""
    ends, rates = packets.rates(packets.round_trip_s)
    above = np.flatnonzero(rates > _ABOVE)
    if not above.size:
        return np.nan, np.nan, np.nan
    below = np.flatnonzero((rates < _DRAINS) & (ends > ends[above[0]]))
    if not below.size:
        return float(ends[above[0]]), np.nan, np.nan
    begin = ends[below[0]]
    after = (ends >= begin) & (ends < begin + 4 * packets.round_trip_s)
    return float(ends[above[0]]), float(begin), float(rates[after].min())


def startup_rounds(result: "Result") -> float:
    """Returns the number of round trips from the first in which the rate exceeds the link's to the first of Drain."""
    packets = _observed(result)
    above, begin, _ = _drain(packets)
    return (begin - above) / packets.round_trip_s


def drain_rate(result: "Result") -> float:
    """Returns the lowest rate over a round trip after Startup, relative to the link's: Drain's pacing gain."""
    return _drain(_observed(result))[2]


def drain_rounds(result: "Result") -> float:
    """Returns the round trips from the beginning of Drain until a packet waits for at most 1 % of a round trip."""
    packets = _observed(result)
    _, begin, _ = _drain(packets)
    empty = packets.arrival_s[(packets.arrival_s > begin) & (packets.wait_s <= 0.01 * packets.round_trip_s)]
    return float((empty[0] - begin) / packets.round_trip_s) if empty.size else np.nan


def _probes(packets: _Packets) -> list[tuple[float, float]]:
    """Returns the start and end of each steady-state period in which packets wait for over a tenth of a round trip.

    Gaps of up to 5 round trips are part of a period.
    """
    waiting = packets.arrival_s[(packets.arrival_s > _STEADY_S) & (packets.wait_s > 0.1 * packets.round_trip_s)]
    parts = np.split(waiting, np.flatnonzero(np.diff(waiting) > 5 * packets.round_trip_s) + 1)
    return [(float(part[0]), float(part[-1])) for part in parts if part.size]


def probes(result: "Result") -> float:
    """Returns the number of probes for bandwidth in the steady state, recognized by the queue that they build."""
    return float(len(_probes(_observed(result))))


def longest_probe_rounds(result: "Result") -> float:
    """Returns the round trips from the first to the last packet that waits in the longest probe; nan without probes."""
    packets = _observed(result)
    return max(((end - begin) / packets.round_trip_s for begin, end in _probes(packets)), default=np.nan)


def _probe_rtts(packets: _Packets) -> Floats:
    """Returns the ends [s] of the periods of at least 200 ms in which less than the link's rate arrives."""
    ends, rates = packets.rates(_PROBE_RTT_S)
    low = ends[(rates < _DRAINS) & (ends > _STEADY_S)]
    return low[np.concatenate([[True], np.diff(low) > 1.0])] if low.size else low


def first_probe_rtt_s(result: "Result") -> float:
    """Returns the time [s] of the first ProbeRTT: the rate over 200 ms falls below three quarters of the link's."""
    times_s = _probe_rtts(_observed(result))
    return float(times_s[0]) if times_s.size else np.nan


def probe_rtt_rate(result: "Result") -> float:
    """Returns the lowest steady-state rate over 200 ms relative to the link's: ProbeRTT keeps half a BDP in flight."""
    ends, rates = _observed(result).rates(_PROBE_RTT_S)
    return float(rates[ends > _STEADY_S].min())
