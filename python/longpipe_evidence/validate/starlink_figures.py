"""Figures of measured numbers on Starlink beside those of the model, from the table of `longpipe validate starlink`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Panel(NamedTuple):
    """A panel of a figure."""

    title: str
    # Label of the horizontal axis.
    axis: str
    # By the label of a row: the identifiers of the numbers that a line joins in it.
    groups: dict[str, Sequence[str]]


def _quartiles(name: str) -> list[str]:
    """Returns the identifiers of the quartiles of a distribution."""
    return [f"{name}-p25", f"{name}-p50", f"{name}-p75"]


def _outer(name: str) -> list[str]:
    """Returns the identifiers of the lower and the upper quartile of a distribution whose median was fitted."""
    return [f"{name}-p25", f"{name}-p75"]


def _tail(name: str) -> list[str]:
    """Returns the identifiers of the median and of two high quantiles of a distribution."""
    return [f"{name}-p50", f"{name}-p95", f"{name}-p99"]


FIGURES: Final = {
    "starlink-distributions": [
        Panel(
            "Rate of a test of 15 s, quartiles",
            "Mbit/s",
            {
                "down, Osnabrück *": _quartiles("down"),
                "down, Enschede": _quartiles("enschede-down"),
                "with site = enschede": _outer("enschede-fitted-down"),
            },
        ),
        Panel(
            "Rate of a test of 15 s, quartiles",
            "Mbit/s",
            {
                "up, Osnabrück *": _quartiles("up"),
                "up, Enschede": _quartiles("enschede-up"),
                "with site = enschede": _outer("enschede-fitted-up"),
            },
        ),
        Panel(
            "RTT of the bent pipe, quartiles",
            "ms",
            {
                "Osnabrück *": _quartiles("bent-pipe"),
                "Enschede": _quartiles("enschede-bent-pipe"),
                "with site = enschede": _outer("enschede-fitted-bent-pipe"),
            },
        ),
        Panel(
            "Median rate in the slot",
            "Mbit/s",
            {"first second *": ["phase-first"], "middle *": ["phase-middle"], "last second *": ["phase-last"]},
        ),
    ],
    "starlink-load": [
        Panel(
            "RTT, 50, 95 and 99 %",
            "ms",
            {
                "3 Mbit/s down": _tail("message-rtt-down"),
                "download": _tail("loaded-rtt-down"),
                "upload": _tail("loaded-rtt-up"),
            },
        ),
        Panel(
            "Loss of a ping test, 90, 95 and 99 %",
            "%",
            {
                "Osnabrück *": ["ping-p90", "ping-p95", "ping-p99"],
                "Enschede": ["enschede-ping-p90", "enschede-ping-p95", "enschede-ping-p99"],
            },
        ),
        Panel(
            "Goodput of one flow down",
            "Mbit/s",
            {"CUBIC, 2023": ["cubic-down"], "BBR, 2023": ["bbr-down"], "QUIC, CUBIC, 2022": ["quic-down"]},
        ),
        Panel("Goodput of one flow up", "Mbit/s", {"CUBIC, 2023": ["cubic-up"], "BBR, 2023": ["bbr-up"]}),
    ],
}


def figures(table: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Yields the name and the figure of each page of panels; `table` has `id`, `value` and `model`."""
    from matplotlib.figure import Figure

    numbers = table.set_index("id")
    for name, panels in FIGURES.items():
        figure = Figure(figsize=(9.6, 5.4), layout="constrained")
        axes = figure.subplots(2, 2).ravel()
        for ax, panel in zip(axes, panels, strict=True):
            _draw(ax, panel, numbers)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
        figure.supxlabel("* used for calibration; lines join the numbers of one distribution", fontsize="small")
        yield name, figure


def _draw(ax: Axes, panel: Panel, numbers: pd.DataFrame) -> None:
    """Draws a panel: in each row, the measured numbers slightly above those of the model."""
    for row, ids in enumerate(panel.groups.values()):
        for column, label, shift, style in (("value", "measured", -0.13, "C0o-"), ("model", "model", 0.13, "C1D-")):
            heights = numbers.loc[list(ids), column]
            ax.plot(heights, [row + shift] * len(heights), style, label=label if row == 0 else None)
    ax.set_yticks(range(len(panel.groups)), list(panel.groups))
    ax.set_ylim(len(panel.groups) - 0.5, -0.5)
    ax.set_xlim(0, 1.05 * ax.get_xlim()[1])
    ax.set_xlabel(panel.axis)
    ax.set_title(panel.title, fontsize="medium")
