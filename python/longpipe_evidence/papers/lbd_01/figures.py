"""Figures of lbd-01: utilization, buffer gain, and transfers over time."""

from collections.abc import Sequence
from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.pictures.style import ASH, BLUE, GREEN, PURPLE, SKY, VERMILION, plain
from longpipe_evidence.papers.lbd_01.courses import Course
from longpipe_evidence.papers.lbd_01.numbers import FIGURE_6, HALF, gains
from longpipe_evidence.papers.lbd_01.reproduction import TransferReproduction
from longpipe_evidence.papers.lbd_01.transfers import BUFFERS, FLAVORS, FLAVORS_BEYOND, W_STARS, Transfer
from longpipe_evidence.papers.names import NAMES
from longpipe_evidence.papers.topology import topology

# Markers that keep the flavors distinguishable in greyscale.
COLORS: Final = {"reno": VERMILION, "newreno": BLUE, "sack": GREEN, "tahoe": ASH, "vegas": PURPLE}
MARKERS: Final = {"reno": "o", "newreno": "s", "sack": "^", "tahoe": "v", "vegas": "D"}
# From the smallest to the largest W*.
SHADES: Final = ("#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#d8c219")
# Parts of the transfers in Figures 3 to 5 and 6.
THROUGHPUT_S: Final = 12.0
FIGURE_6_S: Final = {"reno": 4.0, "newreno": 22.0}


def figures(reproduction: TransferReproduction) -> dict[str, Figure]:
    """Returns Figures 1 to 7 by file name."""
    over_time = {
        f"figure-{number}-{tcp}": throughput(reproduction, tcp)
        for number, tcp in ((3, "reno"), (4, "sack"), (5, "newreno"))
    }
    return {
        "figure-1-network": topology(Transfer(640, 0.5, "sack").scenario(), "lbd-01, Figure 1; here W* = 640"),
        "figure-2-utilization": utilization(reproduction),
        **over_time,
        "figure-6-recovery": recovery(reproduction),
        "figure-7-buffer-gain": buffer_gain(reproduction),
    }


def beyond_figures(runs: pd.DataFrame) -> dict[str, Figure]:
    """Returns the figure of the extension by file name."""
    return {"beyond": long_pipes(runs)}


def utilization(reproduction: TransferReproduction) -> Figure:
    """Draws Figure 2: mu against W*, a panel per buffer; published points are computed from printed times."""
    figure = Figure(figsize=(11, 7.2), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True).flatten()
    printed = reproduction.numbers[reproduction.numbers["quantity"] == "completion_time"]
    for panel, buffer in zip(panels, BUFFERS, strict=True):
        of_panel = reproduction.runs[reproduction.runs["buffer_bdp"] == buffer]
        for tcp in (*FLAVORS_BEYOND, *FLAVORS):
            of_flavor = of_panel[of_panel["tcp"] == tcp]
            _line(panel, tcp, of_flavor["w_star_packets"], of_flavor["utilization"], beyond=tcp in FLAVORS_BEYOND)
        for point in printed[printed["buffer_bdp"] == buffer].to_dict("records"):
            mu = _bits(reproduction) / (point["w_star_packets"] * 50e3 * point["published"])
            style = {"markeredgecolor": COLORS[point["tcp"]], "markerfacecolor": "none", "markersize": 11}
            panel.plot(point["w_star_packets"], mu, MARKERS[point["tcp"]], **style)
        panel.set_title(f"B = {buffer:g} W*", loc="left", fontsize=10)
        panel.set_ylim(0, 1.02)
        _packets(panel, W_STARS)
    for panel in panels[::2]:
        panel.set_ylabel("utilization")
    figure.suptitle("lbd-01, Figure 2: average link utilization; dashed: flavors beyond the paper; hollow: published")
    _legend(figure, panels[0])
    return figure


def throughput(reproduction: TransferReproduction, tcp: str) -> Figure:
    """Draws Figures 3 to 5: normalized throughput in steps of an RTT, B = W*/2, a panel per W*."""
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True, sharey=True).flatten()
    for panel, w_star, shade in zip(panels, W_STARS, SHADES, strict=True):
        course = reproduction.courses[Transfer(w_star, HALF, tcp)]
        steps = course.throughput()
        panel.plot(steps["s"], steps["throughput"], color=shade, linewidth=1.3)
        panel.axhline(1.0, color="0.75", linewidth=0.8, zorder=0)
        lost = course.lost["s"]
        panel.plot(lost, [0.03] * len(lost), "|", color=COLORS["reno"], markersize=7, markeredgewidth=0.8)
        plain(panel)
        panel.set_title(f"W* = {w_star}", loc="left", fontsize=10)
        panel.set_xlim(0, THROUGHPUT_S)
        panel.set_ylim(0, 1.15)
    for panel in panels[3:]:
        panel.set_xlabel("time [s]")
    for panel in panels[::3]:
        panel.set_ylabel("normalized throughput")
    number = {"reno": 3, "sack": 4, "newreno": 5}[tcp]
    figure.suptitle(
        f"lbd-01, Figure {number}: throughput of {NAMES[tcp]} over the bottleneck's rate, B = W*/2; ticks below: losses"
    )
    return figure


def recovery(reproduction: TransferReproduction) -> Figure:
    """Draws Figure 6: packets sent, acknowledged and lost over time, W* = 640 and B = W*/4."""
    figure = Figure(figsize=(11, 5), layout="constrained")
    for panel, (tcp, transfer) in zip(figure.subplots(1, 2), FIGURE_6.items(), strict=True):
        _sequence(panel, reproduction.courses[transfer], FIGURE_6_S[tcp])
        panel.set_title(NAMES[tcp], loc="left", fontsize=10)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, markerscale=3)
    figure.suptitle("lbd-01, Figure 6: recovery from 96 losses in one window, W* = 640, B = W*/4")
    return figure


def buffer_gain(reproduction: TransferReproduction) -> Figure:
    """Draws Figure 7: utilization relative to a quarter of W*, against the buffer; hollow markers are published."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    gained = gains(reproduction.runs)
    printed = reproduction.numbers[reproduction.numbers["quantity"] == "buffer_gain"]
    for panel, tcp in zip(figure.subplots(1, 3), ("reno", "sack", "newreno"), strict=True):
        of_flavor = gained[gained["tcp"] == tcp]
        for w_star, shade in zip(W_STARS, SHADES, strict=True):
            chosen = of_flavor[of_flavor["w_star_packets"] == w_star]
            panel.plot(chosen["buffer_bdp"], chosen["gain"], "o-", color=shade, markersize=4, label=f"W* = {w_star}")
            for point in printed[(printed["tcp"] == tcp) & (printed["w_star_packets"] == w_star)].to_dict("records"):
                style = {"markeredgecolor": shade, "markerfacecolor": "none", "markersize": 10}
                panel.plot(point["buffer_bdp"], point["published"], "o", **style)
        plain(panel)
        panel.set_title(NAMES[tcp], loc="left", fontsize=10)
        panel.set_xlabel("buffer [W*]")
        panel.set_xticks(BUFFERS)
        panel.set_ylim(bottom=0)
    figure.axes[0].set_ylabel("buffer gain")
    _legend(figure, figure.axes[0])
    figure.suptitle("lbd-01, Figure 7: gain in utilization from buffers beyond W*/4; hollow: published")
    return figure


def long_pipes(runs: pd.DataFrame) -> Figure:
    """Draws utilization against W*, for pipes longer than the paper's, with a panel per buffer.

    `runs` has a row per run of `beyond`.
    """
    buffers = list(dict.fromkeys(runs["buffer_bdp"]))
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    panels = figure.subplots(1, len(buffers), sharey=True, squeeze=False)[0]
    for panel, buffer in zip(panels, buffers, strict=True):
        of_panel = runs[runs["buffer_bdp"] == buffer]
        for tcp in dict.fromkeys(runs["tcp"]):
            of_flavor = of_panel[of_panel["tcp"] == tcp]
            _line(panel, tcp, of_flavor["w_star_packets"], of_flavor["utilization"], beyond=False)
        panel.set_title(f"B = {buffer:g} W*", loc="left", fontsize=10)
        panel.set_xlabel("W* [packets]")
        panel.set_xscale("log")
        panel.set_ylim(0, 1.02)
    panels[0].set_ylabel("utilization")
    _legend(figure, panels[0])
    figure.suptitle("Beyond lbd-01: 8 GB over 600 ms, 100 Mbit/s to 10 Gbit/s")
    return figure


def _bits(reproduction: TransferReproduction) -> float:
    """Returns the number of bits that the paper's file occupies on the wire."""
    run = reproduction.runs.iloc[0]
    return float(run["utilization"] * run["w_star_packets"] * 50e3 * run["completion_time_s"])


def _line(axes: Axes, tcp: str, x: pd.Series, y: pd.Series, *, beyond: bool) -> None:
    """Draws a line for a TCP; those that the paper does not have are dashed."""
    plain(axes)
    axes.plot(
        x,
        y,
        marker=MARKERS[tcp],
        color=COLORS[tcp],
        linestyle="--" if beyond else "-",
        linewidth=1.0 if beyond else 1.5,
        markersize=4.5,
        label=NAMES[tcp],
    )


def _sequence(axes: Axes, course: Course, until_s: float) -> None:
    """Draws the packets sent, acknowledged and lost over time."""
    plain(axes)
    parts = (
        (course.acknowledged, "acknowledged", ".", SKY, 1.0),
        (course.sent, "sent", ".", "#000000", 1.6),
        (course.lost, "lost", "x", COLORS["reno"], 4.0),
    )
    for frame, label, marker, color, size in parts:
        chosen = frame[frame["s"] <= until_s]
        # Thousands of points are drawn as an image within the SVG.
        axes.plot(chosen["s"], chosen["packet"], marker, color=color, markersize=size, label=label, rasterized=True)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("packet")
    axes.set_xlim(0, until_s)


def _packets(axes: Axes, w_stars: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(w_stars, [str(w_star) for w_star in w_stars])
    axes.set_xlabel("W* [packets]")


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
