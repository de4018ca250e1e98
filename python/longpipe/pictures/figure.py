"""Figures that notebooks can display, in which texts are shown literally."""

from io import BytesIO

from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator

from longpipe.errors import plain


class Picture(Figure):
    """A Matplotlib figure, independent of pyplot, that notebooks display."""

    def draw(self, renderer: RendererBase) -> None:
        """Draws the figure; '$' in names does not start a formula."""
        as_written(self)
        super().draw(renderer)

    def _repr_png_(self) -> bytes:
        image = BytesIO()
        self.savefig(image, format="png", dpi=110)
        return image.getvalue()


def as_written(artist: Figure | Axes) -> None:
    """Makes all texts of a figure or of axes literal: '$' does not start a formula, and control characters are escaped.

    Tick labels of numeric axes keep Matplotlib's format, which may be a formula.
    """
    panels = artist.axes if isinstance(artist, Figure) else [artist]
    numeric: set[int] = set()
    for axis in (axis for panel in panels for axis in (panel.xaxis, panel.yaxis)):
        locator = axis.get_major_locator()
        if isinstance(locator, FixedLocator):
            # Tick labels of an axis with names: Matplotlib creates them only when it draws, unless they are requested
            # earlier.
            axis.get_major_ticks(len(locator()))
        else:
            ticks = (*axis.majorTicks, *axis.minorTicks)
            numeric.update(id(label) for tick in ticks for label in (tick.label1, tick.label2))
            numeric.add(id(axis.offsetText))
    for text in artist.findobj(Text):
        if id(text) not in numeric:
            text.set_parse_math(False)
            shown = "\n".join(map(plain, text.get_text().split("\n")))
            if shown != text.get_text():
                text.set_text(shown)
