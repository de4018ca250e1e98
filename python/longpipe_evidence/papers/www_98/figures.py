"""Figures of ATM Forum/98-0876: published and simulated values, and the analysis of variation link by link."""

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from longpipe.pictures import variation as variation_pictures
from longpipe.pictures.style import BLUE, VERMILION, plain
from longpipe_evidence.papers.names import NAMES
from longpipe_evidence.papers.reproduction import Reproduction
from longpipe_evidence.papers.seeds import counted
from longpipe_evidence.papers.topology import topology
from longpipe_evidence.papers.www_98.claims import FLAVORS
from longpipe_evidence.papers.www_98.summaries import NETWORKS, replicated
from longpipe_evidence.papers.www_98.variation import LETTERS, LEVEL

# Colors of the policies.
COLORS: Final = (BLUE, VERMILION)
# Buffers of the experiments [RTT], at the positions 0, 1, ... of the horizontal axis.
BUFFERS: Final = ("0.5", "1", "2")
POLICIES: Final = {"epd": "EPD", "selective-drop": "Selective Drop"}


def figures(reproduction: Reproduction) -> dict[str, Figure]:
    """Returns figures by file name: one of all tables; per link main effects, interactions and explained variation."""
    runs = reproduction.runs[reproduction.runs["replicated"]].rename(
        columns={"tcp": "TCP", "buffer_bdp": "buffer [RTT]"}
    )
    by_name = {metric: by_buffer(reproduction, metric) for metric in LETTERS}
    for network in NETWORKS:
        fits = [replicated(runs, network, metric, ("TCP", "buffer [RTT]", "policy")) for metric in LETTERS]
        by_name[f"variation-{network}"] = _named(variation_pictures.variation_explained(*fits), network)
        for metric, fit in zip(LETTERS, fits, strict=True):
            by_name[f"effects-{network}-{metric}"] = _named(variation_pictures.main_effects(fit, LEVEL), network)
            by_name[f"interactions-{network}-{metric}"] = _named(variation_pictures.interactions(fit), network)
    by_name["network"] = topology(
        reproduction.paper.networks()["wan"], "www-98, Figure 1: 100 pairs; here 5 of them on the WAN"
    )
    return by_name


def points(reproduction: Reproduction, metric: str) -> pd.DataFrame:
    """Returns a row per configuration: factors, `published`, `mean`, and the span `low` to `high` of 95 % of runs."""
    rows = reproduction.rows[reproduction.rows["metric"] == metric]
    return rows[[*reproduction.paper.factors, "published", "mean", "low", "high"]].reset_index(drop=True)


def by_buffer(reproduction: Reproduction, metric: str) -> Figure:
    """Draws a metric against the buffer: a row of panels per link, a column per flavor; bars span 95 % of runs."""
    chosen = points(reproduction, metric)
    figure = Figure(figsize=(11, 8), layout="constrained")
    panels = figure.subplots(len(NETWORKS), len(FLAVORS), sharex=True, sharey="row")
    for row, network in zip(panels, NETWORKS, strict=True):
        for panel, tcp in zip(row, FLAVORS, strict=True):
            _panel(panel, chosen[(chosen["network"] == network) & (chosen["tcp"] == tcp)])
            panel.set_title(f"{network.upper()}, {NAMES[tcp]}", loc="left", fontsize=10)
        row[0].set_ylabel(metric)
    for panel in panels[-1]:
        panel.set_xlabel("buffer [RTT]")
    bars = "bars hold 95 % of single runs" if reproduction.seeds > 1 else "no interval"
    figure.suptitle(f"www-98, {metric}: published, and simulated with {counted(reproduction.seeds)} ({bars})")
    handles = [
        Line2D([], [], color=color, marker="o", label=f"{name}, simulated mean")
        for name, color in zip(POLICIES.values(), COLORS, strict=True)
    ]
    handles.append(Line2D([], [], color="0.3", linestyle="", marker="D", markerfacecolor="white", label="published"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _panel(panel: Axes, chosen: pd.DataFrame) -> None:
    """Draws the rows of a link and a flavor; the policies are shifted to the left and to the right of each buffer."""
    plain(panel)
    for (policy, color), shift in zip(zip(POLICIES, COLORS, strict=True), (-0.08, 0.08), strict=True):
        of_policy = chosen[chosen["policy"] == policy].sort_values("buffer_bdp").reset_index(drop=True)
        positions = of_policy.index + shift
        panel.vlines(positions, of_policy["low"], of_policy["high"], color=color, linewidth=4, alpha=0.25)
        panel.plot(positions, of_policy["mean"], color=color, marker="o", markersize=4, linewidth=1.2)
        panel.plot(positions, of_policy["published"], "D", markerfacecolor="white", markeredgecolor=color, markersize=6)
    panel.set_xticks(range(len(BUFFERS)), list(BUFFERS))


def _named(figure: Figure, network: str) -> Figure:
    """Adds the document and the link to a figure's title."""
    figure.suptitle(f"www-98, {network.upper()}: {figure.get_suptitle()}", fontsize=10)
    return figure
