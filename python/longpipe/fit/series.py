"""Series by which an observed and a simulated flow are compared: data in flight, and waiting times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from longpipe.fit.observed import ObservedFlow
    from longpipe.result import Result

    Numbers = NDArray[np.float64]

# Number of times at which data in flight is compared.
POINTS: Final = 300
# Quantiles of the distributions that are compared.
_QUANTILES: Final = np.linspace(0.025, 0.975, 39)
# Differences between waiting times are relative to the mean wait, or to this many packets' transmission time if that is
# longer.
_LEAST_WAIT: Final = 2.0
# Traces that the series of a simulated flow need, as scenario fields.
TRACES: Final = {"traces.sequence": True, "traces.rtt": True, "traces.drops": True}
# Maximum distance at any one time, used if one flow has data in flight and the other has none.
_FARTHEST: Final = 3.0


@dataclass(frozen=True, eq=False)
class FlowSeries:
    """A flow: data delivered and in flight [bytes] and latest RTT [s] at `grid` [s], all RTT samples [s], lost packets.

    Data are in flight until an ACK or a SACK block reports them. RTTs are those that the sender measures; the latest
    RTT is NaN before the first sample.
    """

    grid: Numbers
    delivered: Numbers
    in_flight: Numbers
    rtt: Numbers
    samples: Numbers
    lost: int


def observed(seen: ObservedFlow, duration_s: float) -> FlowSeries:
    """Returns the series of an observation that lasts `duration_s` seconds."""
    grid = points(duration_s)
    sent = np.maximum.accumulate(seen.sent_byte + seen.sent_bytes)
    delivered = _latest(seen.ack_s, seen.ack_delivered, grid)
    flight = _latest(seen.sent_s, sent, grid) - delivered
    rtt = _latest(seen.measured_s, seen.measured, grid, np.nan)
    return FlowSeries(grid, delivered, flight, rtt, seen.measured, int(seen.sent_lost.sum()))


def simulated(result: Result, duration_s: float, flow: int = 0) -> FlowSeries:
    """Returns the series of a flow, counted from 0, of a run with the traces of `TRACES`."""
    columns = result.part("traces")
    sequence, rtt = columns["sequence"], columns["rtt"]
    own = np.asarray(sequence["flow"]) == flow
    event, times = np.asarray(sequence["event"])[own], np.asarray(sequence["time_s"])[own]
    byte = np.asarray(sequence["sequence_bytes"], dtype=float)[own]
    ends = byte + np.asarray(sequence["length_bytes"], dtype=float)[own]
    sent = event == 0
    grid = points(duration_s)
    delivered = _delivered(event, times, byte, ends, grid)
    flight = _latest(times[sent], np.maximum.accumulate(ends[sent]), grid) - delivered
    samples = np.asarray(rtt["rtt_s"], dtype=float)
    known = ~np.isnan(samples) & (np.asarray(rtt["flow"]) == flow)
    latest = _latest(np.asarray(rtt["time_s"])[known], samples[known], grid, np.nan)
    return FlowSeries(grid, delivered, flight, latest, samples[known], _lost(columns["drops"], flow))


def _lost(drops: Mapping[str, Any], flow: int) -> int:
    """Returns the number of a flow's data packets that were dropped, from the trace `drops`."""
    # The causes of marks, and the sequence numbers of ACKs, are not those of lost data.
    data = np.asarray(drops["sequence_bytes"]) >= 0
    return int((data & (np.asarray(drops["flow"]) == flow) & (np.asarray(drops["cause"]) > 0)).sum())


def _delivered(event: Any, times: Any, byte: Numbers, ends: Numbers, grid: Numbers) -> Numbers:  # noqa: ANN401 - arrays of several types
    """Returns the bytes that ACKs or SACK blocks reported up to each time, from one flow's trace `sequence`."""
    acked, blocks = event == 1, event == 2
    until = np.maximum.accumulate(byte[acked])
    begins, first = np.unique(byte[event == 0], return_index=True)
    segment_ends = ends[event == 0][first]
    # Times at which an ACK, or before it a block, reported each segment.
    place = np.searchsorted(until, segment_ends)
    reported = np.append(times[acked], np.inf)[place]
    known: dict[float, float] = {}
    for at, left, right in zip(times[blocks], byte[blocks], ends[blocks], strict=True):
        # A block only grows, so its earlier part need not be examined again.
        low, high = np.searchsorted(begins, (max(known.get(left, left), left), right))
        reported[low:high] = np.minimum(reported[low:high], at)
        known[left] = right
    order = np.argsort(reported, kind="stable")
    return _latest(reported[order], np.cumsum((segment_ends - begins)[order]), grid)


def points(duration_s: float) -> Numbers:
    """Returns the times [s] at which series are compared."""
    return np.linspace(duration_s / POINTS, duration_s, POINTS, dtype=np.float64)


def _latest(times: Any, values: Any, grid: Numbers, before: float = 0.0) -> Numbers:  # noqa: ANN401 - arrays of several types
    """Returns the last value at or before each time; `before` is the value before the first."""
    if not len(times):
        return np.full(len(grid), before)
    place = np.searchsorted(times, grid, side="right") - 1
    latest: Numbers = np.where(place >= 0, np.asarray(values, dtype=float)[np.maximum(place, 0)], before)
    return latest


def over_time(one: FlowSeries, other: FlowSeries) -> float:
    """Returns the distance between the flows' data in flight: the mean absolute logarithm of their ratio over time."""
    both = (one.in_flight > 0) & (other.in_flight > 0)
    apart = np.full(len(both), _FARTHEST)
    apart[both] = np.minimum(np.abs(np.log(one.in_flight[both] / other.in_flight[both])), _FARTHEST)
    apart[(one.in_flight <= 0) & (other.in_flight <= 0)] = 0.0
    return float(apart.mean())


def in_distribution(one: FlowSeries, other: FlowSeries, base_s: float, packet_s: float) -> float:
    """Returns the distance between flows with different random numbers: in waiting times, data in flight and losses."""
    waits = [np.quantile(of.samples - base_s, _QUANTILES) for of in (one, other)]
    scale = max(float(waits[0].mean()), _LEAST_WAIT * packet_s)
    windows = [np.quantile(of.in_flight[of.in_flight > 0], _QUANTILES) for of in (one, other)]
    return float(
        np.abs(waits[0] - waits[1]).mean() / scale
        + np.abs(np.log(windows[0] / windows[1])).mean()
        + in_losses(one.lost, other.lost)
    )


def in_losses(one: int, other: int) -> float:
    """Returns the distance between two numbers of lost packets: a quarter of the absolute logarithm of their ratio."""
    return abs(math.log((one + 1) / (other + 1))) / 4
