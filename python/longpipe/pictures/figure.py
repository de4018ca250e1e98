"""Figures that notebooks can display, in which the texts of pictures are literal."""

from collections.abc import Callable
from functools import wraps
from io import BytesIO
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator

from longpipe.errors import plain

P = ParamSpec("P")
F = TypeVar("F", bound=Figure)


class Picture(Figure):
    """A Matplotlib figure, independent of pyplot, that notebooks display."""

    def _repr_png_(self) -> bytes:
        image = BytesIO()
        self.savefig(image, format="png", dpi=110)
        return image.getvalue()


def literal(text: str) -> str:
    r"""Returns a text that Matplotlib shows literally: '$' is escaped as '\$', and control characters are escapes.

    A text that is literal already stays as it is.
    """
    lines = without_controls(text)
    return unescaped(lines).replace("$", r"\$") if mpl.rcParams["text.parse_math"] else lines


def without_controls(text: str) -> str:
    """Returns a text of one or several lines with escapes instead of other control characters."""
    return "\n".join(map(plain, text.split("\n")))


def unescaped(text: str) -> str:
    """Returns the text that a literal text shows."""
    return text.replace(r"\$", "$")


def with_literal_texts(draw: Callable[P, F]) -> Callable[P, F]:
    """Makes all texts literal that a function adds to the figure that it returns, or to the axes `ax`.

    Texts that users set, before or afterwards, may contain formulas, as Matplotlib's settings determine.
    """

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> F:
        ax = kwargs.get("ax")
        earlier = _texts(ax) if isinstance(ax, Axes) else {}
        figure = draw(*args, **kwargs)
        _make_literal(ax if isinstance(ax, Axes) else figure, earlier)
        return figure

    return drawn


def _texts(artist: Figure | Axes) -> dict[int, object]:
    """Returns the text of each label, and the locator of each axis, by the identity of their objects."""
    texts: dict[int, object] = {id(text): text.get_text() for text in artist.findobj(Text) if isinstance(text, Text)}
    return {**texts, **{id(axis): axis.get_major_locator() for axis in _axes(artist)}}


def _make_literal(artist: Figure | Axes, earlier: dict[int, object]) -> None:
    """Makes texts literal that differ from the earlier ones; tick labels of numeric axes keep Matplotlib's format."""
    numeric: set[int] = set()
    for axis in _axes(artist):
        locator = axis.get_major_locator()
        if isinstance(locator, FixedLocator) and earlier.get(id(axis)) is not locator:
            labels = axis.get_major_formatter().format_ticks(list(locator()))
            if (literals := list(map(literal, labels))) != labels:
                axis.set_ticklabels(literals)
        ticks = (*axis.majorTicks, *axis.minorTicks)
        numeric.update(id(label) for tick in ticks for label in (tick.label1, tick.label2))
        numeric.add(id(axis.offsetText))
    for text in artist.findobj(Text):
        if isinstance(text, Text) and id(text) not in numeric and earlier.get(id(text)) != text.get_text():
            text.set_text(literal(text.get_text()))


def _axes(artist: Figure | Axes) -> list[Any]:
    panels = artist.axes if isinstance(artist, Figure) else [artist]
    return [axis for panel in panels for axis in (panel.xaxis, panel.yaxis)]
