"""Common style of all pictures: colors, panels, legends."""

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Literal, cast, get_args

import matplotlib as mpl
import matplotlib.colors
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from longpipe.errors import ScenarioError, nearest
from longpipe.pictures.figure import Picture, literal, without_controls
from longpipe.units import RATE, SIZE, TIME

# Relative luminance at which black and white text have the same contrast: sqrt(1.05 * 0.05) - 0.05.
_EQUAL_CONTRAST: Final = 0.179
# Unit of windows and sequence numbers.
Unit = Literal["bytes", "segments"]

# Okabe and Ito's palette, whose colors can be distinguished by people with color vision deficiencies.
BLUE: Final = "#0072b2"
VERMILION: Final = "#d55e00"
GREEN: Final = "#009e73"
ORANGE: Final = "#e69f00"
SKY: Final = "#56b4e9"
PURPLE: Final = "#cc79a7"
GREY: Final = "0.55"
# Color of secondary items.
ASH: Final = "#999999"
PALETTE: Final = (BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE, "#b8a800", "#5a4fa2")
# Line styles, which distinguish lines if colors repeat.
DASHES: Final = ("-", "--", ":", "-.")
# Maximum number of items that are drawn as vectors; if there are more, they are rasterized, even in SVG and PDF.
MAX_SHAPES: Final = 20_000
# Maximum length of a title's line [characters].
MAX_LETTERS: Final = 90
# Length below which a title's line is not wrapped further [characters].
FEWEST_LETTERS: Final = 12
# Space between a number and its unit, where a title is not wrapped.
NO_BREAK: Final = "\N{NO-BREAK SPACE}"
_BEFORE_UNIT: Final = re.compile(
    rf"(?<=\d) (?=(?:{'|'.join(map(re.escape, (*TIME.units, *RATE.units, *SIZE.units)))})\b)"
)
# Maximum number of a legend's columns.
MAX_COLUMNS: Final = 5
# Number of letters that take as much space in a legend as the key and the margins.
KEY_LETTERS: Final = 6
# Minimum size of a dot in a legend [points].
DOT: Final = 7
# Ratio by which a layout may shrink the user's axes later, and maximum share of the axes' height for a legend.
SHRINKS: Final = 1.2
MAX_ROOM: Final = 0.6
# Maximum number of panels in a figure.
MAX_PANELS: Final = 100
# Look of the shading of an outage.
OUTAGE: Final[Mapping[str, Any]] = {"color": GREY, "alpha": 0.25, "lw": 0.8}
# Ratio of a logarithmic axis' ends below which its ticks have equal distances in values, as on a linear axis.
SHORT: Final = 4
# Leading digits of a logarithmic axis' ticks, by the ratio of its ends up to which they apply; beyond the last ratio,
# ticks are powers of ten.
DIGITS: Final = ((10, (1, 1.5, 2, 3, 5, 7)), (100, (1, 2, 5)), (1000, (1, 3)))
LONG: Final = DIGITS[-1][0]
# Whether the panels of a figure share one legend, which is drawn last.
_ONE_LEGEND: Final = ContextVar("one_legend", default=False)


def panels(
    rows: int, title: str, span_s: tuple[float, float], height: float = 2.1, ax: Axes | None = None, *, once: str = ""
) -> tuple[Figure, list[Axes]]:
    """Returns panels with a common time axis [s], or the given axes; raises ScenarioError for too many panels.

    `once` is the label of a line of a picture that has the colors and the unit of a single flow: axes that already
    contain this line are rejected.
    """
    if ax is not None:
        if once and once in ax.get_legend_handles_labels()[1]:
            raise ScenarioError(
                f"ax: it already shows {once!r} of another flow or run; needs pictures.overlay for several"
            )
        if rows > 1:
            raise ScenarioError(
                f"ax: a single one for {rows} panels; needs flows=[...] with one flow, or pictures.overlay"
            )
        ax.set_xlabel("time [s]")
        ax.set_xlim(*span_s)
        title_in(ax, title)
        return cast("Figure", ax.figure), [ax]
    if rows > MAX_PANELS:
        raise ScenarioError(f"flows: {rows} panels; needs at most {MAX_PANELS}: select flows")
    figure = figure_of(max(3.6, height * rows + 0.8))
    axes = list(figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0])
    for panel in axes:
        plain(panel)
    axes[-1].set_xlabel("time [s]")
    axes[-1].set_xlim(*span_s)
    title_of(figure, title)
    return figure, axes


def wrapped(title: str, letters: int = MAX_LETTERS) -> str:
    """Wraps a title to a number of letters per line, by default to the figure's width; units follow their numbers."""
    bound = _BEFORE_UNIT.sub(NO_BREAK, title)
    lines = (textwrap.wrap(line, letters, break_on_hyphens=False) for line in bound.splitlines())
    return "\n".join(part for line in lines for part in line).replace(NO_BREAK, " ")


def titled(title: str, note: str) -> str:
    """Returns a title with a note on what the picture omits."""
    return f"{title}\n{note}" if note else title


def interval_text(interval_s: float) -> str:
    """Returns the length of an interval for titles and labels, as "20 ms" or "1.5 s"."""
    return f"{1e3 * interval_s:.4g} ms" if interval_s < 1 else f"{interval_s:.4g} s"


def color(number: int) -> str:
    """Returns the color of the line with this number, from the user's `axes.prop_cycle` or from the palette."""
    if _unset("axes.prop_cycle"):
        return PALETTE[number % len(PALETTE)]
    cycle = mpl.rcParams["axes.prop_cycle"].by_key().get("color", PALETTE)
    return str(cycle[number % len(cycle)])


def text_color(image: AxesImage, value: float) -> str:
    """Returns black or white for text over a value's color in a heat map: the one with the higher contrast.

    The relative luminance, and the limit at which both contrasts are equal, are those of WCAG 2.1.
    """
    parts = np.asarray(image.to_rgba(np.array([value])))[0, :3]
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return "black" if float(linear @ (0.2126, 0.7152, 0.0722)) > _EQUAL_CONTRAST else "white"


def figure_of(height: float, width: float = 8) -> Picture:
    """Returns a figure with this size [inches], or with the user's `figure.figsize` if it is set.

    With a larger `font.size` than Matplotlib's default, the figure is higher, so that labels fit.
    """
    size = (width, height * max(1.0, _font_scale())) if _unset("figure.figsize") else mpl.rcParams["figure.figsize"]
    return Picture(figsize=size, layout="constrained")


def title_of(figure: Figure, title: str) -> None:
    """Sets the title of a figure, in the user's `figure.titlesize` if that is set; '$' starts no formula."""
    title_with_formulas(figure, literal(title))


def title_with_formulas(figure: Figure, title: str) -> None:
    """Sets the title of a figure; `$...$` is a formula if Matplotlib's settings allow it."""
    figure.suptitle(
        wrapped(without_controls(title)), **({"fontsize": font_points(11)} if _unset("figure.titlesize") else {})
    )


def font_points(size: float) -> float:
    """Returns a size of a font [points] that is `size` with Matplotlib's default `font.size`, and scales with it."""
    return size * _font_scale()


def _font_scale() -> float:
    return float(mpl.rcParams["font.size"]) / float(mpl.rcParamsDefault["font.size"])


def title_in(ax: Axes, title: str) -> None:
    """Sets the title of the user's axes, wrapped to their width, in the user's `axes.titlesize` if that is set."""
    size: dict[str, Any] = {"fontsize": font_points(11)} if _unset("axes.titlesize") else {}
    letters, title = MAX_LETTERS, literal(title)
    text = ax.set_title(wrapped(title), **size)
    while (needed := text.get_window_extent().width) > ax.bbox.width and letters > FEWEST_LETTERS:
        longest = max(map(len, text.get_text().splitlines()))
        letters = max(FEWEST_LETTERS, min(letters - 1, int(longest * ax.bbox.width / needed)))
        text.set_text(wrapped(title, letters))


def _unset(name: str) -> bool:
    """Returns whether a setting of Matplotlib has its default value."""
    now, default = cast("dict[str, Any]", mpl.rcParams), cast("dict[str, Any]", mpl.rcParamsDefault)
    return bool(now[name] == default[name])


def plain(axes: Axes, grid: Literal["both", "x", "y"] = "both") -> None:
    """Sets a light grid behind the data and removes the frame except for two axes, unless the user has set these."""
    if all(map(_unset, ("axes.grid", "grid.color", "grid.linestyle"))):
        axes.grid(axis=grid, color="0.92")
        axes.set_axisbelow(True)
    if all(map(_unset, ("axes.spines.top", "axes.spines.right"))):
        axes.spines[["top", "right"]].set_visible(False)


@contextmanager
def one_legend() -> Iterator[None]:
    """Context in which pictures in given axes draw no legend, because the figure gets one for all of them."""
    token = _ONE_LEGEND.set(True)
    try:
        yield
    finally:
        _ONE_LEGEND.reset(token)


def legend(figure: Figure, axes: list[Axes], ax: Axes | None = None, title: str | None = None) -> None:
    """Draws one legend below all panels or, in the user's axes, a legend of those items that are not yet explained."""
    if ax is not None and _ONE_LEGEND.get():
        return
    if ax is not None:
        explained = {_key(entry) for panel in figure.axes if panel is not ax for entry in _explained(panel)}
        entries = zip(*ax.get_legend_handles_labels(), strict=True)
        new = {label: handle for handle, label in entries if _key((handle, label)) not in explained}
        if new:
            _legend_above_data(ax, new, title)
        return
    handles = {
        label: handle for panel in axes for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    legend_below(figure, map(_visible, handles.values()), handles, title)


def legend_below(figure: Figure, handles: Iterable[Any], labels: Iterable[str], title: str | None = None) -> None:
    """Draws a legend below all panels that is at most as wide as the figure."""
    entries = list(handles)

    def draw(words: list[str], columns: int) -> Legend:
        return figure.legend(entries, words, title=title, loc="outside lower center", ncols=columns, frameon=False)

    if entries:
        _draw_within(figure.bbox.width, draw, list(map(literal, labels)))


def _draw_within(width: float, draw: Callable[[list[str], int], Legend], labels: list[str]) -> Legend:
    """Draws a legend in as many columns as fit into a width [pixels], and wraps labels that are longer than a line."""
    for columns in range(len(labels) if len(labels) <= MAX_COLUMNS else MAX_COLUMNS - 1, 0, -1):
        legend = draw(labels, columns)
        needed = legend.get_window_extent().width
        if needed <= width:
            return legend
        legend.remove()
    letters = int(max(map(len, labels)) * width / needed) - KEY_LETTERS
    return draw(["\n".join(textwrap.wrap(label, max(letters, KEY_LETTERS))) for label in labels], 1)


def _visible(handle: Any) -> Any:  # noqa: ANN401 - any artist
    """Returns a larger dot for a legend if a line consists of small dots, otherwise the artist itself."""
    if isinstance(handle, Line2D) and handle.get_linestyle() == "None" and handle.get_markersize() < DOT:
        return Line2D([], [], ls="", marker=handle.get_marker(), ms=DOT, color=handle.get_color())
    return handle


class _LogTicks(LogLocator):
    """Ticks of a logarithmic axis, of which there are several also on an axis that is shorter than a decade."""

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Returns the ticks between two values."""
        low, high = sorted((float(vmin), float(vmax)))
        if not 0 < low < high < low * LONG:
            return super().tick_values(vmin, vmax)
        if high < low * SHORT:
            ticks = np.asarray(MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high))
        else:
            digits = next(digits for longest, digits in DIGITS if high < low * longest)
            decades = np.arange(np.floor(np.log10(low)), np.log10(high) + 1)
            ticks = np.outer(10.0**decades, digits).ravel()
        return [float(tick) for tick in ticks if low <= tick <= high]


def logarithmic(panel: Axes, direction: Literal["x", "y"]) -> None:
    """Makes an axis logarithmic, with plain numbers at its ticks."""
    panel.set(**{f"{direction}scale": "log"})
    axis = panel.xaxis if direction == "x" else panel.yaxis
    axis.set_major_locator(_LogTicks())
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def _legend_above_data(ax: Axes, entries: dict[str, Any], title: str | None) -> None:
    """Draws a legend at the top of axes, and extends their vertical range so that the legend covers no data."""
    handles = list(map(_visible, entries.values()))

    def draw(words: list[str], columns: int) -> Legend:
        return ax.legend(
            handles, words, title=title, loc="upper center", ncols=columns, fontsize="small", borderaxespad=0.2,
            facecolor=ax.get_facecolor(), edgecolor="none", framealpha=1,
        )  # fmt: skip

    extent = _draw_within(ax.bbox.width, draw, list(map(literal, entries))).get_window_extent()
    share = min(extent.height / ax.bbox.height * SHRINKS, MAX_ROOM)
    scale = ax.yaxis.get_transform()
    low, high = scale.transform(np.array(ax.get_ylim()))
    ax.set_ylim(top=float(scale.inverted().transform(np.array([low + (high - low) / (1 - share)]))[0]))


def _explained(panel: Axes) -> list[tuple[Any, str]]:
    """Returns the handles and labels in a panel's legend."""
    if (legend := panel.get_legend()) is None:
        return []
    words = {text.get_text() for text in legend.get_texts()}
    return [entry for entry in zip(*panel.get_legend_handles_labels(), strict=True) if literal(entry[1]) in words]


def _key(entry: tuple[Any, str]) -> tuple[str, str]:
    """Returns the label and color of a legend's entry; a known label with another color is a separate entry."""
    handle, label = entry
    artist = handle[0] if isinstance(handle, tuple | list) else handle
    read = getattr(artist, "get_color", None) or getattr(artist, "get_facecolor", None)
    return label, "" if read is None else str(mpl.colors.to_rgba_array(read()).tolist())


def unit_for(unit: Unit, largest: float, mss_bytes: int) -> tuple[float, str]:
    """Returns the divisor and name of the requested unit; bytes get the prefix that suits the largest value."""
    if unit not in get_args(Unit):
        raise ScenarioError(f"unit: {unit!r}; {nearest(str(unit), get_args(Unit))}")
    if unit == "segments":
        return float(mss_bytes), unit
    for divisor, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if largest >= 2 * divisor:
            return divisor, name
    return 1.0, "bytes"
