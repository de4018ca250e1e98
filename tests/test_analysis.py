"""Tests checks of assumptions, intervals that need no assumptions, invalid input, and the contents of figures."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from longpipe import ScenarioError
from longpipe.analysis.anova import anova
from longpipe.analysis.bootstrap import bootstrap
from longpipe.analysis.checks import AssumptionWarning, check
from longpipe.analysis.comparisons import tukey
from longpipe.analysis.ranks import aligned_ranks
from longpipe.pictures import variation
from longpipe.pictures.saving import save
from worked_examples import BATTERY, BATTERY_UNBALANCED, ETCHING, GRAFTS, MEMORY_CACHE, SEVEN_IN_EIGHT


def design(
    seed: int, replications: int = 4, blocks: float = 0.0, noise: Callable[..., Any] | None = None
) -> pd.DataFrame:
    """Returns a 3 x 2 design in which level 0 of `a` is lower by 1, `b` has no effect, and seeds are shared."""
    rng = np.random.default_rng(seed)
    index = pd.MultiIndex.from_product([range(3), list("xy"), range(replications)], names=["a", "b", "seed"])
    frame = index.to_frame(index=False)
    errors = rng.normal(size=len(frame)) if noise is None else noise(rng, len(frame))
    shared = blocks * rng.normal(size=replications)
    return frame.assign(y=errors - (frame["a"] == 0) + shared[frame["seed"]])


def verdicts(frame: pd.DataFrame, blocks: str | None = None) -> dict[str, str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = check(anova(frame, "y", ["a", "b"], blocks=blocks))
    found = {str(row.assumption): str(row.verdict) for row in table.itertuples()}
    assert [str(w.message).split(": ")[1].split(" fails")[0] for w in caught] == [
        name for name, verdict in found.items() if verdict == "fails"
    ]
    assert all(w.category is AssumptionWarning for w in caught)
    return found


def test_normal_errors_pass_every_check() -> None:
    assert set(verdicts(design(1, 50)).values()) == {"not rejected"}


def test_each_violated_assumption_fails_its_own_check() -> None:
    skewed = verdicts(design(2, 50, noise=lambda rng, n: rng.exponential(size=n)))
    assert skewed["normality"] == "fails"
    unequal = verdicts(design(3, 50, noise=lambda rng, n: rng.normal(size=n) * np.repeat([1, 1, 1, 1, 1, 4], n // 6)))
    assert unequal["equal variance"] == "fails"
    shared = design(4, 50, blocks=2.0)
    assert verdicts(shared)["independence"] == "fails"
    assert verdicts(shared, blocks="seed")["independence"] == "untested"
    drifting = design(5, 50).drop(columns="seed")
    assert verdicts(drifting)["independence"] == "not rejected"
    assert verdicts(drifting.assign(y=drifting["y"] + np.sin(np.arange(300) / 3)))["independence"] == "fails"


def _rejected(alpha: float, ratio: float, replications: int, sets: int, blocks: str | None = None) -> float:
    """Returns how often equal variance is rejected if the errors of one of three levels are `ratio` times as large."""
    count = 0
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        frame = design(seed, replications, noise=lambda _, n, rng=rng: rng.normal(size=n))
        frame["y"] = frame["y"] * np.where(frame["a"] == 1, ratio, 1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)
            row = check(anova(frame, "y", ["a", "b"], blocks=blocks), alpha=alpha).iloc[1]
        assert (row["assumption"], row["test"]) == ("equal variance", "Brown-Forsythe")
        count += row["verdict"] == "fails"
    return count / sets


def test_unequal_variances_are_noticed_with_few_replications() -> None:
    # The F distribution rejects none of these, because one of three deviations from their median is 0.
    frame = design(7, 3)
    frame["y"] = frame["y"] * np.where(frame["a"] == 1, 100.0, 1.0)
    residual = anova(frame, "y", ["a", "b"]).residuals["residual"].to_numpy().reshape(6, 3)
    assert stats.levene(*residual, center="median").pvalue > 0.05
    assert verdicts(frame)["equal variance"] == "fails"
    assert _rejected(0.05, 100.0, 3, 40) >= 0.8
    assert _rejected(0.05, 10.0, 5, 40) >= 0.9


@pytest.mark.parametrize("blocks", [None, "seed"])
def test_equal_variances_are_rejected_at_the_significance_level(blocks: str | None) -> None:
    # 100 sets at 10 %: three standard deviations are 9 %.
    assert 0.03 <= _rejected(0.1, 1.0, 3, 100, blocks) <= 0.19


def test_copies_instead_of_replications_are_noticed() -> None:
    frame = design(6)
    copies = frame.assign(y=frame["a"] * 0.1 + (frame["b"] == "x") * 0.7)
    found = anova(copies, "y", ["a", "b"])
    assert found.standard_error == 0
    assert found.variation[["f", "p_value"]].isna().all(axis=None)
    assert found.effects()[["low", "high"]].isna().all(axis=None)
    assert np.isnan(found.mean_interval()).all()
    assert "the replications are identical" in repr(found)
    assert "the replications are identical" in check(found)["note"].iloc[-1]


# shapiro.test(residuals(aov(p ~ w))) gives W = 0.93752, p = 0.21516; anova(lm(abs(y - med) ~ g)) gives F = 0.7996.
def test_checks_agree_with_r() -> None:
    normality = check(anova(ETCHING, "y", ["power"])).iloc[0]
    assert (round(normality["statistic"], 5), round(normality["p_value"], 5)) == (0.93752, 0.21516)
    variance = check(anova(BATTERY, "y", ["material", "temperature"])).iloc[1]
    # R takes the p-value from the F distribution, longpipe from simulated normal errors; they differ in the tail.
    assert (round(variance["statistic"], 4), variance["p_value"]) == (0.7996, pytest.approx(0.60813, abs=0.03))


def test_checks_of_an_unreplicated_design_are_calibrated() -> None:
    """In unreplicated designs, Breusch and Pagan's statistic exceeds the chi-squared quantile five times too often."""
    index = pd.MultiIndex.from_product([range(4), range(3), range(2)], names=["a", "b", "c"])
    rejected = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        frame = index.to_frame(index=False)
        frame = frame.assign(y=rng.normal(size=24) + 5 * frame["a"] + frame["b"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)
            rejected += int((check(anova(frame, "y", list("abc")), alpha=0.05)["p_value"] < 0.05).sum())
    assert stats.binomtest(rejected, 300, 0.05).pvalue > 0.001


@pytest.mark.parametrize(
    ("blocks", "options"), [(0.0, {}), (2.0, {"blocks": "seed"}), (0.0, {"replications": 1, "order": 1})]
)
def test_bootstrap_and_t_intervals_cover_alike(blocks: float, options: dict[str, Any]) -> None:
    replications = options.pop("replications", 8)
    covered = {"t": 0, "bootstrap": 0}
    truth = np.array([-2 / 3, 1 / 3, 1 / 3, 0, 0])
    for seed in range(60):
        found = anova(design(seed, replications, blocks), "y", ["a", "b"], **options)
        for name, table in {"t": found.effects(0.9), "bootstrap": bootstrap(found, level=0.9, draws=400)}.items():
            covered[name] += int(((table["low"] < truth) & (truth < table["high"])).sum())
    for count in covered.values():
        # The effects of a factor sum to zero, so that about 180 of 300 intervals are independent.
        assert 0.82 < count / 300 < 0.97


def test_bootstrap_estimates_equal_those_of_the_analysis() -> None:
    for frame in (BATTERY, BATTERY_UNBALANCED):
        found = anova(frame, "y", ["material", "temperature"])
        ours, theirs = bootstrap(found, order=2, draws=200), found.effects(order=2)
        assert ours["effect"].to_numpy() == pytest.approx(theirs["effect"].to_numpy())
        pd.testing.assert_frame_equal(ours, bootstrap(found, order=2, draws=200))


def test_bootstrap_intervals_lean_with_skewed_errors() -> None:
    frame = design(7, 30, noise=lambda rng, n: rng.exponential(size=n) ** 2 * np.repeat([1, 0, 0, 0, 0, 0], n // 6))
    row = bootstrap(anova(frame, "y", ["a", "b"])).iloc[0]
    assert row["high"] - row["effect"] > 1.3 * (row["effect"] - row["low"])


def test_aligned_ranks_detect_effects_under_heavy_tails() -> None:
    found = [
        anova(design(seed, 20, noise=lambda rng, n: rng.standard_t(2, size=n)), "y", ["a", "b"]) for seed in range(60)
    ]
    plain = pd.DataFrame([analysis.variation.set_index("component")["p_value"] for analysis in found])
    ranked = pd.DataFrame([aligned_ranks(analysis).set_index("component")["p_value"] for analysis in found])
    assert (ranked["a"] < 0.05).mean() > (plain["a"] < 0.05).mean() + 0.2
    assert stats.binomtest(int((ranked[["b", "a:b"]] < 0.05).to_numpy().sum()), 120, 0.05).pvalue > 0.001


def message(build: Callable[[], object]) -> str:
    with pytest.raises(ScenarioError) as error:
        build()
    assert len(error.value.problems) == 1
    return str(error.value)


@pytest.mark.parametrize(
    ("frame", "response", "factors", "options", "expected"),
    [
        (BATTERY, "z", ["material"], {}, "response: 'z' is not a column; accepts material, temperature, y"),
        (
            BATTERY,
            "y",
            ["materiel"],
            {},
            "factors: 'materiel' is not a column; did you mean 'material'? accepts material, temperature, y",
        ),
        (BATTERY, "y", ["y"], {}, "factors: 'y' is already used as response; needs another column"),
        (BATTERY, "y", [], {}, "factors: none; accepts material, temperature, y"),
        (BATTERY.head(0), "y", ["material"], {}, "rows: none; needs one row per run"),
        (BATTERY.head(12), "y", ["material"], {}, "factors: 'material' is '1' in every row; needs at least 2 levels"),
        (
            BATTERY.assign(y="long"),
            "y",
            ["material"],
            {},
            "response: 'y' has 'long' in row 1; needs a column of numbers, or of numbers with units of one kind",
        ),
        (
            BATTERY.assign(y=["1", "fast", *["2"] * 34]),
            "y",
            ["material"],
            {},
            "response: 'y' has 'fast' in row 2; needs a column of numbers, or of numbers with units of one kind",
        ),
        (
            BATTERY.assign(y=BATTERY["y"].replace(130, np.nan)),
            "y",
            ["material"],
            {},
            "response: 1 of 36 values of 'y' are not finite, for example because a flow did not end; needs numbers: "
            "longer runs, "
            "a measure that every run has, or only the other rows, which may leave out the worst (--where 'y>=20')",
        ),
        (BATTERY.assign(y=1.0), "y", ["material"], {}, "response: 'y' is 1 in every row; needs values that vary"),
        (
            BATTERY.assign(material=BATTERY["material"].where(BATTERY["y"] > 30)),
            "y",
            ["material"],
            {},
            "factors: 2 of 36 rows have no 'material'; needs a level in each row",
        ),
        (BATTERY, "y", ["material"], {"order": 2}, "order: 2; needs 1 to 1, the number of factors"),
        (BATTERY, "y", ["material"], {"terms": []}, "terms: none; needs at least one, as in 'tcp' or 'tcp:buffer'"),
        (BATTERY, "y", ["material"], {"terms": ["x"]}, "terms: 'x' names 'x'; accepts material"),
        (
            BATTERY,
            "y",
            ["material"],
            {"terms": ["material"], "order": 1},
            "order: 1 together with terms; needs one of the two",
        ),
        (
            MEMORY_CACHE,
            "y",
            ["a", "b"],
            {"order": 2},
            "order: 2 leaves no degrees of freedom for the error (4 rows, as many parameters); needs a lower order, "
            "replications, or a saturated model, without tests and intervals",
        ),
        (
            SEVEN_IN_EIGHT,
            "y",
            list("abcd"),
            {"order": 2},
            "terms: 'a:b' cannot be separated from the mean, a, b, c, d in this design; needs a lower order, fewer "
            "terms, or "
            "the missing combinations of levels",
        ),
        (
            pd.DataFrame({name: [0, 1] * 500 for name in "abcdefghijklmnopqrstu"}).assign(y=range(1000)),
            "y",
            list("abcdefghijklmnopqrstu"),
            {},
            f"factors: {' x '.join(['2'] * 21)} combinations of levels; needs at most 1048576",
        ),
    ],
)
def test_invalid_input_is_named_with_accepted_values(
    frame: pd.DataFrame, response: str, factors: list[str], options: dict[str, Any], expected: str
) -> None:
    assert message(lambda: anova(frame, response, factors, **options)) == expected


def test_invalid_analysis_arguments_are_rejected() -> None:
    found = anova(BATTERY, "y", ["material", "temperature"])
    saturated = anova(MEMORY_CACHE, "y", ["a", "b"], order=2, saturated=True)
    assert message(lambda: found.effects(90)) == "level: 90; needs more than 0 and less than 1, as in 0.9"
    assert message(lambda: tukey(found, "y")) == "factors: 'y'; accepts material, temperature"
    assert message(lambda: found.means("material", "material")).startswith(
        "factors: material, material; needs each once"
    )
    assert message(lambda: bootstrap(found, draws=10)) == "draws: 10; needs 200 to 100000"
    assert "no error term" in message(lambda: tukey(saturated, "a"))
    assert "no residuals" in message(lambda: bootstrap(saturated))
    assert "no residuals" in message(lambda: aligned_ranks(saturated))
    incomplete = anova(GRAFTS.drop(index=3), "y", ["pressure"], blocks="batch")
    assert message(lambda: bootstrap(incomplete)).startswith("blocks: 'batch' lacks runs of some combinations")
    additive = anova(BATTERY, "y", ["material", "temperature"], order=1)
    assert message(lambda: variation.interactions(additive)).startswith("order: the model has no interaction")


def test_levels_keep_the_order_of_numbers_and_of_appearance() -> None:
    frame = pd.DataFrame({"n": [10, 2, 10, 2], "s": ["b", "b", "a", "a"], "y": [1.0, 2, 3, 5]})
    assert list(anova(frame, "y", ["n", "s"]).effects()["level"]) == ["2", "10", "b", "a"]
    ordered = frame.assign(s=pd.Categorical(frame["s"], ["a", "b", "c"]))
    assert list(anova(ordered, "y", ["n", "s"]).effects()["level"]) == ["2", "10", "a", "b"]


def test_figures_show_the_values_of_the_analysis(tmp_path: Path) -> None:
    found = anova(BATTERY, "y", ["material", "temperature"])
    points = variation.main_effect_points(found, 0.95)
    means = BATTERY.groupby("material")["y"].mean()
    assert list(points[points["factor"] == "material"]["mean"]) == pytest.approx(list(means))
    lines = variation.interaction_points(found, "material", "temperature").set_index(["across", "line"])["mean"]
    assert lines[1, 15] == pytest.approx(134.75)
    shares = variation.variation_shares([found])["y"]
    assert shares.sum() == pytest.approx(100)
    assert list(shares.index) == ["temperature", "material", "material:temperature", "error"]
    quantiles = variation.residual_points(found).sort_values("residual")["normal_quantile"]
    assert quantiles.is_monotonic_increasing
    assert quantiles.sum() == pytest.approx(0)
    drawn = {
        "main": variation.main_effects(found),
        "interactions": variation.interactions(found),
        "variation": variation.variation_explained(found),
        "residuals": variation.residuals(found),
    }
    for name, figure in drawn.items():
        assert all(path.stat().st_size > 5000 for path in save(figure, tmp_path / name))
