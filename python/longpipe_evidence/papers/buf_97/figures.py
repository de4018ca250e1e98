"""Figures of ATM Forum/97-0616: efficiency and fairness against buffer, and the buffer that a satellite link needs."""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe import simulate
from longpipe.analysis.knee import knee
from longpipe.pictures.style import BLUE, GREEN, ORANGE, PURPLE, VERMILION
from longpipe.result import SequenceEvent
from longpipe_evidence.papers import PAPERS
from longpipe_evidence.papers.buf_97.links import LINKS
from longpipe_evidence.papers.names import NAMES
from longpipe_evidence.papers.reproduction import Reproduction
from longpipe_evidence.papers.seeds import mean_text
from longpipe_evidence.papers.topology import topology

COLORS: Final = (BLUE, VERMILION, GREEN, PURPLE, ORANGE)
# The markers keep the lines distinguishable in greyscale.
MARKERS: Final = ("o", "s", "^", "D", "v")
# Efficiency below which a flavor's maximum is not a useful target.
GOOD: Final = 0.9
# Time shown in the figure of starts, and its steps [s].
SHOWN_S: Final = 10.0
STEP_S: Final = 0.1
# Scenario of the figure of starts, by name: LEO, 100 sources, 12 000 cells of buffer, which is one round trip.
STARTS_CELL: Final = "leo 100 12000 1.0"
# Buffer that the paper recommends [round trips].
RECOMMENDED_RTT: Final = 0.5
LABELS: Final = {"efficiency": "efficiency", "fairness": "fairness (Jain's index)"}


def figures(reproduction: Reproduction) -> dict[str, Figure]:
    """Returns figures by file name: Figure 1, a figure per metric with the panels of Figures 2 to 4, and the starts."""
    network = topology(
        reproduction.paper.networks()["leo"], "buf-97, Figure 1: N sources; here one LEO hop with 5 of them"
    )
    curves = {metric: against_buffer(reproduction, metric) for metric in reproduction.paper.metrics}
    return {"network": network, **curves, "starts": starts()}


def beyond_figures(summaries: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Returns the figure of the extension by file name."""
    return {"how-much-buffer": how_much_buffer(summaries["buffer-needed"])}


def starts() -> Figure:
    """Draws how 100 sources start over one LEO hop with a buffer of one round trip, without and with a handshake."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    first, later = figure.subplots(1, 2)
    readings = {"all data start at 0": PAPERS["buf-97"], "handshake": PAPERS["buf-97"].readings["handshake"]}
    for (name, paper), color, marker in zip(readings.items(), COLORS, MARKERS, strict=False):
        scenario = paper.cells()[STARTS_CELL]
        result = simulate(scenario.with_(traces={"sequence": True, "arrivals": True}), 1)
        sequence, arrivals = result.traces["sequence"], result.traces["arrivals"]
        sent_ms = 1e3 * np.sort(
            sequence[sequence["event"] == SequenceEvent.SENT].groupby("flow")["time_s"].min().to_numpy()
        )
        first.plot(sent_ms - sent_ms[0], np.arange(1, len(sent_ms) + 1), marker, color=color, markersize=3, label=name)
        edges = np.arange(0.0, SHOWN_S + STEP_S / 2, STEP_S)
        received, _ = np.histogram(arrivals["time_s"], edges, weights=arrivals["bytes"])
        rate_mbps = 8e-6 * received / STEP_S
        later.step(edges[:-1] + STEP_S / 2, rate_mbps, where="mid", color=color, label=name)
    first.set_xlabel("first data of a source after that of the first source [ms]")
    first.set_ylabel("sources that have started")
    later.set_xlabel("time [s]")
    later.set_ylabel("received data, in steps of 0.1 s [Mbit/s]")
    first.legend(frameon=False)
    figure.suptitle("buf-97: 100 sources over one LEO hop, buffer of one round trip (seed 1)")
    return figure


def curve(reproduction: Reproduction, network: str, sources: int, metric: str) -> pd.DataFrame:
    """Returns a curve of Figures 2 to 4, a row per buffer: cells, RTT, single run, mean over seeds, 95 % interval."""
    rows = reproduction.rows
    chosen = rows[(rows["network"] == network) & (rows["sources"] == sources) & (rows["metric"] == metric)]
    columns = ["buffer_cells", "buffer_rtt", "deterministic", "mean", "mean_low", "mean_high"]
    return chosen[columns].sort_values("buffer_cells", ignore_index=True)


def against_buffer(reproduction: Reproduction, metric: str) -> Figure:
    """Draws a metric against the buffer: a panel per link, a line per number of sources, rings at the knees."""
    figure = Figure(figsize=(13, 5.2), layout="constrained")
    for panel, (network, link) in zip(figure.subplots(1, 3, sharey=True), LINKS.items(), strict=True):
        for sources, color, marker in zip(link.sources, COLORS, MARKERS, strict=False):
            _curve(
                panel,
                curve(reproduction, network, sources, metric),
                f"N {sources}",
                color,
                marker,
                knees=metric != "fairness",
            )
        panel.axvline(RECOMMENDED_RTT, color="0.7", linewidth=0.8, linestyle=":")
        panel.set_title(f"Figure {link.figure}: {link.name}", loc="left", fontsize=10)
        _buffer_axis(panel, link.buffers_cells, link.round_trip_cells)
        panel.legend(frameon=False, fontsize=8, loc="center right", bbox_to_anchor=(1.0, 0.3))
    figure.axes[0].set_ylabel(LABELS[metric])
    figure.axes[0].set_ylim(-0.03, 1.03)
    remark = {"efficiency": ", ring: 95 % of the line's best", "fairness": "; no point where nothing is delivered"}
    figure.suptitle(
        f"buf-97: SACK and Selective Drop; line: {mean_text(reproduction.seeds)}; "
        f"cross: one run without random numbers{remark[metric]}"
    )
    return figure


def how_much_buffer(needed: pd.DataFrame) -> Figure:
    """Draws the buffer that each flavor needs against the number of sources, and the results with BDP / sqrt(N)."""
    figure = Figure(figsize=(13, 8), layout="constrained")
    panels = figure.subplots(2, len(LINKS), sharex=True, sharey="row")
    for (above, below), (network, link) in zip(panels.T, LINKS.items(), strict=True):
        needed_on_link = needed[needed["network"] == network]
        for (tcp, lines), color, marker in zip(needed_on_link.groupby("tcp", sort=False), COLORS, MARKERS, strict=True):
            style = {"color": color, "marker": marker, "markersize": 5, "linewidth": 1.3}
            name = NAMES[str(tcp)]
            above.plot(lines["sources"], lines["needed_bdp"], label=name, **style)
            poor = lines[lines["best_efficiency"] < GOOD]
            above.plot(poor["sources"], poor["needed_bdp"], marker, color=color, markersize=5, markerfacecolor="white")
            above.fill_between(lines["sources"], lines["lowest_bdp"], lines["highest_bdp"], color=color, alpha=0.1)
            below.plot(lines["sources"], lines["small_efficiency"], label=name, **style)
        sources = np.geomspace(needed_on_link["sources"].min(), needed_on_link["sources"].max(), 50)
        above.plot(sources, 1 / np.sqrt(sources), color="0.3", linestyle="--", linewidth=1, label="BDP / √N")
        above.axhline(RECOMMENDED_RTT, color="0.3", linestyle=":", linewidth=1, label="the paper's ½ round trip")
        above.set_title(link.name, loc="left", fontsize=10)
        above.set_xscale("log")
        numbers = sorted(needed_on_link["sources"].unique())
        above.set_xticks(numbers, [f"{n}" for n in numbers])
        above.minorticks_off()
        above.set_yscale("log", base=2)
        below.set_xlabel("sources N")
        below.set_ylim(-0.03, 1.03)
        for panel in (above, below):
            _plain(panel)
    panels[0, 0].set_ylabel(f"buffer for 95 % of the flavor's best [BDP]\n(hollow: a best below {GOOD})")
    panels[1, 0].set_ylabel("efficiency with a buffer of BDP / √N")
    panels[0, 0].yaxis.set_major_formatter(lambda value, _: f"{value:g}" if value >= 1 else f"1/{1 / value:g}")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle("How much buffer does a satellite link need? (Selective Drop, greedy flows, start-up included)")
    return figure


def _curve(axes: Axes, points: pd.DataFrame, label: str, color: str, marker: str, *, knees: bool) -> None:
    """Draws means with intervals, single runs as crosses, and a ring at the knee if `knees` is true."""
    x, mean = points["buffer_rtt"], points["mean"]
    # One seed gives no interval; error bars of NaN would still appear in the legend.
    margins = None if points["mean_low"].isna().all() else (mean - points["mean_low"], points["mean_high"] - mean)
    axes.errorbar(x, mean, margins, color=color, marker=marker, markersize=5, linewidth=1.3, capsize=2, label=label)
    axes.plot(x, points["deterministic"], "x", color=color, markersize=5, alpha=0.6)
    if knees:
        at = knee(x, mean)
        axes.plot(at, np.interp(np.log(at), np.log(x), mean), "o", markersize=13, markerfacecolor="none", color=color)


def _buffer_axis(axes: Axes, cells: tuple[int, ...], round_trip_cells: int) -> None:
    """Labels the horizontal axis in round trips, and in cells at the top."""
    _plain(axes)
    axes.set_xscale("log", base=2)
    ticks = [2.0**k for k in range(-6, 2)]
    axes.set_xticks(ticks, [f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}" for tick in ticks])
    axes.set_xlabel("buffer [round trips]")
    above = axes.secondary_xaxis(
        "top", functions=(lambda x: np.asarray(x) * round_trip_cells, lambda x: np.asarray(x) / round_trip_cells)
    )
    above.set_xscale("log", base=2)
    above.set_xticks(list(cells[::2]), [f"{count:,}".replace(",", " ") for count in cells[::2]], fontsize=8)
    above.minorticks_off()
    above.set_xlabel("buffer [cells]", fontsize=8)


def _plain(axes: Axes) -> None:
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["right"]].set_visible(False)
