"""Compares with worked examples of R.

Jain 1991 and D. C. Montgomery, output of R 4.2.2, and independent computations.
"""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.anova import anova_lm

from longpipe import Design, Factor, Scenario, ScenarioError, Study
from longpipe.analysis.anova import Anova, anova
from longpipe.analysis.bootstrap import bootstrap
from longpipe.analysis.checks import check
from longpipe.analysis.comparisons import tukey
from longpipe.analysis.ranks import aligned_ranks
from longpipe.analysis.whole_table import WholeTable
from worked_examples import (
    BATTERY,
    BATTERY_UNBALANCED,
    CACHES,
    CODE_SIZE,
    ETCHING,
    FILTRATION,
    FILTRATION_HALF,
    GRAFTS,
    MEMORY_CACHE,
    MEMORY_CACHE_REPLICATED,
    SEVEN_IN_EIGHT,
)


def column(found: Anova, name: str) -> dict[str, float]:
    return {str(component): float(value) for component, value in found.variation.set_index("component")[name].items()}


def plus(found: Anova, order: int = 9) -> dict[str, float]:
    """Returns the effects at the highest levels, which are the q of a two-level design."""
    effects = found.effects(order=order).groupby("component", sort=False).last()["effect"]
    return {str(component): float(value) for component, value in effects.items()}


def test_study_given_as_its_table_is_explained() -> None:
    study = Study(
        Design.full_factorial(Scenario(defaults="1996"), [Factor.over("tcp.recovery", ["reno", "sack"], "tcp")])
    )
    with pytest.raises(ScenarioError, match=r"frame: a Study; needs a table of runs, as study.frame\(\) gives"):
        anova(study, "efficiency", ["tcp"])  # type: ignore[arg-type]


def test_two_by_two_design_without_replications_equals_the_textbook() -> None:
    found = anova(MEMORY_CACHE, "y", ["a", "b"], order=2, saturated=True)
    assert found.mean == 40
    assert plus(found) == {"a": 20, "b": 10, "a:b": 5}
    assert [round(column(found, "percent")[name]) for name in ("a", "b", "a:b")] == [76, 19, 5]
    assert np.isnan(found.effects()["low"]).all()


def test_two_by_two_design_with_replications_equals_the_textbook() -> None:
    found = anova(MEMORY_CACHE_REPLICATED, "y", ["a", "b"])
    assert found.mean == 41
    assert plus(found) == {"a": 21.5, "b": 9.5, "a:b": 5}
    squares = column(found, "sum_of_squares")
    assert [squares[name] for name in ("individual values", "overall mean", "a", "b", "a:b", "error")] == pytest.approx(
        [27204, 20172, 5547, 1083, 300, 102]
    )
    assert (found.error_df, round(found.standard_error, 2)) == (8, 3.57)
    # Example 18.3 uses 90 % intervals with t(0.95; 8) = 1.86.
    high = found.effects(0.9, order=2).groupby("component", sort=False).last()
    printed = [(19.58, 23.41), (7.58, 11.41), (3.08, 6.91)]
    assert [(row.low, row.high) for row in high.itertuples()] == [pytest.approx(ends, abs=0.011) for ends in printed]
    assert found.mean_interval(0.9) == pytest.approx((39.08, 42.91), abs=0.011)


def test_seven_factors_in_eight_runs_equal_the_textbook() -> None:
    found = anova(SEVEN_IN_EIGHT, "y", list("abcdefg"), order=1, saturated=True)
    assert 8 * found.mean == pytest.approx(317)
    assert {name: 8 * q for name, q in plus(found).items()} == pytest.approx(
        {"a": 101, "b": 35, "c": 109, "d": 43, "e": 1, "f": 47, "g": 3}
    )
    shares = column(found, "percent")
    assert [shares[name] for name in "abcdefg"] == pytest.approx([37.26, 4.47, 43.40, 6.75, 0, 8.07, 0.03], abs=0.006)


def test_anova_of_one_factor_equals_the_textbook() -> None:
    found = anova(CODE_SIZE, "y", ["processor"])
    assert found.mean == pytest.approx(187.7, abs=0.05)
    assert list(found.effects()["effect"]) == pytest.approx([-13.3, -24.5, 37.7], abs=0.06)
    squares = column(found, "sum_of_squares")
    assert [squares[name] for name in ("individual values", "overall mean", "processor", "error")] == pytest.approx(
        [633639, 528281.7, 10992.1, 94365.2], abs=0.07
    )
    groups = [group.to_numpy() for _, group in CODE_SIZE.groupby("processor")["y"]]
    reference = stats.f_oneway(*groups)
    assert column(found, "f")["processor"] == pytest.approx(reference.statistic)
    assert column(found, "p_value")["processor"] == pytest.approx(reference.pvalue)


def test_two_factors_without_replications_equal_the_textbook() -> None:
    found = anova(CACHES, "y", ["caches", "workload"])
    assert found.error_df == 8
    assert found.mean == pytest.approx(72.2)
    squares = column(found, "sum_of_squares")
    assert [squares[name] for name in ("caches", "workload", "error", "total variation")] == pytest.approx(
        [12857.2, 308.4, 236.8, 13402.4], abs=0.05
    )
    assert found.standard_error == pytest.approx(5.4, abs=0.05)


# Output of summary(aov(y ~ m * t)), equal to Montgomery's table 5.5.
def test_two_factors_with_replications_equal_the_textbook() -> None:
    found = anova(BATTERY, "y", ["material", "temperature"])
    table = found.variation.set_index("component").loc[["material", "temperature", "material:temperature"]]
    assert list(table["sum_of_squares"]) == pytest.approx([10683.722, 39118.722, 9613.778], abs=5e-4)
    assert list(table["f"]) == pytest.approx([7.91137, 28.96769, 3.55954], abs=5e-6)
    assert list(table["p_value"]) == pytest.approx([0.0019761, 1.9086e-07, 0.0186112], rel=3e-5)
    assert found.variation["mean_square"].iloc[-1] == pytest.approx(675.2130, abs=5e-5)


# Output of summary(aov(v ~ tr + b)), and Montgomery's table 4.4.
@pytest.mark.parametrize("pressures", [["pressure"], ["pressure", "other"]])
def test_blocks_take_their_variation_out_of_the_error(pressures: list[str]) -> None:
    high = GRAFTS["pressure"] > 8700
    if len(pressures) == 2:
        frame = GRAFTS.assign(pressure=GRAFTS["pressure"].map({8500: 1, 8700: 2, 8900: 1, 9100: 2}), other=high)
    else:
        frame = GRAFTS
    found = anova(frame, "y", pressures, blocks="batch")
    table = found.variation.set_index("component")
    assert found.error_df == 15
    assert float(table["sum_of_squares"]["batch"]) == pytest.approx(192.25208, abs=5e-6)
    assert float(table["sum_of_squares"]["error"]) == pytest.approx(109.88625, abs=5e-6)
    treatments = table.drop(index=["batch", "error"]).dropna(subset="f")
    assert treatments["sum_of_squares"].sum() == pytest.approx(178.17125, abs=5e-6)
    if len(pressures) == 1:
        assert float(table["f"]["pressure"]) == pytest.approx(8.10708, abs=5e-6)
        assert float(table["p_value"]["pressure"]) == pytest.approx(0.0019163, abs=5e-8)
    # If blocks are random, the mean's interval equals that of the six batch means.
    of_batches = GRAFTS.groupby("batch")["y"].mean()
    margin = stats.t.ppf(0.95, 5) * stats.sem(of_batches)
    assert found.mean_interval(0.9) == pytest.approx((of_batches.mean() - margin, of_batches.mean() + margin))


def test_four_factors_without_replications_equal_the_textbook() -> None:
    found = anova(FILTRATION, "y", list("abcd"), order=4, saturated=True)
    # Montgomery's effects are differences between levels, which are twice q.
    doubled = {name: 2 * q for name, q in plus(found).items()}
    assert {name: doubled[name] for name in ("a", "b", "c", "d", "a:b", "a:c", "a:d")} == pytest.approx(
        {"a": 21.625, "b": 3.125, "c": 9.875, "d": 14.625, "a:b": 0.125, "a:c": -18.125, "a:d": 16.625}
    )
    assert column(found, "sum_of_squares")["error"] == 0


def test_anova_of_a_half_fraction_equals_the_textbook() -> None:
    found = anova(FILTRATION_HALF, "y", list("abcd"), terms=["a", "b", "c", "d", "a:b", "a:c", "a:d"], saturated=True)
    assert {name: 2 * q for name, q in plus(found).items()} == pytest.approx(
        {"a": 19, "b": 1.5, "c": 14, "d": 16.5, "a:b": -1, "a:c": -18.5, "a:d": 19}
    )


# options(contrasts = c("contr.sum", "contr.poly")); f <- aov(y ~ m * t, d); drop1(f, ~., test = "F")
def test_unequal_replications_use_type_three_sums() -> None:
    found = anova(BATTERY_UNBALANCED, "y", ["material", "temperature"])
    table = found.variation.set_index("component").loc[["material", "temperature", "material:temperature"]]
    assert list(table["sum_of_squares"]) == pytest.approx([10998.6569, 27944.1892, 8501.2696], abs=5e-5)
    assert list(table["f"]) == pytest.approx([7.68487, 19.52487, 2.96996], abs=5e-6)
    assert list(table["p_value"]) == pytest.approx([0.0027797, 1.105e-05, 0.0409212], rel=5e-5)
    additive = anova(BATTERY_UNBALANCED, "y", ["material", "temperature"], order=1)
    table = additive.variation.set_index("component").loc[["material", "temperature"]]
    assert list(table["f"]) == pytest.approx([6.67566, 15.02813], abs=5e-6)


# confint(lm(y ~ m * t, d), level = 0.9)
def test_unequal_replications_have_separate_intervals() -> None:
    found = anova(BATTERY_UNBALANCED, "y", ["material", "temperature"])
    table = found.effects(0.9, order=2)
    effects = {(row["component"], row["level"]): row for row in table.to_dict("records")}
    assert found.mean == pytest.approx(105.00925926)
    assert found.mean_interval(0.9) == pytest.approx((96.6905331, 113.3279854))
    for key, printed in {
        ("material", "1"): (-24.42592593, 7.0755146, -36.5524489, -12.2994030),
        ("temperature", "70"): (0.76851852, 6.7561521, -10.8106582, 12.3476952),
        ("material:temperature", "2, 15"): (11.98148148, 9.5930913, -4.4598446, 28.4228076),
    }.items():
        row = effects[key]
        assert (row["effect"], row["standard_error"], row["low"], row["high"]) == pytest.approx(printed)
    assert sum(row["effect"] for row in effects.values() if row["component"] == "material") == pytest.approx(0)


# TukeyHSD(aov(y ~ m * t), "m"); TukeyHSD(aov(p ~ w)); TukeyHSD(aov(p[-c(1, 2, 20)] ~ w[-c(1, 2, 20)]))
@pytest.mark.parametrize(
    ("found", "factor", "printed"),
    [
        (
            anova(BATTERY, "y", ["material", "temperature"]),
            "material",
            {
                (2, 1): (25.166667, -1.1356775, 51.469011, 0.06275713),
                (3, 1): (41.916667, 15.6143225, 68.219011, 0.00141617),
                (3, 2): (16.750000, -9.5523441, 43.052344, 0.27178152),
            },
        ),
        (
            anova(ETCHING, "y", ["power"]),
            "power",
            {
                (180, 160): (36.2, 3.1456238, 69.254376, 0.02942795),
                (200, 160): (74.2, 41.1456238, 107.254376, 0.00004549),
                (200, 180): (38.0, 4.9456238, 71.054376, 0.02159948),
            },
        ),
        (
            anova(ETCHING.drop(index=[0, 1, 19]), "y", ["power"]),
            "power",
            {
                (180, 160): (41.066667, 0.72026965, 81.413064, 0.04553241),
                (220, 180): (118.850000, 81.78946789, 155.910532, 0.00000193),
                (220, 200): (80.850000, 43.78946789, 117.910532, 0.00012067),
            },
        ),
    ],
)
def test_tukey_agrees_with_r(found: Anova, factor: str, printed: dict[tuple[int, int], tuple[float, ...]]) -> None:
    rows = {(str(row["second"]), str(row["first"])): row for row in tukey(found, factor, level=0.95).to_dict("records")}
    for (later, earlier), (difference, low, high, p_value) in printed.items():
        row = rows[str(later), str(earlier)]
        # R subtracts the earlier level from the later one.
        assert [-row["difference"], -row["high"], -row["low"]] == pytest.approx([difference, low, high], abs=2e-4)
        assert row["p_value"] == pytest.approx(p_value, abs=2e-7)
        assert row["differs"] == (p_value < 0.05)


def test_tukey_agrees_with_scipy() -> None:
    groups = [group.to_numpy() for _, group in CODE_SIZE.groupby("processor")["y"]]
    table = tukey(anova(CODE_SIZE, "y", ["processor"]), "processor", level=0.95)
    reference = stats.tukey_hsd(*groups)
    assert list(table["p_value"]) == pytest.approx([reference.pvalue[i, j] for i, j in ((0, 1), (0, 2), (1, 2))])
    # All combinations in a full model form one factor with as many levels.
    combined = BATTERY.assign(both=BATTERY["material"].astype(str) + ", " + BATTERY["temperature"].astype(str))
    pairs = tukey(anova(BATTERY, "y", ["material", "temperature"]), "material", "temperature")
    expected = tukey(anova(combined, "y", ["both"]), "both")
    pd.testing.assert_frame_equal(pairs.drop(columns="component"), expected.drop(columns="component"))


def test_tables_are_printed_with_all_columns_and_whole_texts() -> None:
    """Checks that no `...` replaces columns, such as the limits of intervals, or ends of notes."""
    found = anova(random_frame(1), "y", ["a", "b"])
    tables = [found.variation, found.effects(), tukey(found, "b"), aligned_ranks(found), check(found)]
    for table in (*tables, bootstrap(found, draws=200)):
        for shown in (repr(table), str(table), str(WholeTable(table)._repr_html_())):
            assert "..." not in shown
            assert all(column in shown for column in table.columns)
    assert all(note in repr(tables[-1]) for note in tables[-1]["note"])
    assert all(type(table) is WholeTable for table in tables)
    # A table that is computed from another one is a plain frame.
    assert type(tables[0].head(1)) is pd.DataFrame


# kruskal.test(p ~ w): chi-squared = 16.907
def test_aligned_ranks_of_one_factor_are_kruskal_and_wallis() -> None:
    f = float(aligned_ranks(anova(ETCHING, "y", ["power"]))["f"].iloc[0])
    levels, rows = 4, len(ETCHING)
    chi_squared = (rows - 1) * f * (levels - 1) / (rows - levels + f * (levels - 1))
    assert chi_squared == pytest.approx(stats.kruskal(*[g for _, g in ETCHING.groupby("power")["y"]]).statistic)
    assert chi_squared == pytest.approx(16.907, abs=5e-4)


def random_frame(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    index = pd.MultiIndex.from_product([range(4), list("xyz"), [0.5, 1.0], range(3)], names=["a", "b", "c", "seed"])
    frame = index.to_frame(index=False)
    return frame.assign(y=rng.normal(size=len(frame)) + frame["a"] * (frame["b"] == "x") + frame["c"])


@pytest.mark.parametrize("lost", [[], [0, 7, 50]])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_both_fitting_methods_agree_with_statsmodels(order: int, lost: list[int]) -> None:
    frame = random_frame(order).drop(index=lost)
    found = anova(frame, "y", ["a", "b", "c"], order=order)
    assert found.cells.balanced == (not lost)
    formula = {1: "C(a,Sum)+C(b,Sum)+C(c,Sum)", 2: "(C(a,Sum)+C(b,Sum)+C(c,Sum))**2", 3: "C(a,Sum)*C(b,Sum)*C(c,Sum)"}
    model = smf.ols(f"y ~ {formula[order]}", frame).fit()
    reference = anova_lm(model, typ=3).iloc[1:]
    table = found.variation.iloc[3:]
    assert list(table["sum_of_squares"]) == pytest.approx(list(reference["sum_sq"]))
    assert list(table["f"].dropna()) == pytest.approx(list(reference["F"].dropna()))
    assert list(table["df"]) == list(reference["df"].astype(int))
    effects = found.effects(0.8)
    ends = model.conf_int(0.2).to_numpy()[1:4]
    assert effects[["low", "high"]].to_numpy()[:3] == pytest.approx(ends)
    assert found.residuals["residual"].to_numpy() == pytest.approx(model.resid.to_numpy())


def test_blocks_agree_with_statsmodels() -> None:
    frame = random_frame(4)
    for rows in (frame, frame.drop(index=[3, 30])):
        found = anova(rows, "y", ["a", "b"], blocks="seed")
        reference = anova_lm(smf.ols("y ~ C(a,Sum)*C(b,Sum) + C(seed,Sum)", rows).fit(), typ=3)
        expected = reference.loc[["C(a, Sum)", "C(b, Sum)", "C(a, Sum):C(b, Sum)", "C(seed, Sum)"], "F"]
        assert list(found.variation["f"].dropna()) == pytest.approx(list(expected))


@pytest.mark.parametrize("lost", [[], [0, 7, 50]])
def test_means_average_evenly_over_the_other_factors(lost: list[int]) -> None:
    frame = random_frame(5).drop(index=lost)
    found = anova(frame, "y", ["a", "b", "c"])
    cells = frame.groupby(["a", "b", "c"])["y"].mean()
    pd.testing.assert_series_equal(
        found.means("c", "a").set_index(["c", "a"])["mean"], cells.groupby(["c", "a"]).mean(), check_names=False
    )
    assert int(found.means("b")["rows"].sum()) == len(frame)
