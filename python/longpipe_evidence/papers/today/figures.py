"""Figures of today's designs: effects of buffers, queues and senders on each link, and transfers over an empty path."""

from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from longpipe.pictures.style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from longpipe_evidence.papers.lbd_01.transfers import W_STARS
from longpipe_evidence.papers.today.paths import PATHS, QUEUE_NAMES, SENDERS

# Markers that distinguish the lines without color.
COLORS: Final = (VERMILION, ORANGE, SKY, GREEN, PURPLE, BLUE)
MARKERS: Final = ("o", "s", "P", "^", "D", "v")


def figures(runs: pd.DataFrame) -> dict[str, Figure]:
    """Returns the figures by file name."""
    return {"buffers": against_buffer(runs), "senders": by_sender(runs), "transfers": of_transfers(runs)}


def against_buffer(runs: pd.DataFrame) -> Figure:
    """Draws efficiency and fairness of long-lived flows against the buffer, a column per link and a line per queue."""
    title = "Long-lived flows: mean over three senders, and 5 and 50 flows"
    return _grid(runs, "policy", QUEUE_NAMES, title)


def by_sender(runs: pd.DataFrame) -> Figure:
    """Draws efficiency and fairness of long-lived flows against the buffer, a column per link and a line per sender."""
    title = "Long-lived flows over tail drop: mean of 5 and 50 flows"
    return _grid(runs[runs["policy"] == "tail-drop"], "tcp", SENDERS, title)


def _grid(runs: pd.DataFrame, factor: str, names: dict[str, str], title: str) -> Figure:
    """Draws efficiency and fairness over the buffer for each link, with a line per level of a factor."""
    chosen = runs[runs["design"] == "long-lived"]
    figure = Figure(figsize=(13, 7), layout="constrained")
    panels = figure.subplots(2, len(PATHS), sharex=True, sharey="row")
    for row, metric in zip(panels, ("efficiency", "fairness"), strict=True):
        for panel, (network, path) in zip(row, PATHS.items(), strict=True):
            of_link = chosen[chosen["network"] == network]
            for (level, name), color, marker in zip(names.items(), COLORS, MARKERS, strict=False):
                line = of_link[of_link[factor] == level].groupby("buffer_rtt")[metric].mean()
                panel.plot(line.index, line, color=color, marker=marker, markersize=5, linewidth=1.3, label=name)
            if metric == "efficiency":
                panel.set_title(f"{path.name}: {path.rate}, {path.round_trip}", loc="left", fontsize=10)
            else:
                panel.set_xlabel("buffer [RTT]")
            panel.set_xscale("log", base=2)
            panel.set_xticks([0.0625, 0.5, 1, 2], ["1/16", "1/2", "1", "2"])
        row[0].set_ylabel({"efficiency": "efficiency", "fairness": "fairness (Jain's index)"}[metric])
        row[0].set_ylim(top=1.02)
    panels[0][0].legend(frameon=False, fontsize=8)
    figure.suptitle(title)
    return figure


def of_transfers(runs: pd.DataFrame) -> Figure:
    """Draws the utilization of one transfer against W*, a panel per buffer and a line per sender."""
    chosen = runs[runs["design"] == "transfer"]
    figure = Figure(figsize=(13, 3.8), layout="constrained")
    buffers = (0.25, 0.5, 0.75, 1.0)
    panels = figure.subplots(1, len(buffers), sharey=True)
    for panel, buffer in zip(panels, buffers, strict=True):
        for (tcp, name), color, marker in zip(SENDERS.items(), (VERMILION, GREEN, BLUE), MARKERS, strict=False):
            transfers = chosen[(chosen["tcp"] == tcp) & (chosen["buffer_bdp"] == buffer)]
            line = transfers.groupby("w_star_packets")["utilization"].mean()
            panel.plot(line.index, line, color=color, marker=marker, markersize=5, linewidth=1.3, label=name)
        panel.set_title(f"B = {buffer:g} W*", loc="left", fontsize=10)
        panel.set_xscale("log", base=2)
        panel.set_xticks(W_STARS, [str(w) for w in W_STARS])
        panel.set_xlabel("W* [packets]")
    panels[0].set_ylabel("average link utilization")
    panels[0].set_ylim(0, 1.02)
    panels[0].legend(frameon=False, fontsize=8)
    figure.suptitle("lbd-01's transfer with today's senders")
    return figure
