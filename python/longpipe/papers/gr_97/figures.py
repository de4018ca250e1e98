"""Figures of ATM Forum/97-0424: efficiency against fairness, marked by one factor at a time."""

from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from longpipe.papers.gr_97.claims import PERIODS
from longpipe.papers.names import NAMES
from longpipe.papers.reproduction import Reproduction
from longpipe.pictures.style import BLUE, GREEN, VERMILION, plain

# And markers that tell the levels apart in grey.
COLOURS: Final = (BLUE, VERMILION, GREEN)
MARKERS: Final = ("o", "s", "^")
FACTORS: Final = {"policy": "policy", "guaranteed_rate": "GR", "tcp": "TCP flavor"}
TITLES: Final = {"lan": "LAN", "wan": "WAN", "satellite": "Satellite"}
# From the plainest on, as in the paper's tables.
LEVELS: Final = {"policy": ("tail-drop", "epd", "selective-drop"), "tcp": ("vanilla", "reno", "sack")}


def figures(found: Reproduction) -> dict[str, Figure]:
    """Its Figures 4 and 5 by file name."""
    return {"vbr-period": vbr_period(found), "by-factor": by_factor(found)}


def points(found: Reproduction) -> pd.DataFrame:
    """A row per table row: `table`, the factors, `published_` and `mean_` of efficiency and fairness."""
    index = ["table", *found.paper.factors]
    wide = found.rows.pivot_table(["published", "mean"], index=index, columns="metric", sort=False, observed=True)
    wide.columns = pd.Index(["_".join(names) for names in wide.columns])
    return wide.reset_index()


def vbr_period(found: Reproduction) -> Figure:
    """Figure 4: SACK beside VBR of three periods, GR 0; a line leads from each published point to the simulated."""
    chosen = points(found)
    chosen = chosen[chosen["table"] == PERIODS]
    figure = Figure(figsize=(9.5, 4.8), layout="constrained")
    for panel, network in zip(figure.subplots(1, 2, sharex=True, sharey=True), ("lan", "wan"), strict=True):
        _panel(panel, chosen[chosen["network"] == network], "vbr_period_ms", joined=True)
        panel.set_title(f"{TITLES[network]}, 5 sources", loc="left", fontsize=10)
        panel.set_xlabel("fairness (Jain's index)")
    figure.axes[0].set_ylabel("efficiency")
    handles = [*_of_levels(chosen, "vbr_period_ms", " ms on, off"), *_of_sources()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    figure.suptitle(f"gr-97, Figure 4: period of VBR under strict priority ({found.seeds} seeds)")
    return figure


def by_factor(found: Reproduction) -> Figure:
    """Figure 5: Tables 3 to 9, a row of panels per network and a column per factor that marks the points."""
    chosen = points(found)
    chosen = chosen[chosen["table"] != PERIODS]
    networks = list(chosen["network"].unique())
    figure = Figure(figsize=(12, 10.5), layout="constrained")
    panels = figure.subplots(len(networks), len(FACTORS), sharex="row", sharey="row")
    for row, network in zip(panels, networks, strict=True):
        of_row = chosen[chosen["network"] == network]
        for panel, (factor, name) in zip(row, FACTORS.items(), strict=True):
            _panel(panel, of_row, factor, joined=False)
            panel.set_title(f"{TITLES[network]} by {name}", loc="left", fontsize=10)
            panel.set_xlabel("fairness (Jain's index)")
            # Nothing is printed or found as slow and as unfair as that.
            panel.legend(handles=_of_levels(of_row, factor), frameon=False, fontsize=8, loc="lower left")
        row[0].set_ylabel("efficiency")
    figure.legend(handles=_of_sources(), loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle(f"gr-97, Figure 5: what decides, beside VBR of 300 ms ({found.seeds} seeds)")
    return figure


def _panel(axes: Axes, chosen: pd.DataFrame, factor: str, *, joined: bool) -> None:
    plain(axes)
    axes.set_xlim(0, 1.04)
    axes.set_ylim(0, 1.09)
    for level, colour, marker in zip(_levels(chosen, factor), COLOURS, MARKERS, strict=False):
        of_level = chosen[chosen[factor] == level]
        published = of_level["published_fairness"], of_level["published_efficiency"]
        mean = of_level["mean_fairness"], of_level["mean_efficiency"]
        if joined:
            axes.plot([published[0], mean[0]], [published[1], mean[1]], color=colour, linewidth=0.8, alpha=0.6)
        axes.plot(*published, marker, markerfacecolor="none", markeredgecolor=colour, markersize=6, alpha=0.7)
        axes.plot(*mean, marker, color=colour, markersize=5, alpha=0.8, markeredgewidth=0)


def _levels(chosen: pd.DataFrame, factor: str) -> list[Any]:
    return [level for level in LEVELS.get(factor, sorted(chosen[factor].unique())) if (chosen[factor] == level).any()]


def _of_levels(chosen: pd.DataFrame, factor: str, unit: str = "") -> list[Line2D]:
    levels = zip(_levels(chosen, factor), COLOURS, MARKERS, strict=False)
    return [_handle(f"{NAMES.get(level, level)}{unit}", marker, colour, colour) for level, colour, marker in levels]


def _of_sources() -> list[Line2D]:
    return [_handle("published", "D", "0.4", "none"), _handle("simulated mean", "D", "0.4", "0.4")]


def _handle(label: str, marker: str, colour: str, filling: str) -> Line2D:
    return Line2D([], [], linestyle="", label=label, marker=marker, color=colour, markerfacecolor=filling)
