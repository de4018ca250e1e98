"""A measure of a study over one factor, or over two as a map."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from longpipe.analysis.intervals import estimate
from longpipe.analysis.readable import readable
from longpipe.errors import ScenarioError, nearest
from longpipe.pictures.figure import Picture
from longpipe.pictures.style import BLUE, PALETTE, plain

if TYPE_CHECKING:
    from longpipe.study import Study

_LEVEL: Final = re.compile(r"\s*([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(\S.*)?")
# Levels that span this much are spread over a logarithmic axis.
_WIDE: Final = 8


@dataclass(frozen=True)
class _Axis:
    """Levels of a factor along an axis: where each is, the unit that all have, whether logarithmic."""

    at: dict[Any, float]
    unit: str
    numeric: bool
    logarithmic: bool


def sweep_means(study: Study, x: str, y: str, by: str | None = None, *, level: float = 0.95) -> pd.DataFrame:
    """Mean of a measure at each level of one factor, or of two: `x`, `by`, `runs`, `mean`, `low`, `high`.

    The interval holds the true mean with confidence `level` (0 to 1), nan for a single run. ScenarioError for a factor
    or a measure that the study does not have, and where other factors vary too.
    """
    runs = study.frame()
    if runs.empty:
        raise ScenarioError(f"study: {study.name!r} has no finished run; needs longpipe study run {study.name}")
    factors = [factor.name for factor in study.design.factors]
    for name in (x, *([by] if by else [])):
        if name not in factors:
            raise ScenarioError(f"factor: {name!r}; {nearest(name, factors)}")
    measures = [str(name) for name in runs.columns if name not in (*factors, "point", "block", "replication", "seed")]
    y = _column(study, y)
    if y not in measures:
        raise ScenarioError(f"measure: {y!r}; {nearest(y, measures)}")
    others = [name for name in factors if name not in (x, by) and len(runs[name].unique()) > 1]
    if others:
        raise ScenarioError(f"factor: besides {x!r} vary {', '.join(others)}; needs one of them as by (--by), no more")
    rows = []
    for levels, group in runs.groupby([x, by] if by else [x], sort=False):
        found = estimate(group[y], level=level)
        heads = dict(zip((x, by) if by else (x,), levels, strict=True))
        rows.append({**heads, "runs": len(group), "mean": found.mean, "low": found.mean_low, "high": found.mean_high})
    return pd.DataFrame(rows)


def _column(study: Study, measure: str) -> str:
    """The column of a measure, which may be called without its unit, unless one of that name was asked for."""
    named = any(asked.name == measure for asked in study.design.asked)
    return "throughput_bps" if measure == "throughput" and not named else measure


def numeric(levels: Iterable[Any]) -> bool:
    """Whether levels are numbers with one unit, which have their places along an axis."""
    return _axis(levels).numeric


def sweep(
    study: Study, x: str, y: str, by: str | None = None, *, level: float = 0.95, ax: Axes | None = None
) -> Figure:
    """A measure over the levels of a factor, a line for each level of `by`, with intervals of the means."""
    means, axis = sweep_means(study, x, y, by, level=level), _axis(_levels(study, x))
    figure, panel = _panel(ax)
    shown = readable(_column(study, y), study.design.asked)
    lines = list(means.groupby(by, sort=False)) if by else [("", means)]
    for number, (name, rows) in enumerate(lines):
        ordered = rows.assign(at=rows[x].map(axis.at)).sort_values("at")
        error = np.stack([ordered["mean"] - ordered["low"], ordered["high"] - ordered["mean"]]) / shown.scale
        panel.errorbar(
            ordered["at"],
            ordered["mean"] / shown.scale,
            yerr=np.nan_to_num(error),
            color=PALETTE[number % len(PALETTE)] if by else BLUE,
            marker="o",
            ms=4,
            lw=1.3,
            capsize=3,
            label=str(name),
        )
    _levels_along(panel, axis)
    panel.set_xlabel(f"{x} [{axis.unit}]" if axis.unit else x)
    panel.set_ylabel(shown.head)
    if (means["mean"].dropna() >= 0).all():
        panel.set_ylim(bottom=0)
    runs = means["runs"].max()
    seeds = f"means of {runs} runs, {level:.0%} intervals" if runs > 1 else "one run each"
    _titled(figure, ax, f"{study.name}: {shown.name} over {x}, {seeds}")
    if by:
        panel.legend(title=by, frameon=False)
    return figure


def heat(study: Study, x: str, by: str, y: str, *, ax: Axes | None = None) -> Figure:
    """A measure over the levels of two factors, its mean as colour and number."""
    means = sweep_means(study, x, y, by)
    shown = readable(_column(study, y), study.design.asked)
    across, up = _levels(study, x), _levels(study, by)
    values = means.pivot_table("mean", by, x).reindex(index=up, columns=across).to_numpy() / shown.scale
    figure, panel = _panel(ax)
    panel.grid(visible=False)
    image = panel.imshow(values, origin="lower", aspect="auto", cmap="viridis")
    middle = np.nanmean([np.nanmin(values), np.nanmax(values)])
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            panel.text(column, row, f"{value:.3g}", ha="center", va="center", color="w" if value < middle else "k")
    panel.set_xticks(range(len(across)), list(map(str, across)))
    panel.set_yticks(range(len(up)), list(map(str, up)))
    panel.set_xlabel(x)
    panel.set_ylabel(by)
    _titled(figure, ax, f"{study.name}: {shown.name}, means of {means['runs'].max()} runs")
    panel.figure.colorbar(image, ax=panel, label=shown.head)
    return figure


def _panel(ax: Axes | None) -> tuple[Figure, Axes]:
    if ax is not None:
        plain(ax)
        return ax.figure, ax  # type: ignore[return-value]
    figure = Picture(figsize=(8, 4.4), layout="constrained")
    panel = figure.add_subplot()
    plain(panel)
    return figure, panel


def _titled(figure: Figure, ax: Axes | None, title: str) -> None:
    if ax is None:
        figure.suptitle(title, fontsize=11)
    else:
        ax.set_title(title, fontsize=11)


def _levels(study: Study, factor: str) -> list[Any]:
    return next(list(one.levels) for one in study.design.factors if one.name == factor)


def _axis(levels: Iterable[Any]) -> _Axis:
    """Numbers with one unit where they are, all else side by side."""
    levels = list(levels)
    matches = [_LEVEL.fullmatch(str(level)) for level in levels]
    units = {match[2] or "" for match in matches if match}
    if not all(matches) or len(units) != 1 or any(isinstance(level, bool) for level in levels):
        return _Axis({level: float(i) for i, level in enumerate(levels)}, "", numeric=False, logarithmic=False)
    at = {level: float(match[1]) for level, match in zip(levels, matches, strict=True) if match}
    wide = min(at.values()) > 0 and max(at.values()) >= _WIDE * min(at.values())
    return _Axis(at, units.pop(), numeric=True, logarithmic=wide)


def _levels_along(panel: Axes, axis: _Axis) -> None:
    if axis.logarithmic:
        panel.set_xscale("log")
        panel.xaxis.set_minor_locator(NullLocator())
        panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set_xticks(
        list(axis.at.values()), [f"{at:g}" for at in axis.at.values()] if axis.numeric else map(str, axis.at)
    )
