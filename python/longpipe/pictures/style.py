"""What all pictures have in common."""

from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart by every eye.
BLUE: Final = "#0072b2"
VERMILION: Final = "#d55e00"
GREEN: Final = "#009e73"
ORANGE: Final = "#e69f00"
SKY: Final = "#56b4e9"
PURPLE: Final = "#cc79a7"
GREY: Final = "0.55"
PALETTE: Final = (BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE, "#b8a800", "#5a4fa2")
# More items than this are drawn as pixels, even in SVG and PDF.
MOST_SHAPES: Final = 20_000


def panels(rows: int, title: str, span_s: tuple[float, float], height: float = 2.1) -> tuple[Figure, list[Axes]]:
    """A column of panels over one time axis [s]."""
    figure = Figure(figsize=(8, max(3.6, height * rows + 0.8)), layout="constrained")
    axes = list(figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0])
    for panel in axes:
        panel.grid(color="0.92", linewidth=0.8)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("time [s]")
    axes[-1].set_xlim(*span_s)
    figure.suptitle(title, fontsize=11)
    return figure, axes


def legend(figure: Figure, axes: list[Axes]) -> None:
    """One legend below all panels."""
    found = {label: handle for panel in axes for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=min(len(found), 6), frameon=False
    )


def byte_unit(largest: float) -> tuple[float, str]:
    """Divisor and name of a unit in which a number of bytes is short."""
    for divisor, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if largest >= 2 * divisor:
            return divisor, name
    return 1.0, "bytes"


def save(figure: Figure, path: Path) -> None:
    """Writes a figure in the format of the path's suffix: svg, pdf or png. Same figure, same bytes."""
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with mpl.rc_context({"svg.hashsalt": "longpipe"}):
        figure.savefig(path, dpi=200, metadata=undated.get(path.suffix, {}))
