"""Figures of an analysis of variation, each with a separate function for its data."""

import textwrap
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import special

from longpipe.analysis.anova import Anova
from longpipe.analysis.factors import check_factors, name_of, text_of
from longpipe.errors import ScenarioError
from longpipe.pictures.figure import Picture, with_literal_texts
from longpipe.pictures.style import ASH, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, font_points, plain

# Colors and markers of lines; the markers distinguish lines without color.
COLORS: Final = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#000000", ASH)
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
FAINT: Final = "0.6"
PANEL_INCHES: Final = 4.3
MAX_LETTERS: Final = 14
# Maximum number of levels and lines in a readable panel.
MAX_LEVELS, MAX_BARS, MAX_PANELS = 40, 25, 12


def main_effect_points(anova: Anova, level: float = 0.9) -> pd.DataFrame:
    """Returns the mean response at each level of each factor, averaged over the other factors.

    Columns: `factor`, `level`, `mean`, and `low` and `high`: the interval of the level's effect, shifted by the overall
    mean.
    """
    effects = anova.effects(level)
    moved = effects[["effect", "low", "high"]] + anova.mean
    moved.columns = pd.Index(["mean", "low", "high"])
    return pd.concat([effects[["component", "level"]].rename(columns={"component": "factor"}), moved], axis=1)


@with_literal_texts
def main_effects(anova: Anova, level: float = 0.9) -> Figure:
    """Draws one panel per factor with the mean response at each level and the interval of its effect."""
    points = main_effect_points(anova, level)
    groups = {str(name): group for name, group in points.groupby("factor", sort=False)}
    _refuse_more_than(MAX_LEVELS, max(map(len, groups.values())), "levels of a factor")
    widths = [max(1.6, 0.75 * len(group), min(8, _inches(group["level"]))) for group in groups.values()]
    figure = Picture(figsize=(1.6 + sum(widths), 4), layout="constrained")
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False, gridspec_kw={"width_ratios": widths})[0]
    for panel, width, (name, group) in zip(panels, widths, groups.items(), strict=True):
        places = np.arange(len(group))
        panel.axhline(anova.mean, color=FAINT, linewidth=1, linestyle="--")
        errors = np.abs(group[["low", "high"]].to_numpy().T - group["mean"].to_numpy())
        panel.errorbar(places, group["mean"], errors, color=COLORS[0], marker="o", capsize=4, linewidth=1)
        _name_levels(panel, list(group["level"]), name, width)
    panels[0].set_ylabel(f"mean {anova.response}")
    interval = "no intervals: no error term" if anova.error_df == 0 else f"{100 * level:g} % intervals of the effects"
    figure.suptitle(f"Main effects on {anova.response}; {interval}; dashed: overall mean", fontsize=font_points(10))
    return figure


def interaction_points(anova: Anova, first: str, second: str) -> pd.DataFrame:
    """Returns the mean response at each pair of levels.

    Columns: `across` (the level of the factor that has more levels), `line` (the level of the other factor) and `mean`.
    """
    check_factors((first, second), anova.factors)
    if len(anova.cells.axes[first]) < len(anova.cells.axes[second]):
        first, second = second, first
    means = anova.means(first, second).rename(columns={first: "across", second: "line"})
    return means[["across", "line", "mean"]].assign(across_factor=first, line_factor=second)


@with_literal_texts
def interactions(anova: Anova) -> Figure:
    """Draws one panel per two-factor interaction of the model; parallel lines mean no interaction."""
    pairs = [pair for pair in combinations(anova.factors, 2) if pair in anova.terms]
    if not pairs:
        raise ScenarioError("order: the model has no interaction of two factors to draw; needs order 2")
    _refuse_more_than(MAX_PANELS, len(pairs), "interactions of two factors")
    points = [interaction_points(anova, *pair) for pair in pairs]
    columns = min(3, len(pairs))
    rows = -(-len(pairs) // columns)
    figure = Picture(figsize=(PANEL_INCHES * columns, 4.2 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    share = anova.variation.set_index("component")["percent"]
    for panel, pair, table in zip(panels, pairs, points, strict=False):
        lines = list(table.groupby("line", sort=False))
        _refuse_more_than(len(COLORS), len(lines), "lines in a panel")
        for i, (name, line) in enumerate(lines):
            style = {"color": COLORS[i], "marker": MARKERS[i], "linewidth": 1.4, "markersize": 5}
            panel.plot(np.arange(len(line)), line["mean"], label=_wrapped(text_of(name)), **style)
        levels = [text_of(level) for level in table["across"].unique()]
        _name_levels(panel, levels, table["across_factor"].iloc[0], PANEL_INCHES - 0.8)
        heading = f"{name_of(pair)}, {share[name_of(pair)]:.1f} % of variation\nlines: {table['line_factor'].iloc[0]}"
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 4 if len(lines) < 5 else 3}
        panel.legend(title=heading, fontsize=font_points(8), title_fontsize=font_points(8), frameon=False, **above)
    for panel in panels[len(pairs) :]:
        panel.set_visible(False)
    for row in range(rows):
        panels[row * columns].set_ylabel(f"mean {anova.response}")
    figure.suptitle(f"Interactions in {anova.response}; parallel lines would mean none", fontsize=font_points(10))
    return figure


def variation_shares(analyses: Sequence[Anova]) -> pd.DataFrame:
    """Returns the percentage of variation by component (index) and response (column), sorted, with the error last."""
    columns = {}
    for anova in analyses:
        table = anova.variation.set_index("component")["percent"]
        columns[anova.response] = table[[name_of(term) for term in anova.terms] + ["error"]]
    shares = pd.DataFrame(columns)
    largest = shares.drop(index="error").max(axis=1).sort_values(ascending=False, kind="stable")
    return shares.loc[[*largest.index, "error"]]


@with_literal_texts
def variation_explained(*analyses: Anova) -> Figure:
    """Draws the allocation of variation with one bar per component and response."""
    shares = variation_shares(analyses)
    largest = shares if len(shares) <= MAX_BARS else pd.concat([shares.iloc[: MAX_BARS - 1], shares.iloc[[-1]]])
    figure = Picture(figsize=(8, 1.3 + 0.2 * len(largest) * (1 + len(analyses))), layout="constrained")
    axes = figure.subplots()
    height = 0.8 / len(analyses)
    for i, response in enumerate(largest.columns):
        places = np.arange(len(largest)) + (i - (len(analyses) - 1) / 2) * height
        bars = axes.barh(places, largest[response], height, color=COLORS[i % len(COLORS)], label=str(response))
        # The error is drawn in a paler color, because it is variation that the factors do not explain.
        bars[-1].set_alpha(0.4)
        axes.bar_label(bars, [f"{value:.1f} %" for value in largest[response]], padding=3, fontsize=font_points(8))
    axes.set_yticks(np.arange(len(largest)), list(largest.index))
    axes.invert_yaxis()
    axes.set_xlim(0, 1.12 * float(largest.to_numpy().max()))
    axes.set_xlabel("share of total variation [%]")
    _plain(axes, "x")
    if len(analyses) > 1:
        axes.legend(frameon=False)
    hidden = "" if len(largest) == len(shares) else f"; {len(shares) - len(largest)} smaller ones left out"
    figure.suptitle(
        f"Variation explained in {' and '.join(map(str, largest.columns))}{hidden}", fontsize=font_points(10)
    )
    return figure


def residual_points(anova: Anova) -> pd.DataFrame:
    """Returns each row's `fitted` and `residual` (response unit) and `normal_quantile` [standard deviations]."""
    table = anova.residuals[["fitted", "residual"]]
    ranks = table["residual"].rank(method="first")
    # Blom's plotting positions.
    return table.assign(normal_quantile=special.ndtri((ranks - 0.375) / (len(table) + 0.25)))


@with_literal_texts
def residuals(anova: Anova) -> Figure:
    """Draws residuals against fitted values and against normal quantiles."""
    points = residual_points(anova)
    figure = Picture(figsize=(9, 4), layout="constrained")
    spread, normal = figure.subplots(1, 2, sharey=True)
    style = {"linestyle": "", "marker": "o", "color": COLORS[0], "markersize": 4 if len(points) < 500 else 1.5}
    dense = {"rasterized": len(points) > 2000, "alpha": 0.8 if len(points) < 500 else 0.3}
    spread.axhline(0, color=FAINT, linewidth=1, linestyle="--")
    spread.plot(points["fitted"], points["residual"], **style, **dense)
    spread.set_xlabel(f"fitted {anova.response}")
    spread.set_ylabel("residual")
    spread.set_title("no pattern: equal variance, no missing term", fontsize=font_points(9))
    ends = np.array([points["normal_quantile"].min(), points["normal_quantile"].max()])
    normal.plot(ends, ends * points["residual"].std(ddof=0), color=FAINT, linewidth=1, linestyle="--")
    normal.plot(points["normal_quantile"], points["residual"], **style, **dense)
    normal.set_xlabel("normal quantile [standard deviations]")
    normal.set_title("on the line: normal errors", fontsize=font_points(9))
    for panel in (spread, normal):
        _plain(panel, "both")
    figure.suptitle(f"Residuals of {anova.response}", fontsize=font_points(10))
    return figure


def _wrapped(level: str) -> str:
    return "\n".join(textwrap.wrap(level, MAX_LETTERS, max_lines=3, placeholder="...")) or level


def _inches(levels: Iterable[str]) -> float:
    """Returns the width [inches] of level names when they are drawn side by side."""
    return sum(0.09 * (min(len(level), MAX_LETTERS) + 2) for level in levels)


def _name_levels(panel: Axes, levels: list[str], factor: str, width: float) -> None:
    if _inches(levels) > width:
        panel.set_xticks(np.arange(len(levels)), [textwrap.shorten(level, 20) for level in levels], rotation=90)
    else:
        panel.set_xticks(np.arange(len(levels)), [_wrapped(level) for level in levels])
    panel.set_xlim(-0.5, len(levels) - 0.5)
    panel.set_xlabel(factor)
    _plain(panel, "y")


def _plain(panel: Axes, grid: Literal["x", "y", "both"]) -> None:
    plain(panel, grid)


def _refuse_more_than(limit: int, count: int, what: str) -> None:
    if count > limit:
        raise ScenarioError(f"figure: {count} {what}; needs at most {limit}")
