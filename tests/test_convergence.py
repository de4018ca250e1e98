"""Convergence times, compared with values computed by hand, and used as a measure of runs."""

from typing import Any

import numpy as np
import pytest

from longpipe import Scenario, ScenarioError, simulate
from longpipe.analysis.convergence import COLUMN, by_flow
from longpipe.analysis.paths import paths


def _scenario(**fields: Any) -> Scenario:  # noqa: ANN401 - parts of a scenario
    group = [{"name": "first"}, {"name": "late", "start": {"kind": "fixed", "at": "2 s"}}]
    network = {"kind": "dumbbell", "trunk_rate": "10 Mbit/s", "trunk_delay": "10 ms", "group": group}
    return Scenario(
        **{"framing": "ip", "duration": "20 s", "network": network, "switch": {"buffer": "50 packets"}, **fields}
    )


def _trace(rates: list[tuple[int, float, float, int]]) -> dict[str, Any]:
    """Returns a trace of arrivals; each flow is given by number, begin [s], end [s], and bytes per millisecond."""
    rows = [(t, flow, size) for flow, begin, end, size in rates for t in np.arange(begin + 0.001, end, 0.001)]
    time, flow, size = zip(*sorted(rows), strict=True)
    return {"time_s": np.array(time), "flow": np.array(flow), "bytes": np.array(size)}


def test_a_late_flow_converges_when_its_average_reaches_nine_tenths_of_the_fair_share() -> None:
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


def test_a_flow_that_has_ended_does_not_share() -> None:
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
