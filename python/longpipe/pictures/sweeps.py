"""Measures of a study over one factor as lines, or over two as a heat map."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from longpipe.analysis.conditions import matching
from longpipe.analysis.intervals import estimate
from longpipe.design.level_numbers import numbers_of
from longpipe.errors import ScenarioError, check_kind, nearest
from longpipe.measures.readable import INDEXES, Readable, readable
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.style import color, figure_of, legend, logarithmic, plain, text_color, title_in, title_of

if TYPE_CHECKING:
    from longpipe.measures.measure import Specification
    from longpipe.study import Study

# Largest number of decimals of the values in a map.
_MAX_DECIMALS: Final = 6
# Ratio of the largest to the smallest level at and above which the axis is logarithmic.
_WIDE: Final = 8
# The same ratio if there is also a level of 0, which a logarithmic axis shows only with a linear part.
_WIDE_BESIDE_0: Final = 100
# Horizontal distance [points] between neighboring lines at named levels, and maximum total distance.
_ASIDE, _ALL_ASIDE = 10.0, 60.0
# Horizontal distance [points] between intervals of neighboring lines on a numeric axis, and maximum total distance.
# Marks are not offset there, because a mark's position has a meaning.
_BARS, _ALL_BARS = 3.0, 15.0


@dataclass(frozen=True)
class _Axis:
    """A factor's levels on an axis: their positions, their common unit, and whether the axis is logarithmic.

    A logarithmic axis with a level of 0 is linear between 0 and its smallest level above 0, which is `linear_to`.
    """

    at: dict[Any, float]
    unit: str
    numeric: bool
    logarithmic: bool
    linear_to: float | None = None


def sweep_means(
    study: Study,
    x: str,
    y: Specification | None,
    by: str | None = None,
    *,
    level: float = 0.95,
    where: Iterable[str] = (),
) -> pd.DataFrame:
    """Returns the mean of a measure at each level of one factor, or of two.

    Columns are `x`, `by`, `runs`, `mean`, `low`, `high` and `undefined`, the number of runs without a value; if there
    are any, the mean is NaN. The interval has the confidence level `level` (0 to 1), and is NaN for a single
    replication. The default of `y` is efficiency, or throughput if there is none; it may be an expression or a
    function, as in `Design.measures`. `where` selects runs, as in "rtt=10 ms". If other factors vary, each replication
    is first averaged over them. Raises ScenarioError for an unknown factor or measure, a measure without values, and
    other factors whose levels differ between means.
    """
    return _sweep_data(study, x, y, by, level, where).means


def _check_study(study: Study) -> None:
    # Imported here so that other pictures start faster.
    from longpipe.study import Study

    check_kind("study", study, Study, "a Study; draw a frame of runs with pandas or Matplotlib")


@dataclass(frozen=True)
class _SweepData:
    """Data of a picture: means, the measure with its unit, replications per mean, and a note on other factors."""

    means: pd.DataFrame
    measure: Readable
    replications: int
    notes: list[str]


def _sweep_data(
    study: Study, x: str, y: Specification | None, by: str | None, level: float, where: Iterable[str]
) -> _SweepData:
    """Returns the means of a response by the factors `x` and `by`. Raises ScenarioError if the study lacks these."""
    _check_study(study)
    if by == x:
        raise ScenarioError(f"by: {by!r} is also on the horizontal axis; needs another factor")
    where = list(where)
    study, column = (study, None) if y is None else study.resolve(y)
    runs = study.frame()
    if runs.empty:
        raise ScenarioError(f"study: {study.name!r} has no finished runs; needs longpipe study run {study.name}")
    factors = [factor.name for factor in study.design.factors]
    for name in (x, *([by] if by else [])):
        if name not in factors:
            raise ScenarioError(f"factor: {name!r}; {nearest(name, factors)}")
    drawn_factors = [x, by] if by else [x]
    measure = _measured(study, runs, column)
    column = measure.column
    runs = matching(runs, where)
    averaged_factors = [name for name in factors if name not in drawn_factors and len(runs[name].unique()) > 1]
    _check_even(runs, drawn_factors, averaged_factors)
    rows = []
    for levels, group in runs.groupby(drawn_factors, sort=False):
        # The average over other factors is taken first, because their levels are not replications.
        by_replication = group.groupby("replication")[column].apply(lambda values: np.mean(values.to_numpy()))
        interval = estimate(by_replication, level=level)
        means = {"mean": interval.mean, "low": interval.mean_low, "high": interval.mean_high}
        undefined = int((~np.isfinite(group[column])).sum())
        if undefined:
            means = dict.fromkeys(means, np.nan)
        names = dict(zip(drawn_factors, levels, strict=True))
        rows.append({**names, "runs": len(group), **means, "undefined": undefined})
    notes = [f"where {', '.join(where)}"] if where else []
    if averaged_factors:
        averaged = (f"{name} ({', '.join(map(str, runs[name].unique()))})" for name in averaged_factors)
        notes.append(f"each the mean over {' and '.join(averaged)}")
    return _SweepData(pd.DataFrame(rows), measure, runs["replication"].nunique(), notes)


def _measured(study: Study, runs: pd.DataFrame, y: str | None) -> Readable:
    """Returns the column of a measure and its unit; by default efficiency or throughput."""
    factors = [factor.name for factor in study.design.factors]
    measures = [str(name) for name in runs.columns if name not in (*factors, "point", "block", "replication", "seed")]
    with_values = [name for name in measures if np.isfinite(runs[name]).any()]
    if y is None:
        y = "efficiency" if "efficiency" in with_values else "throughput_bps"
    if y not in measures:
        raise ScenarioError(f"measure: {y!r}; {nearest(y, measures)}, or a measure such as flow:FLOW.throughput")
    if y not in with_values:
        raise ScenarioError(
            f"measure: {y!r} has no value in any of {len(runs)} runs; needs one of {', '.join(with_values)}"
        )
    return readable(y, study.design.asked)


def _check_even(runs: pd.DataFrame, axes: list[str], averaged: list[str]) -> None:
    """Raises ScenarioError unless each drawn mean is over equally many runs of each level of each averaged factor."""
    for name in averaged:
        counts = runs.pivot_table("seed", axes, name, aggfunc="count", fill_value=0, sort=False).to_numpy()
        if counts.min() != counts.max():
            first = runs[name].iloc[0]
            raise ScenarioError(
                f"factor: {name!r} also varies, differently at each {' and '.join(axes)}; needs runs of one level, "
                f"as where (--where) '{name}={first}'"
            )


def numeric(levels: Iterable[Any]) -> bool:
    """Returns whether levels are numbers with a common unit."""
    return _axis(levels).numeric


@with_literal_texts
def sweep(
    study: Study,
    x: str,
    y: Specification | None = None,
    by: str | None = None,
    *,
    level: float = 0.95,
    where: Iterable[str] = (),
    from_zero: bool = True,
    log: bool = False,
    ax: Axes | None = None,
) -> Figure:
    """Draws a measure over the levels of a factor, with a line for each level of `by`, and with confidence intervals.

    Arguments and errors are those of `sweep_means`. Without `from_zero`, the vertical axis covers only the range of the
    data; with `log`, it is logarithmic, which suits delays. An undefined mean is shown as a cross at the top, with the
    number of runs without a value, and a mean of 0 on a logarithmic axis as a triangle at the bottom.
    """
    data, axis = _sweep_data(study, x, y, by, level, where), _axis(_levels(study, x))
    means, notes = data.means, list(data.notes)
    figure, panel = _panel(ax)
    measure = data.measure
    means = means.assign(**{edge: _within(means[edge], measure) for edge in ("low", "high")})
    lines = list(means.groupby(by, sort=False)) if by else [("", means)]
    for number, (name, rows) in enumerate(lines):
        ordered = rows.assign(at=rows[x].map(axis.at)).sort_values("at")
        _draw_line(panel, ordered, str(name), (number, len(lines)), measure, axis, log=log)
    _levels_along(panel, axis)
    if log:
        _logarithmic_range(panel, means, measure)
    else:
        _range_up(panel, means[["mean", "low", "high"]] / measure.scale, from_zero=from_zero)
    beyond_linear = f" above {axis.linear_to:g}" if axis.linear_to else ""
    scale = [f"logarithmic{beyond_linear}"] if axis.logarithmic else []
    panel.set_xlabel(", ".join([f"{x} [{axis.unit}]" if axis.unit else x, *scale]))
    panel.set_ylabel(measure.head)
    if (means["undefined"] > 0).any():
        notes.append("\N{MULTIPLICATION SIGN}: no mean, because this many runs have no value")
    if log and (means["mean"] <= 0).any():
        notes.append("\N{BLACK DOWN-POINTING TRIANGLE}: mean of 0, which a logarithmic axis cannot show")
    once = data.replications == 1
    seeds = "one run each" if once else f"means of {data.replications} replications, {100 * level:g} % intervals"
    _titled(figure, ax, "\n".join([f"{study.name}: {measure.name} over {x}, {seeds}", *notes]))
    if by:
        legend(figure, [panel], ax, by)
    return figure


def _draw_line(
    panel: Axes, rows: pd.DataFrame, label: str, place: tuple[int, int], measure: Readable, axis: _Axis, *, log: bool
) -> None:
    """Draws the means of one line with their intervals; `place` is its number and the number of lines."""
    number, count = place
    line_color = color(number)
    aside = 0.0 if axis.numeric else _offset(number, count, _ASIDE, _ALL_ASIDE)
    aside_bars = _offset(number, count, _BARS, _ALL_BARS) if axis.numeric else aside
    error = np.stack([rows["mean"] - rows["low"], rows["high"] - rows["mean"]]) / measure.scale
    beyond = rows["mean"] <= 0 if log else rows["mean"].isna()
    means = rows["mean"].mask(beyond) / measure.scale
    panel.errorbar(
        rows["at"],
        means,
        # Points without an interval have no bar, whose caps would look like a horizontal interval.
        yerr=np.where((error > 0).any(axis=0), np.nan_to_num(error).clip(min=0), np.nan),
        fmt="none",
        ecolor=line_color,
        elinewidth=1.3,
        capsize=3,
        transform=panel.transData + _moved(panel, aside_bars),
    )
    panel.plot(
        rows["at"],
        means,
        color=line_color,
        # Points at levels without an order are not connected.
        ls="-" if axis.numeric else "none",
        marker="o",
        ms=4 if axis.numeric else 6,
        lw=1.3,
        label=label,
        transform=panel.transData + _moved(panel, aside),
    )
    _cross(panel, rows[rows["undefined"] > 0], line_color, aside)
    if log:
        _below(panel, rows[beyond], line_color, aside)


def _logarithmic_range(panel: Axes, means: pd.DataFrame, measure: Readable) -> None:
    """Makes the vertical axis logarithmic; raises ScenarioError if no value is above 0."""
    values = (means[["mean", "low", "high"]] / measure.scale).to_numpy()
    positive = values[np.isfinite(values) & (values > 0)]
    if not positive.size:
        raise ScenarioError(f"log: {measure.name} has no value above 0; needs a linear axis")
    logarithmic(panel, "y")
    panel.set_ylim(positive.min() / 1.1, positive.max() * 1.1)


@with_literal_texts
def heat(
    study: Study,
    x: str,
    y: Specification | None = None,
    by: str | None = None,
    *,
    where: Iterable[str] = (),
    ax: Axes | None = None,
) -> Figure:
    """Draws the mean of a measure over two factors as colors and numbers; empty cells show the reason.

    Arguments and errors are those of `sweep_means`; levels of `by` go from the top down. The argument order of earlier
    releases, x, by, y, is also accepted if only one of the last two is a factor.
    """
    _check_study(study)
    factors = [factor.name for factor in study.design.factors]
    if isinstance(y, str) and y in factors and by not in factors:
        y, by = by, y
    if by is None:
        raise ScenarioError(f"by: missing; needs a second factor, one of {', '.join(factors)}")
    sweep_data = _sweep_data(study, x, y, by, 0.95, where)
    means, measure = sweep_data.means, sweep_data.measure
    across, up = ([level for level in _levels(study, name) if level in set(means[name])] for name in (x, by))
    values = np.full((len(up), len(across)), np.nan)
    cells = {(row[by], row[x]): row for row in means.to_dict("records")}
    for (level, other), row in cells.items():
        values[up.index(level), across.index(other)] = row["mean"] / measure.scale
    figure, panel = _panel(ax)
    panel.grid(visible=False)
    image = panel.imshow(values, aspect="auto", cmap="viridis")
    has_value = np.isfinite(values)
    digits = _decimals(values[has_value])
    for (row, column), value in np.ndenumerate(values):
        if has_value[row, column]:
            text, tint = f"{value:.{digits}f}", text_color(image, value)
        else:
            cell = cells.get((up[row], across[column]))
            text = f"no value in\n{cell['undefined']} of {cell['runs']} runs" if cell else "not run"
            tint = "0.35"
        panel.text(column, row, text, ha="center", va="center", color=tint)
    panel.set_xticks(range(len(across)), list(map(str, across)))
    panel.set_yticks(range(len(up)), list(map(str, up)))
    panel.set_xlabel(x)
    panel.set_ylabel(by)
    runs = "one run each" if sweep_data.replications == 1 else f"means of {sweep_data.replications} replications"
    _titled(figure, ax, "\n".join([f"{study.name}: {measure.name}, {runs}", *sweep_data.notes]))
    if has_value.any():
        panel.figure.colorbar(image, ax=panel, label=measure.head)
    return figure


def _within(values: pd.Series, measure: Readable) -> pd.Series:
    """Returns the ends of intervals, clipped to the range that is possible for shares and indexes."""
    return values.clip(0, 1) if measure.unit == "share" or measure.column in INDEXES else values


def _offset(number: int, lines: int, step: float, total: float) -> float:
    """Returns the horizontal offset [points] of one of several lines, which keeps its intervals apart from others'."""
    return min(step, total / lines) * (number - (lines - 1) / 2)


def _moved(panel: Axes, points: float) -> ScaledTranslation:
    """Returns a horizontal translation by a number of points."""
    return ScaledTranslation(points / 72, 0, panel.figure.dpi_scale_trans)


def _cross(panel: Axes, rows: pd.DataFrame, own_color: str, aside: float) -> None:
    """Marks undefined means at the top edge with the number of runs without a value."""
    place = panel.get_xaxis_transform() + _moved(panel, aside)
    for row in rows.to_dict("records"):
        panel.plot([row["at"]], [0.97], "x", color=own_color, mew=1.6, ms=7, transform=place, zorder=5)
        panel.annotate(
            f"{row['undefined']} of {row['runs']}", (row["at"], 0.97), xycoords=place, xytext=(0, -7),
            textcoords="offset points", ha="center", va="top", fontsize="x-small", color=own_color, rotation=90,
        )  # fmt: skip


def _below(panel: Axes, rows: pd.DataFrame, own_color: str, aside: float) -> None:
    """Marks means that a logarithmic axis cannot show with a triangle at the bottom edge."""
    place = panel.get_xaxis_transform() + _moved(panel, aside)
    panel.plot(rows["at"], [0.02] * len(rows), "v", color=own_color, ms=6, transform=place, zorder=5)


def _range_up(panel: Axes, edges: pd.DataFrame, *, from_zero: bool) -> None:
    """Sets the vertical range so that it contains all values and intervals."""
    values = edges.to_numpy()[np.isfinite(edges.to_numpy())]
    if not values.size:
        return
    low, high = float(values.min()), float(values.max())
    if from_zero and (edges["mean"].dropna() >= 0).all():
        panel.set_ylim(0, 1.06 * high or 1.0)
    else:
        margin = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
        never_below = 0.0 if (edges["mean"].dropna() >= 0).all() else -np.inf
        panel.set_ylim(max(low - margin, never_below), high + margin)


def _decimals(values: np.ndarray) -> int:
    """Returns the number of decimals with which the largest value has three significant digits, and the range two."""
    sizes = [(float(np.abs(values).max()), 2), (float(np.ptp(values)), 1)] if values.size else []
    decimals = [digits - math.floor(math.log10(size)) for size, digits in sizes if size > 0]
    return min(_MAX_DECIMALS, max(0, *decimals)) if decimals else 0


def _panel(ax: Axes | None) -> tuple[Figure, Axes]:
    if ax is not None:
        return ax.figure, ax  # type: ignore[return-value]
    figure = figure_of(4.4)
    panel = figure.add_subplot()
    plain(panel)
    return figure, panel


def _titled(figure: Figure, ax: Axes | None, title: str) -> None:
    if ax is None:
        title_of(figure, title)
    else:
        title_in(ax, title)


def _levels(study: Study, factor: str) -> list[Any]:
    return next(list(other.levels) for other in study.design.factors if other.name == factor)


def _axis(levels: Iterable[Any]) -> _Axis:
    """Returns the axis: numeric levels are placed at their values in a common unit, others are equally spaced."""
    levels = list(levels)
    numbers, unit = numbers_of(levels)
    if not numbers:
        return _Axis({level: float(i) for i, level in enumerate(levels)}, "", numeric=False, logarithmic=False)
    at = dict(zip(levels, numbers, strict=True))
    if min(numbers) == 0:
        smallest = min((number for number in numbers if number > 0), default=math.inf)
        wide = max(numbers) >= _WIDE_BESIDE_0 * smallest
        return _Axis(at, unit, numeric=True, logarithmic=wide, linear_to=smallest if wide else None)
    wide = min(numbers) > 0 and max(numbers) >= _WIDE * min(numbers)
    return _Axis(at, unit, numeric=True, logarithmic=wide)


def _levels_along(panel: Axes, axis: _Axis) -> None:
    """Sets the scale and the ticks of the horizontal axis for the levels of a factor."""
    if axis.logarithmic:
        if axis.linear_to is None:
            panel.set_xscale("log")
        else:
            panel.set_xscale("symlog", linthresh=axis.linear_to)
        panel.xaxis.set_minor_locator(NullLocator())
        panel.xaxis.set_minor_formatter(NullFormatter())
    places = list(axis.at.values())
    if axis.logarithmic:
        scale = panel.xaxis.get_transform()
        low, high = scale.transform(np.array([min(places), max(places)]))
        margin = 0.06 * (high - low)
        panel.set_xlim(*scale.inverted().transform(np.array([low - margin, high + margin])))
    else:
        margin = 0.06 * (max(places) - min(places)) or 1.0 if axis.numeric else 0.5
        panel.set_xlim(min(places) - margin, max(places) + margin)
    panel.set_xticks(places, [f"{at:g}" for at in axis.at.values()] if axis.numeric else map(str, axis.at))
