"""A figure that a notebook draws."""

from io import BytesIO

from matplotlib.figure import Figure


class Picture(Figure):
    """A Matplotlib figure that is no part of pyplot and shows itself in a notebook."""

    def _repr_png_(self) -> bytes:
        image = BytesIO()
        self.savefig(image, format="png", dpi=110)
        return image.getvalue()
