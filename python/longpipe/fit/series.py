"""Series by which an observed and a simulated flow are compared: data in flight, and waiting times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.fit.observed import ObservedFlow
    from longpipe.result import Result

    Numbers = NDArray[np.float64]

# Points at which data in flight are compared.
POINTS: Final = 300
# Quantiles of the distributions that are compared.
_QUANTILES: Final = np.linspace(0.025, 0.975, 39)
# Differences of waiting times are relative to the mean wait, or to this number of packets if the wait is shorter.
_LEAST_WAIT: Final = 2.0
# Maximum distance at one time, used between a flow with data in flight and a flow without.
_FARTHEST: Final = 3.0


@dataclass(frozen=True, eq=False)
class FlowSeries:
    """A flow: unacknowledged data [bytes] and latest RTT [s] at `grid` [s], all RTT samples [s], and lost packets.

    The latest RTT is NaN before the first sample.
    """

    grid: Numbers
    in_flight: Numbers
    rtt: Numbers
    samples: Numbers
    lost: int


def observed(seen: ObservedFlow) -> FlowSeries:
    """Returns the series of an observation; data that a SACK block reported are not in flight."""
    grid = points(seen.duration_s)
    sent = np.maximum.accumulate(seen.sent_byte + seen.sent_bytes)
    flight = _latest(seen.sent_s, sent, grid) - _latest(seen.ack_s, seen.ack_delivered, grid)
    return FlowSeries(grid, flight, _latest(seen.rtt_s, seen.rtt, grid, np.nan), seen.rtt, int(seen.sent_lost.sum()))


def simulated(result: Result, duration_s: float) -> FlowSeries:
    """Returns the series of the first flow of a run with the traces `sequence` and `rtt`."""
    columns = result.part("traces")
    sequence, rtt = columns["sequence"], columns["rtt"]
    event = np.asarray(sequence["event"])
    times, byte = np.asarray(sequence["time_s"]), np.asarray(sequence["sequence_bytes"], dtype=float)
    is_first = np.asarray(sequence["flow"]) == 0
    sent, acked = is_first & (event == 0), is_first & (event == 1)
    ends = np.maximum.accumulate(byte[sent] + np.asarray(sequence["length_bytes"], dtype=float)[sent])
    grid = points(duration_s)
    flight = _latest(times[sent], ends, grid) - _latest(times[acked], np.maximum.accumulate(byte[acked]), grid)
    samples = np.asarray(rtt["rtt_s"], dtype=float)
    known = ~np.isnan(samples) & (np.asarray(rtt["flow"]) == 0)
    # ATM ports have neither column.
    ports = result.part("ports")
    lost = sum(int(count) for name in ("packets_lost_overflow", "packets_lost_aqm") for count in ports.get(name, ()))
    return FlowSeries(
        grid, flight, _latest(np.asarray(rtt["time_s"])[known], samples[known], grid, np.nan), samples[known], lost
    )


def points(duration_s: float) -> Numbers:
    """Returns the times [s] at which series are compared."""
    return np.linspace(duration_s / POINTS, duration_s, POINTS, dtype=np.float64)


def _latest(times: Any, values: Any, grid: Numbers, before: float = 0.0) -> Numbers:  # noqa: ANN401 - arrays of several types
    """Returns the last value at or before each time; `before` is the value before the first."""
    if not len(times):
        return np.full(len(grid), before)
    place = np.searchsorted(times, grid, side="right") - 1
    found: Numbers = np.where(place >= 0, np.asarray(values, dtype=float)[np.maximum(place, 0)], before)
    return found


def over_time(one: FlowSeries, other: FlowSeries) -> float:
    """Returns the distance of the data in flight: the mean absolute logarithm of the ratio at the same times."""
    both = (one.in_flight > 0) & (other.in_flight > 0)
    apart = np.full(len(both), _FARTHEST)
    apart[both] = np.minimum(np.abs(np.log(one.in_flight[both] / other.in_flight[both])), _FARTHEST)
    apart[(one.in_flight <= 0) & (other.in_flight <= 0)] = 0.0
    return float(apart.mean())


def in_distribution(one: FlowSeries, other: FlowSeries, base_s: float, packet_s: float) -> float:
    """Returns the distance of two flows with different random numbers: of waiting times, data in flight and losses."""
    waits = [np.quantile(of.samples - base_s, _QUANTILES) for of in (one, other)]
    scale = max(float(waits[0].mean()), _LEAST_WAIT * packet_s)
    windows = [np.quantile(of.in_flight[of.in_flight > 0], _QUANTILES) for of in (one, other)]
    losses = abs(float(np.log((one.lost + 1) / (other.lost + 1))))
    return float(
        np.abs(waits[0] - waits[1]).mean() / scale + np.abs(np.log(windows[0] / windows[1])).mean() + losses / 4
    )
