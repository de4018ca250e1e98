"""Figures of RFC 9438's response functions, and of goodput by loss rate in the extension."""

from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from longpipe.pictures.style import ASH, BLUE, GREEN, SKY, VERMILION, plain
from longpipe_evidence.papers.rfc_9438.beyond import CONTROLS as SWEPT
from longpipe_evidence.papers.rfc_9438.beyond import by_loss
from longpipe_evidence.papers.rfc_9438.connections import NAMES
from longpipe_evidence.papers.rfc_9438.reproduction import TableReproduction

# Markers that keep the controllers distinguishable in greyscale.
STYLES: Final = {
    "reno": (VERMILION, "o"),
    "highspeed": (ASH, "v"),
    "cubic-0.04": (SKY, "s"),
    "cubic-0.4": (BLUE, "D"),
    "cubic-4": (GREEN, "^"),
}
LOSS_STYLES: Final = {"cubic": (VERMILION, "o", "CUBIC"), "bbr": (BLUE, "D", "BBR"), "bbr3": (GREEN, "s", "BBRv3")}


def figures(reproduction: TableReproduction) -> dict[str, Figure]:
    """Returns Tables 1 and 2 as one figure, by file name; none for Table 3 alone."""
    return {"response": response(reproduction)} if {"1", "2"} & set(reproduction.rows["table"]) else {}


def beyond_figures(runs: pd.DataFrame) -> dict[str, Figure]:
    """Returns the figure of the extension by file name."""
    return {"losses": losses(runs)}


def response(reproduction: TableReproduction) -> Figure:
    """Draws the mean window against the loss rate: lines as printed, markers as simulated."""
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    for panel, (table, trip) in zip(figure.subplots(1, 2, sharey=True), (("1", "100 ms"), ("2", "10 ms")), strict=True):
        of_table = reproduction.rows[reproduction.rows["table"] == table]
        for control, (color, marker) in STYLES.items():
            rows = of_table[of_table["control"] == control]
            panel.plot(rows["loss"], rows["published"], "-", color=color, linewidth=1.0)
            panel.plot(rows["loss"], rows["simulated"], marker, color=color, markersize=6, label=NAMES[control])
        plain(panel)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.invert_xaxis()
        panel.set_xlabel("share of segments lost")
        panel.set_title(f"round trip {trip}", loc="left", fontsize=10)
    figure.axes[0].set_ylabel("mean window [segment]")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle("RFC 9438, Tables 1 and 2: lines as printed, markers as simulated")
    return figure


def losses(runs: pd.DataFrame) -> Figure:
    """Draws goodput against the packet loss rate: each run, and a line of means."""
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    panel = figure.subplots()
    means = by_loss(runs)
    for control in SWEPT:
        color, marker, name = LOSS_STYLES[control]
        of_control = runs[runs["control"] == control]
        panel.plot(means["loss"], means[control], "-", marker=marker, color=color, markersize=5, label=name)
        panel.plot(of_control["loss"], of_control["goodput_mbps"], ".", color=color, markersize=3, alpha=0.6)
    plain(panel)
    panel.set_xscale("log")
    panel.set_xlabel("share of packets lost")
    panel.set_ylabel("goodput [Mbit/s]")
    panel.set_ylim(bottom=0)
    panel.legend(frameon=False)
    figure.suptitle("Goodput by losses: 100 Mbit/s, 100 ms, 60 s (Cardwell et al. 2016, figure 8)")
    return figure
