from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from longpipe import Scenario, simulate
from longpipe.analysis.claims import Verdict, judge
from longpipe.store import Store
from longpipe.study import Runner
from longpipe.units import TIME
from longpipe_evidence.cli.reproduce import parts
from longpipe_evidence.papers import PAPERS, gr_97
from longpipe_evidence.papers.experiments import Experiment
from longpipe_evidence.papers.gr_97 import PAPER, figures, measure
from longpipe_evidence.papers.gr_97.summaries import outside
from longpipe_evidence.papers.report.folder import Folder, Part
from longpipe_evidence.papers.reproduction import Reproduction, table_rows
from reproduced import WRITTEN, drawn_here

PUBLISHED = {
    tuple(row[name] for name in ("table", *PAPER.factors)): row for row in PAPER.published().to_dict("records")
}
# Ratio of the attainable payload with the segments actually used to that with 512-byte segments.
TAXES = (9180 / 193) / (512 / 12)


@cache
def planned() -> list[Experiment]:
    """Returns the paper's experiments, which are not built on import, because every worker imports all test modules."""
    return [e for e in PAPER.experiments() if e.table]


class Given:
    """A study whose measurements equal the published numbers, plus a little noise."""

    def __init__(self) -> None:
        self.noise = np.random.default_rng(1)

    def run(self, experiment: Experiment, seed: int, *, replicated: bool) -> dict[str, object]:
        published = PUBLISHED[(experiment.table, *experiment.factors.values())]
        spread = 0.02 if replicated else 0.0
        efficiency, fairness = (published[m] + spread * self.noise.normal() for m in PAPER.metrics)
        satellite = experiment.factors["network"] == "satellite"
        true_efficiency = efficiency / (TAXES if satellite else 1)
        others = {
            "vbr_delay_s": 0.1,
            "vbr_longest_delay_s": 0.2,
            "vbr_cells_lost": 0,
            "true_efficiency": true_efficiency,
        }
        known = {"table": experiment.table, "replicated": replicated, **experiment.factors, "seed": seed}
        return {**known, "efficiency": efficiency, "fairness": fairness, **others}

    def reproduction(self) -> Reproduction:
        plan = [(seed, e) for seed in (0, 1, 2, 3) for e in planned()]
        runs = pd.DataFrame([self.run(e, seed, replicated=seed > 0) for seed, e in plan])
        # The other claims require runs for which no table was published.
        claims = [claim for claim in PAPER.claims if claim.published]
        judged = (judge(claim, runs[runs["replicated"]], PAPER.published().assign(seed=0)) for claim in claims)
        return Reproduction(PAPER, "reference", 3, 1.0, runs, table_rows(PAPER, runs), tuple(judged))


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return Given().reproduction()


def test_a_directory_holds_report_tables_runs_and_figures(found: Reproduction, tmp_path: Path) -> None:
    with drawn_here(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("longpipe_evidence.papers.replicated.reproduce", lambda *_, **__: found)
        parts.run(PAPER, Part.REPRODUCTION, 3, tmp_path, Runner(Store()))
    names = ("link-shares", "network", "vbr-period", "starved", "by-factor")
    figures = {f"{name}.{kind}" for name in names for kind in ("png", "svg")}
    tables = {f"{name}.csv" for name in ("tables", "runs", *PAPER.summaries)}
    assert {path.name for path in tmp_path.iterdir()} == {*WRITTEN, *tables, *figures}
    text = (tmp_path / "report.txt").read_text()
    assert max(map(len, text.splitlines())) <= 100
    assert [text.count(f"Table {n}: ") for n in range(1, 10)] == [1, 1, 1, 1, 1, 1, 2, 2, 2]


def test_all_306_published_rows_are_simulated() -> None:
    factors = ["table", *PAPER.factors]
    published = PAPER.published()
    assert len(published) == len(planned()) == 306
    simulated = [(e.table, *e.factors.values()) for e in planned()]
    assert simulated == list(published[factors].itertuples(index=False, name=None))


def test_rows_that_two_tables_share_are_one_scenario() -> None:
    assert len({e.replicated.digest() for e in planned()}) == 306 - 12


def test_settings_equal_those_of_the_paper() -> None:
    for e in planned():
        scenario, network = e.replicated, str(e.factors["network"])
        assert scenario.network.kind == "dumbbell"
        assert scenario.network.vbr is not None
        assert scenario.network.vbr.period == f"{e.factors['vbr_period_ms']} ms"
        assert scenario.duration == {"lan": "10 s", "wan": "20 s", "satellite": "40 s"}[network]
        delays = scenario.network.access_delay, scenario.network.trunk_delay, scenario.network.exit_delay
        round_trip_ms = 2 * sum(map(TIME.parse, delays)) / 1e9
        assert round_trip_ms == {"lan": 0.03, "wan": 30, "satellite": 550.02}[network]
        kind = "guaranteed-rate" if e.factors["guaranteed_rate"] else "priority"
        assert scenario.switch.scheduler.kind == kind


def test_only_replications_draw_random_numbers() -> None:
    first = next(e for e in planned() if e.deterministic)
    assert isinstance(first.deterministic, Scenario)
    single = first.deterministic.with_(duration="500 ms")
    assert simulate(single, 1).state_hash == simulate(single, 2).state_hash
    drawn = first.replicated.with_(duration="500 ms")
    assert simulate(drawn, 1).state_hash != simulate(drawn, 2).state_hash


def test_satellite_efficiency_has_published_and_true_denominators() -> None:
    satellite = next(e.replicated for e in planned() if e.factors["network"] == "satellite")
    measured = measure(simulate(satellite.with_(duration="2 s")))
    assert measured["efficiency"] / measured["true_efficiency"] == pytest.approx(TAXES)
    lan = measure(simulate(planned()[0].replicated.with_(duration="1 s")))
    assert lan["efficiency"] == lan["true_efficiency"]
    assert lan["vbr_cells_lost"] == 0


def test_claims_are_numbered_consecutively() -> None:
    numbers = [claim.id for claim in PAPER.claims if claim.id not in ("gr-1-phase", "gr-3-plain", "gr-13-second")]
    assert numbers == [f"gr-{n}" for n in range(1, 14)]


def test_published_tables_confirm_the_claims_of_the_paper() -> None:
    published = PAPER.published()
    repeated = pd.concat([published.assign(seed=seed) for seed in (1, 2, 3)])
    verdicts = {claim.id: judge(claim, repeated, repeated).verdict for claim in PAPER.claims if claim.published}
    assert set(verdicts.values()) == {Verdict.HOLDS}


def test_a_contradicted_claim_fails() -> None:
    published = PAPER.published()
    worse = published.assign(efficiency=1 - published["efficiency"], fairness=1 - published["fairness"])
    repeated = pd.concat([worse.assign(seed=seed) for seed in (1, 2, 3)])
    verdicts = {claim.id: judge(claim, repeated, repeated).verdict for claim in PAPER.claims if claim.published}
    assert {"gr-1", "gr-2", "gr-4", "gr-7"} <= {c for c, verdict in verdicts.items() if verdict is Verdict.FAILS}


def test_every_variant_changes_the_experiments_it_applies_to() -> None:
    few = planned()[::7]
    for variant in PAPER.variants:
        changed = [e for e in few if variant.apply(e) != e.replicated]
        assert changed, variant.name
        assert changed == [e for e in few if variant.applies(e.factors)], variant.name


def test_summaries_cover_networks_and_factors(found: Reproduction) -> None:
    summaries = found.summaries
    assert set(summaries["vbr"]["network"]) == {"lan", "wan", "satellite"}
    assert (summaries["vbr"]["cells_lost"] == 0).all()
    variation = summaries["variation"]
    total = variation[variation["network"] == "wan"].groupby("metric")["published"].sum()
    assert (total > 90).all()
    ratio = (
        summaries["denominators"]["efficiency_over_512_byte_tax"]
        / (summaries["denominators"]["efficiency_over_9180_byte_tax"])
    )
    assert ratio.dropna().to_numpy() == pytest.approx(TAXES)


def test_starved_runs_are_counted_once_by_efficiency(found: Reproduction) -> None:
    table, runs = found.summaries["starved"], found.runs
    runs = runs[runs["replicated"]]
    levels = {"network": "wan", "sources": 5, "buffer_cells": 12000, "tcp": "sack", "vbr_period_ms": 300}
    chosen = runs[(runs[list(levels)] == pd.Series(levels)).all(axis="columns")]
    chosen = chosen[chosen["table"].notna() & (chosen["guaranteed_rate"] == 0)]
    single = chosen.drop_duplicates(["policy", "seed"])
    of_sack = table[(table[list(levels)] == pd.Series(levels)).all(axis="columns")]
    [counts] = of_sack.filter(like="from_").to_dict("records")
    assert sum(counts.values()) == len(single)
    assert counts["from_0.5"] == single["efficiency"].between(0.5, 0.6, inclusive="left").sum()


def test_scatter_is_the_residual_of_main_effects(found: Reproduction) -> None:
    additive = found.rows.assign(
        published=found.rows["buffer_cells"] / 1e6 + found.rows["tcp"].map({"sack": 0.3, "reno": 0.1, "vanilla": 0.2})
    )
    table = PAPER.summaries["scatter"](additive, found.runs)
    assert len(table) == 9
    assert table["efficiency_residual"].to_numpy() == pytest.approx(0, abs=1e-9)
    scatter = found.summaries["scatter"]
    starved = scatter[(scatter["network"] == "wan") & (scatter["guaranteed_rate"] == 0)]
    assert starved["efficiency_residual"].item() == pytest.approx(0.106, abs=0.001)


def test_values_outside_the_seeds_are_listed_by_row(found: Reproduction) -> None:
    runs = found.runs[found.runs["replicated"]]
    listed = outside(found.rows, runs)
    assert len(listed) > 0
    assert ((listed["published"] < listed["lowest"]) | (listed["published"] > listed["highest"])).all()
    inside = found.rows.assign(published=found.rows["mean"])
    assert outside(inside, runs).empty


def test_points_of_the_figures_are_the_rows_of_the_tables(found: Reproduction) -> None:
    points = figures.points(found)
    assert len(points) == 306
    assert points.loc[0, "published_efficiency"] == 0.71


def test_paper_is_registered_by_id() -> None:
    assert PAPERS["gr-97"] is gr_97.PAPER


def test_values_outside_are_explained_by_the_nearest_variant(
    found: Reproduction, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published = PAPER.published().drop_duplicates([*PAPER.factors])
    rows = published.melt([*PAPER.factors], list(PAPER.metrics), "metric", "published")
    away = {"as reproduced": 0.2, "ties: rotating": 0.1, "clock phase 0": 0.3}
    varied = pd.concat(
        [rows.assign(variant=name, mean=rows["published"] + by) for name, by in away.items()], ignore_index=True
    )
    helps = (varied["variant"] == "clock phase 0") & (varied["network"] == "lan")
    varied["mean"] = varied["mean"].where(~helps, varied["published"] + 0.01)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("longpipe_evidence.papers.replicated.reproduce", lambda *_, **__: found)
        patch.setattr("longpipe_evidence.papers.replicated.sensitivity", lambda *_, **__: varied)
        patch.setattr(Folder, "figures", lambda *_: None)
        parts.run(PAPER, Part.SENSITIVITY, 1, tmp_path, Runner(Store()))
        assert "After longpipe reproduce gr-97 into" in capsys.readouterr().out
        assert not (tmp_path / "explained.csv").exists()
        parts.run(PAPER, Part.REPRODUCTION, 3, tmp_path, Runner(Store()))
        parts.run(PAPER, Part.SENSITIVITY, 1, tmp_path, Runner(Store()))
    outside = pd.read_csv(tmp_path / "outside.csv")
    explained = pd.read_csv(tmp_path / "explained.csv")
    assert len(outside) > 50
    pd.testing.assert_frame_equal(explained[outside.columns], outside)
    lan = explained["network"] == "lan"
    assert (explained["variant"] == np.where(lan, "clock phase 0", "ties: rotating")).all()
    assert (explained["near"] == lan).all()
    text = (tmp_path / "sensitivity.txt").read_text()
    assert "clock phase 0 (" in text
    assert max(map(len, text.splitlines())) <= 100
