"""Figures of ATM Forum/97-0424: efficiency against fairness, with points marked by one factor at a time."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from longpipe import simulate
from longpipe.aal5 import CELL_BITS, packet_cells
from longpipe.pictures.style import BLUE, GREEN, VERMILION, plain
from longpipe.units import RATE
from longpipe_evidence.papers import PAPERS
from longpipe_evidence.papers.experiments import cell_name
from longpipe_evidence.papers.gr_97.claims import BURST_MS, PERIODS
from longpipe_evidence.papers.gr_97.summaries import EDGES
from longpipe_evidence.papers.names import NAMES
from longpipe_evidence.papers.reproduction import Reproduction
from longpipe_evidence.papers.seeds import counted
from longpipe_evidence.papers.topology import topology

FloatArray = npt.NDArray[np.float64]

# Colors of the levels of a factor, and markers that keep the levels distinguishable in greyscale.
COLORS: Final = (BLUE, VERMILION, GREEN)
MARKERS: Final = ("o", "s", "^")
FACTORS: Final = {"policy": "policy", "guaranteed_rate": "GR", "tcp": "TCP flavor"}
# Parameters of Figure 2: guaranteed rates, time shown [s], length of a step [s], and the period of VBR [s], which is on
# for `BURST_MS` and off for as long.
SHOWN_RATES: Final = (0.0, 0.1, 0.5)
SHOWN_S: Final = (4.2, 6.0)
STEP_S: Final = 0.01
PERIOD_S: Final = 2 * BURST_MS / 1000
# Payload of a full segment [bytes].
MSS: Final = 512
TITLES: Final = {"lan": "LAN", "wan": "WAN", "satellite": "Satellite"}
# Drop policies and TCP flavors, the simplest first, as in the paper's tables.
LEVELS: Final = {"policy": ("tail-drop", "epd", "selective-drop"), "tcp": ("vanilla", "reno", "sack")}


def figures(reproduction: Reproduction) -> dict[str, Figure]:
    """Returns Figures 2 to 5 by file name."""
    network = topology(reproduction.paper.networks()["lan"], "gr-97, Figure 3: N sources and VBR; here the LAN with 5")
    return {
        "link-shares": link_shares(),
        "network": network,
        "vbr-period": vbr_period(reproduction),
        "starved": starved_runs(reproduction),
        "by-factor": by_factor(reproduction),
    }


def link_shares() -> Figure:
    """Draws Figure 2: UBR's share of the link over time for three GRs, and VBR's bursts; WAN with 15 sources."""
    figure = Figure(figsize=(9.5, 5.4), layout="constrained")
    panels = figure.subplots(len(SHOWN_RATES), 1, sharex=True, sharey=True)
    for panel, rate in zip(panels, SHOWN_RATES, strict=True):
        plain(panel)
        at_s, share = ubr_share(rate)
        for burst_s in np.arange(np.floor(SHOWN_S[0] / PERIOD_S) * PERIOD_S, SHOWN_S[1], PERIOD_S):
            panel.axvspan(burst_s, burst_s + PERIOD_S / 2, color="0.92", linewidth=0)
        panel.step(at_s, share, where="mid", color=BLUE)
        panel.axhline(rate, color=VERMILION, linewidth=0.8, linestyle="--")
        panel.set_xlim(*SHOWN_S)
        panel.set_ylim(0, 1.05)
        panel.set_title(f"GR {rate:g}", loc="left", fontsize=10)
    panels[1].set_ylabel(f"UBR's share of the link, in steps of {1000 * STEP_S:g} ms")
    panels[-1].set_xlabel("time [s]; grey: VBR sends at the rate of the link")
    figure.suptitle(f"gr-97, Figure 2: link shares with VBR of {BURST_MS} ms; dashed: the GR (SACK, one run each)")
    return figure


def ubr_share(rate: float) -> tuple[FloatArray, FloatArray]:
    """Returns the middles of the steps [s], and each one's share of trunk cells with new UBR data, [0, 1]."""
    cells = ubr_cells(rate)
    edges = np.arange(SHOWN_S[0], SHOWN_S[1] + STEP_S / 2, STEP_S)
    in_step, _ = np.histogram(cells["time_s"], edges, weights=cells["cells"])
    of_link = STEP_S * RATE.parse("155.52 Mbit/s") / CELL_BITS
    return edges[:-1] + STEP_S / 2, in_step / of_link


def ubr_cells(rate: float) -> pd.DataFrame:
    """Returns the cells of UBR's segments at their arrival, from one run over the WAN."""
    levels = {
        "network": "wan", "sources": 15, "buffer_cells": 36000, "tcp": "sack", "policy": "selective-drop",
        "guaranteed_rate": rate, "vbr_period_ms": BURST_MS,
    }  # fmt: skip
    scenario = PAPERS["gr-97"].cells()[cell_name(levels, levels)]
    trace = simulate(scenario.with_(duration=f"{SHOWN_S[1]:g} s", traces={"arrivals": True}), 1).traces["arrivals"]
    return pd.DataFrame({"time_s": trace["time_s"], "cells": trace["bytes"] / MSS * packet_cells(MSS)})


def points(reproduction: Reproduction) -> pd.DataFrame:
    """Returns a row per table row: `table`, factors, `published_` and `mean_` of efficiency and fairness."""
    index = ["table", *reproduction.paper.factors]
    wide = reproduction.rows.pivot_table(
        ["published", "mean"], index=index, columns="metric", sort=False, observed=True
    )
    wide.columns = pd.Index(["_".join(names) for names in wide.columns])
    return wide.reset_index()


def vbr_period(reproduction: Reproduction) -> Figure:
    """Draws Figure 4: SACK with VBR of three periods, GR 0; lines link published points to simulated ones."""
    chosen = points(reproduction)
    chosen = chosen[chosen["table"] == PERIODS]
    figure = Figure(figsize=(9.5, 4.8), layout="constrained")
    for panel, network in zip(figure.subplots(1, 2, sharex=True, sharey=True), ("lan", "wan"), strict=True):
        _panel(panel, chosen[chosen["network"] == network], "vbr_period_ms", joined=True)
        panel.set_title(f"{TITLES[network]}, 5 sources", loc="left", fontsize=10)
        panel.set_xlabel("fairness (Jain's index)")
    figure.axes[0].set_ylabel("efficiency")
    handles = [*_level_handles(chosen, "vbr_period_ms", " ms on, off"), *_source_handles()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    figure.suptitle(f"gr-97, Figure 4: period of VBR under strict priority ({counted(reproduction.seeds)})")
    return figure


def by_factor(reproduction: Reproduction) -> Figure:
    """Draws Figure 5: Tables 3 to 9, a row of panels per network and a column per factor that marks the points."""
    chosen = points(reproduction)
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
            # No published or simulated point has such low values, so the legend hides none.
            panel.legend(handles=_level_handles(of_row, factor), frameon=False, fontsize=8, loc="lower left")
        row[0].set_ylabel("efficiency")
    figure.legend(handles=_source_handles(), loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle(
        f"gr-97, Figure 5: effects of the factors, with VBR of {BURST_MS} ms ({counted(reproduction.seeds)})"
    )
    return figure


def starved_runs(reproduction: Reproduction) -> Figure:
    """Draws histograms of single runs with 5 sources over the WAN under strict priority, by buffer and TCP flavor."""
    table = reproduction.summaries["starved"]
    chosen = table[(table["network"] == "wan") & (table["sources"] == 5) & (table["vbr_period_ms"] == BURST_MS)]
    chosen = chosen.set_index(["buffer_cells", "tcp"])
    buffers = sorted(chosen.index.unique("buffer_cells"))
    figure = Figure(figsize=(9.5, 5.4), layout="constrained")
    rows = figure.subplots(len(buffers), len(LEVELS["tcp"]), sharex=True, sharey=True)
    for row, buffer in zip(rows, buffers, strict=True):
        for panel, tcp in zip(row, LEVELS["tcp"], strict=True):
            plain(panel)
            counts = chosen.loc[(buffer, tcp), [f"from_{edge:g}" for edge in EDGES[:-1]]].astype(float)
            panel.bar([edge + 0.05 for edge in EDGES[:-1]], counts / counts.sum(), width=0.09, color=BLUE)
            title = f"{NAMES.get(tcp, tcp)}, {buffer} cells: {counts.sum():.0f} runs"
            panel.set_title(title, loc="left", fontsize=10)
        row[0].set_ylabel("share of the runs")
    for panel in rows[-1]:
        panel.set_xlabel("efficiency of a run")
    figure.suptitle(f"gr-97: 5 sources over the WAN with VBR of {BURST_MS} ms under strict priority, all drop policies")
    return figure


def _panel(axes: Axes, chosen: pd.DataFrame, factor: str, *, joined: bool) -> None:
    """Draws published and simulated fairness and efficiency, with a color per level of `factor`."""
    plain(axes)
    axes.set_xlim(0, 1.04)
    axes.set_ylim(0, 1.09)
    for level, color, marker in zip(_levels(chosen, factor), COLORS, MARKERS, strict=False):
        of_level = chosen[chosen[factor] == level]
        published = of_level["published_fairness"], of_level["published_efficiency"]
        mean = of_level["mean_fairness"], of_level["mean_efficiency"]
        if joined:
            axes.plot([published[0], mean[0]], [published[1], mean[1]], color=color, linewidth=0.8, alpha=0.6)
        axes.plot(*published, marker, markerfacecolor="none", markeredgecolor=color, markersize=6, alpha=0.7)
        axes.plot(*mean, marker, color=color, markersize=5, alpha=0.8, markeredgewidth=0)


def _levels(chosen: pd.DataFrame, factor: str) -> list[Any]:
    """Returns the levels of a factor that the points have, in the order of the legend."""
    return [level for level in LEVELS.get(factor, sorted(chosen[factor].unique())) if (chosen[factor] == level).any()]


def _level_handles(chosen: pd.DataFrame, factor: str, unit: str = "") -> list[Line2D]:
    """Returns a handle of the legend for each level of a factor."""
    levels = zip(_levels(chosen, factor), COLORS, MARKERS, strict=False)
    return [_handle(f"{NAMES.get(level, level)}{unit}", marker, color, color) for level, color, marker in levels]


def _source_handles() -> list[Line2D]:
    """Returns the handles of the legend for published and simulated points."""
    return [_handle("published", "D", "0.4", "none"), _handle("simulated mean", "D", "0.4", "0.4")]


def _handle(label: str, marker: str, color: str, filling: str) -> Line2D:
    """Returns a handle of the legend: a marker without a line."""
    return Line2D([], [], linestyle="", label=label, marker=marker, color=color, markerfacecolor=filling)
