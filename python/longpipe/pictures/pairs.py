"""Heat maps of pairs of congestion controls: the share of the row's flow in competition with the column's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.style import figure_of, font_points, text_color, title_of

if TYPE_CHECKING:
    from longpipe.fairness.pairs import Pair


@with_literal_texts
def shares(pairs: Sequence[Pair]) -> Figure:
    """Draws one panel per path; a share of 0.5 is fair and is shown in white."""
    paths = list(dict.fromkeys(pair.path for pair in pairs))
    names = list(dict.fromkeys(pair.row for pair in pairs))
    columns = min(len(paths), 2)
    rows = -(-len(paths) // columns)
    figure = figure_of(rows * (1.2 + 0.42 * len(names)) + 0.3, 4.2 * columns)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, path in zip(axes, paths, strict=False):
        shares_of_rows = np.full((len(names), len(names)), np.nan)
        # Second line of a cell's text: 'died' if a connection ended before the end of a run.
        marks: dict[tuple[int, int], str] = {}
        for pair in pairs:
            if pair.path == path:
                cell = names.index(pair.row), names.index(pair.column)
                shares_of_rows[cell] = pair.share.mean
                marks[cell] = "\ndied" if pair.died else ""
        image = panel.imshow(shares_of_rows, cmap="PuOr_r", vmin=0, vmax=1)
        panel.set_xticks(range(len(names)), names, rotation=30, ha="right")
        panel.set_yticks(range(len(names)), names)
        panel.set_title(path, loc="left", fontsize=font_points(9))
        for (row, column), share in np.ndenumerate(shares_of_rows):
            if np.isfinite(share):
                color = text_color(image, share)
                panel.text(column, row, f"{share:.2f}{marks[row, column]}", ha="center", va="center", color=color)
        panel.spines[:].set_visible(False)
    for panel in axes[len(paths) :]:
        panel.set_visible(False)
    # A figure with one panel is narrower than the title, which is therefore broken.
    title_of(figure, f"Share of the row's flow{chr(10) if columns == 1 else ' '}in competition with the column's")
    return figure
