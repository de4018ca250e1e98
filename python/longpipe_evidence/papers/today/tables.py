"""Tables of the page on today's networks: each factor's share of the variation of a result, and means per setting.

`runs` has a row per run of all designs, with the columns `design`, the factors of the design, `seed` and the responses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pandas as pd

from longpipe.analysis.anova import anova

if TYPE_CHECKING:
    from longpipe_evidence.papers.today.experiments import Design

# Rows and columns of the tables of means of each design; the levels of `network` are blocks of columns.
SHOWN: Final = {
    "long-lived": ("policy", "tcp"),
    "bursts": ("guaranteed", "tcp"),
    "web": ("policy", "tcp"),
    "transfer": ("w_star_packets", "tcp"),
}
LINK: Final = "network"


def variation(runs: pd.DataFrame, design: Design, response: str) -> pd.DataFrame:
    """Returns the percentage of a response's variation by component (rows), for each link (columns)."""
    chosen = runs[runs["design"] == design.id]
    factors = [name for name in design.levels if name != LINK]
    runs_by_link = dict(list(chosen.groupby(LINK, sort=False))) if LINK in design.levels else {"all": chosen}
    percentages = {}
    for link, runs_of_link in runs_by_link.items():
        # Deterministic senders give equal runs for each seed, so the block explains no variation.
        fitted = anova(runs_of_link, response, factors, order=2, blocks="seed")
        percentages[link] = fitted.variation.set_index("component")["percent"].dropna().drop("total variation")
    return pd.DataFrame(percentages).rename_axis("component").reset_index()


def means(runs: pd.DataFrame, design: Design) -> Iterator[tuple[pd.DataFrame, str, str]]:
    """Yields the means of each response by the design's rows and columns, with the names of the response and rows."""
    chosen = runs[runs["design"] == design.id]
    rows, columns = SHOWN[design.id]
    column_factors = [LINK, columns] if LINK in design.levels else [columns]
    for response in [*design.responses, *(["median_s"] if design.id == "web" else [])]:
        frame = chosen.pivot_table(response, index=rows, columns=column_factors, sort=False)
        frame.columns = [" ".join(map(str, column if isinstance(column, tuple) else (column,))) for column in frame]
        yield frame.reset_index(), response, rows
