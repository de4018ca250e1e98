"""Figures that notebooks display."""

from io import BytesIO

from matplotlib.figure import Figure


class Picture(Figure):
    """A Matplotlib figure, independent of pyplot, that displays itself in notebooks."""

    def _repr_png_(self) -> bytes:
        image = BytesIO()
        self.savefig(image, format="png", dpi=110)
        return image.getvalue()
