"""What all pictures have in common: colours, panels, legends."""

import textwrap
from typing import Final, Literal, cast, get_args

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.errors import ScenarioError, nearest
from longpipe.pictures.figure import Picture

# What windows and sequence numbers are counted in.
Unit = Literal["bytes", "segments"]

# Okabe and Ito's palette: told apart by every eye.
BLUE: Final = "#0072b2"
VERMILION: Final = "#d55e00"
GREEN: Final = "#009e73"
ORANGE: Final = "#e69f00"
SKY: Final = "#56b4e9"
PURPLE: Final = "#cc79a7"
GREY: Final = "0.55"
# Of what is beside the point.
ASH: Final = "#999999"
PALETTE: Final = (BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE, "#b8a800", "#5a4fa2")
# Of lines that have a colour again.
DASHES: Final = ("-", "--", ":", "-.")
# More items than this are drawn as pixels, even in SVG and PDF.
MOST_SHAPES: Final = 20_000
# Of a line of a title.
MOST_LETTERS: Final = 90
# Of a legend with the longest names.
MOST_COLUMNS: Final = 5
# Panels of one figure.
MOST_PANELS: Final = 100


def panels(
    rows: int, title: str, span_s: tuple[float, float], height: float = 2.1, ax: Axes | None = None
) -> tuple[Figure, list[Axes]]:
    """A column of panels over one time axis [s], or the one that is given; ScenarioError for more than can be drawn."""
    if ax is not None:
        if rows > 1:
            raise ScenarioError(f"ax: one for {rows} panels; needs flows=[...] with one flow")
        plain(ax)
        ax.set_xlabel("time [s]")
        ax.set_xlim(*span_s)
        ax.set_title(wrapped(title), fontsize=11)
        return cast("Figure", ax.figure), [ax]
    if rows > MOST_PANELS:
        raise ScenarioError(f"flows: {rows} panels; needs at most {MOST_PANELS}: name some flows")
    figure = Picture(figsize=(8, max(3.6, height * rows + 0.8)), layout="constrained")
    axes = list(figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0])
    for panel in axes:
        plain(panel)
    axes[-1].set_xlabel("time [s]")
    axes[-1].set_xlim(*span_s)
    figure.suptitle(wrapped(title), fontsize=11)
    return figure, axes


def wrapped(title: str) -> str:
    """A title in lines that a figure has room for."""
    lines = (textwrap.wrap(line, MOST_LETTERS, break_on_hyphens=False) for line in title.splitlines())
    return "\n".join(part for line in lines for part in line)


def titled(title: str, note: str) -> str:
    """A title, and under it what the picture leaves out, if anything."""
    return f"{title}\n{note}" if note else title


def plain(axes: Axes, grid: Literal["both", "x", "y"] = "both") -> None:
    """A faint grid behind what is drawn, and no lines but the two axes."""
    axes.grid(axis=grid, color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend(figure: Figure, axes: list[Axes], ax: Axes | None = None) -> None:
    """One legend below all panels, or within the one that was given."""
    if ax is not None:
        ax.legend(frameon=False, fontsize="small")
        return
    found = {label: handle for panel in axes for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    columns = len(found) if len(found) <= MOST_COLUMNS else MOST_COLUMNS - 1
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=columns, frameon=False)


def unit_for(unit: Unit, largest: float, mss_bytes: int) -> tuple[float, str]:
    """Divisor of bytes and name of the unit asked for, of bytes one in which the largest is short."""
    if unit not in get_args(Unit):
        raise ScenarioError(f"unit: {unit!r}; {nearest(str(unit), get_args(Unit))}")
    if unit == "segments":
        return float(mss_bytes), unit
    for divisor, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if largest >= 2 * divisor:
            return divisor, name
    return 1.0, "bytes"
