"""Designs: seeds, fractions, cost, runs, and replication until an interval is narrow enough."""

import math
import re
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from longpipe import Result, Scenario, ScenarioError, simulate
from longpipe.cli.design.running import _outcome
from longpipe.design import Cost, Design, Factor, Fraction
from longpipe.design.cost import cpu_s
from longpipe.design.level_names import common_names, legend_names
from longpipe.design.text import from_json, to_json
from longpipe.executors import Job
from longpipe.scenario import Red
from longpipe.store import Store, pack
from longpipe.study import Progress, Study, run_until
from longpipe.study.pilot import LONGEST_S, WITHIN_S, Measured, extrapolated, measured_cost, measured_run
from longpipe.study.until import FIRST, following, needed, parse_margin, skewness_of
from thorough import examples

BASE = Scenario(defaults="1996", duration="20 ms").with_(
    **{"start": {"kind": "random", "over": "1 ms"}, "switch.ties": "random"}
)
TCP = Factor.over("tcp.recovery", ["vanilla", "reno"], "tcp")
BUFFER = Factor.over("switch.buffer", ["100 cells", "1000 cells"], "buffer")
POLICY = Factor.over("switch.policy", ["tail-drop", {"kind": "epd", "threshold": 0.5}], "policy")
FACTORS = [TCP, BUFFER, POLICY]


def test_a_full_factorial_has_every_combination_once() -> None:
    design = Design.full_factorial(BASE, [*FACTORS, Factor.over("network.sources", [1, 2, 3])], replications=2)
    frame = design.frame()
    assert len(frame) == 2 * 2 * 2 * 3 * 2
    assert not frame.duplicated(["tcp", "buffer", "policy", "network.sources", "replication"]).any()
    assert design.scenarios[-1].switch.policy.kind == "epd"
    assert design.scenarios[-1].network == BASE.with_(**{"network.sources": 3}).network
    assert design.scenarios[0].name == "tcp=vanilla, buffer=100 cells, policy=tail-drop, network.sources=1"


def test_a_factor_may_change_several_fields_and_name_its_levels() -> None:
    network = Factor("network", {"lan": {}, "wan": {"network.trunk_delay": "5 ms", "duration": "40 ms"}})
    design = Design.full_factorial(BASE, [network, Factor.over("tcp.mss", {"small": "512 B", "large": "9180 B"})])
    assert [scenario.duration for scenario in design.scenarios] == ["20 ms", "20 ms", "40 ms", "40 ms"]
    assert list(design.frame()["tcp.mss"]) == ["small", "large"] * 2


def test_common_random_numbers_give_all_points_the_same_seeds() -> None:
    frame = Design.full_factorial(BASE, FACTORS, replications=3, first_seed=7).frame()
    assert frame.groupby("point")["seed"].apply(list).map(tuple).unique().tolist() == [(7, 8, 9)]


def test_a_design_without_factors_varies_only_the_seeds() -> None:
    design = Design.full_factorial(BASE, [], replications=3)
    frame = design.frame()
    assert (frame["seed"].tolist(), frame["scenario"].unique().tolist()) == ([1, 2, 3], [BASE.name])
    assert [one.digest() for one in design.scenarios] == [BASE.digest()]


def test_otherwise_every_run_has_its_own_seed() -> None:
    frame = Design.full_factorial(BASE, FACTORS, replications=3, common=False).frame()
    assert sorted(frame["seed"]) == list(range(1, 25))


@pytest.mark.parametrize("options", [{"common": True}, {"common": False}, {"confounded": ["tcp * buffer * policy"]}])
def test_more_replications_keep_the_seeds_of_the_first(options: dict[str, Any]) -> None:
    few, many = (Design.two_level(BASE, FACTORS, replications=n, **options).frame() for n in (2, 5))
    pd.testing.assert_frame_equal(many[many["replication"] <= 2].reset_index(drop=True), few)


def test_one_factor_at_a_time_shares_the_first_point() -> None:
    design = Design.one_at_a_time(BASE, [TCP, Factor.over("switch.buffer", ["100 cells", "200 cells", "400 cells"])])
    assert design.points == (
        ("vanilla", "100 cells"),
        ("reno", "100 cells"),
        ("vanilla", "200 cells"),
        ("vanilla", "400 cells"),
    )


# Jain 1991, section 19.3: in the 2^(4-1) design with D = ABC, every effect has exactly one alias.
def test_alias_structure_of_a_half_fraction() -> None:
    half = Fraction(tuple("abcd"), ("d = a*b*c",))
    assert half.resolution == 4
    table = half.alias_structure(2).set_index("effect")
    assert table["aliases"].to_dict() == {
        "a": "b:c:d", "b": "a:c:d", "c": "a:b:d", "d": "a:b:c", "a:b": "c:d", "a:c": "b:d", "a:d": "b:c"
    }  # fmt: skip
    assert list(table["clear"]) == [True] * 4 + [False] * 3


# Montgomery, table 8.14 and the defining relation of the 2^(6-2) with E = ABC, F = BCD; Jain 1991, section 19.2.
def test_defining_relations_and_resolutions() -> None:
    quarter = Fraction(tuple("abcdef"), ("e = a*b*c", "f = b*c*d"))
    assert {quarter.name(word) for word, _ in quarter.relation} == {"a:b:c:e", "b:c:d:f", "a:d:e:f"}
    assert quarter.resolution == 4
    saturated = Fraction(tuple("abcdefg"), ("d = a*b", "e = a*c", "f = b*c", "g = a*b*c"))
    assert (saturated.resolution, len(saturated.relation), len(saturated.points())) == (3, 15, 8)
    assert Fraction(tuple("abc")).resolution == 4
    assert Fraction(tuple("abc")).alias_structure(3)["clear"].all()


@pytest.mark.parametrize("generators", [(), ("d = a*b*c",), ("d = -a*b", "e = a*b*c")])
def test_aliased_effects_have_the_same_column_of_signs(generators: tuple[str, ...]) -> None:
    fraction = Fraction(tuple("abcde"), generators)
    signs = np.array(fraction.points())
    assert len(signs) == 2 ** (5 - len(generators))
    assert (signs.sum(axis=0) == 0).all()

    def column(effect: str) -> np.ndarray[Any, Any]:
        return np.asarray(signs[:, ["abcde".index(name) for name in effect.split(":")]].prod(axis=1))

    leaders = fraction.alias_structure(5)
    for row in leaders.to_dict("records"):
        for alias in filter(None, row["aliases"].split(", ")):
            assert (column(alias.removeprefix("-")) * (-1 if alias[0] == "-" else 1) == column(row["effect"])).all()
    columns = np.stack([column(effect) for effect in leaders["effect"]])
    assert (columns @ columns.T == len(signs) * np.eye(len(columns))).all()
    assert len(columns) == len(signs) - 1


def test_confounding_puts_an_interaction_between_the_blocks() -> None:
    frame = Design.two_level(BASE, FACTORS, confounded=["tcp * buffer * policy"], replications=2).frame()
    signs = {"tcp": "reno", "buffer": "1000 cells", "policy": "epd"}
    product = np.prod([np.where(frame[name] == high, 1, -1) for name, high in signs.items()], axis=0)
    assert [set(product[frame["block"] == block]) for block in (1, 2)] == [{1}, {-1}]
    assert frame.groupby("block")["seed"].apply(set).to_list() == [{1, 3}, {2, 4}]


def test_processor_time_scales_first_runs_by_estimates() -> None:
    measured: list[Job] = []

    def measure(job: Job, most_s: float) -> Measured:
        measured.append(job)
        whole_s = 5 * cpu_s(job[0])
        return Measured(whole_s, min(whole_s, most_s))

    design = Design.full_factorial(BASE, FACTORS, replications=2)
    cost = extrapolated(design, measure)
    assert cost.cpu_s == pytest.approx(5 * design.cost().cpu_s)
    # The first of two trials loads modules. Then each of the 8 points runs twice, with seeds of its own.
    assert len(measured) == 2 + 16
    assert len({(scenario.digest(), seed) for scenario, seed in measured}) == 18
    assert (cost.measured, cost.parts) == (16, 0)
    assert "(measured on 16 runs)" in str(cost)
    # Long runs are stopped, each at another point, until the time is over.
    measured.clear()
    longer = Design.full_factorial(BASE.with_(duration="2000 s"), FACTORS)
    stopped = extrapolated(longer, measure)
    assert stopped.cpu_s == pytest.approx(5 * longer.cost().cpu_s)
    assert len({scenario.digest() for scenario, _ in measured}) == len(measured) == int(WITHIN_S / LONGEST_S)
    assert f"(measured on {len(measured)} runs, {len(measured)} of them in part)" in str(stopped)


def test_runs_of_minutes_are_measured_in_part_before_the_design() -> None:
    began_s = time.process_time()
    cost = measured_cost(Design.full_factorial(BASE.with_(duration="20000 s"), FACTORS))
    assert time.process_time() - began_s < 2 * WITHIN_S
    assert cost is not None
    assert cost.measured == cost.parts > 1


@pytest.mark.parametrize("levels", [[0.001, 0.03], [0.0, 0.001], [0.001, 0.0]])
def test_idle_links_do_not_inflate_estimated_processor_time(levels: list[float]) -> None:
    base = Scenario.from_toml("""
        framing = "ip"
        duration = "60 s"
        network = { kind = "dumbbell", sources = 1, access_rate = "10 Gbit/s", trunk_rate = "1 Gbit/s", trunk_delay = "50 ms" }
        switch = { buffer = "unlimited" }
        tcp = { recovery = "sack", receiver_window = "auto" }
        """)
    loss = Factor.over("network.trunk_loss", [{"kind": "bernoulli", "probability": one} for one in levels])
    design = Design.full_factorial(base, [loss], replications=2)
    cost = measured_cost(design)
    began_s = time.process_time()
    for scenario in design.scenarios:
        pack(simulate(scenario))
    spent_s = 2 * (time.process_time() - began_s)
    assert cost is not None
    assert 1 / 3 < cost.cpu_s / spent_s < 3 or abs(cost.cpu_s - spent_s) < 0.1
    # The estimate alone counts the link as busy.
    assert max(levels) < 0.03 or design.cost().cpu_s > 20 * cost.cpu_s


def test_stopped_run_predicts_the_time_of_the_whole_run() -> None:
    (scenario,) = Design.full_factorial(BASE.with_(duration="100 s"), []).scenarios
    with closing(Store()) as store:
        part, whole = (
            measured_run((scenario, seed), most_s, store.keep) for seed, most_s in ((1, 0.02), (2, math.inf))
        )
    assert whole.is_whole
    assert not part.is_whole
    assert part.cpu_s == pytest.approx(whole.cpu_s, rel=0.7)


def test_cost_is_the_sum_of_the_frame() -> None:
    design = Design.full_factorial(BASE, FACTORS, replications=3)
    frame, cost = design.frame(), design.cost()
    assert isinstance(cost, Cost)
    assert (cost.points, cost.runs) == (8, 24)
    assert cost.simulated_s == pytest.approx(frame["simulated_s"].sum())
    assert cost.cpu_s == pytest.approx(frame["cpu_s_estimate"].sum())
    assert "estimate" in str(cost)
    longer = Design.full_factorial(BASE.with_(duration="2000 s"), FACTORS).cost()
    assert str(longer).startswith("8 points, 8 runs, 16000 s of simulated time, about ")
    assert longer.cpu_s > 1000 * cost.cpu_s / 3 / 10
    transfer = BASE.with_(duration="2000 s", traffic={"kind": "transfer", "size": "1 KB"})
    assert Design.full_factorial(transfer, FACTORS).cost().cpu_s < 1


def test_the_estimate_of_a_scenario_includes_its_traces() -> None:
    network = {"kind": "dumbbell", "trunk_rate": "100 Mbit/s", "trunk_delay": "10 ms"}
    base = BASE.with_(duration="20 s", framing="ip", network=network)
    traced = base.with_(**{"traces.delay": True})
    # The first run loads modules.
    pack(simulate(traced.with_(duration="1 s")))
    began_s = time.process_time()
    pack(simulate(traced))
    assert 1 / 3 < cpu_s(traced) / (time.process_time() - began_s) < 3
    assert cpu_s(traced) > 4 * cpu_s(base)


CELLS = Scenario.from_toml("""
    duration = "40 s"
    network = { kind = "dumbbell", sources = 10, trunk_rate = "155.52 Mbit/s", vbr = { period = "300 ms", duty = 0.5 } }
    switch = { buffer = "3000 cells", scheduler = "priority" }
    tcp = { recovery = "sack", mss = "9180 B", receiver_window = "auto" }
    """)
PACKETS = Scenario.from_toml("""
    duration = "15 s"
    framing = "ip"
    network = { kind = "dumbbell", sources = 10, trunk_rate = "155.52 Mbit/s", trunk_delay = "15 ms" }
    switch = { buffer = "0.5 BDP" }
    tcp = { recovery = "sack", receiver_window = "auto" }
    """)


@pytest.mark.parametrize(
    "scenario",
    [
        CELLS,
        PACKETS.with_(engine="reference"),
        PACKETS.with_(**{"switch.policy": {"kind": "cake"}, "tcp.congestion": "bbr", "tcp.recovery": "rack"}),
        PACKETS.with_(traffic={"kind": "poisson", "rate": "10 Mbit/s", "payload": "100 B"}),
    ],
    ids=["VBR", "reference", "CAKE and BBR", "short datagrams"],
)
def test_the_estimate_of_a_busy_link_is_within_a_factor_of_three(scenario: Scenario) -> None:
    simulate(scenario.with_(duration="100 ms"))
    began_s = time.process_time()
    simulate(scenario)
    assert 1 / 3 < cpu_s(scenario) / (time.process_time() - began_s) < 3


def test_the_estimate_counts_vbr_cell_by_cell() -> None:
    without = cpu_s(CELLS.with_(**{"network.vbr": None, "switch.scheduler": "fifo"}))
    often, rare = (cpu_s(CELLS.with_(**{"network.vbr.duty": duty})) - without for duty in (0.5, 0.05))
    assert often == pytest.approx(10 * rare)
    assert often > 5 * without


def test_the_estimate_of_datagrams_follows_their_rate() -> None:
    base, few, many = (
        cpu_s(PACKETS.with_(traffic={"kind": "cbr", "rate": rate, "payload": "972 B"}))
        for rate in ("1 kbit/s", "1 Mbit/s", "10 Mbit/s")
    )
    assert many - base == pytest.approx(10 * (few - base), rel=0.02)
    assert few < cpu_s(PACKETS)


def test_the_estimate_of_datagrams_from_a_file_counts_them(tmp_path: Path) -> None:
    file = tmp_path / "sent.csv"
    file.write_text("time,bytes\n0.1,100\n0.2,100\n")
    listed = cpu_s(PACKETS.with_(traffic={"kind": "arrivals", "file": str(file)}))
    slow = cpu_s(PACKETS.with_(traffic={"kind": "cbr", "rate": "1 kbit/s", "payload": "972 B"}))
    assert listed == pytest.approx(slow, rel=0.02)


def test_design_runs_equal_single_runs_and_resume(tmp_path: Path) -> None:
    design = Design.full_factorial(BASE, [TCP, BUFFER], replications=2)
    with closing(Store(tmp_path / "runs.sqlite")) as store:
        study = Study(design, store)
        assert study.run(workers=1).complete
        assert store.count() == 8
        runs = study.frame()
        told: list[Progress] = []
        assert study.run(workers=1, progress=told.append).complete
        pd.testing.assert_frame_equal(study.frame(), runs)
        assert told == []
    row = runs[(runs["tcp"] == "reno") & (runs["buffer"] == "100 cells") & (runs["seed"] == 2)].iloc[0]
    alone = simulate(BASE.with_(**{"tcp.recovery": "reno", "switch.buffer": "100 cells"}), seed=2)
    assert (row["efficiency"], row["fairness"]) == (alone.efficiency, alone.fairness)
    found = design.anova(runs, "efficiency")
    assert (found.blocks, found.terms) == ("seed", (("tcp",), ("buffer",), ("tcp", "buffer"), ("seed",)))


def made_up(design: Design, seed: int = 1) -> pd.DataFrame:
    """Returns runs with the response 10 tcp + 4 buffer - 6 policy + 5 tcp:buffer + 2 seed + noise, in signs."""
    frame = design.frame()
    tcp, buffer, policy = (np.where(frame[f.name] == list(f.levels)[1], 1, -1) for f in FACTORS)
    noise = np.random.default_rng(seed).normal(0, 0.01, len(frame))
    return frame.assign(y=10 * tcp + 4 * buffer - 6 * policy + 5 * tcp * buffer + 2 * frame["seed"] + noise)


@pytest.mark.parametrize(
    ("design", "expected", "df"),
    [
        (Design.full_factorial(BASE, FACTORS), {"tcp": 10, "buffer": 4, "policy": -6, "tcp:buffer": 5}, 1),
        (Design.full_factorial(BASE, FACTORS, replications=3), {"tcp": 10, "policy": -6, "tcp:buffer": 5}, 14),
        (
            Design.two_level(BASE, FACTORS, generators=["policy = tcp*buffer"], replications=3),
            {"tcp": 10, "buffer": 4, "policy": -1},
            6,
        ),
        (
            Design.two_level(BASE, FACTORS, confounded=["tcp*buffer*policy"], replications=2),
            {"tcp": 10, "buffer": 4, "policy": -6, "tcp:buffer": 5, "buffer:policy": 0},
            6,
        ),
        (Design.one_at_a_time(BASE, FACTORS, replications=3), {"tcp": 5, "buffer": -1, "policy": -6}, 6),
    ],
)  # fmt: skip
def test_design_determines_the_analysis_of_its_runs(design: Design, expected: dict[str, float], df: int) -> None:
    found = design.anova(made_up(design), "y")
    effects = found.effects(order=3).groupby("component", sort=False)["effect"].last()
    assert {name: effects[name] for name in expected} == pytest.approx(expected, abs=0.05)
    assert found.error_df == df
    assert found.standard_error < 0.05


def test_replications_grow_until_the_widest_interval_is_narrow_enough() -> None:
    def drawn(result: Result) -> dict[str, float]:
        wide = 4.0 if result.scenario.tcp.recovery == "reno" else 1.0
        return {"y": wide * float(np.random.default_rng(result.seed).normal()) + 10}

    design = Design.full_factorial(BASE, [TCP])
    with closing(Store()) as store:
        found = run_until(Study(design, store, "a"), "y", "±1", level=0.9, measure=drawn, workers=1)
        assert found.reached
        assert found.precision["margin"].max() <= 1
        taken = found.design.replications
        assert 20 <= taken < 100
        assert len(found.runs) == 2 * taken
        fewer = run_until(Study(design, store, "b"), "y", "±1", level=0.9, most=8, measure=drawn, workers=1)
        assert (fewer.reached, fewer.design.replications) == (False, 8)
        assert list(fewer.precision["reached"]) == [True, False]
        relative = run_until(Study(design, store, "c"), "y", "±20 %", level=0.9, measure=drawn, workers=1)
        assert relative.precision["margin"].max() <= 0.2 * relative.precision["mean"].max()


def test_study_with_a_reached_margin_runs_nothing_more() -> None:
    def drawn(result: Result) -> dict[str, float]:
        return {"y": float(np.random.default_rng(result.seed).normal())}

    design = Design.full_factorial(BASE, [Factor.over("tcp.recovery", ["reno"], "tcp")])
    with closing(Store()) as store:
        first = run_until(Study(design, store, "a"), "y", "±5", measure=drawn, workers=1)
        # 20 replications are sufficient, and 10 % more confirm the result.
        assert first.design.replications == 22
        again = run_until(Study.open("a", store), "y", "±5", measure=drawn, workers=1)
        assert again.design.replications == 22


def covered(enough: int, trials: int, draw: Callable[[np.random.Generator, int], NDArray[np.float64]]) -> float:
    """Returns the share of intervals that cover the mean, 0, of draws with variance 1, with the replications of
    `run_until`. The margin requires about `enough` replications.
    """
    rng, hits, target = np.random.default_rng(enough), 0, 1.96 / enough**0.5
    for _ in range(trials):
        values, held = draw(rng, FIRST), False
        while True:
            half, wanted = needed(values, target, 0.95)
            reached = wanted <= len(values)
            if reached and held:
                break
            held = reached
            count = following(len(values), wanted, 10_000, reached=held)
            values = np.append(values, draw(rng, count - len(values)))
        hits += abs(values.mean()) <= half
    return hits / trials


# Distributions with mean 0 and variance 1, by their skewness.
SHAPES: dict[str, Callable[[np.random.Generator, int], NDArray[np.float64]]] = {
    "normal, 0": lambda rng, count: rng.normal(size=count),
    "lognormal, 1.75": lambda rng, count: (rng.lognormal(0, 0.5, count) - math.exp(0.125)) / 0.6039005,
    "exponential, 2": lambda rng, count: rng.exponential(size=count) - 1,
    "gamma, 2.83": lambda rng, count: (rng.gamma(0.5, size=count) - 0.5) / math.sqrt(0.5),
    "two values, .87": lambda rng, count: ((rng.random(count) < 0.3).astype(np.float64) - 0.3) / math.sqrt(0.21),
    "left, -2": lambda rng, count: 1 - rng.exponential(size=count),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_of_sequential_replication_cover_the_mean(shape: str) -> None:
    """For each distribution the coverage is at least 93 % of 1000 repetitions (`make validate`), minus the sampling
    error here.
    """
    trials = examples(200, 1000)
    found = [covered(enough, trials, SHAPES[shape]) for enough in (4, 15, 25, 40, 80)]
    for share in found:
        assert share >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / trials), found
    assert np.mean(found) >= 0.93, found


def test_margin_is_the_longer_side_of_willinks_interval() -> None:
    """For symmetric values the margin is Student's; for others, Hall's cubic transformation of the side gives Student's
    t.
    """
    symmetric = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    half, wanted = needed(symmetric, 1.0, 0.95)
    assert half == pytest.approx(2.7764451 * symmetric.std(ddof=1) / math.sqrt(5))
    assert wanted == pytest.approx(5 * half**2)
    skewed = np.array([0.0, 0.1, 0.2, 0.3, 0.5, 0.9, 1.7, 3.3])
    half, wanted = needed(skewed, 1.0, 0.95)
    count, g = len(skewed), skewness_of(skewed)
    # scipy.stats.skew(skewed, bias=False)
    assert g == pytest.approx(1.7586374)
    # If values are skewed to the right, the true mean may lie further above the sample mean than below it.
    side = -half * math.sqrt(count) / skewed.std(ddof=1)
    hall = side + g * side**2 / (3 * math.sqrt(count)) + g**2 * side**3 / (27 * count) + g / (6 * math.sqrt(count))
    assert hall == pytest.approx(-2.3646243)
    assert wanted == pytest.approx(max(8 * half**2, 10 * g**2))


def test_a_large_margin_of_a_skewed_measure_needs_only_chebyshevs_inequality() -> None:
    values = np.array([0.0] * 18 + [0.1, 1.0])
    error, by_skewness = values.std(ddof=1), 10 * skewness_of(values) ** 2
    assert by_skewness > 150
    of_any = error / math.sqrt(20 * 0.05)
    half, wanted = needed(values, 2.0, 0.95)
    assert half >= of_any
    assert wanted == pytest.approx(20 * (half / 2) ** 2)
    assert wanted < 20
    # A small margin needs ten times the squared skewness, or more.
    assert needed(values, 0.01, 0.95)[1] >= by_skewness


def test_missed_margin_names_point_and_skewness() -> None:
    def drawn(result: Result) -> dict[str, float]:
        is_rare = result.scenario.tcp.recovery == "reno" and result.seed == 1
        return {"y": 10.0 + float(np.random.default_rng(result.seed).normal()) + 40 * is_rare}

    design = Design.full_factorial(BASE, [TCP])
    with closing(Store()) as store:
        found = run_until(Study(design, store, "a"), "y", "±5", most=20, measure=drawn, workers=1)
        text = _outcome(found, "y ±5")
        assert re.search(r"about \d+ suffice at tcp=reno, because of a skewness of 4\.\d: repeat with", text), text
        # The margin is met, with certainty, by a multiple of the range.
        assert run_until(Study(design, store, "b"), "y", "±50", measure=drawn, workers=1).design.replications == 22


def test_levels_may_be_numbers_of_numpy() -> None:
    whole, real = np.arange(1, 3), np.linspace(0.5, 0.7, 2)
    factors = [
        Factor.over("network.sources", whole),
        Factor.over("tcp.congestion", {x: {"kind": "aimd", "beta": x} for x in real}),
        Factor("fields", {whole[0]: {"traces.cwnd": np.bool_(True), "tcp.initial_window": f"{whole[1]} segments"}}),
    ]
    base = Scenario(defaults="1996", framing="ip", network={"kind": "dumbbell"}, switch={"buffer": "10 packets"})
    design = Design.full_factorial(base, factors, replications=1)
    assert from_json(to_json(design)) == design
    assert {type(label) for factor in factors for label in factor.levels} == {int, float}


def test_tables_of_one_kind_are_labeled_by_differing_fields() -> None:
    tables = [{"kind": "red", "min": 5, "max": 60}, {"kind": "red", "min": 20, "max": 60}, "codel"]
    assert list(Factor.over("switch.policy", tables).levels) == ["red min=5", "red min=20", "codel"]
    pep = {"at": "switch1", "buffer": "8 MB"}
    assert list(Factor.over("network.pep", [None, pep, {"buffer": "4 MB"}]).levels) == [
        "none",
        "at=switch1 buffer=8 MB",
        "buffer=4 MB",
    ]
    models = [Red(), Red(min=20, max=60)]
    assert list(Factor.over("switch.policy", models).levels) == ["red", "red min=20 max=60"]
    with pytest.raises(ScenarioError, match="level 'red' occurs twice"):
        Factor.over("switch.policy", [{"kind": "red"}, {"kind": "red"}])


def test_legends_name_modules_classes_and_stacks_with_their_parameters() -> None:
    def names(*levels: object) -> list[str]:
        return list(legend_names(Factor.over("tcp.congestion", levels)).values())

    mine = {"kind": "module", "file": "a/tcp_mine.c"}
    assert names("cubic", {**mine, "parameters": {"bug": 1}}) == ["cubic", "tcp_mine bug=1"]
    other = {"kind": "module", "file": "other.so"}
    assert names(mine, {**mine, "hz": 100}, other) == ["tcp_mine", "tcp_mine hz=100", "other"]
    python = {"kind": "python", "class": "mine.py:Mine"}
    assert names("reno", {**python, "parameters": {"gain": 1.5}}) == ["reno", "Mine gain=1.5"]
    stacks = [{"kind": "stack", "stack": name, "congestion": "cubic"} for name in ("quinn", "noq")]
    assert names(*stacks, "greedy") == ["quinn", "noq", "greedy"]
    # Equal names are not unique, so levels keep their labels, as do labels that a user chose.
    twice = names(mine, {**mine, "file": "b/tcp_mine.c"})
    assert twice == ["module file=a/tcp_mine.c", "module file=b/tcp_mine.c"]
    named = Factor.over("tcp.congestion", {"best": mine, "reno": "reno"})
    assert list(legend_names(named).values()) == ["best", "reno"]
    assert common_names(named) is None


def test_common_names_are_those_of_menus() -> None:
    def names(field: str, *levels: object) -> list[str] | None:
        found = common_names(Factor.over(field, levels))
        return None if found is None else list(found.values())

    assert names("tcp.congestion", "cubic", "bbr") == ["CUBIC", "BBR"]
    assert names("switch.policy", "tail-drop", "fq-codel") == ["tail drop", "FQ-CoDel"]
    assert names("tcp.congestion", "cubic", {"kind": "bbr"}) is None
    assert names("switch.buffer", "1 BDP", "2 BDP") is None


@pytest.mark.parametrize(
    ("text", "margin"), [("±0.01", (0.01, False)), ("+-.5", (0.5, False)), (" ± 2 % ", (0.02, True)), ("+/-1e-3", (1e-3, False))]
)  # fmt: skip
def test_margins_are_parsed(text: str, margin: tuple[float, bool]) -> None:
    assert parse_margin(text) == pytest.approx(margin)


def message(build: Callable[[], object]) -> str:
    with pytest.raises(ScenarioError) as error:
        build()
    return str(error.value)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            lambda: Design.full_factorial(BASE, [Factor.over("switch.bufer", ["1 BDP", "2 BDP"])]).scenarios,
            "switch.bufer: unknown field; did you mean 'buffer'? accepts buffer, policy, scheduler, ties, slot_phase",
        ),
        (
            lambda: Design.full_factorial(BASE, [TCP, Factor.over("switch.buffer", ["0 cells", "99 cells"])]).frame(),
            "switch.buffer: 0 cells; needs at least one full packet (12 cells at MSS 512)",
        ),
        (lambda: Design.two_level(BASE, []), "factors: none; needs at least one"),
        (lambda: Design(BASE, (TCP,), ()), "points: none; needs at least one"),
        (lambda: Design.full_factorial(BASE, [TCP], replications=0), "replications: 0; needs at least 1"),
        (
            lambda: Design.full_factorial(BASE, [Factor.over(f"f{i}", range(10)) for i in range(9)]),
            "factors: 1000000000 points; needs at most 20000: fewer levels, or a fraction",
        ),
        (
            lambda: Design.full_factorial(BASE, [TCP], replications=10**9),
            "replications: 1000000000 of 2 points; needs at most 1000000 runs in total",
        ),
        (
            lambda: Design.full_factorial(BASE, [TCP], first_seed=-1),
            "first_seed: -1; needs 0 to 18446744073709551615 for all seeds",
        ),
        (lambda: Design.full_factorial(BASE, [TCP, TCP]), "factors: 'tcp' occurs 2 times; needs each once"),
        (lambda: Factor.over("tcp.recovery", []), "tcp.recovery: no levels; needs at least 1"),
        (
            lambda: Factor.over("tcp.recovery", ["reno", "reno"]),
            "tcp.recovery: level 'reno' occurs twice; needs unique labels",
        ),
        (lambda: Factor.over("x", [1, 2], "seed"), "factors: 'seed' is a column of every design; needs another name"),
        (
            lambda: Factor.over("network.links", [[1], [2]]),
            "network.links: level [1] has no name; needs one, as in NAME=[1] on the command line, or a mapping from "
            "labels to values in Python",
        ),
        (
            lambda: Design.full_factorial(BASE, [Factor.over("name", ["a", "b"])]).scenarios,
            "factors: 'name=a' and 'name=b' are the same run; needs levels that change it",
        ),
        (
            lambda: Design.two_level(BASE, [TCP, Factor.over("network.sources", [1, 2, 3])]),
            "network.sources: 3 levels; needs exactly 2 in a two-level design",
        ),
        (
            lambda: Design.two_level(BASE, FACTORS, generators=["policy = tcp*bufer"]),
            "generators: 'policy = tcp*bufer' names 'bufer'; did you mean 'buffer'? accepts tcp, buffer, policy",
        ),
        (
            lambda: Design.two_level(BASE, FACTORS, generators=["policy = tcp"]),
            "generators: tcp and policy cannot be distinguished; needs products of two factors or more",
        ),
        (
            lambda: Design.two_level(BASE, FACTORS, generators=["tcp*buffer"]),
            "generators: 'tcp*buffer'; accepts 'factor = factor * factor'",
        ),
        (
            lambda: Design.two_level(BASE, FACTORS, generators=["policy=tcp*buffer", "tcp=buffer*policy"]),
            "generators: a product uses 'tcp', which is generated; needs free factors",
        ),
        (
            lambda: Design.two_level(BASE, FACTORS, confounded=["tcp"]),
            "confounded: tcp hides a main effect; needs longer products",
        ),
        (
            lambda: Design.two_level(BASE, FACTORS, generators=["policy=tcp*buffer"], confounded=["tcp*buffer*policy"]),
            "confounded: tcp*buffer*policy: a product is constant; needs independent products",
        ),
        (
            lambda: run_until(Study(Design.full_factorial(BASE, [TCP])), "efficiency", "0.01"),
            "until: '0.01'; accepts ±0.01, in the unit of the metric, or ±2 %, of its mean",
        ),
        (
            lambda: run_until(Study(Design.full_factorial(BASE, [TCP])), "efficiency", "±0"),
            "until: '±0'; accepts ±0.01, in the unit of the metric, or ±2 %, of its mean",
        ),
        (
            lambda: run_until(Study(Design.full_factorial(BASE, [TCP])), "efficiency", "±1", most=2),
            "most: 2; needs at least 5",
        ),
        (
            lambda: run_until(Study(Design.full_factorial(BASE, [TCP])), "eficiency", "±1", workers=1),
            "metric: 'eficiency'; did you mean 'efficiency'? accepts efficiency, fairness, throughput_bps, cells_lost, "
            "peak_queue_cells, retransmitted_bytes, timeouts, fast_retransmits, or a measure such as flow:FLOW.throughput",
        ),
        (
            lambda: Design.two_level(BASE, FACTORS, generators=["policy=tcp*buffer"]).anova(
                made_up(Design.two_level(BASE, FACTORS, generators=["policy=tcp*buffer"])), "y"
            ),
            "order: 1 leaves no degrees of freedom for the error (4 rows, as many parameters); needs a lower order, "
            "replications, or a saturated model, without tests and intervals",
        ),
    ],
)
def test_invalid_designs_are_rejected_with_accepted_values(build: Callable[[], object], expected: str) -> None:
    assert message(build) == expected


@pytest.mark.filterwarnings("ignore::longpipe.analysis.checks.AssumptionWarning")
def test_the_documented_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parent.parent / "docs" / "analysis.md"
    example, *_ = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, page.name, "exec"), {})
    assert "8 points, 40 runs, 80 s of simulated time" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} >= {"campaign.db", "interactions.png", "interactions.svg"}


def test_up_to_ten_design_problems_are_listed() -> None:
    buffers = [f"{cells} cells" for cells in range(12)]
    problems = message(lambda: Design.full_factorial(BASE, [TCP, Factor.over("switch.buffer", buffers)]).scenarios)
    assert len(problems.splitlines()) == 11
    assert problems.splitlines()[-1] == "and 2 more"
