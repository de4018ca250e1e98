"""Figures of ATM Forum/96-1761: efficiency against fairness, with each published point linked to the simulated one."""

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from longpipe.pictures.style import BLUE, VERMILION
from longpipe_evidence.papers.reproduction import Reproduction
from longpipe_evidence.papers.seeds import counted
from longpipe_evidence.papers.topology import topology

# Markers for the smaller and the larger buffer, and for fewer and more sources.
COLORS: Final = (VERMILION, BLUE)
MARKERS: Final = ("o", "s")


def figures(reproduction: Reproduction) -> dict[str, Figure]:
    """Returns the network, and efficiency against fairness of every table, by file name."""
    of_tables = {
        f"tables-{table.replace('+', '-')}": efficiency_fairness(reproduction, table) for table in reproduction.tables
    }
    network = topology(reproduction.paper.networks()["lan"], "frr-96, Figure 1: N sources; here the LAN with 5")
    return {"network": network, **of_tables}


def efficiency_fairness_points(reproduction: Reproduction, table: str) -> pd.DataFrame:
    """Returns a table's configurations as points: factors; `published`, `mean`, `mean_low`, `mean_high` per metric."""
    rows = reproduction.rows[reproduction.rows["table"] == table]
    numbers = ["published", "mean", "mean_low", "mean_high"]
    points = rows.pivot_table(
        numbers, index=list(reproduction.paper.factors), columns="metric", sort=False, dropna=False, observed=True
    )
    points.columns = pd.Index(["_".join(names) for names in points.columns])
    return points.dropna(subset=["published_efficiency"]).reset_index()


def efficiency_fairness(reproduction: Reproduction, table: str) -> Figure:
    """Draws efficiency against fairness of a table: a row of panels per network and a column per policy.

    A line links each published point to the replicated mean, whose 95 % intervals are drawn as a thin cross.
    """
    points = efficiency_fairness_points(reproduction, table)
    paper = reproduction.paper
    networks = list(points["network"].unique())
    figure = Figure(figsize=(11, 6.6), layout="constrained")
    panels = figure.subplots(len(networks), len(paper.column_names), sharex="row", sharey="row", squeeze=False)
    for row, network in zip(panels, networks, strict=True):
        of_row = points[points["network"] == network]
        for panel, (level, name) in zip(row, paper.column_names.items(), strict=True):
            _panel(panel, of_row[of_row[paper.columns] == level])
            panel.set_title(f"{network.upper()}, {name}", loc="left", fontsize=10)
            panel.set_xlabel("fairness (Jain's index)")
        lowest = of_row.filter(regex="^(published|mean)_(efficiency|fairness)$").min()
        _limit(row[0], lowest)
        row[0].set_ylabel("efficiency")
    captions = [caption for caption in paper.captions if caption.table == table]
    numbers = " and ".join(str(caption.number) for caption in captions)
    subject = captions[0].title.partition(" of ")[2]
    figure.suptitle(f"{paper.id}, Tables {numbers}: {subject}, published and simulated ({counted(reproduction.seeds)})")
    figure.legend(handles=_legend(points), loc="outside lower center", ncols=6, frameon=False)
    return figure


def _limit(axes: Axes, lowest: pd.Series) -> None:
    floors = {name: min(lowest[f"published_{name}"], lowest[f"mean_{name}"]) for name in ("fairness", "efficiency")}
    axes.set_xlim(max(0, floors["fairness"] - 0.1), 1.03)
    axes.set_ylim(max(0, floors["efficiency"] - 0.1), 1.03)


def _panel(axes: Axes, points: pd.DataFrame) -> None:
    """Draws published and simulated fairness and efficiency, joined by a line per configuration."""
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    for _, buffers in points.groupby("sources"):
        smaller = buffers["buffer_cells"].min()
        for point in buffers.to_dict("records"):
            color = COLORS[int(point["buffer_cells"] > smaller)]
            marker = MARKERS[int(point["sources"] > points["sources"].min())]
            x, y = point["mean_fairness"], point["mean_efficiency"]
            published = point["published_fairness"], point["published_efficiency"]
            axes.hlines(y, point["mean_low_fairness"], point["mean_high_fairness"], color=color, lw=0.6, alpha=0.5)
            axes.vlines(x, point["mean_low_efficiency"], point["mean_high_efficiency"], color=color, lw=0.6, alpha=0.5)
            axes.plot([published[0], x], [published[1], y], color=color, linewidth=1.4)
            axes.plot(*published, marker, markerfacecolor="white", markeredgecolor=color, markersize=7, zorder=3)
            axes.plot(x, y, marker, color=color, markersize=6, zorder=4)


def _legend(points: pd.DataFrame) -> list[Line2D]:
    """Returns the entries of the legend: sources by marker, and buffers by color."""
    sources = sorted(points["sources"].unique())
    interval = "mean, 95 % interval" if points["mean_low_efficiency"].notna().any() else "with 1 seed, no interval"

    def handle(label: str, marker: str = "D", color: str = "0.3", filling: str | None = None) -> Line2D:
        return Line2D([], [], linestyle="", label=label, marker=marker, color=color, markerfacecolor=filling or color)

    return [
        handle("published", filling="white"),
        handle(f"simulated {interval}"),
        *(handle(f"{n} sources", marker) for n, marker in zip(sources, MARKERS, strict=True)),
        *(handle(f"{size} buffer", "D", color) for size, color in zip(("smaller", "larger"), COLORS, strict=True)),
    ]
