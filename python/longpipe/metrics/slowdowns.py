"""Completion times and slowdowns of arriving flows, by flow size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from longpipe.ip import packet_bytes
from longpipe.scenario.paths import route_of_all_parts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Floats = npt.NDArray[np.float64]

QUANTILES: Final = {"median": 0.5, "p95": 0.95, "p99": 0.99}
# Quantiles of the completion time.
TIMES: Final = {"median_time_s": 0.5, "p95_time_s": 0.95}
# Columns of `slowdowns`.
COLUMNS: Final = ("flow", "size", "flows", "completed", "mean_time_s", *TIMES, "mean", "low", "high", *QUANTILES)
# Columns of `Result.completions`.
COMPLETIONS: Final = ("flow", "size_bytes", "arrival_s", "completion_s", "slowdown")
# Bounds of the size classes [bytes], and the name of the class that contains all sizes.
BOUNDS: Final = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
ALL: Final = "all"
# Number of batches of consecutive flows whose means give an interval, and minimum number of flows per batch.
BATCHES: Final = 20
_LEAST: Final = 10
# Minimum number of complete flows for an interval.
MIN_FLOWS: Final = BATCHES * _LEAST
# Quantile of Student's t with BATCHES - 1 degrees of freedom for a two-sided interval of 95 %.
_T: Final = 2.093


def ideal_s(resolved: Mapping[str, Any], number: int, size_bytes: Floats) -> Floats:
    """Returns the time [s] that data of each size takes to cross an idle path if all packets are sent at once.

    All packets except the last are full. Each link sends them one after another, without a handshake and without limits
    by windows. `number` is that of the flow, or of the last part of a split flow, whose path includes all parts.
    """
    import numpy as np

    flow = resolved["flows"][number]
    mss, headers = flow["tcp"]["mss_bytes"], packet_bytes(0, flow["tcp"]["timer"].get("timestamps", False))
    full = np.ceil(size_bytes / mss) - 1
    last = size_bytes - full * mss + headers
    # Times at which the last and the first packet have passed a link; full packets leave it at the lowest rate among
    # the links up to this one.
    last_s, first_s, slowest = np.zeros(len(full)), 0.0, math.inf
    for link in (resolved["links"][k] for k in route_of_all_parts(resolved, number)):
        rate, delay_s = link["rate_bps"], link["delay_ps"] / 1e12
        first_s, slowest = first_s + 8 * (mss + headers) / rate, min(slowest, rate)
        sent_s = first_s + (full - 1) * 8 * (mss + headers) / slowest
        last_s = np.where(full > 0, np.maximum(last_s, sent_s), last_s) + 8 * last / rate + delay_s
        first_s += delay_s
    arrival_s: Floats = last_s
    return arrival_s


def slowdowns(completions: pd.DataFrame) -> pd.DataFrame:
    """Returns, by flow and size class, the number of flows, their mean completion time, and their slowdown.

    `completions` is `Result.completions`. Completion times are in seconds: mean, median and 95th percentile. `mean`,
    the bounds `low` and `high` of its 95 % confidence interval, and the quantiles are those of the slowdown. The
    interval is computed from the means of 20 batches of flows in the order of arrival, because consecutive flows
    compete with each other and so are correlated; it is NaN for fewer than 200 flows. Flows that are not complete at
    the end of the run are included only in `flows`.
    """
    import pandas as pd

    flows = completions.groupby("flow", observed=True)
    rows = [
        {"flow": str(flow), "size": name, **_row(rows)}
        for flow, rows_of_flow in flows
        for name, rows in by_size(rows_of_flow)
    ]
    return pd.DataFrame(rows, columns=[*COLUMNS])


def by_size(completions: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yields the name and the rows of each size class that has any, in order of size, and finally all rows."""
    import numpy as np

    classes = np.searchsorted(BOUNDS, completions["size_bytes"].to_numpy(), side="right")
    for level in np.unique(classes):
        yield _label(int(level)), completions[classes == level]
    yield ALL, completions


def _label(level: int) -> str:
    """Returns the name of a size class."""
    low, high = (_size(BOUNDS[k]) if 0 <= k < len(BOUNDS) else "" for k in (level - 1, level))
    return f"{low} to {high}" if low and high else f"below {high}" if high else f"from {low}"


def _size(size_bytes: int) -> str:
    return f"{size_bytes // 1_000_000} MB" if size_bytes >= 1_000_000 else f"{size_bytes // 1000} KB"


def _row(rows: pd.DataFrame) -> dict[str, Any]:
    """Returns the statistics of the flows in `rows`: completion times, and slowdowns with their interval."""
    done = rows[rows["completion_s"].notna()]
    slowdown = done["slowdown"].to_numpy()
    mean = float(slowdown.mean()) if len(done) else math.nan
    low, high = _interval(slowdown)
    quantiles = {name: float(done["slowdown"].quantile(share)) for name, share in QUANTILES.items()}
    time_s = done["completion_s"] - done["arrival_s"]
    return {
        "flows": len(rows),
        "completed": len(done),
        "mean_time_s": float(time_s.mean()),
        **{name: float(time_s.quantile(share)) for name, share in TIMES.items()},
        "mean": mean,
        "low": low,
        "high": high,
        **quantiles,
    }


def _interval(values: Floats) -> tuple[float, float]:
    """Returns the bounds of the 95 % confidence interval of a mean of correlated values, by batch means."""
    size = len(values) // BATCHES
    if size < _LEAST:
        return math.nan, math.nan
    means = values[: size * BATCHES].reshape(BATCHES, size).mean(axis=1)
    half = _T * float(means.std(ddof=1)) / math.sqrt(BATCHES)
    mean = float(values.mean())
    return mean - half, mean + half
