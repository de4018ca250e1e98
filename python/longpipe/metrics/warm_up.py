"""Results without the initial part of a run: counters and means that start at a given time.

A run that ends at this time has the counters that the longer run has at this time, because runs are exact and
deterministic. The difference between the two is therefore exact, with any engine, and the longer run is unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from longpipe import _core
from longpipe.scenario.series import mean_rate_bps
from longpipe.scenario.shapers import limits_after

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Columns = Mapping[str, Any]

# Traces from which an automatic warm-up is computed.
TRACES: Final = ("arrivals", "cwnd", "control")
# Number of observations into which a run's series is divided.
OBSERVATIONS: Final = 1000
SERIES: Final = f"goodput of all flows in {OBSERVATIONS} intervals"

# Kinds of columns by table and column, as the core declares them, each with the weight of a mean or the share
# of a quantile.
_KINDS: Final = {(table, name): (kind, of) for table, columns in _core.result_tables() for name, kind, of, _ in columns}
# Number of the last stage in the trace `control` that is a BBR state. BBR's startup is 0, and higher numbers are phases
# of Careful Resume.
_LAST_BBR_STAGE: Final = 6
# Tables with a row per request or per flow that arrived, each with the column by which rows are left out.
_LISTS: Final = {"files": "requested_s", "chunks": "requested_s", "completions": "arrival_s"}


def begin_s(columns: Columns) -> float:
    """Returns the time [s] from which a result's means and counters are computed."""
    begins = columns.get("warm_up", {}).get("begin_s", ())
    return float(begins[0]) if len(begins) else 0.0


def since(
    resolved: Mapping[str, Any], whole: Columns, before: Columns, instant_ps: int, selected: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns a run's columns for the time after an instant; `before` are those of a run that ends at the instant.

    Extremes, times, window reductions and jitter remain those of the whole run; files and chunks are included if they
    were requested after the instant, and arriving flows if they arrived after it. Both runs contain statistics of the
    delays of datagrams. `chosen` contains additional columns for the table `warm_up`.
    """
    tables = {name: columns for name, columns in whole.items() if name not in ("delays", "token_credits")}
    for table in {table for table, _ in _KINDS} - _LISTS.keys():
        tables[table] = _difference(table, whole[table], before[table], instant_ps, resolved)
    late_delays = [
        delays.since(early_delays) for delays, early_delays in zip(whole["delays"], before["delays"], strict=True)
    ]
    for (table, name), (kind, share) in _KINDS.items():
        if kind == "quantile":
            tables[table][name] = [delays.quantile(float(share or 0)) for delays in late_delays]
    begin = instant_ps / 1e12
    if before["token_credits"]:
        seconds = (int(resolved["duration_ps"]) - instant_ps) / 1e12
        tables["ports"] |= limits_after(resolved["links"], seconds, before["token_credits"])
    for table, time_column in _LISTS.items():
        late_rows = [i for i, instant in enumerate(whole[table].get(time_column, ())) if instant >= begin]
        tables[table] = {name: _at(column, late_rows) for name, column in whole[table].items()}
    tables["arrived"] |= _arrived(resolved, tables)
    # At least one row is needed for runs that have only VBR traffic.
    flows = [*map(str, before["flows"]["flow"])] or [""]
    arrived_before = before["arrived"]
    early_bytes = dict(zip(arrived_before.get("flow", ()), arrived_before.get("arrived_bytes", ()), strict=True))
    tables["warm_up"] = {
        "flow": flows,
        "begin_s": [begin] * len(flows),
        "delivered_before_bytes": [*before["flows"]["delivered_bytes"]] or [0],
        "arrived_before_bytes": [early_bytes.get(name, 0) for name in flows],
        **{name: [value] * len(flows) for name, value in selected.items()},
    }
    return tables


def _arrived(resolved: Mapping[str, Any], columns: Columns) -> dict[str, list[int]]:
    """Returns the numbers and the bytes of flows that arrived after the instant, from their rows."""
    counted = ("arrived", "completed", "arrived_bytes")
    # By flow, in the order of `counted`.
    rows = {name: [0, 0, 0] for name in columns["arrived"].get("flow", ())}
    names = [flow["name"] for flow in resolved["flows"]]
    completions = (columns["completions"].get(name, ()) for name in ("flow", "size_bytes", "completion_s"))
    for flow, size, end in zip(*completions, strict=True):
        row = rows[names[flow]]
        row[0] += 1
        row[1] += end is not None and not math.isnan(end)
        row[2] += int(size)
    return {name: [row[index] for row in rows.values()] for index, name in enumerate(counted)} if rows else {}


def _at(column: Any, indices: list[int]) -> Any:  # noqa: ANN401 - a list or an array
    """Returns the values of a column in some rows."""
    return [column[i] for i in indices] if isinstance(column, list | tuple) else column[indices]


def _difference(
    table: str, whole: Columns, before: Columns, instant_ps: int, resolved: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the columns of a table for the time after the warm-up, from those of the whole run and of the warm-up."""
    difference: dict[str, Any] = {}
    duration_ps = int(resolved["duration_ps"])
    for name, column in whole.items():
        kind, weight = _KINDS[table, name]
        if kind in ("state", "quantile"):
            difference[name] = column
        elif kind == "utilization":
            links = zip(resolved["links"], column, before[name], strict=True)
            difference[name] = [_utilization(*link, instant_ps, duration_ps) for link in links]
        elif kind == "mean":
            of_whole, of_before = (
                [duration] * len(column) if weight is None else columns[weight]
                for columns, duration in ((whole, duration_ps), (before, instant_ps))
            )
            rows = zip(column, of_whole, before[name], of_before, *_extremes(name, whole), strict=True)
            difference[name] = [_mean(*row) for row in rows]
        else:
            # A counter can decrease if the wire loses packets that had already left.
            difference[name] = [max(0, late - early) for late, early in zip(column, before[name], strict=True)]
    return difference


def _utilization(link: Mapping[str, Any], whole: float, before: float, instant_ps: int, duration_ps: int) -> float:
    """Returns the share of a link's capacity that was used after an instant; 0 if it could send nothing.

    With the capacities C and C' of the run and of its first part, and the utilizations u and u', this is
    (u C - u' C') / (C - C'). A packet is counted when its transmission ends. One transmission may have begun before the
    instant, so the share is limited to 1.
    """
    of_run, of_warm_up = (capacity(link, until_ps) for until_ps in (duration_ps, instant_ps))
    if of_run <= of_warm_up:
        return 0.0
    return min(1.0, max(0.0, (whole * of_run - before * of_warm_up) / (of_run - of_warm_up)))


def capacity(link: Mapping[str, Any], until_ps: int) -> float:
    """Returns the amount [bit ps/s] that a link could have sent by a given time if it had no outages."""
    service = link.get("motion", {}).get("service")
    if service is None:
        return float(link["rate_bps"] * until_ps)
    return until_ps * mean_rate_bps(service, until_ps) if until_ps else 0.0


def _extremes(name: str, columns: Columns) -> tuple[Sequence[float], Sequence[float]]:
    """Returns the columns with the lower and upper bounds of a mean over the whole run."""
    rows, quantity = len(columns[name]), name.removeprefix("mean_")
    lowest = columns.get(f"min_{quantity}", [0.0] * rows)
    return lowest, columns.get(f"max_{quantity}", columns.get(f"peak_{quantity}", [math.inf] * rows))


def _mean(whole: float, weight: float, before: float, weight_before: float, lowest: float, highest: float) -> float:
    """Returns the mean over a run without its first part; nan if this part has the whole weight.

    With the means m and m' and the weights w and w' of the run and of its first part, it is (m w - m' w') / (w - w').
    """
    if weight == weight_before:
        return math.nan
    early_sum = before * weight_before if weight_before else 0.0
    mean = (whole * weight - early_sum) / (weight - weight_before)
    # The difference may exceed the extremes by a rounding error.
    return mean if math.isnan(mean) else min(max(mean, lowest), highest)


def automatic(resolved: Mapping[str, Any], columns: Columns) -> tuple[int, dict[str, Any]]:
    """Returns the warm-up [ps] that MSER-5 chooses, and the columns that describe the choice.

    It does not end before every greedy flow has left its first slow start, or BBR's startup. It is limited to half of
    the run; if it would be longer, `stationary` is false.
    """
    import numpy as np

    from longpipe.metrics.mser import truncation

    duration_ps = int(resolved["duration_ps"])
    arrivals = columns["traces"]["arrivals"]
    edges = np.linspace(0, duration_ps / 1e12, OBSERVATIONS + 1)
    series = np.histogram(arrivals["time_s"], edges, weights=np.asarray(arrivals["bytes"], dtype=float))[0]
    truncated, stationary = truncation(series)
    chosen_ps = duration_ps * truncated // OBSERVATIONS
    start_up_ps = 1e12 * max(_slow_starts_s(resolved, columns), default=0.0)
    if not stationary or start_up_ps > duration_ps / 2:
        begin_ps, stationary = duration_ps // 2, False
    else:
        begin_ps = max(chosen_ps, math.ceil(start_up_ps))
    return begin_ps, {"series": SERIES, "stationary": stationary}


def _slow_starts_s(resolved: Mapping[str, Any], columns: Columns) -> Iterable[float]:
    """Yields the end of the first slow start of each greedy flow; infinity if it lasts until the end of the run."""
    import numpy as np

    cwnd, control = columns["traces"]["cwnd"], columns["traces"]["control"]
    of_row, of_stage = np.asarray(cwnd["flow"]), np.asarray(control["flow"])
    for i, flow in enumerate(resolved["flows"]):
        if flow["traffic"]["kind"] != "greedy":
            continue
        of_flow = of_row == i
        columns_of_flow = (np.asarray(cwnd[name])[of_flow] for name in ("time_s", "cwnd_bytes", "ssthresh_bytes"))
        times, window, threshold = columns_of_flow
        stages = np.asarray(control["stage"])[of_stage == i]
        of_bbr = (stages >= 0) & (stages <= _LAST_BBR_STAGE)
        if of_bbr.any():
            yield _first(np.asarray(control["time_s"])[of_stage == i], of_bbr & (stages > 0))
            continue
        # If there is no loss, slow start ends when the receiver's window limits the flow.
        yield _first(times, window >= np.minimum(threshold, flow["tcp"]["receiver_window_bytes"]))


def _first(times: npt.NDArray[np.float64], holds: Sequence[bool] | npt.NDArray[np.bool_]) -> float:
    """Returns the first time at which a condition holds; infinity if it never does."""
    import numpy as np

    indices = np.flatnonzero(holds)
    return float(times[indices[0]]) if indices.size else math.inf
