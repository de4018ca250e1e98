"""Figures that show studies over their factors."""

import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from commands import run
from longpipe import Design, Factor, Scenario, ScenarioError, Study, pictures
from longpipe.analysis.intervals import estimate
from longpipe.design.factor import Level
from longpipe.pictures.sweeps import _axis, _decimals, sweep_means

FACTORS = [
    Factor.over("switch.buffer", ["500 cells", "1000 cells", "5000 cells"], "buffer"),
    Factor.over("tcp.recovery", ["reno", "sack"], "tcp"),
]
MEASURES = ["one=flow:flow1.throughput", "ended=flow:flow1.completion"]
BASE = Scenario(defaults="1996", name="lan", duration="100 ms").with_(start={"kind": "random", "over": "10 ms"})


@cache
def study(factors: int = 2) -> Study:
    found = Study(Design.full_factorial(BASE, FACTORS[:factors], replications=3, measures=MEASURES))
    found.run(workers=1)
    return found


def test_means_are_those_of_the_runs_of_a_level() -> None:
    means, runs = sweep_means(study(), "buffer", "efficiency", "tcp"), study().frame()
    assert len(means) == 6
    for row in means.to_dict("records"):
        own = runs[(runs["buffer"] == row["buffer"]) & (runs["tcp"] == row["tcp"])]["efficiency"]
        wanted = estimate(own)
        assert (row["mean"], row["low"], row["high"]) == (wanted.mean, wanted.mean_low, wanted.mean_high)


@pytest.mark.parametrize("kind", ["sweep", "heat"])
def test_titles_in_own_axes_in_columns_do_not_overlap(kind: str) -> None:
    figure = Figure(figsize=(7, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for panel in (left, right):
        getattr(pictures, kind)(study(), "buffer", "one", *(["tcp"] if kind == "heat" else []), ax=panel)
    figure.draw_without_rendering()
    one, other = (panel.title.get_window_extent() for panel in (left, right))
    assert "\n" in left.title.get_text()
    assert 0 <= one.x0 < one.x1 < other.x0 < other.x1 <= figure.bbox.width


def test_a_mean_of_zero_is_marked_below_a_logarithmic_axis() -> None:
    most = study().frame().groupby(["buffer", "tcp"], observed=True)["cells_lost"].max().median()
    above = f"max(cells_lost - {most}, 0)"
    means = sweep_means(study(), "buffer", above, "tcp")
    zero = means["mean"] == 0
    assert 0 < zero.sum() < len(means)
    figure = pictures.sweep(study(), "buffer", above, "tcp", log=True)
    (panel,) = figure.axes
    drawn = [np.asarray(line.get_ydata()) for line in means_of(panel)]
    assert sum(np.isnan(line).sum() for line in drawn) == zero.sum()
    marks = [line for line in panel.get_lines() if line.get_marker() == "v"]
    assert sum(len(np.asarray(line.get_xdata())) for line in marks) == zero.sum()
    assert "mean of 0, which a logarithmic axis cannot show" in figure.get_suptitle()
    assert "mean of 0" not in pictures.sweep(study(), "buffer", above, "tcp").get_suptitle()


@pytest.mark.parametrize(
    ("values", "decimals"), [([0.976, 1.0], 3), ([5000.0, 7000.0], 0), ([0.5, 0.9], 3), ([1.0, 1.0], 2), ([], 0)]
)
def test_map_values_have_enough_decimals_to_differ(values: list[float], decimals: int) -> None:
    assert _decimals(np.array(values)) == decimals


def means_of(panel: Axes) -> list[Line2D]:
    """Returns the lines of means in a picture of a sweep."""
    return [line for line in panel.get_lines() if line.get_marker() == "o"]


def bars_of(panel: Axes, level: float) -> list[float]:
    """Returns the horizontal places [pixel] of the intervals at a level, by line."""
    bars = [part for part in panel.collections if isinstance(part, LineCollection)]
    return [float(bar.get_transform().transform((level, 0.5))[0]) for bar in bars]


def test_points_of_one_run_have_no_caps() -> None:
    alone = Study(Design.full_factorial(BASE, FACTORS[:1], replications=1, measures=MEASURES))
    alone.run(workers=1)
    drawn = (pictures.sweep(one, FACTORS[0].name, "one").axes[0] for one in (alone, study()))
    caps = [[line.get_ydata() for line in panel.lines if line.get_marker() == "_"] for panel in drawn]
    heights = [np.concatenate(own).astype(float) if own else np.array([]) for own in caps]
    assert [int(np.isfinite(own).sum()) for own in heights] == [0, 2 * len(FACTORS[0].levels)]


def test_sweep_is_drawn_at_level_values_in_readable_units() -> None:
    (panel,) = pictures.sweep(study(), "buffer", "one", "tcp").axes
    assert (panel.get_xlabel(), panel.get_ylabel(), panel.get_xscale()) == (
        "buffer [cells], logarithmic",
        "one [Mbit/s]",
        "log",
    )
    assert [np.asarray(line.get_xdata()).tolist() for line in means_of(panel)] == [[500, 1000, 5000]] * 2
    (panel,) = pictures.sweep(study(), "tcp", "throughput_bps", "buffer").axes
    assert [text.get_text() for text in panel.get_xticklabels()] == ["reno", "sack"]
    assert panel.get_ylabel() == "throughput [Mbit/s]"


@pytest.mark.parametrize(
    ("levels", "places", "label"),
    [
        (["10 kB", "100 kB", "1 MB", "10 MB"], [10, 100, 1000, 10_000], "x [KB], logarithmic"),
        (["500 us", "1 ms", "2 ms"], [500, 1000, 2000], "x [us]"),
        (["2 Gbit/s", "1.5 Gbit/s", "800 Mbit/s"], [2000, 1500, 800], "x [Mbit/s]"),
        (["1 MB/s", "4 Mbit/s"], [8, 4], "x [Mbit/s]"),
        (["1 BDP", "20 ms"], [0, 1], "x"),
        (["10 packets", "20 KB"], [0, 1], "x"),
        (["unlimited", "20 KB"], [0, 1], "x"),
    ],
)
def test_levels_with_different_units_are_at_their_values_in_one_unit(
    levels: list[str], places: list[float], label: str
) -> None:
    axis = _axis(levels)
    assert list(axis.at.values()) == pytest.approx(places)
    assert label == ", ".join([f"x [{axis.unit}]" if axis.unit else "x", *["logarithmic"] * axis.logarithmic])


def test_zero_level_is_plotted_apart_from_small_levels() -> None:
    levels: dict[Level, object] = {"0": "none"}
    levels |= {text: {"kind": "bernoulli", "probability": float(text)} for text in ("1e-5", "1e-4", "1e-3")}
    losses = Study(Design.full_factorial(BASE, [Factor.over("network.trunk_loss", levels, "loss")]))
    losses.run(workers=1)
    (panel,) = pictures.sweep(losses, "loss", "throughput").axes
    assert panel.get_xlabel() == "loss, logarithmic above 1e-05"
    places = panel.transAxes.inverted().transform(panel.transData.transform([(at, 0) for at in panel.get_xticks()]))
    assert np.diff(places[:, 0]) == pytest.approx([0.88 / 3] * 3, rel=0.1)
    assert not any(_axis(levels).logarithmic for levels in ([0, 1, 50], [0], [-1, 0, 500]))


def test_a_map_has_the_mean_of_every_pair() -> None:
    panel, _ = pictures.heat(study(), "buffer", "efficiency", "tcp").axes
    # The order of arguments that earlier releases used.
    before, _ = pictures.heat(study(), "buffer", "tcp", "efficiency").axes
    assert [text.get_text() for text in before.texts] == [text.get_text() for text in panel.texts]
    default, _ = pictures.heat(study(), "buffer", "tcp").axes
    assert [text.get_text() for text in default.texts] == [text.get_text() for text in panel.texts]
    with pytest.raises(ScenarioError, match="by: missing; needs a second factor, one of buffer, tcp"):
        pictures.heat(study(), "buffer", "efficiency")
    means = sweep_means(study(), "buffer", "efficiency", "tcp")
    assert sorted(text.get_text() for text in panel.texts) == sorted(f"{mean:.3f}" for mean in means["mean"])
    assert [text.get_text() for text in panel.get_yticklabels()] == ["reno", "sack"]
    assert panel.yaxis_inverted()


def test_title_states_averaging_over_other_factors() -> None:
    means, runs = sweep_means(study(), "buffer", None), study().frame()
    for row in means.to_dict("records"):
        own = runs[runs["buffer"] == row["buffer"]].groupby("replication")["efficiency"].mean()
        wanted = estimate(own)
        assert (row["runs"], row["mean"]) == (6, pytest.approx(wanted.mean))
        assert (row["low"], row["high"]) == (pytest.approx(wanted.mean_low), pytest.approx(wanted.mean_high))
    title = pictures.sweep(study(), "buffer").get_suptitle()
    assert "means of 3 replications, 95 % intervals\neach the mean over tcp (reno, sack)" in title
    one = sweep_means(study(), "buffer", "efficiency", where=["tcp=sack"])
    whole = sweep_means(study(), "buffer", "efficiency", "tcp")
    pd.testing.assert_frame_equal(one, whole[whole["tcp"] == "sack"].drop(columns="tcp").reset_index(drop=True))
    assert "where tcp=sack" in pictures.sweep(study(), "buffer", where=["tcp=sack"]).get_suptitle()
    assert study().means("throughput").equals(study().means("throughput_bps"))


def test_a_mean_that_some_run_lacks_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = study().frame()
    runs.loc[(runs["buffer"] == "1000 cells") & (runs["tcp"] == "sack") & (runs["seed"] < 3), "efficiency"] = np.nan
    monkeypatch.setattr(study(), "frame", lambda: runs)
    (panel,) = pictures.sweep(study(), "buffer", "efficiency", "tcp").axes
    assert [text.get_text() for text in panel.texts] == ["2 of 3"]
    (cross,) = [line for line in panel.get_lines() if line.get_marker() == "x"]
    assert list(cross.get_xdata()) == [1000]  # type: ignore[arg-type]
    assert "no mean, because this many runs have no value" in str(panel.figure.get_suptitle())
    cells, _ = pictures.heat(study(), "buffer", "efficiency", "tcp").axes
    assert [text.get_text() for text in cells.texts].count("no value in\n2 of 3 runs") == 1


def test_lines_over_unordered_levels_are_not_joined() -> None:
    (panel,) = pictures.sweep(study(), "tcp", "fairness", "buffer").axes
    assert {line.get_linestyle() for line in means_of(panel)} == {"None"}
    places = [line.get_transform().transform((0, 0.5))[0] for line in means_of(panel)]
    assert np.diff(places).min() > 4
    assert bars_of(panel, 0) == places
    (panel,) = pictures.sweep(study(), "buffer", "fairness", "tcp", from_zero=False).axes
    places = [line.get_transform().transform((500, 0.5))[0] for line in means_of(panel)]
    assert places[1] == places[0]
    # The intervals are apart and stay close to the marks, so that each can be read.
    asides = [(place - places[0]) * 72 / panel.figure.dpi for place in bars_of(panel, 500)]
    assert asides == pytest.approx([-1.5, 1.5])
    assert panel.get_ylim()[1] < 1.1
    edges = sweep_means(study(), "buffer", "efficiency", where=["tcp=sack"])["mean"]
    (panel,) = pictures.sweep(study(), "buffer", "efficiency", where=["tcp=sack"], from_zero=False, level=0.01).axes
    assert edges.min() > panel.get_ylim()[0] > 0
    assert pictures.sweep(study(), "buffer", "efficiency", level=0.01).axes[0].get_ylim()[0] == 0
    (panel,) = pictures.sweep(study(), "buffer", "throughput_bps", "tcp", log=True).axes
    assert panel.get_yscale() == "log"


def test_undrawable_sweep_is_rejected_in_one_line() -> None:
    for arguments, message in (
        (("bufer", "efficiency"), "factor: 'bufer'; did you mean 'buffer'? accepts buffer, tcp"),
        (("buffer", "eficiency", "tcp"), "measure: 'eficiency'; did you mean 'efficiency'?"),
        (("buffer", "webs"), "measure: 'webs'; accepts one, ended, efficiency, fairness, throughput_bps, cells_lost,"),
        (("buffer", "web.p95"), "measure: 'web.p95': no flow of 'buffer=500 cells, tcp=reno' has web traffic"),
        (
            ("buffer", "ended"),
            "measure: 'ended' has no value in any of 18 runs; needs one of one, efficiency, fairness,",
        ),
    ):
        with pytest.raises(ScenarioError) as error:
            pictures.sweep(study(), *arguments)
        assert str(error.value).startswith(message)
    some = Design.one_at_a_time(BASE, FACTORS)
    uneven = Study(some, name="uneven")
    uneven.run(workers=1)
    with pytest.raises(
        ScenarioError, match=r"differently at each buffer; needs runs of one level, as where \(--where\) 'tcp=reno'"
    ):
        pictures.sweep(uneven, "buffer")
    assert pictures.sweep(uneven, "buffer", where=["tcp=reno"]).axes
    waiting = Study(Design.full_factorial(BASE, FACTORS[:1]))
    with pytest.raises(ScenarioError, match="has no finished runs; needs longpipe study run lan"):
        pictures.sweep(waiting, "buffer", "efficiency")


def test_the_command_draws_a_stored_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "runs.db"
    kept = Study(study(1).design, store, "lan")
    kept.run(workers=1)
    kept.close()

    def plot(*options: str) -> subprocess.CompletedProcess[str]:
        return run("plot", "lan", *options, "-o", "sweep.svg", "--store", store, cwd=tmp_path)

    assert plot("--x", "buffer", "--y", "one").returncode == 0
    assert (tmp_path / "sweep.svg").stat().st_size > 5_000
    for options, message in (
        (("window", "--x", "buffer"), "KIND: 'window' is a picture of a run; omit it with --x, which draws a study"),
        (
            ("--x", "buffer", "--compare", "x=1"),
            "--compare: not with --x, which draws a study; needs a scenario and a KIND",
        ),
        (("--x", "buffer", "--to", "0"), "--to: not with --x, which draws a study; needs a scenario and a KIND"),
        (("--x", "buffer", "--map"), "--map: has only one factor; needs --by FACTOR"),
        ((), "lan: a study; needs --x FACTOR instead of a KIND, as in --x buffer"),
        (("window",), "lan: a study; needs --x FACTOR instead of a KIND, as in --x buffer"),
    ):
        refused = plot(*options)
        assert (refused.returncode, refused.stderr) == (2, f"error: {message}\n")
    monkeypatch.setenv("LONGPIPE_STORE", str(store))
    refused = run("analyse", "lan", "--response", "one", "--factors", "buffer", cwd=tmp_path)
    needs = "lan: a study; needs the table of its runs: longpipe study export lan -o lan.csv"
    assert (refused.returncode, refused.stderr) == (2, f"error: {needs}\n")
