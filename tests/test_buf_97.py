import json
import math
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from longpipe import simulate
from longpipe.analysis.claims import Verdict, judge
from longpipe.analysis.knee import knee
from longpipe.errors import ScenarioError
from longpipe.report.parts import NOTHING
from longpipe.store import Store
from longpipe.study import Runner
from longpipe.units import TIME
from longpipe_evidence.cli.reproduce import parts
from longpipe_evidence.papers import frr_96
from longpipe_evidence.papers.buf_97 import PAPER, figures
from longpipe_evidence.papers.buf_97.beyond import BEYOND, experiments, grid, small_buffer_bdp
from longpipe_evidence.papers.buf_97.bounds import start_up_bound
from longpipe_evidence.papers.buf_97.links import LINKS
from longpipe_evidence.papers.experiments import Experiment, Factors
from longpipe_evidence.papers.frozen import frozen
from longpipe_evidence.papers.report.folder import Part
from longpipe_evidence.papers.reproduction import Reproduction, reproduce_beyond, table_rows
from longpipe_evidence.papers.sensitivity import BASELINE, closest, with_baseline
from longpipe_evidence.papers.text import show, text_of
from reproduced import WRITTEN, drawn_here


@cache
def planned() -> list[Experiment]:
    """Returns the paper's experiments, which are not built on import, because every worker imports all test modules."""
    return PAPER.experiments()


@cache
def tabulated() -> list[Experiment]:
    return [e for e in planned() if e.table]


def as_concluded(experiment: Experiment, seed: int) -> dict[str, object]:
    """Returns runs that agree with the paper's conclusions, with a little noise."""
    buffer, sources = float(experiment.factors["buffer_rtt"]), int(experiment.factors["sources"])
    knee_at, steepness = 0.25, 1 + sources / 10
    curve = 1 / (1 + (knee_at / buffer) ** steepness)
    efficiency = 0.999 * (0.985 if buffer <= 1 else 0.982) if buffer >= 0.5 else 0.98 * min(1.0, curve)
    efficiency += 0.0005 * math.sin(seed)
    known = {"table": experiment.table, "replicated": True, "seed": seed, "part": None, **experiment.factors}
    late = {"duplicates": 0.001 * buffer + 1e-5 * math.sin(seed), "timeouts": 2 * buffer + 0.1 * math.sin(seed)}
    return {**known, "efficiency": efficiency, "printed_efficiency": efficiency * 1.03, "fairness": 0.98, **late}


def concluded(*, worse: bool = False) -> pd.DataFrame:
    rows = [as_concluded(e, seed) for e in planned() for seed in (1, 2, 3)]
    [recording] = PAPER.recordings
    chosen = [e for e in tabulated() if recording.chosen(e)]
    assert [(e.factors["network"], e.factors["sources"]) for e in chosen] == [("multi-leo", 5), ("geo", 5)]
    for experiment in chosen:
        for seed in (1, 2, 3):
            needless = {"needless_timeouts": 3 + 0.1 * math.sin(seed)}
            rows.append({**experiment.factors, "part": "recorded", "replicated": True, "seed": seed, **needless})
    runs = pd.DataFrame(rows)
    metrics = ["efficiency", "printed_efficiency", "fairness", "duplicates", "timeouts", "needless_timeouts"]
    if not worse:
        return runs
    opposite = runs.assign(**{m: 1 - runs[m] for m in metrics})
    # A buffer above one round trip further increases efficiency, contrary to claim 7.
    return opposite.assign(efficiency=opposite["efficiency"].where(opposite["buffer_rtt"] <= 1, 0.5))


def test_points_are_the_full_factorial_of_the_paper() -> None:
    assert len(tabulated()) == 72
    assert len({e.replicated.digest() for e in planned()}) == len(planned())
    for network, link in LINKS.items():
        chosen = [e.factors for e in tabulated() if e.factors["network"] == network]
        assert len(chosen) == 24
        assert {0.5, 1.0, 2.0} <= {f["buffer_rtt"] for f in chosen}
        assert len(link.buffers_cells) == 8


def test_settings_equal_those_of_the_paper() -> None:
    for e in tabulated():
        for scenario in (e.replicated, e.deterministic):
            assert scenario is not None
            network = scenario.network
            assert network.kind == "dumbbell"
            assert (scenario.tcp.recovery.kind, scenario.tcp.mss) == ("sack", "9180 B")
            assert scenario.switch.policy.kind == "selective-drop"
            delays = network.access_delay, network.trunk_delay, network.exit_delay
            milliseconds = 2 * sum(map(TIME.parse, delays)) / 1e9
            assert milliseconds == {"leo": 30, "multi-leo": 120, "geo": 570}[str(e.factors["network"])]
            assert scenario.duration == ("20 s" if e.factors["network"] == "leo" else "100 s")


def test_only_replications_draw_random_numbers() -> None:
    first = tabulated()[0]
    assert first.deterministic is not None
    single, drawn = (scenario.with_(duration="300 ms") for scenario in (first.deterministic, first.replicated))
    assert simulate(single, 1).state_hash == simulate(single, 2).state_hash
    assert simulate(drawn, 1).state_hash != simulate(drawn, 2).state_hash


def test_runs_beyond_the_paper_are_measured_like_its_own(tmp_path: Path) -> None:
    few = [replace(e, replicated=e.replicated.with_(duration="1100 ms")) for e in experiments((5,))[:2]]
    with closing(Store(tmp_path / "runs.sqlite")) as store:
        runs = reproduce_beyond(PAPER, replace(BEYOND, experiments=lambda: few), 2, Runner(store))
    assert runs["seed"].tolist() == [1, 2, 1, 2]
    assert runs["efficiency"].between(0, 1).all()


def test_readings_change_starts_in_every_experiment() -> None:
    assert len(PAPER.readings) == 3
    default = {e.replicated.digest() for e in planned()}
    for reading in PAPER.readings.values():
        changed = reading.experiments()
        assert [e.factors for e in changed] == [e.factors for e in planned()]
        assert default.isdisjoint(e.replicated.digest() for e in changed)
        assert [claim.id for claim in reading.claims] == [claim.id for claim in PAPER.claims]


def test_the_start_up_bounds_are_those_of_doubling_windows() -> None:
    geo = LINKS["geo"]
    assert [start_up_bound(geo, n) for n in geo.sources] == pytest.approx([0.9585, 0.9677, 0.9771], abs=5e-5)


def test_runs_that_agree_with_the_paper_confirm_its_claims() -> None:
    runs = concluded()
    verdicts = {claim.id: judge(claim, runs, runs).verdict for claim in PAPER.claims}
    assert set(verdicts.values()) == {Verdict.HOLDS}, verdicts


def test_fairness_of_runs_that_deliver_nothing_is_undefined() -> None:
    [starved] = [e for e in tabulated() if e.factors["network"] == "leo" and e.factors["buffer_cells"] == 375][-1:]
    assert starved.factors["sources"] == 100
    assert starved.deterministic is not None
    found = PAPER.measure(simulate(starved.deterministic.with_(duration="500 ms"), 1))
    assert found["delivered_bytes"] == found["efficiency"] == 0
    assert math.isnan(found["fairness"])


def without_fairness(runs: pd.DataFrame, *buffers_rtt: float) -> pd.DataFrame:
    """Returns the runs with undefined fairness of 100 sources over LEO with these buffers."""
    starved = (runs["network"] == "leo") & (runs["sources"] == 100) & runs["buffer_rtt"].isin(buffers_rtt)
    return runs.assign(fairness=runs["fairness"].mask(starved))


def test_a_claim_on_fairness_counts_the_buffers_at_which_it_is_defined() -> None:
    [claim] = [claim for claim in PAPER.claims if claim.id == "buf-6"]
    runs = without_fairness(concluded(), 0.5)
    found = judge(claim, runs, runs[runs["seed"] == 1])
    name = "F(leo, N 100, half a round trip or more; mean over 3 of 4 buffers, nothing is delivered with the others)"
    assert found.findings[0].quantity == name
    assert found.findings[0].mean == pytest.approx(0.98)
    assert found.verdict is Verdict.HOLDS
    assert found.findings[1].quantity == "F(multi-leo, N 50, half a round trip or more)"


def test_undefined_fairness_is_shown_as_a_dash_and_gap() -> None:
    runs = without_fairness(concluded(), 0.5)
    runs.loc[(runs["network"] == "geo") & (runs["seed"] == 2), "fairness"] = math.nan
    rows = table_rows(PAPER, pd.concat([runs[runs["table"].notna()].assign(replicated=False)[:0], runs]))
    of = rows[rows["metric"] == "fairness"].set_index(["network", "sources", "buffer_rtt"])
    assert of.loc[("leo", 100, 0.5), "seeds"] == 0
    assert of["mean"].isna().sum() == 1
    assert of.loc[("geo", 50, 0.5), "seeds"] == 2
    assert of.loc[("geo", 50, 0.5), "mean"] == pytest.approx(0.98)
    made_up = Reproduction(PAPER, "train", 3, 1.0, runs, rows, ())
    text = text_of(lambda console: show(made_up, console))
    assert "nan" not in text
    assert f"undefined ({NOTHING}) in 1 of 24 rows" in text
    drawn = figures.against_buffer(made_up, "fairness")
    assert "no point where nothing is delivered" in drawn.get_suptitle()


def test_one_seed_has_no_interval_in_a_figure() -> None:
    runs = concluded()
    one = runs[runs["seed"] == 1]
    drawn = figures.against_buffer(Reproduction(PAPER, "train", 1, 1.0, one, table_rows(PAPER, one), ()), "efficiency")
    assert "line: 1 seed, no interval; " in drawn.get_suptitle()
    assert not any(isinstance(line, LineCollection) for panel in drawn.axes for line in panel.get_children())


def test_variants_are_compared_only_with_a_defined_baseline() -> None:
    levels = {"network": "leo", "sources": 5, "buffer_cells": 375, "buffer_rtt": 0.5}
    rows = [
        {"variant": variant, **levels, "metric": metric, "published": math.nan, "mean": mean}
        for metric, means in {"fairness": (math.nan, 0.9), "efficiency": (0.5, 0.7)}.items()
        for variant, mean in zip(("as reproduced", "other"), means, strict=True)
    ]
    found = with_baseline(PAPER, pd.DataFrame(rows))
    assert found.loc[found["metric"] == "fairness", "published"].isna().all()
    assert (found.loc[found["metric"] == "efficiency", "published"] == 0.5).all()
    assert closest(PAPER, found)["metric"].tolist() == ["efficiency"]


def test_packaged_sensitivity_equals_the_simulated_one() -> None:
    shipped = frozen(PAPER.id)
    assert shipped is not None
    rows, seeds = shipped.frame("sensitivity-rows"), range(1, shipped.record["seeds"] + 1)
    variants = (BASELINE, *PAPER.other_readings, *PAPER.variants)
    [one] = [e for e in tabulated() if [*e.factors.values()][:3] == ["leo", 15, 6000]]
    for variant in variants:
        of = rows[(rows["variant"] == variant.name) & (rows["metric"] == "efficiency")]
        [mean] = of.loc[(of["network"] == "leo") & (of["sources"] == 15) & (of["buffer_cells"] == 6000), "mean"]
        measured = [PAPER.measure(simulate(variant.apply(one), seed))["efficiency"] for seed in seeds]
        assert np.mean(measured) == pytest.approx(mean, rel=1e-5), variant.name


def test_contradicted_claims_fail() -> None:
    runs = concluded(worse=True)
    verdicts = {claim.id: judge(claim, runs, runs).verdict for claim in PAPER.claims}
    assert set(verdicts.values()) == {Verdict.FAILS}, verdicts


def test_knee_is_the_first_point_at_95_percent_of_maximum() -> None:
    assert knee([1, 2, 4, 8], [0, 0, 0.95, 1]) == pytest.approx(4)
    assert knee([1, 4], [0.9, 1.0]) == pytest.approx(2)
    assert knee([3, 4, 5], [0.99, 1.0, 0.5]) == pytest.approx(3)
    assert math.isnan(knee([1, 2], [0, 0]))


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with the report on such runs, and on an extension with synthetic runs."""
    directory = tmp_path_factory.mktemp("buf-97")
    replicated = concluded()
    single = replicated[(replicated["seed"] == 1) & replicated["table"].notna()].assign(replicated=False)
    runs = pd.concat([single, replicated], ignore_index=True)
    claims = tuple(judge(claim, replicated, replicated) for claim in PAPER.claims)
    made_up = Reproduction(PAPER, "train", 3, 1.0, runs, table_rows(PAPER, runs), claims)
    with drawn_here(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("longpipe_evidence.papers.replicated.reproduce", lambda *_, **__: made_up)
        patch.setattr("longpipe_evidence.papers.replicated.reproduce_beyond", lambda *_, **__: made_up_beyond(grid()))
        parts.run(PAPER, Part.REPRODUCTION, 3, directory, Runner(Store()))
        parts.run(PAPER, Part.BEYOND, 1, directory, Runner(Store()))
    return directory


def made_up_beyond(factors: Iterable[Factors]) -> pd.DataFrame:
    """Returns runs with efficiency proportional to the buffer up to a quarter of the bandwidth-delay product."""
    rows = [{**f, "seed": 1, "efficiency": min(1.0, float(f["buffer_bdp"]) / 0.25), "fairness": 1.0} for f in factors]
    return pd.DataFrame(rows)


def test_a_directory_holds_report_tables_runs_and_figures(out: Path) -> None:
    names = {
        f"{name}.{kind}"
        for name in ("network", "efficiency", "fairness", "starts", "how-much-buffer")
        for kind in ("png", "svg")
    }
    names |= {f"{name}.csv" for name in ("tables", "runs", "beyond", "buffer-needed", *PAPER.summaries)}
    assert {path.name for path in out.iterdir()} == {*WRITTEN, *names}


def test_the_report_has_figures_without_published_numbers(out: Path) -> None:
    text = (out / "report.txt").read_text()
    assert max(map(len, text.splitlines())) <= 100
    assert [text.count(f"Figure {n}: ") for n in (2, 3, 4)] == [2, 2, 2]
    assert "nan" not in text
    report = json.loads((out / "report.json").read_text())
    assert [table["table"] for table in report["tables"]] == ["2", "3", "4"]
    for table in report["tables"]:
        assert len(table["rows"]) == 24
        assert table["mean_absolute_error"] == {"efficiency": None, "fairness": None}
        for row in table["rows"]:
            assert row["efficiency"]["published"] is None
            assert 0 <= row["efficiency"]["mean"] <= 1


def test_start_up_and_remainder_add_up_to_the_run(out: Path) -> None:
    found = pd.read_csv(out / "start-up.csv")
    assert len(found) == 9
    assert found["whole"].to_numpy() == pytest.approx((found["first_fifth"] + 4 * found["rest"]).to_numpy() / 5)


def test_runs_beyond_the_paper_have_a_thousand_sources_and_every_flavor() -> None:
    factors = list(grid())
    assert max(int(f["sources"]) for f in factors) == 1000
    assert {f["tcp"] for f in factors} == {"vanilla", "tahoe", "reno", "newreno", "sack"}
    smallest = min(float(f["buffer_bdp"]) for f in factors if f["sources"] == 1000 and f["rule"] == "sqrt")
    assert smallest == pytest.approx(small_buffer_bdp(1000), abs=1e-6)
    few = experiments(sources=(5, 15))
    assert len({e.replicated.digest() for e in few}) == len(few) == len(factors) / 3


def test_the_buffer_needed_is_the_knee_of_each_curve() -> None:
    found = BEYOND.summaries["buffer-needed"](made_up_beyond(grid((15,))))
    assert len(found) == 15
    assert (found["best_efficiency"] == 1).all()
    assert found["needed_bdp"].between(0.2, 0.25).all()
    assert found["small_bdp"].to_numpy() == pytest.approx(1 / np.sqrt(15), abs=1e-6)


def test_points_of_a_figure_are_the_rows_of_its_curve(out: Path) -> None:
    rows = pd.read_csv(out / "tables.csv", dtype={"table": str})
    chosen = rows[(rows["network"] == "geo") & (rows["sources"] == 50) & (rows["metric"] == "fairness")]
    assert chosen["buffer_cells"].tolist() == list(LINKS["geo"].buffers_cells)
    assert list(figures.LABELS) == list(PAPER.metrics)


def test_paper_without_an_extension_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="--beyond: frr-96 has no extension; needs one of: buf-97"):
        parts.run(frr_96.PAPER, Part.BEYOND, 1, tmp_path, Runner(Store()))
