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

# Events of the trace `sequence`: a segment sent, an ACK and a SACK block received.
_SENT, _ACKED, _SACKED = 0, 1, 2
# Number of times at which data in flight is compared.
POINTS: Final = 300
# Quantiles of the distributions that are compared.
_QUANTILES: Final = np.linspace(0.025, 0.975, 39)
# Differences between waiting times are relative to the mean wait, or to this many packets' transmission time if that is
# longer.
_MIN_WAIT: Final = 2.0
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


def observed(flow: ObservedFlow, duration_s: float) -> FlowSeries:
    """Returns the series of an observation that lasts `duration_s` seconds."""
    grid = points(duration_s)
    sent = np.maximum.accumulate(flow.sent_byte + flow.sent_bytes)
    delivered = _latest(flow.ack_s, flow.ack_delivered, grid)
    flight = _latest(flow.sent_s, sent, grid) - delivered
    rtt = _latest(flow.sender_rtt_at_s, flow.sender_rtt, grid, np.nan)
    return FlowSeries(grid, delivered, flight, rtt, flow.sender_rtt, int(flow.sent_lost.sum()))


def simulated(result: Result, duration_s: float, flow: int = 0) -> FlowSeries:
    """Returns the series of a flow, counted from 0, of a run with the traces of `TRACES`."""
    columns = result.part("traces")
    sequence, rtt = columns["sequence"], columns["rtt"]
    of_flow = np.asarray(sequence["flow"]) == flow
    event, times = np.asarray(sequence["event"])[of_flow], np.asarray(sequence["time_s"])[of_flow]
    byte = np.asarray(sequence["sequence_bytes"], dtype=float)[of_flow]
    ends = byte + np.asarray(sequence["length_bytes"], dtype=float)[of_flow]
    sent = event == _SENT
    grid = points(duration_s)
    delivered = _delivered(event, times, byte, ends, grid)
    flight = _latest(times[sent], np.maximum.accumulate(ends[sent]), grid) - delivered
    samples = np.asarray(rtt["rtt_s"], dtype=float)
    has_sample = ~np.isnan(samples) & (np.asarray(rtt["flow"]) == flow)
    latest = _latest(np.asarray(rtt["time_s"])[has_sample], samples[has_sample], grid, np.nan)
    return FlowSeries(grid, delivered, flight, latest, samples[has_sample], _lost(columns["drops"], flow))


def _lost(drops: Mapping[str, Any], flow: int) -> int:
    """Returns the number of a flow's data packets that were dropped, from the trace `drops`."""
    # The causes of marks, and the sequence numbers of ACKs, are not those of lost data.
    data = np.asarray(drops["sequence_bytes"]) >= 0
    return int((data & (np.asarray(drops["flow"]) == flow) & (np.asarray(drops["cause"]) > 0)).sum())


def _delivered(event: Any, times: Any, byte: Numbers, ends: Numbers, grid: Numbers) -> Numbers:  # noqa: ANN401 - arrays of several types
    """Returns the bytes that ACKs or SACK blocks reported up to each time, from one flow's trace `sequence`."""
    acked, blocks = event == _ACKED, event == _SACKED
    acknowledged = np.maximum.accumulate(byte[acked])
    begins, first = np.unique(byte[event == _SENT], return_index=True)
    segment_ends = ends[event == _SENT][first]
    # Times at which an ACK, or before it a block, reported each segment.
    indices = np.searchsorted(acknowledged, segment_ends)
    reported = np.append(times[acked], np.inf)[indices]
    # End of the latest block that begins at each byte.
    block_ends: dict[float, float] = {}
    for at, left, right in zip(times[blocks], byte[blocks], ends[blocks], strict=True):
        # A block only grows, so its earlier part need not be examined again.
        low, high = np.searchsorted(begins, (max(block_ends.get(left, left), left), right))
        reported[low:high] = np.minimum(reported[low:high], at)
        block_ends[left] = right
    order = np.argsort(reported, kind="stable")
    return _latest(reported[order], np.cumsum((segment_ends - begins)[order]), grid)


def points(duration_s: float) -> Numbers:
    """Returns the times [s] at which series are compared."""
    return np.linspace(duration_s / POINTS, duration_s, POINTS, dtype=np.float64)


def _latest(times: Any, values: Any, grid: Numbers, initial: float = 0.0) -> Numbers:  # noqa: ANN401 - arrays of several types
    """Returns the last value at or before each time; `before` is the value before the first."""
    if not len(times):
        return np.full(len(grid), initial)
    indices = np.searchsorted(times, grid, side="right") - 1
    latest: Numbers = np.where(indices >= 0, np.asarray(values, dtype=float)[np.maximum(indices, 0)], initial)
    return latest


def over_time(first: FlowSeries, second: FlowSeries) -> float:
    """Returns the distance between the flows' data in flight: the mean absolute logarithm of their ratio over time."""
    are_in_flight = (first.in_flight > 0) & (second.in_flight > 0)
    distances = np.full(len(are_in_flight), _FARTHEST)
    distances[are_in_flight] = np.minimum(
        np.abs(np.log(first.in_flight[are_in_flight] / second.in_flight[are_in_flight])), _FARTHEST
    )
    distances[(first.in_flight <= 0) & (second.in_flight <= 0)] = 0.0
    return float(distances.mean())


def in_distribution(first: FlowSeries, second: FlowSeries, base_s: float, packet_s: float) -> float:
    """Returns the distance between flows with different random numbers: in waiting times, data in flight and losses.

    `base_s` is the RTT of an idle path, above which an RTT sample is a waiting time, and `packet_s` the transmission
    time of a packet.
    """
    waits = [np.quantile(flow.samples - base_s, _QUANTILES) for flow in (first, second)]
    scale = max(float(waits[0].mean()), _MIN_WAIT * packet_s)
    windows = [np.quantile(flow.in_flight[flow.in_flight > 0], _QUANTILES) for flow in (first, second)]
    return float(
        np.abs(waits[0] - waits[1]).mean() / scale
        + np.abs(np.log(windows[0] / windows[1])).mean()
        + in_losses(first.lost, second.lost)
    )


def in_losses(first: int, second: int) -> float:
    """Returns the distance between two numbers of lost packets: a quarter of the absolute logarithm of their ratio."""
    return abs(math.log((first + 1) / (second + 1))) / 4
