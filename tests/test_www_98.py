from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from longpipe import simulate
from longpipe.analysis.claims import Verdict, judge
from longpipe.scenario import Web
from longpipe.store import Store
from longpipe.study import Runner
from longpipe.units import BUFFER, RATE, SIZE, TIME
from longpipe_evidence.cli.reproduce import parts
from longpipe_evidence.papers import PAPERS, www_98
from longpipe_evidence.papers.experiments import Experiment
from longpipe_evidence.papers.report.folder import Folder, Part
from longpipe_evidence.papers.reproduction import Reproduction, table_rows
from longpipe_evidence.papers.www_98 import PAPER, figures, measure
from longpipe_evidence.papers.www_98.variation import Documents
from reproduced import WRITTEN

PUBLISHED = {
    tuple(row[name] for name in ("table", *PAPER.factors)): row for row in PAPER.published().to_dict("records")
}


@cache
def planned() -> list[Experiment]:
    """Returns the paper's experiments, which are not built on import, because every worker imports all test modules."""
    return PAPER.experiments()


class Given:
    """A study whose measurements equal the published numbers, plus a little noise."""

    def __init__(self, spread: float) -> None:
        self.noise, self.spread = np.random.default_rng(1), spread

    def run(self, experiment: Experiment, seed: int) -> dict[str, object]:
        published = PUBLISHED[(experiment.table, *experiment.factors.values())]
        metrics = {m: published[m] + self.spread * self.noise.normal() for m in PAPER.metrics}
        waits = {f"{name}_{level}": 1.0 + level for name in ("median_s", "p95_s", "p99_s") for level in range(5)}
        waits["p99_s_4"] = np.nan
        known = {"table": experiment.table, "replicated": True, **experiment.factors, "seed": seed}
        return {**known, **metrics, **waits}

    def reproduction(self, seeds: int) -> Reproduction:
        runs = pd.DataFrame([self.run(e, seed) for seed in range(1, seeds + 1) for e in planned()])
        judged = (judge(claim, runs, PAPER.published().assign(seed=0)) for claim in PAPER.claims)
        return Reproduction(PAPER, "trains", seeds, 1.0, runs, table_rows(PAPER, runs), tuple(judged))


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return Given(0.001).reproduction(3)


def written(found: Reproduction, out: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("longpipe_evidence.papers.replicated.reproduce", lambda *_, **__: found)
        patch.setattr(Folder, "figures", lambda *_: None)
        parts.run(PAPER, Part.REPRODUCTION, found.seeds, out, Runner(Store()))
    return (out / "report.txt").read_text()


def test_a_directory_holds_report_tables_and_runs(found: Reproduction, tmp_path: Path) -> None:
    text = written(found, tmp_path)
    tables = {f"{name}.csv" for name in ("tables", "runs", *PAPER.summaries)}
    assert {path.name for path in tmp_path.iterdir()} == {*WRITTEN, *tables}
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    assert [text.count(f"Table {n}: ") for n in (4, 7, 10)] == [2, 2, 2]
    assert "single run" not in text


def test_every_link_has_its_figures(found: Reproduction) -> None:
    names = set(figures.figures(found)) - {"network"}
    kinds = (
        "variation-{}",
        *(f"{kind}-{{}}-{metric}" for kind in ("effects", "interactions") for metric in PAPER.metrics),
    )
    assert names == {*PAPER.metrics, *(kind.format(link) for kind in kinds for link in ("wan", "meo", "geo"))}


def test_points_of_the_figures_are_the_rows_of_the_tables(found: Reproduction) -> None:
    points = figures.points(found, "efficiency")
    assert len(points) == 72
    assert points.loc[0, "published"] == 0.4245


def test_one_seed_repeats_the_analysis_of_the_paper(tmp_path: Path) -> None:
    alone = Given(0.0).reproduction(1)
    assert "www-25 " in written(alone, tmp_path)
    summaries = alone.summaries
    variation = summaries["variation"].dropna(subset=["published_percent"])
    assert variation["mean_percent"].to_numpy() == pytest.approx(variation["published_percent"].to_numpy(), abs=0.011)
    effects = summaries["effects"]
    for name in ("effect", "low", "high"):
        ours, theirs = effects[f"mean_{name}"].to_numpy(), effects[f"published_{name}"].to_numpy()
        assert ours == pytest.approx(theirs, abs=1.5e-4)


def test_all_72_published_rows_are_simulated() -> None:
    published = PAPER.published()
    factors = ["table", *PAPER.factors]
    assert len(published) == len(planned()) == len({e.replicated.digest() for e in planned()}) == 72
    simulated = [(e.table, *e.factors.values()) for e in planned()]
    assert simulated == list(published[factors].itertuples(index=False, name=None))
    assert PAPER.seeds == 10


def test_settings_equal_those_of_the_paper() -> None:
    for e, row in zip(planned(), PAPER.published().to_dict("records"), strict=True):
        scenario, link = e.replicated, str(e.factors["network"])
        network = scenario.network
        assert network.kind == "dumbbell"
        assert (network.sources, scenario.duration) == (100, "100 s")
        assert (RATE.parse(network.access_rate), RATE.parse(network.trunk_rate)) == (149_760_000, 45_000_000)
        assert TIME.parse(network.trunk_delay) / 1e9 == {"wan": 5, "meo": 100, "geo": 275}[link]
        assert SIZE.parse(scenario.tcp.mss) == {"wan": 1024, "meo": 9180, "geo": 9180}[link]
        product = {"wan": 56_250, "meo": 1_125_000, "geo": 3_093_750}[link]
        assert SIZE.parse(scenario.tcp.initial_ssthresh) == product
        window = {"wan": 65_536, "meo": 2_097_120, "geo": 4_194_240}[link]
        assert SIZE.parse(scenario.tcp.receiver_window) == window
        assert BUFFER.split(scenario.switch.buffer)[0] == row["buffer_cells"]
        assert not scenario.tcp.silly_window_avoidance
        assert isinstance(scenario.traffic, Web)


def test_efficiency_is_highest_sequence_number_over_capacity() -> None:
    scenario = planned()[0].replicated.with_(duration="2 s")
    result = simulate(scenario)
    measured = measure(result)
    highest_bps = result.flows["highest_sequence_bytes"].sum() * 8 / 2
    # 1024 bytes of payload take 23 cells of 53 bytes; for this, section 7 states 37.80 Mbit/s.
    assert measured["efficiency"] == pytest.approx(highest_bps / 37.80e6, rel=1e-3)
    assert 0 < measured["fairness"] <= 1
    assert measured["scheduled_bps"] == result.web["scheduled_bytes"].sum() * 8 / 2


def test_claims_are_numbered_consecutively() -> None:
    assert [claim.id for claim in PAPER.claims] == [f"www-{n}" for n in range(1, 26)]


def test_published_tables_confirm_the_claims_of_the_paper() -> None:
    published = PAPER.published()
    repeated = pd.concat([published.assign(seed=seed) for seed in (1, 2, 3)])
    verdicts = {claim.id: judge(claim, repeated, repeated).verdict for claim in PAPER.claims}
    # Table 9 contradicts the text: Reno's interval ends at 0.0019, but NewReno's begins at 0.0013. Table 4 contradicts
    # it, too: SACK with 0.5 RTT differs by 0.076 between the policies, and Selective Drop is not fairer there.
    failing = {c for c, verdict in verdicts.items() if verdict is not Verdict.HOLDS}
    assert failing == {"www-9", "www-16", "www-19"}


def test_a_contradicted_claim_fails() -> None:
    published = PAPER.published()
    worse = published.assign(efficiency=1 - published["efficiency"], fairness=1 - published["fairness"])
    repeated = pd.concat([worse.assign(seed=seed) for seed in (1, 2, 3)])
    verdicts = {claim.id: judge(claim, repeated, repeated).verdict for claim in PAPER.claims}
    failing = {c for c, verdict in verdicts.items() if verdict in (Verdict.FAILS, Verdict.IN_PART)}
    assert {"www-2", "www-4", "www-5", "www-6", "www-8", "www-9", "www-11", "www-13"} <= failing


def test_survival_counts_agreeing_seeds(found: Reproduction) -> None:
    survival = found.summaries["survival"].set_index("claim")
    judged = {claim.id: claim.verdict for claim in found.claims}
    assert survival["replicated"].to_dict() == judged
    assert survival.loc["www-1", "seeds_agreeing"] == "3 of 3"


def test_shares_of_a_seed_leave_out_its_error(found: Reproduction) -> None:
    shares = Documents(found.runs).shares("wan", "efficiency")
    assert list(shares.index) == [1, 2, 3]
    assert (shares.sum(axis="columns") < 1).all()
    assert shares["tcp"].mean() == pytest.approx(0.575, abs=0.01)


def test_response_times_mark_too_short_runs(found: Reproduction) -> None:
    times = found.summaries["response_times"]
    assert len(times) == 3 * 4 * 5
    assert np.isinf(times.loc[times["class"] == 4, "p99_s"]).all()


def test_every_variant_changes_the_experiments_it_applies_to() -> None:
    for variant in PAPER.variants:
        changed = [e for e in planned()[::7] if variant.apply(e) != e.replicated]
        assert changed, variant.name
        assert changed == [e for e in planned()[::7] if variant.applies(e.factors)], variant.name


def test_paper_is_registered_by_id() -> None:
    assert PAPERS["www-98"] is www_98.PAPER
