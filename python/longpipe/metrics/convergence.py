"""Time until a flow that joins others reaches its fair share, from the trace `arrivals`.

This is the δ-fair convergence time (RFC 5166 section 2.3; Bansal et al., SIGCOMM 2001) with δ = 0.1, for any number of
flows: the time from a flow's start until its goodput, averaged over ten round trips, first reaches 90 % of the mean
over all bulk flows that share its bottleneck and are active for the whole averaging interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from longpipe.scenario.paths import Path, paths, whole
from longpipe.scenario.source import SOURCES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Additional column of `Result.flows` if arrivals were recorded.
COLUMN: Final = "convergence_s"
DELTA: Final = 0.1
ROUND_TRIPS: Final = 10
# Number of instants per averaging interval at which goodput is compared.
_STEPS: Final = 20
# Maximum number of averaging intervals per flow; because of it, intervals on short paths exceed ten round trips.
_MAX_INTERVALS: Final = 1000


def by_flow(resolved: Mapping[str, Any], trace: Mapping[str, Any], flows: Mapping[str, Sequence[Any]]) -> list[float]:
    """Returns the convergence time [s] of each flow.

    `flows` has the columns start_s and completion_s of a run's flows, in their order. The value is nan for datagrams,
    web traffic and arriving flows, and if the flow or the run ends before the share is fair. A flow that shares its
    bottleneck with no other bulk flow has converged after the first averaging interval.
    """
    import numpy as np

    described = whole(resolved)
    numbers = [i for i, flow in enumerate(resolved["flows"]) if "onward" not in flow]
    of_row, times, sizes = (np.asarray(trace[name]) for name in ("flow", "time_s", "bytes"))
    # Sorting the rows by flow takes less time than searching all rows for each flow.
    order = np.argsort(of_row, kind="stable")
    bounds = (np.searchsorted(of_row[order], numbers, side=side) for side in ("left", "right"))
    rows = [order[first:last] for first, last in zip(*bounds, strict=True)]
    sums = [_Sum(times[rows_of_flow], sizes[rows_of_flow]) for rows_of_flow in rows]
    end_s = resolved["duration_ps"] / 1e12
    sharing = [
        _Sharing(
            path,
            rows_of_flow,
            float(start_s),
            _end_s(rows_of_flow, completion_s, end_s if "stop" not in flow else None),
        )
        for flow, path, rows_of_flow, start_s, completion_s in zip(
            described, paths(resolved), sums, flows["start_s"], flows["completion_s"], strict=True
        )
    ]
    bulk = [SOURCES[flow["traffic"]["kind"]]["is_bulk"] for flow in described]
    bulk_flows = [flow for flow, counts in zip(sharing, bulk, strict=True) if counts]
    bottlenecks = {
        link: _Bottleneck([flow for flow in bulk_flows if link in flow.path.route])
        for link in {flow.path.bottleneck for flow in bulk_flows}
    }
    return [
        _of(flow, bottlenecks[flow.path.bottleneck]) if counts else math.nan
        for flow, counts in zip(sharing, bulk, strict=True)
    ]


class _Sum:
    """Cumulative number of a flow's bytes that had arrived by any given time."""

    def __init__(self, times: npt.NDArray[np.float64], sizes: npt.NDArray[np.integer[Any]]) -> None:
        import numpy as np

        self.times, self.sizes = times, sizes
        self._sums = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))

    def between(self, begin: npt.NDArray[np.float64], end: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Returns the number of bytes that arrived in each interval, from `begin` (exclusive) to `end`."""
        import numpy as np

        last, first = (self._sums[np.searchsorted(self.times, at, side="right")] for at in (end, begin))
        arrived: npt.NDArray[np.int64] = last - first
        return arrived


class _Sharing:
    """A flow with its path, arrivals, and the times between which it sends [s]."""

    def __init__(self, path: Path, arrived: _Sum, start_s: float, end_s: float) -> None:
        self.path, self.arrived, self.start_s, self.end_s = path, arrived, start_s, end_s


def _end_s(arrived: _Sum, completion_s: float | None, end_s: float | None) -> float:
    """Returns the time at which a flow ends: its completion, its last arrival if it stops, or the end of the run."""
    if completion_s is not None and not math.isnan(completion_s):
        return float(completion_s)
    if end_s is not None:
        return end_s
    return float(arrived.times[-1]) if len(arrived.times) else 0.0


class _Bottleneck:
    """The bulk flows that cross a link."""

    def __init__(self, flows: Sequence[_Sharing]) -> None:
        import numpy as np

        self._flows = flows
        self._starts, self._ends = np.array([[flow.start_s, flow.end_s] for flow in flows]).T
        arrived = [flow.arrived for flow in flows]
        self._firsts = np.array([arrivals.times[0] if len(arrivals.times) else math.inf for arrivals in arrived])
        self._lasts = np.array([arrivals.times[-1] if len(arrivals.times) else -math.inf for arrivals in arrived])
        times, sizes = (
            np.concatenate([getattr(arrivals, name) for arrivals in arrived]) for name in ("times", "sizes")
        )
        order = np.argsort(times, kind="stable")
        self._all = _Sum(times[order], sizes[order])

    def active(
        self, since: npt.NDArray[np.float64], until: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Returns the bytes of the flows that are active for the whole of each interval, and the number of the flows.

        The sum of all flows is corrected by those that begin or end during the intervals, which are few.
        """
        import numpy as np

        always = (self._starts <= since[0]) & (until[-1] <= self._ends)
        total = self._all.between(since, until).astype(np.float64)
        number = np.full(len(until), float(np.count_nonzero(always)))
        arrives = (self._firsts <= until[-1]) & (self._lasts > since[0])
        sometimes = (self._starts <= since[-1]) & (until[0] <= self._ends)
        for i in np.flatnonzero(~always & (arrives | sometimes)).tolist():
            flow = self._flows[i]
            shares = (flow.start_s <= since) & (until <= flow.end_s)
            total -= np.where(shares, 0, flow.arrived.between(since, until))
            number += shares
        return total, number


def _of(sharing: _Sharing, bottleneck: _Bottleneck) -> float:
    """Returns the time [s] from which on a flow has its fair share of the bottleneck; NaN if it never has."""
    import numpy as np

    over_s = max(ROUND_TRIPS * sharing.path.round_trip_s, (sharing.end_s - sharing.start_s) / _MAX_INTERVALS)
    if sharing.start_s + over_s > sharing.end_s:
        return math.nan
    every = np.arange(sharing.start_s + over_s, sharing.end_s, over_s / _STEPS)
    begin, length = 0, _STEPS
    while begin < len(every):
        # Most flows converge early, so the instants are examined in blocks that double.
        until = every[begin : begin + length]
        since = until - over_s
        total, number = bottleneck.active(since, until)
        fair = sharing.arrived.between(since, until) * number >= (1 - DELTA) * total
        converged = np.flatnonzero(fair & (total > 0))
        if len(converged):
            return float(until[converged[0]] - sharing.start_s)
        begin, length = begin + length, 2 * length
    return math.nan
