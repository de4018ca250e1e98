"""Convergence times, compared with values computed by hand, and used as a measure of runs."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from longpipe import Scenario, ScenarioError, simulate
from longpipe.metrics.convergence import COLUMN, by_flow
from longpipe.scenario.paths import paths


def _scenario(**fields: Any) -> Scenario:  # noqa: ANN401 - parts of a scenario
    group = [{"name": "first"}, {"name": "late", "start": {"kind": "fixed", "at": "2 s"}}]
    network = {"kind": "dumbbell", "trunk_rate": "10 Mbit/s", "trunk_delay": "10 ms", "group": group}
    return Scenario(
        defaults="1996",
        **{"framing": "ip", "duration": "20 s", "network": network, "switch": {"buffer": "50 packets"}, **fields},
    )


def _trace(rates: list[tuple[int, float, float, int]]) -> dict[str, Any]:
    """Returns a trace of arrivals; each flow is given by number, begin [s], end [s], and bytes per millisecond."""
    rows = [(t, flow, size) for flow, begin, end, size in rates for t in np.arange(begin + 0.001, end, 0.001)]
    time, flow, size = zip(*sorted(rows), strict=True)
    return {"time_s": np.array(time), "flow": np.array(flow), "bytes": np.array(size)}


def test_flow_converges_at_nine_tenths_of_fair_share() -> None:
    resolved = _scenario().resolve()
    over_s = 10 * paths(resolved)[1].round_trip_s
    flows = {"start_s": [0.0, 2.0], "completion_s": [float("nan")] * 2}
    trace = _trace([(0, 0, 20, 1000), (1, 2, 5, 500), (1, 5, 20, 1000)])
    first, late = by_flow(resolved, trace, flows)
    assert first == pytest.approx(over_s)
    # Let f be the share of the interval that lies after 5 s: 0.5 + 0.5 f is 0.9 times the mean of itself and 1 if f =
    # 7/11.
    assert late == pytest.approx(3 + 7 / 11 * over_s, abs=over_s / 20 + 0.002)
    never = by_flow(resolved, _trace([(0, 0, 20, 1000), (1, 2, 20, 800)]), flows)
    assert np.isnan(never[1])


def test_ended_flow_is_excluded_from_shares() -> None:
    resolved = _scenario().resolve()
    over_s = 10 * paths(resolved)[1].round_trip_s
    trace = _trace([(0, 0, 4, 1000), (1, 2, 20, 500)])
    late = by_flow(resolved, trace, {"start_s": [0.0, 2.0], "completion_s": [4.0, float("nan")]})[1]
    # Only flows that are active for the whole interval count.
    assert late == pytest.approx(2, abs=over_s / 20 + 0.002)


def test_the_measure_needs_the_trace_and_is_that_of_the_table() -> None:
    with pytest.raises(ScenarioError, match=r"needs traces\.arrivals = true"):
        simulate(_scenario(duration="3 s")).measure("flow:late.convergence")
    result = simulate(_scenario(traces={"arrivals": True}))
    column = result.flows.set_index("flow")[COLUMN]
    assert result.measure("flow:late.convergence") == column["late"]
    assert 10 * paths(result.scenario.resolved)[1].round_trip_s <= column["late"] < 18


def plain(scenario: Scenario, columns: Mapping[str, Any], flow: int) -> float:
    """Returns a flow's convergence time, with a sum over all flows at every instant."""
    trace, flows = columns["traces"]["arrivals"], columns["flows"]
    of_row, times, sizes = (np.asarray(trace[name]) for name in ("flow", "time_s", "bytes"))
    ends = [30.0 if math.isnan(end) else end for end in flows["completion_s"]]
    start_s, end_s = flows["start_s"][flow], ends[flow]
    over_s = max(10 * paths(scenario.resolved)[flow].round_trip_s, (end_s - start_s) / 1000)
    until = np.arange(start_s + over_s, end_s, over_s / 20)
    since = until - over_s
    arrived = np.zeros((len(ends), len(until)))
    for i, own in enumerate(arrived):
        for at, size in zip(times[of_row == i], sizes[of_row == i], strict=True):
            own += np.where((since < at) & (at <= until), size, 0)
    active = [(begin <= since) & (until <= end) for begin, end in zip(flows["start_s"], ends, strict=True)]
    total = np.sum(np.where(active, arrived, 0), axis=0)
    fair = np.flatnonzero((arrived[flow] * np.sum(active, axis=0) >= 0.9 * total) & (total > 0))
    return float(until[fair[0]] - start_s) if len(fair) else math.nan


def test_convergence_times_equal_a_brute_force_computation() -> None:
    group = [
        {"name": "a", "count": 2},
        {"name": "late", "count": 2, "start": {"kind": "random", "from": "5 s", "over": "10 s"}},
        {"name": "short", "traffic": {"kind": "transfer", "size": "1 MB"}, "start": {"kind": "fixed", "at": "3 s"}},
    ]
    scenario = Scenario(
        defaults="1996",
        duration="30 s",
        framing="ip",
        network={"kind": "dumbbell", "group": group, "trunk_rate": "2 Mbit/s", "trunk_delay": "20 ms"},
        switch={"buffer": "20 packets"},
        traces={"arrivals": True},
    )
    columns = simulate(scenario).columns
    found = columns["flows"]["convergence_s"]
    assert found == pytest.approx([plain(scenario, columns, i) for i in range(5)], abs=0, nan_ok=True)
    assert sum(map(math.isfinite, found)) > 2
