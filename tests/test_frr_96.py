from functools import cache

import pandas as pd
import pytest

from longpipe import Scenario, simulate
from longpipe.analysis.claims import Verdict, judge
from longpipe.scenario import Dumbbell
from longpipe.units import SIZE
from longpipe_evidence.papers.atm_base import DETERMINISTIC_TIES
from longpipe_evidence.papers.experiments import Experiment
from longpipe_evidence.papers.frr_96 import PAPER, measure
from longpipe_evidence.papers.frr_96.claims import PEAK_CELLS

# The last row of each published table: plain UBR, EPD, Selective Drop, FBA.
PRINTED_AVERAGES = {
    ("vanilla", "efficiency"): (0.63, 0.78, 0.87, 0.92),
    ("vanilla", "fairness"): (0.73, 0.82, 0.93, 0.97),
    ("reno", "efficiency"): (0.73, 0.92, 0.89, 0.89),
    ("reno", "fairness"): (0.81, 0.97, 0.99, 0.95),
}


@cache
def planned() -> list[Experiment]:
    """Returns the paper's experiments, which are not built on import, because every worker imports all test modules."""
    return PAPER.experiments()


@pytest.mark.parametrize(("tcp", "metric"), PRINTED_AVERAGES)
def test_published_numbers_have_the_printed_column_averages(tcp: str, metric: str) -> None:
    published = PAPER.published()
    means = published[published["tcp"] == tcp].groupby("policy", sort=False)[metric].mean()
    assert list(means.index) == list(PAPER.column_names)
    assert means.to_numpy() == pytest.approx(PRINTED_AVERAGES[tcp, metric], abs=0.0051)


def test_every_published_configuration_is_simulated_once() -> None:
    factors = list(PAPER.factors)
    simulated = [tuple(e.factors[name] for name in factors) for e in planned() if e.table]
    assert len(simulated) == 64
    assert set(simulated) == set(PAPER.published()[factors].itertuples(index=False, name=None))
    digests = {e.replicated.digest() for e in planned()}
    assert len(digests) == len(planned())


def test_single_run_draws_no_random_numbers() -> None:
    lan = next(e.deterministic for e in planned() if e.deterministic)
    short = lan.with_(duration="500 ms")
    assert simulate(short, 1).state_hash == simulate(short, 2).state_hash


def test_replications_differ() -> None:
    lan = next(e.replicated for e in planned() if e.table).with_(duration="500 ms")
    assert simulate(lan, 1).state_hash != simulate(lan, 2).state_hash


@pytest.mark.parametrize("at", PEAK_CELLS)
def test_zero_loss_queue_peaks_at_windows_minus_pipe(at: tuple[str, int]) -> None:
    double = next(
        e.replicated
        for e in planned()
        if e.factors.get("part") == "double" and (e.factors["network"], e.factors["sources"]) == at
    )
    measured = measure(simulate(double.with_(duration="2 s")))
    assert measured["peak_queue_cells"] == pytest.approx(PEAK_CELLS[at], rel=0.01)
    assert (measured["cells_lost"], measured["timeouts"]) == (0, 0)


def test_peaks_follow_from_windows_and_delays() -> None:
    for (network, sources), peak in PEAK_CELLS.items():
        scenario = next(e.replicated for e in planned() if e.factors["network"] == network)
        assert isinstance(scenario.network, Dumbbell)
        round_trip_s = {"lan": 30e-6, "wan": 30e-3}[network]
        segments = SIZE.parse(scenario.tcp.receiver_window) // 512
        assert sources * segments * 12 - round_trip_s * 155.52e6 / 424 == pytest.approx(peak, abs=1)


def runs(efficiency: dict[tuple[str, str], float], spread: float = 0.0) -> pd.DataFrame:
    """Returns three seeds of the 64 configurations, with one efficiency and one fairness for each TCP variant and
    policy.
    """
    found = [
        {**e.factors, "table": e.table, "seed": seed, "efficiency": value, "fairness": value}
        for e in planned()
        if e.table
        for seed in (1, 2, 3)
        for value in [efficiency[str(e.factors["tcp"]), str(e.factors["policy"])] + spread * (seed - 2)]
    ]
    return pd.DataFrame(found)


LEVELS = {
    **{("vanilla", policy): level for policy, level in zip(PAPER.column_names, (0.6, 0.7, 0.8, 0.9), strict=True)},
    **{("reno", policy): level for policy, level in zip(PAPER.column_names, (0.65, 0.8, 0.82, 0.81), strict=True)},
}
SMALLEST = {(5, 1000), (5, 12000)}
FROM_TABLES = [claim for claim in PAPER.claims if claim.published]


def test_claims_are_numbered_consecutively() -> None:
    assert [claim.id for claim in PAPER.claims] == [f"frr-{n}" for n in range(1, 18)]


def test_published_tables_confirm_the_claims_of_the_paper() -> None:
    published = PAPER.published()
    repeated = pd.concat([published.assign(seed=seed) for seed in (1, 2, 3)])
    verdicts = {claim.id: judge(claim, repeated, repeated).verdict for claim in FROM_TABLES}
    assert verdicts == {claim.id: Verdict.HOLDS for claim in FROM_TABLES}


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        ("frr-1", {("vanilla", "epd"): 0.5}),
        ("frr-2", {("vanilla", "selective-drop"): 0.5}),
        ("frr-3", {("vanilla", "selective-drop"): 0.95}),
        ("frr-4", {("reno", "tail-drop"): 0.5}),
        ("frr-5", {("reno", "epd"): 1.0, ("reno", "fba"): 1.0}),
        ("frr-6", {("reno", "tail-drop"): 0.5}),
        ("frr-7", {("reno", "epd"): 0.7}),
        ("frr-8", {("reno", "fba"): 0.9}),
        ("frr-10", {("vanilla", "tail-drop"): 0.9}),
        ("frr-12", {("vanilla", "epd"): 0.8}),
        ("frr-13", {("vanilla", "selective-drop"): 0.6}),
        ("frr-16", {("reno", "selective-drop"): 0.7}),
    ],
)
def test_a_claim_fails_where_the_numbers_contradict_it(claim: str, change: dict[tuple[str, str], float]) -> None:
    judged = next(c for c in PAPER.claims if c.id == claim)
    contradicting = runs(LEVELS | change)
    assert judge(judged, contradicting, contradicting).verdict in (Verdict.FAILS, Verdict.IN_PART)


def test_every_variant_changes_the_experiments_it_applies_to() -> None:
    small = [e for e in planned() if e.table and (e.factors["sources"], e.factors["buffer_cells"]) in SMALLEST]
    for variant in PAPER.variants:
        changed = [e for e in small if variant.apply(e) != e.replicated]
        assert changed, variant.name
        assert changed == [e for e in small if variant.applies(e.factors)], variant.name
    names = [variant.name for variant in PAPER.variants]
    assert len(set(names)) == len(names)


def test_settings_equal_those_of_the_paper() -> None:
    wan = next(e.deterministic for e in planned() if e.factors["network"] == "wan")
    assert isinstance(wan, Scenario)
    assert (wan.duration, wan.tcp.receiver_window, wan.switch.ties) == ("20 s", "600000 B", DETERMINISTIC_TIES)
