import copy
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longpipe import Result, Scenario, ScenarioError, simulate
from longpipe.units import SIZE
from strategies import fields, ip_fields, scenarios
from thorough import examples

SLOW = settings(max_examples=examples(15, 1000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
LONGEST_RUN_S = 20.0

GARBAGE: list[Any] = [
    None, True, -1, 0, 1, 2.5, 1e308, float("nan"), float("inf"), "", "x", "unlimited", "0 s", "-1 s", "1e99 s",
    "0 cells", "5 KB", "1 B", "nan s", "10 ms", "epd", "graph", [], [1], {}, {"kind": "fba"}, {"kind": "random"},
    "tail-drop", "\0", "ü" * 500,
]  # fmt: skip


def assert_conserved(result: Result) -> None:
    ports, flows = result.ports, result.flows
    unit = "packets" if result.scenario.framing == "ip" else "cells"
    # Packets with bit errors have left the port.
    lost = ports.filter(like=f"{unit}_lost_").drop(columns=f"{unit}_lost_errors", errors="ignore").sum(axis=1)
    assert (ports[f"{unit}_in"] == ports[f"{unit}_out"] + lost + ports[f"{unit}_held"]).all()
    if unit == "packets":
        assert (ports["bytes_in"] == ports["bytes_out"] + ports["bytes_lost"] + ports["bytes_held"]).all()
    assert (ports["utilization"].between(0, 1)).all()
    classes, vbr = result.classes, result.vbr
    assert (classes["cells_in"] == classes["cells_out"] + classes["cells_lost"] + classes["cells_held"]).all()
    assert (classes[classes["class"] == "vbr"]["cells_lost"] == 0).all()
    assert (vbr["cells_delivered"] + vbr["cells_lost"] <= vbr["cells_sent"]).all()
    assert (flows["delivered_bytes"] <= flows["highest_sequence_bytes"]).all()
    assert (flows["highest_sequence_bytes"] <= flows["sent_bytes"] - flows["retransmitted_bytes"]).all()
    assert (flows["retransmitted_segments"] <= flows["sent_segments"]).all()
    # For a graph, the efficiency is NaN.
    assert not result.efficiency > 1
    assert not result.efficiency < 0
    delays = vbr[["min_delay_s", "mean_delay_s", "max_delay_s"]]
    assert (delays.isna().all(axis=1) == (vbr["cells_delivered"] == 0)).all()
    traffic = result.scenario.traffic
    if traffic.kind == "transfer":
        size = SIZE.parse(traffic.size)
        assert (flows["delivered_bytes"] <= size).all()
        complete, whole = flows["completion_s"].notna(), flows["delivered_bytes"] == size
        if any("stop" in flow for flow in result.scenario.resolved["flows"]):
            # A transfer that was stopped is complete when all data that it had sent has arrived.
            assert (flows["delivered_bytes"] == flows["highest_sequence_bytes"])[complete].all()
            assert complete[whole].all()
        else:
            assert (complete == whole).all()


@SLOW
@given(scenarios(), st.integers(0, 2**64 - 1))
def test_cells_and_bytes_are_conserved(scenario: Scenario, seed: int) -> None:
    began = time.monotonic()
    result = simulate(scenario, seed)
    assert time.monotonic() - began < LONGEST_RUN_S
    assert_conserved(result)


@SLOW
@given(
    st.one_of(fields, ip_fields()),
    st.lists(st.tuples(st.integers(0, 200), st.sampled_from(GARBAGE)), min_size=1, max_size=2),
)
def test_mutated_scenario_is_rejected_or_runs(table: dict[str, Any], changes: list[tuple[int, Any]]) -> None:
    for position, value in changes:
        table = with_leaf(table, position, value)
    scenario = valid_or_problems(table)
    if isinstance(scenario, Scenario):
        assert_conserved(simulate(scenario))
    else:
        assert scenario
        assert all(": " in problem and "\n" not in problem for problem in scenario)


def valid_or_problems(table: dict[str, Any]) -> Scenario | tuple[str, ...]:
    try:
        return Scenario(defaults="1996", **table)
    except ScenarioError as error:
        return error.problems


def with_leaf(table: dict[str, Any], position: int, value: object) -> dict[str, Any]:
    """Returns a copy in which the leaf, table or list at this position is replaced."""
    table = copy.deepcopy(table)
    places: list[tuple[Any, Any]] = []

    def visit(part: dict[str, Any] | list[Any]) -> None:
        for key, item in part.items() if isinstance(part, dict) else enumerate(part):
            places.append((part, key))
            if isinstance(item, dict | list):
                visit(item)

    visit(table)
    if places:
        part, key = places[position % len(places)]
        part[key] = value
    return table


@settings(max_examples=examples(10, 200), deadline=None)
@given(scenarios(), st.integers(0, 2**64 - 1))
def test_same_scenario_and_seed_give_the_same_bits(scenario: Scenario, seed: int) -> None:
    first, second = simulate(scenario, seed), simulate(Scenario.from_toml(scenario.to_toml()), seed)
    assert first.state_hash == second.state_hash
    assert first.flows.equals(second.flows)
    assert first.ports.equals(second.ports)


def test_threads_and_processes_give_the_same_bits() -> None:
    scenarios = [Scenario(defaults="1996", duration="200 ms").with_(**{"network.sources": n}) for n in (3, 5)]
    here = [simulate(scenario, 7).state_hash for scenario in scenarios]
    with ThreadPoolExecutor(2) as threads:
        assert [run.state_hash for run in threads.map(simulate, scenarios, [7, 7])] == here
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        assert [run.state_hash for run in processes.map(simulate, scenarios, [7, 7])] == here


def test_traces_do_not_change_the_run() -> None:
    scenario = Scenario(defaults="1996", duration="300 ms")
    traced = scenario.with_(**{"traces.cwnd": True, "traces.queue": True, "traces.sequence": True})
    assert simulate(scenario).state_hash == simulate(traced).state_hash


def test_different_seeds_give_different_runs() -> None:
    scenario = Scenario(defaults="1996", duration="500 ms")
    assert simulate(scenario, 1).state_hash != simulate(scenario, 2).state_hash


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, True, "1"])
def test_seed_out_of_range_is_rejected(seed: int) -> None:
    with pytest.raises(ScenarioError) as error:
        simulate(Scenario(defaults="1996", duration="1 ms"), seed)
    assert str(error.value) == f"seed: {seed!r}; needs a whole number from 0 to 18446744073709551615"


def test_progress_runs_from_zero_to_all() -> None:
    seen: list[float] = []
    simulate(Scenario(defaults="1996", duration="30 s"), progress=seen.append)
    assert seen
    assert seen == sorted(seen)
    assert 0 <= seen[0] <= seen[-1] <= 1


def test_an_error_in_progress_stops_the_run() -> None:
    def fail(_fraction: float) -> None:
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        simulate(Scenario(defaults="1996", duration="30 s"), progress=fail)
