"""Time until a flow that joins others reaches its fair share, from the trace `arrivals`.

This is the δ-fair convergence time (RFC 5166 section 2.3; Bansal et al., SIGCOMM 2001) with δ = 0.1, for any number of
flows: the time from a flow's start until its goodput, averaged over ten round trips, first reaches 90 % of the mean
over all bulk flows that share its bottleneck and are active for the whole averaging interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from longpipe.analysis.paths import Path, paths, whole

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Additional column of `Result.flows` if arrivals were recorded.
COLUMN: Final = "convergence_s"
DELTA: Final = 0.1
ROUND_TRIPS: Final = 10
# Kinds of traffic whose flows send throughout their lifetime. They exclude web traffic and arriving flows, which
# consist of short transfers.
BULK: Final = ("greedy", "transfer", "stream", "stack", "own-stack")
# Number of instants per averaging interval at which goodput is compared.
_STEPS: Final = 20
# Maximum number of averaging intervals per flow; because of it, intervals on short paths exceed ten round trips.
_MOST_INTERVALS: Final = 1000


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
    sums = [_Sum(times[of_row == number], sizes[of_row == number]) for number in numbers]
    end_s = resolved["duration_ps"] / 1e12
    sharing = [
        _Sharing(path, own, float(start_s), _end_s(own, completion_s, end_s if "stop" not in flow else None))
        for flow, path, own, start_s, completion_s in zip(
            described, paths(resolved), sums, flows["start_s"], flows["completion_s"], strict=True
        )
    ]
    bulk = [flow["traffic"]["kind"] in BULK for flow in described]
    others = [one for one, counts in zip(sharing, bulk, strict=True) if counts]
    return [_of(one, others) if counts else math.nan for one, counts in zip(sharing, bulk, strict=True)]


class _Sum:
    """Cumulative number of a flow's bytes that had arrived by any given time."""

    def __init__(self, times: npt.NDArray[np.float64], sizes: npt.NDArray[np.integer[Any]]) -> None:
        import numpy as np

        self.times = times
        self._sums = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))

    def between(self, begin: npt.NDArray[np.float64], end: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Returns the number of bytes that arrived in each interval, from `begin` (exclusive) to `end`."""
        import numpy as np

        last, first = (self._sums[np.searchsorted(self.times, at, side="right")] for at in (end, begin))
        found: npt.NDArray[np.int64] = last - first
        return found


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


def _of(own: _Sharing, others: Sequence[_Sharing]) -> float:
    import numpy as np

    over_s = max(ROUND_TRIPS * own.path.round_trip_s, (own.end_s - own.start_s) / _MOST_INTERVALS)
    if own.start_s + over_s > own.end_s:
        return math.nan
    until = np.arange(own.start_s + over_s, own.end_s, over_s / _STEPS)
    since = until - over_s
    total, active = np.zeros(len(until)), np.zeros(len(until))
    for one in others:
        if own.path.bottleneck in one.path.route:
            shares = (one.start_s <= since) & (until <= one.end_s)
            total += np.where(shares, one.arrived.between(since, until), 0)
            active += shares
    fair = own.arrived.between(since, until) * active >= (1 - DELTA) * total
    found = np.flatnonzero(fair & (total > 0))
    return float(until[found[0]] - own.start_s) if len(found) else math.nan
