"""Tests of `longpipe advise`: selection with a stated confidence, and its answer on the terminal and in the report."""

import math
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from commands import run
from longpipe import Factor, Scenario, ScenarioError
from longpipe.advise.advise import Advice, advise
from longpipe.advise.answer import Answer
from longpipe.advise.budget import Budget
from longpipe.advise.certifying import certifying_zone
from longpipe.advise.quantities import quantity
from longpipe.advise.question import Question, tolerance
from longpipe.advise.ranges import Uncertain, situations
from longpipe.advise.selection import NO_VALUE, WORSE, Allowances, Elimination, Selection, continuation
from longpipe.advise.sensitivity import compared_situations, effects, shifts
from longpipe.advise.tables import alternatives
from longpipe.advise.templates import gateway
from longpipe.advise.theory import rules
from longpipe.advise.words import confidence, headline, legend
from longpipe.cli.design.factors import parse_factor
from longpipe.design.ranges import Range
from longpipe.measures.measure import parse
from longpipe.measures.requirements import Requirement
from longpipe.store import Store
from longpipe.study import Progress, Runner
from longpipe.units import TIME

# Values of h² for alpha = 0.05 with c = 1, computed independently from the formula of Kim and Nelson (2001).
CONSTANTS = {
    10: {2: 6.01, 3: 8.51, 5: 11.43, 10: 15.46, 20: 19.88},
    20: {2: 5.21, 3: 7.04, 5: 9.02, 10: 11.51, 20: 14.01},
    50: {2: 4.83, 3: 6.37, 5: 7.96, 10: 9.88, 20: 11.70},
}
LINK = """
duration = "2 s"
framing = "ip"
start = { kind = "random", over = "500 ms" }

[network]
kind = "dumbbell"
trunk_rate = "5 Mbit/s"
access_rate = "100 Mbit/s"
trunk_delay = "10 ms"
group = [{ name = "call", traffic = "voice" }, { name = "bulk", count = 2 }]

[tcp]
profile = "linux-6"
"""


@pytest.mark.parametrize("first", CONSTANTS)
def test_the_constant_is_that_of_kim_and_nelson(first: int) -> None:
    found = {k: continuation(k, Allowances(0.05, 1.0, (), first)) for k in CONSTANTS[first]}
    assert found == pytest.approx(CONSTANTS[first], abs=0.005)


def normal(rng: np.random.Generator, means: NDArray[np.float64], correlation: float) -> Iterator[NDArray[np.float64]]:
    """Yields replications of alternatives with standard deviation 3 and equal correlations between them."""
    while True:
        own = np.sqrt(1 - correlation) * rng.normal(size=means.shape)
        yield means + 3 * (np.sqrt(correlation) * rng.normal(size=means.shape[1:]) + own)


def selected(means: NDArray[np.float64], correlation: float, seed: int) -> tuple[int | None, int, int]:
    """Returns the selected alternative for zone 1, the number of runs, and the number with equal replications of each
    alternative.
    """
    selection = Selection(len(means), Allowances(0.05, 1.0, (1.0,) * (means.shape[1] - 1), 20))
    replications, runs = normal(np.random.default_rng(seed), means, correlation), 0
    while not selection.done:
        row = next(replications)
        runs += len(selection.alive)
        selection.add({i: row[i] for i in selection.alive})
    return selection.choice, runs, selection.replications * len(means)


@pytest.mark.parametrize(("count", "correlation"), [(5, 0.0), (5, 0.6), (10, 0.3)])
def test_the_best_by_the_indifference_zone_is_selected_as_often_as_stated(count: int, correlation: float) -> None:
    """Tests the slippage configuration, the least favorable one: all other alternatives are worse by exactly the zone."""
    means = np.zeros((count, 1))
    means[count // 2] = 1.0
    found = [selected(means, correlation, seed)[0] for seed in range(50)]
    # If the probability is 0.95, at least 42 of 50 selections are correct in 999 of 1000 cases.
    assert found.count(count // 2) >= 42


def test_common_random_numbers_save_runs() -> None:
    means = np.zeros((5, 1))
    means[2] = 1.0
    runs = [sum(selected(means, correlation, seed)[1] for seed in range(30)) for correlation in (0.0, 0.6)]
    # The variance of differences decreases to 40 %.
    assert runs[1] < 0.55 * runs[0]


def test_best_alternative_within_the_limit_is_selected() -> None:
    """Alternative 0 is the best but violates its limit by the tolerance.

    Alternative 1 is the best of those that satisfy the limit by the tolerance.
    """
    means = np.array([[3.0, -1.0], [1.0, 1.0], [0.0, 1.0], [2.0, -1.0], [0.0, 4.0]])
    found = [selected(means, 0.3, seed)[0] for seed in range(50)]
    assert found.count(1) >= 42


def test_no_alternative_is_selected_if_all_violate_a_limit() -> None:
    selection = Selection(2, Allowances(0.05, 1.0, (0.1,), 3))
    for _ in range(3):
        selection.add({0: [1.0, -1.0], 1: [2.0, -2.0]})
    assert (selection.done, selection.choice) == (True, None)
    assert selection.eliminated == {0: (3, 0), 1: (3, 0)}


def test_an_alternative_without_a_value_is_eliminated() -> None:
    selection = Selection(3, Allowances(0.05, 1.0, (0.1,), 3))
    for replication in range(3):
        missing = math.nan if replication == 1 else 1.0
        rows = {0: [9.0, missing], 1: [missing, 1.0], 2: [2.0, 1.0]}
        selection.add({i: rows[i] for i in selection.alive})
    assert (selection.choice, selection.eliminated) == (2, {0: (1, 0), 1: (1, NO_VALUE)})


def test_outlook_is_the_number_of_remaining_observations() -> None:
    ratios, inside = [], 0
    for seed in range(40):
        selection = Selection(6, Allowances(0.05, 1.0, (1.0,), 10))
        rng = np.random.default_rng(seed)
        means = np.array([[3.0, 2.0], [2.0, 2.0], [1.0, 3.0], [4.0, -3.0], [0.0, 1.0], [1.5, 2.0]])
        replications, expected, low, high, observed = normal(rng, means, 0.5), 0, 0, 0, 0
        while not selection.done:
            row = next(replications)
            if selection.replications == 10:
                expected, low, high = (selection.outlook(errors) for errors in (0.0, -2.0, 2.0))
            observed += len(selection.alive) if selection.replications >= 10 else 0
            selection.add({i: row[i] for i in selection.alive})
        ratios.append(observed / expected)
        inside += low <= observed <= high
    assert 0.67 < np.median(ratios) < 1.5
    assert inside >= 32
    assert selection.outlook() == 0


def test_of_equal_alternatives_the_first_is_selected() -> None:
    selection = Selection(3, Allowances(0.05, 1.0, (), 3))
    for _ in range(3):
        selection.add({i: [5.0] for i in selection.alive})
    assert (selection.choice, selection.eliminated) == (0, {1: (3, -1), 2: (3, -1)})


@pytest.mark.parametrize(
    ("text", "grid"),
    [
        ("1..5", [1, 2, 3, 4, 5]),
        ("0.1..0.4 / 4", [0.1, 0.16, 0.25, 0.4]),
        (".05..4 BDP", ["0.05 BDP", "0.1 BDP", "0.22 BDP", "0.45 BDP", "0.93 BDP", "1.9 BDP", "4 BDP"]),
        ("20 Mbit/s..50 Mbit/s / 3", ["20 Mbit/s", "35 Mbit/s", "50 Mbit/s"]),
    ],
)
def test_range_of_levels_is_a_documented_grid(text: str, grid: list[object]) -> None:
    found = Range.parse(text, "--choose")
    assert found is not None
    assert found.grid() == grid


@pytest.mark.parametrize("text", ["tail-drop,pie", "1 BDP", "{at='a..b'}", "1.2.3..4", "a..b"])
def test_unevenly_spaced_levels_are_not_a_range(text: str) -> None:
    assert Range.parse(text, "--choose") is None


def test_worst_case_uses_corners_and_quantiles_use_sobol_points() -> None:
    inputs = [Uncertain.parse("network.sources=1..9"), Uncertain.parse("network.trunk_rate=10..30 Mbit/s")]
    corners = [tuple(one.values()) for one in situations(inputs, corners=True)]
    assert corners == [(1, "10 Mbit/s"), (1, "30 Mbit/s"), (9, "10 Mbit/s"), (9, "30 Mbit/s"), (3, "20 Mbit/s")]
    filled = [list(one.values()) for one in situations(inputs, corners=False)]
    assert len(filled) == 16
    rates = sorted(float(str(rate).split()[0]) for _, rate in filled)
    # Sobol points have exactly one point in each of 16 equal intervals.
    assert [int((rate - 10) / 1.25) for rate in rates] == list(range(16))


def question(**more: object) -> Question:
    base = Scenario.from_toml(str(more.pop("toml", LINK)))
    factors = (
        Factor.over("switch.policy", ["tail-drop", "fq-codel"], "queue"),
        Factor.over("switch.buffer", ["0.25 BDP", "2 BDP"], "buffer"),
    )
    arguments = {"objective": "flow:bulk*.throughput", "limits": ("datagrams:call.p95 < 30 ms",), "first": 4} | more
    return Question(base, factors, **arguments)  # type: ignore[arg-type]


@pytest.fixture(scope="module", autouse=True)
def executor() -> Iterator[None]:
    """Returns an executor that uses threads of this process, because separate processes take longer to start than these
    runs.
    """
    for workers in (1, 2):
        THREADS[workers] = ThreadPoolExecutor(workers)
    yield
    for pool in THREADS.values():
        pool.shutdown()


THREADS: dict[int, ThreadPoolExecutor] = {}


def answered(workers: int = 1, store: Store | None = None, budget: str | None = None, **more: object) -> Answer:
    return Answer(advise(question(**more), Runner(store or Store(), THREADS[workers]), Budget.parse(budget)))


def test_choice_satisfies_limits_and_others_state_their_violations() -> None:
    found = answered()
    assert found.certified
    assert found.choice is not None
    assert found.advice.question.levels(found.choice) == {"queue": "fq-codel", "buffer": "2 BDP"}
    # A full buffer of 2 BDP, for 5 Mbit/s and 20 ms, adds a delay of 40 ms.
    assert found.state(1).startswith("violates datagrams:call.p95 < 30 ms")
    assert found.runner_up is not None
    assert found.runner_up.mean > 0
    assert found.choice in found.front
    assert 0 <= found.cost < 0.02 * float(found.means[found.choice, 0])


def test_eliminated_alternative_states_each_limit_it_violates() -> None:
    found = answered(limits=("datagrams:call.p95 < 30 ms", "datagrams:call.delay < 1 ms"))
    states = [found.state(one) for one in range(len(found.rows))]
    assert any("datagrams:call.p95 < 30 ms" in text and "; its mean also violates " in text for text in states), states


def test_sensitivity_of_the_answer_compares_equal_seeds() -> None:
    """The choice is better than another alternative for each seed of that alternative, but its mean over more seeds is
    worse.
    """
    objectives = ([10.0, 11, 12, 1, 1, 1], [9.0, 10, 11], [5.0, 6, 7], [4.0, 5, 6])
    values = tuple(np.array([[[one, 0.01]] for one in row]) for row in objectives)
    selection = Selection(4, Allowances(0.05, 0.5, (0.001,), 3))
    for replication in range(3):
        selection.add({i: [row[replication], 0.02] for i, row in enumerate(objectives)})
    found = Answer(Advice(question(first=3), values, selection, 0.5, spent=False, budget="", runs=15))
    assert (found.choice, found.runner_up) == (0, found.difference(1))
    assert {shift.choice for shift in shifts(found)} == {0}
    (buffer, (_, best_of_buffer)), (queue, (_, best_of_queue)) = ((one.factor, one.best) for one in effects(found))
    assert {buffer: best_of_buffer, queue: best_of_queue} == {
        "buffer": ("2 BDP", found.difference(1)),
        "queue": ("fq-codel", found.difference(2)),
    }


def test_answer_does_not_depend_on_workers_or_stored_runs() -> None:
    store = Store()
    first, again, two = answered(store=store), answered(store=store), answered(workers=2)
    for other in (again, two):
        assert [np.array_equal(a, b) for a, b in zip(first.rows, other.rows, strict=True)] == [True] * 4
        assert (other.choice, other.cost) == (first.choice, first.cost)


def test_a_budget_of_runs_ends_the_selection_without_a_certificate() -> None:
    found = answered(budget="10 runs")
    assert (found.certified, found.advice.runs) == (False, 10)
    # The numbers of replications of the alternatives are as equal as possible.
    assert [len(rows) for rows in found.rows] == [3, 3, 2, 2]
    assert found.choice is not None
    assert found.cost >= 0


def test_cost_of_choice_is_unknown_with_single_replications() -> None:
    found = answered(budget="4 runs")
    assert [len(rows) for rows in found.rows] == [1, 1, 1, 1]
    assert found.choice is not None
    assert math.isnan(found.cost)
    assert "maximum loss is unknown" in confidence(found)
    assert "At worst it is" in confidence(answered(budget="8 runs"))


@pytest.mark.parametrize(
    ("budget", "stored", "told"),
    [
        ("8 runs", True, "the same command with a larger --budget continues from these runs."),
        ("8 runs", False, "--no-store kept none of these runs: repeat the command with a larger --budget"),
        ("15 runs", True, "before each of 4 alternatives had the 4 replications after which the comparison begins;"),
        ("16 runs", True, "of 4 alternatives left;"),
        ("17 runs", True, "of 4 alternatives left;"),
        ("24 runs", True, "of 4 alternatives left;"),
        ("40 runs", True, "of 4 alternatives left;"),
    ],
)
def test_exhausted_budget_prints_how_to_continue(budget: str, *, stored: bool, told: str) -> None:
    text = confidence(answered(budget=budget), stored=stored)
    assert text.startswith(f"Not certified: the budget of {budget} ended ")
    assert told in text


def test_complete_replications_are_compared_when_the_budget_ends() -> None:
    found = answered(budget="17 runs")
    assert [len(rows) for rows in found.rows] == [5, 4, 4, 4]
    assert found.advice.selection is not None
    assert found.advice.selection.replications == 4


def test_uncertified_answer_names_the_smallest_certified_zone() -> None:
    found = answered(budget="16 runs", limits=(), zone="1 kbit/s")
    certifying = certifying_zone(found)
    assert certifying is not None
    zone, choice = certifying
    goal = found.advice.question.goal
    text = confidence(found)
    assert "These limits certify nothing" in text
    value = text.partition("--zone '")[2].partition("'")[0]
    given, relative = quantity(goal, value, "--zone")
    assert given == pytest.approx(zone)
    assert not relative
    again = answered(budget="16 runs", limits=(), zone=value)
    assert (again.certified, again.choice) == (True, choice)
    assert not answered(budget="16 runs", limits=(), zone=f"{0.99 * zone / goal.scale} {goal.unit}").certified


def test_without_a_decision_on_a_limit_no_zone_certifies() -> None:
    found = answered(budget="16 runs", limits=("datagrams:call.p95 < 22 ms",), tolerance="0.1 us")
    assert (found.choice, certifying_zone(found)) == (3, None)
    assert "No --zone would certify an answer with these runs, because a limit is undecided" in confidence(found)


def test_alternatives_are_compared_over_common_seeds() -> None:
    values = tuple(
        np.array([[[one, 0.01]] for one in row]) for row in ([10.0, 11, 12, 1, 1, 1], [9.0, 10, 11], [4.0, 5, 6])
    )
    selection = Selection(3, Allowances(0.05, 0.5, (0.001,), 3))
    for replication in range(3):
        selection.add({i: [rows[replication, 0, 0], 0.02] for i, rows in enumerate(values)})
    found = Answer(Advice(question(first=3), values, selection, 0.5, spent=False, budget="", runs=12))
    frame = alternatives(found)
    # The first mean is the lowest because it is over more seeds; with equal seeds, the choice is the best by 1 and 6.
    assert frame["worse by [Mbit/s]"].tolist() == pytest.approx([math.nan, 1e-6, 6e-6], nan_ok=True)
    assert frame["± worse by"].tolist() == pytest.approx([math.nan, 0, 0], nan_ok=True)
    assert frame["flow:bulk*.throughput [Mbit/s]"].tolist() == pytest.approx([6e-6, 10e-6, 5e-6])
    assert "comparable only if the numbers of runs are equal" in legend(found)
    assert (found.front, frame["front"].tolist()) == ([0], ["yes", "", ""])


def unfinished(*rows: list[float], **asked: object) -> Answer:
    """Returns the answer when a budget ended, with the values of the objective of each alternative."""
    values = tuple(np.array([[[one, 0.01]] for one in row]) for row in rows)
    return Answer(Advice(question(first=20, **asked), values, None, 0.5, spent=True, budget="10 runs", runs=10))


def test_unfinished_comparison_ignores_extra_runs_of_an_alternative() -> None:
    # Alternative 0 leads in the replications of both; the last run of alternative 1 exists only there.
    found = unfinished([10.0, 10.5], [9.0, 9.6, 90.0], [5.0, 5.1, 5.2], [1.0, 1.1, 1.2])
    assert found.choice == 0
    assert found.runner_up is not None
    assert (found.runner_up.alternative, round(found.runner_up.mean, 9)) == (1, 0.95)


def test_shortfall_bound_does_not_exceed_the_value() -> None:
    wide = unfinished([10.0, 30.0], [12.0, 2.0], [30.0, 1.0], [1.0, 40.0])
    assert wide.cost > abs(float(wide.means[wide.choice or 0, 0]))
    assert not wide.is_bounded
    assert "At worst" not in confidence(wide)
    assert "too few to bound how much worse" in confidence(wide)
    narrow = unfinished([10.0, 10.1], [9.9, 10.1], [9.8, 9.9], [9.0, 9.1])
    assert narrow.is_bounded
    assert "At worst it is" in confidence(narrow)


@given(st.floats(0.001, 1))
def test_shifted_limits_of_shares_stay_below_one(limit: float) -> None:
    found = unfinished([1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], limits=(f"efficiency > {limit:.4f}",))
    shifted = [float(shift.limit.partition("> ")[2]) for shift in shifts(found)]
    assert all(one <= 1 for one in shifted)


@pytest.mark.parametrize(
    ("rtt", "interval"), [("50 ms", None), ("100 ms", None), ("150 ms", "200 ms"), ("600 ms", "1 s"), ("1.2 s", "2 s")]
)
def test_gateway_offers_intervals_of_its_round_trip(rtt: str, interval: str | None) -> None:
    levels = parse_factor(gateway("20 Mbit/s", rtt, 80, 0).choices[0], option="--choose").levels.values()
    queues = [queue for level in levels for queue in level.values() if isinstance(queue, dict)]
    offered = {TIME.parse(queue["interval"]) for queue in queues if "interval" in queue}
    assert offered == ({TIME.parse(interval)} if interval else set())
    assert sorted(queue["kind"] for queue in queues) == (["codel", "fq-codel", "pie"] if interval else [])


def test_eliminated_alternative_is_worse_only_if_its_interval_is() -> None:
    rows = ([10.0, 11, 12, 13], [10.0, 11, 12, 13], [12.0, 10, 11, 13], [4.0, 5, 6, 7])
    values = tuple(np.array([[[one, 0.01]] for one in row]) for row in rows)
    selection = Selection(4, Allowances(0.05, 5, (0.001,), 3))
    for replication in range(4):
        selection.add({i: [row[replication], 0.02] for i, row in enumerate(rows)})
    selection.eliminated |= dict.fromkeys((1, 2, 3), Elimination(4, WORSE))
    found = Answer(Advice(question(first=3), values, selection, 0.5, spent=False, budget="", runs=16))
    assert found.choice == 0
    assert [found.state(one).split(",")[0] for one in (1, 2, 3)] == ["equal", "not better", "worse"]
    assert alternatives(found)["result"].tolist()[1:] == [found.state(one) for one in (1, 2, 3)]
    for word in ("equal: the same value", "not better: the interval of the difference includes 0"):
        assert word in legend(found)


def test_budget_without_a_choice_prints_how_to_continue() -> None:
    found = answered(budget="8 runs", limits=("datagrams:call.p95 < 1 ms",))
    assert found.choice is None
    assert (
        headline(found)
        == "No choice: when the selection ended, no alternative had values in all runs and means within the limits."
    )
    assert confidence(found) == (
        "Not certified: the budget of 8 runs ended after 8 runs; the same command with a larger --budget continues "
        "from these runs."
    )


def unanswered(missing: tuple[int, ...], toml: str = LINK) -> Answer:
    """Returns the answer if the objective of some alternatives has no value in run 2, and the others violate."""
    asked = question(toml=toml, limits=("datagrams:call.p95 < 30 ms",))
    selection, values = Selection(4, Allowances(0.05, 1.0, (1e-3,), 4)), []
    for one in range(4):
        delay = 0.020 if one in missing else 0.040
        values.append(np.array([[[1e6, delay]]] * 4))
        if one in missing:
            values[one][1, 0, 0] = math.nan
    for k in range(4):
        selection.add({one: [values[one][k, 0, 0], 0.030 - values[one][k, 0, 1]] for one in selection.alive})
    return Answer(Advice(asked, tuple(values), selection, 1.0, False, "", 16))


def test_alternative_without_a_value_violates_no_limit() -> None:
    found = unanswered((1, 2, 3))
    assert found.certified
    assert headline(found) == (
        "No choice: flow:bulk*.throughput has no value in some run of 3 of 4 alternatives; none of the others satisfies "
        "datagrams:call.p95 < 30 ms. A longer duration or another measure may have values in all runs."
    )
    assert confidence(found) == (
        "With 95 % confidence: the other alternative violates a limit by more than its tolerance."
    )
    assert found.state(1) == "flow:bulk*.throughput has no value in run 2"
    crowded = LINK.replace('{ name = "bulk", count = 2 }', '{ name = "bulk", count = 30, traffic = "web" }')
    assert "A longer duration" not in (text := headline(unanswered((1, 2, 3), crowded)))
    assert "datagrams:call.p95 < 30 ms. switch1->switch2: 30 flows offer " in text
    assert headline(unanswered(())) == "No alternative satisfies datagrams:call.p95 < 30 ms."
    none_left = unanswered((0, 1, 2, 3))
    assert headline(none_left).startswith(
        "No choice: flow:bulk*.throughput has no value in some run of 4 of 4 alternatives. A longer"
    )
    assert confidence(none_left).startswith("Every alternative was eliminated")


def test_levels_of_a_range_that_are_the_same_run_count_once() -> None:
    found = Range.parse(".5..1 BDP", "--choose")
    assert found is not None
    # The trunk holds 8 packets per BDP, so that some of seven levels are equal.
    levels = found.levels_of(Scenario.from_toml(LINK), "switch.buffer")
    assert levels[0] == "0.5 BDP"
    assert 2 <= len(levels) < 7


def test_time_budget_keeps_complete_runs() -> None:
    ticks = iter(range(1000))
    spending = Budget("6 s", seconds=6, clock=lambda: next(ticks))
    found: Advice = advise(question(first=30), Runner(Store(), THREADS[1]), spending)
    assert found.spent
    assert 0 < found.runs < 120


def test_worst_case_of_uncertain_inputs_decides() -> None:
    found = answered(uncertain=(Uncertain.parse("network.trunk_rate=4..10 Mbit/s"),))
    values = found.advice.values[0]  # noqa: PD011 - a tuple of arrays
    assert values.shape[1:] == (3, 2)
    assert np.array_equal(found.rows[0][:, 0], values[:, :, 0].min(axis=1))
    assert np.array_equal(found.rows[0][:, 1], values[:, :, 1].max(axis=1))
    assert len(compared_situations(found)) == 3


def test_an_interrupted_advice_continues_from_its_stored_runs() -> None:
    store, told = Store(), []

    def interrupt(now: Progress) -> None:
        told.append(now)
        if now.done >= 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        advise(question(), Runner(store, THREADS[1]), Budget(), interrupt)
    assert store.count() >= 5
    whole = answered()
    assert answered(store=store).cost == whole.cost
    assert store.count() == whole.advice.runs


def test_required_share_of_the_situations_decides() -> None:
    ten = np.arange(11.0)
    assert question(over="90 %").reduce(ten, larger_is_better=True) == pytest.approx(1.0)
    assert question(over="90 %").reduce(ten, larger_is_better=False) == pytest.approx(9.0)
    assert question(over="mean").reduce(ten, larger_is_better=True) == 5.0
    assert question().reduce(ten, larger_is_better=False) == 10.0
    assert math.isnan(question().reduce(np.array([1.0, math.nan]), larger_is_better=True))


def test_tolerance_is_relative_or_in_the_limits_unit() -> None:
    limit = Requirement.parse("datagrams:call.p95 <= 30 ms")
    assert tolerance(limit, None) == pytest.approx(0.0015)
    assert tolerance(limit, "2 ms") == pytest.approx(0.002)
    share = Requirement.parse("port:switch1->switch2.loss < 2 %")
    assert tolerance(share, "10 %") == pytest.approx(0.002)
    with pytest.raises(ScenarioError, match=r"^--tolerance: absent; 'timeouts < 0' needs a number above 0"):
        tolerance(Requirement.parse("timeouts < 0"), None)


def test_indifference_zone_is_an_absolute_or_relative_value() -> None:
    call, efficiency = parse("datagrams:call.p95"), parse("efficiency")
    for measure, text, value, is_part in (
        (call, "2 ms", 0.002, False), (call, "2 %", 0.02, True), (efficiency, "2 %", 0.02, False),
    ):  # fmt: skip
        found = quantity(measure, text, "--zone")
        assert found[0] == pytest.approx(value)
        assert found[1] == is_part
    for text, message in (("5", "combines s and no unit"), ("-1 ms", "above 0"), ("efficiency", "names a measure")):
        with pytest.raises(ScenarioError, match=f"^--zone: .*{message}"):
            quantity(call, text, "--zone")


def test_measures_may_be_expressions() -> None:
    found = question(
        objective="flow:bulk1.throughput / throughput",
        limits=("datagrams:call.p95 < 3 * datagrams:call.median",),
        tolerance="5 ms",
    )
    found.check()
    assert [measure.dimension for measure in found.measures] == [(0.0, 0.0), (0.0, 1.0)]


@pytest.mark.parametrize(
    ("name", "uncertain", "message"),
    [
        ("runs", [], "--choose: 'runs' is the name of another column; needs NAME:FIELD=..."),
        ("efficiency", [], "--choose: 'efficiency' is the name of another column"),
        ("queue", ["switch.policy=1..2"], "--uncertain: 'switch.policy' has other values by --choose or --uncertain"),
        ("queue", ["network.trunk_rate=1..2 Mbit/s"] * 2, "--uncertain: 'network.trunk_rate' has other values"),
    ],
)
def test_repeated_name_or_field_is_rejected(name: str, uncertain: list[str], message: str) -> None:
    factor = Factor.over("switch.policy", ["pie", "codel"], name)
    asked = Question(
        Scenario.from_toml(LINK), (factor,), "efficiency", uncertain=tuple(map(Uncertain.parse, uncertain))
    )
    with pytest.raises(ScenarioError) as error:
        asked.check()
    assert str(error.value).startswith(message)


REFUSED = [
    (["--maximise", "efficiency"], "--choose: absent; needs FIELD=LEVEL,LEVEL"),
    (["--choose", "switch.policy=pie,codel"], "--maximise: absent; needs --maximise MEASURE"),
    (["--choose", "switch.policy=pie,codel", "--maximise", "speed"], "--maximise: 'speed' is not a measure; "),
    (
        ["--choose", "switch.buffer=4..1 BDP", "--maximise", "efficiency"],
        "--choose: '4..1 BDP'; needs a smaller number",
    ),
    (
        ["--choose", "switch.policy=pie,codel", "--maximise", "efficiency", "--subject-to", "datagrams:call.p95 < 60"],
        "--subject-to: 'datagrams:call.p95 < 60' combines s and no unit",
    ),
    (
        ["--choose", "switch.policy=pie,codel", "--maximise", "efficiency", "--budget", "soon"],
        "--budget: 'soon'; accepts a time or a number of runs",
    ),
    (
        ["--choose", "switch.policy=pie,codel", "--maximise", "efficiency", "--uncertain", "network.sources=3"],
        "--uncertain: 'network.sources=3'; accepts FIELD=LOW..HIGH",
    ),
    (
        [
            "--choose",
            "switch.policy=pie,codel",
            "--maximise",
            "efficiency",
            "--uncertain",
            "tcp.mss=500..1000 B",
            "--set",
            'network.group=[{name = "a", tcp = {mss = "536 B"}}]',
        ],
        "--uncertain: tcp.mss: no effect, because every group sets its own; use network.group.0.tcp.mss",
    ),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_bad_options_are_rejected_in_one_line(options: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "link.toml").write_text(LINK)
    done = run("advise", "link.toml", *options, "--no-store", cwd=tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "results").exists()


def test_another_question_does_not_replace_an_answer(tmp_path: Path) -> None:
    """A directory is used again only by the same question."""
    (tmp_path / "link.toml").write_text(LINK)
    common = (
        "advise",
        "link.toml",
        "--choose",
        "switch.policy=tail-drop,fq-codel",
        "--first",
        "3",
        "--budget",
        "6 runs",
    )
    folders = []
    for objective in ("efficiency", "flow:bulk*.throughput", "efficiency"):
        done = run(*common, "--maximise", objective, "--workers", "1", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        folders.append(Path(done.stdout.strip().splitlines()[-1].rpartition(": ")[2]))
    assert [one.name for one in folders] == ["advise-link", "advise-link-2", "advise-link"]
    pages = [(tmp_path / one / "report.html").read_text() for one in folders]
    assert "flow:bulk*.throughput" not in pages[0]
    assert "flow:bulk*.throughput" in pages[1]


def test_answer_without_a_choice_removes_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "link.toml").write_text(LINK)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "choice.toml").write_text("the choice with a smaller budget")
    options = ("--choose", "switch.policy=tail-drop,fq-codel", "--maximise", "efficiency", "--first", "3", "-o", "out")
    limits = ("--subject-to", "datagrams:call.p95 < 1 us", "--budget", "6 runs", "--workers", "1", "--no-store")
    done = run("advise", "link.toml", *options, *limits, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "No choice: " in done.stdout
    assert not (tmp_path / "out" / "choice.toml").exists()


def test_the_command_writes_choice_tables_and_page(tmp_path: Path) -> None:
    (tmp_path / "link.toml").write_text(LINK)
    options = (
        "advise", "link.toml", "--choose", "queue:switch.policy=tail-drop,fq-codel", "--choose", "switch.buffer=1..2 "
        "BDP/2",
        "--maximise", "efficiency", "--subject-to", "datagrams:call.p95 < 30 "
        "ms", "--first", "3", "--workers", "1", "-o", "out",
        "--no-store",
    )  # fmt: skip
    done = run(*options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "note: before the first elimination: 4 alternatives, 12 runs, about " in done.stderr
    assert done.stdout.startswith("queue fq-codel, switch.buffer ")
    assert "With 95 % confidence" in done.stdout
    assert f"Repeat: longpipe {' '.join(options[:2])}" in done.stdout
    out = tmp_path / "out"
    assert Scenario.from_toml(out / "choice.toml").resolved["links"]
    frame = pd.read_csv(out / "alternatives.csv")
    assert len(frame) == 4
    assert frame["result"][0] == "the choice"
    assert len(pd.read_csv(out / "runs.csv")) == frame["runs"].sum()
    page = (out / "report.html").read_text()
    for words in ("With 95 % confidence", "runner-up", "Alternatives, best first", "Pareto front", "longpipe advise"):
        assert words in page
    # The result stands beside the factors, where it needs no scrolling, and intervals beside their means.
    heads = re.findall(r'data-head="([^"]*)"><button', page)
    assert heads[:5] == ["queue", "switch.buffer", "result", "efficiency", "worse by"]
    assert not any(head.startswith("±") for head in heads)
    assert re.search(r"<td[^>]*>0\.\d{3} ±0\.\d{3}</td>", page)


def test_gateway_option_writes_an_editable_scenario(tmp_path: Path) -> None:
    done = run(
        "advise", "--gateway", "20 Mbit/s", "--rtt", "600 ms", "--users", "80", "--calls", "2", "--write", "g.toml",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    scenario = Scenario.from_toml(tmp_path / "g.toml")
    names = [flow["name"] for flow in scenario.resolved["flows"]]
    assert (sum(name.startswith("user") for name in names), sum(name.startswith("download") for name in names)) == (
        80,
        2,
    )
    assert [name for name in names if name.startswith("call")] == ["call1", "call2"]
    [trunk] = {link["delay_ps"] for link in scenario.resolved["links"] if link["rate_bps"] == 20_000_000}
    # The RTT is 600 ms, minus 2 ms of access and 2 ms after the path.
    assert trunk == 298 * 10**9
    template = gateway("20 Mbit/s", "600 ms", 80, 2)
    # The delay is 300 ms one way plus 60 ms of queueing.
    assert template.limits[0] == "datagrams:call*.p95 < 360 ms"
    # The command that states the question of the file is complete on the terminal and in the file.
    asked = f"{template.options}\n"
    assert "--minimise web.p95 --zone '5 %' --subject-to 'datagrams:call*.p95 < 360 ms' --subject-to" in asked
    assert done.stdout.endswith(f"longpipe advise g.toml {asked}")
    assert f"longpipe advise THIS_FILE {asked}" in (tmp_path / "g.toml").read_text()


def test_a_gateway_offers_proxies_between_its_users_and_servers(tmp_path: Path) -> None:
    template = gateway("20 Mbit/s", "600 ms", 40, 0, "60 ms")
    proxies = parse_factor(template.choices[1], option="--choose")
    assert (proxies.name, len(proxies.levels)) == ("proxy", 7)
    assert list(proxies.levels)[:2] == ["none", "buffer=375 KB"]
    assert list(proxies.levels)[-1] == "buffer=6 MB tcp.initial_window=40 segments"
    (tmp_path / "g.toml").write_text(template.scenario)
    scenario = Scenario.from_toml(tmp_path / "g.toml")
    # 30 ms to the servers, and 1 ms behind the path, in each direction.
    network: Any = scenario.network
    assert (network.access_delay, network.trunk_delay) == ("30 ms", "269 ms")
    with pytest.raises(ScenarioError, match="--rtt: 60 ms; needs at least 62 ms"):
        gateway("20 Mbit/s", "60 ms", 40, 0, "60 ms")


@pytest.mark.parametrize(
    ("rate", "rtt", "message"), [("fast", "1 s", "--gateway: 'fast'"), ("1 Mbit/s", "1 ms", "--rtt")]
)
def test_invalid_gateway_is_rejected(rate: str, rtt: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        gateway(rate, rtt, 5, 0)


def test_chosen_buffer_is_compared_with_the_square_root_rule() -> None:
    """100 Mbit/s times 600 ms is 7.5 MB.

    With 100 flows the rule gives 750 kB (Appenzeller, Keslassy and McKeown 2004).
    """
    fields = {
        "framing": "ip",
        "network": {"kind": "dumbbell", "sources": 100, "trunk_rate": "100 Mbit/s", "trunk_delay": "300 "
        "ms", "access_delay": "0 s", "exit_delay": "0 s"},
        "tcp": {"profile": "linux-6"},
    }  # fmt: skip
    base = Scenario.model_validate({"defaults": "1996", **fields})
    rule = "B = C RTT / sqrt(n) of 100 long flows: 750 kB; the buffer has "
    assert list(rules(base.with_(**{"switch.buffer": "600 KB"}))) == [f"{rule}600 kB, which agrees"]
    # The buffer is in packets of 1500 bytes with timestamps.
    in_packets = base.with_(**{"switch.buffer": "400 packets", "tcp.mss": "1448 B"})
    assert list(rules(in_packets)) == [f"{rule}600 kB, which agrees"]
    assert next(rules(in_packets.with_(**{"network.sources": 1}))).startswith(
        "B = C RTT / sqrt(n) of 1 long flow: 7.5 MB;"
    )
    other, _ = rules(base.with_(**{"switch.buffer": "4 MB", "switch.policy": "codel", "tcp.congestion": "bbr"}))
    assert other.startswith(
        f"{rule}4 MB; the rule does not hold here: it is for controls that reduce their window by loss, not for bbr; "
        "codel "
    )
    # A buffer of the rule's size does not agree with it if its conditions do not hold.
    few = base.with_(**{"switch.buffer": "6 MB", "switch.policy": "fq-codel", "network.sources": 1})
    assert list(rules(few)) == [
        "B = C RTT / sqrt(n) of 1 long flow: 7.5 MB; the buffer has 6 MB; the rule does not hold here: fq-codel keeps "
        "the queue below the buffer; 1 long flow instead of the 50 or more whose windows are independent"
    ]
    assert not list(rules(base.with_(**{"switch.buffer": "unlimited"})))
    assert not list(rules(Scenario(defaults="1996")))


def test_answer_contains_applicable_closed_forms() -> None:
    link = {
        "framing": "ip", "switch.buffer": "1 MB", "tcp": {"profile": "linux-6", "mss": "1448 B"},
        "network": {"kind": "dumbbell", "sources": 2, "trunk_rate": "100 Mbit/s", "trunk_delay": "50 "
        "ms", "access_delay": "0 s", "exit_delay": "0 s"},
    }  # fmt: skip
    base = Scenario(defaults="1996").with_(**link)
    loss = {"network.trunk_loss": {"kind": "bernoulli", "probability": 0.001}, "tcp.congestion": "linux-reno"}
    # The throughput is 2 * 1448 bytes * 8 / 100 ms * sqrt(1500).
    assert list(rules(base.with_(**loss)))[1] == (
        "MSS / RTT sqrt(3 / 2p) with losses of 0.1 %, 2 long flows: 8.97 Mbit/s, 9 % of the link: a larger buffer does "
        "not increase it"
    )
    marks = {"tcp.congestion": "dctcp", "tcp.ecn": "dctcp"}
    for threshold, said in (
        (100, "the threshold is 150 kB, so the queue runs empty"),
        (200, "300 kB, which agrees"),
    ):
        step = {"kind": "step-marking", "threshold": threshold}
        line = list(rules(base.with_(**marks, **{"switch.policy": step})))[1]
        assert line.startswith("K > C RTT / 7 of 2 long flows with DCTCP: 179 kB; ")
        assert line.endswith(said)
    bbr = [list(rules(base.with_(**{"tcp.congestion": "bbr", "switch.buffer": size})))[1] for size in ("1 MB", "2 MB")]
    assert all(one.startswith("BBR's window of 2 BDP leaves at most 1.25 MB in the queue") for one in bbr)
    assert ["can fill it" in one for one in bbr] == [True, False]
    poisson = {"traffic": {"kind": "poisson", "rate": "40 Mbit/s", "payload": "1222 B"}}
    # The wait at 80 % of 100 Mbit/s in packets of 100 us is 0.8 * 100 us / 0.4.
    assert list(rules(base.with_(**poisson))) == [
        "M/D/1 at a load of 80 %: mean wait 0.2 ms, if the buffer does not overflow"
    ]
