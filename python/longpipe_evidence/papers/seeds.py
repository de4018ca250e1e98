"""Describes the number of seeds on which the means of a paper's table are based."""

from collections.abc import Iterable
from typing import Final

import pandas as pd

from longpipe.analysis.intervals import CONFIDENCE
from longpipe.analysis.quantiles import t_quantile
from longpipe.report.parts import NOTHING

# Number of seeds up to which Student's t intervals are wide; with one seed there are none.
FEW: Final = 4


def seeds_text(rows: pd.DataFrame, factors: Iterable[str], names: dict[str, str]) -> str:
    """Describes the seeds of a table's rows by their column `seeds`, as in "20 seeds (WAN 10)".

    The text also states whether there are few. `factors` are those by which the number of seeds may differ, `names` the
    names of their levels. Rows that no seed defines have a clause of their own.
    """
    counts, undefined = rows["seeds"], ""
    if (counts == 0).any():
        rows, undefined = rows[counts > 0], f"; undefined ({NOTHING}) in {int((counts == 0).sum())} of {len(rows)} rows"
        counts = rows["seeds"]
    if counts.empty:
        return f"no seeds{undefined}"
    return _of_defined(rows, factors, names) + undefined


def mean_text(seeds: int) -> str:
    """Describes what the lines of a figure show: "mean of 10 seeds, 95 % interval", or "1 seed, no interval"."""
    return f"mean of {seeds} seeds, 95 % interval" if seeds > 1 else "1 seed, no interval"


def counted(seeds: int) -> str:
    """Returns "1 seed" or "10 seeds"."""
    return f"{seeds} seed{'' if seeds == 1 else 's'}"


def _of_defined(rows: pd.DataFrame, factors: Iterable[str], names: dict[str, str]) -> str:
    """Returns the number of seeds as text, with a note on configurations with fewer and on wide intervals."""
    counts = rows["seeds"]
    seeds, fewest = int(counts.max()), int(counts.min())
    text = counted(seeds)
    if seeds != fewest:
        text += f" ({_those_with_fewer(rows, factors, names, seeds)})"
    if fewest == 1:
        return f"{text}, which have no interval" if seeds > 1 else f"{text}, which has no interval"
    if fewest <= FEW:
        wide = t_quantile(CONFIDENCE, fewest - 1)
        return f"{text}; few seeds make wide intervals: ±{wide:.1f} standard errors with {fewest}"
    return text


def _those_with_fewer(rows: pd.DataFrame, factors: Iterable[str], names: dict[str, str], seeds: int) -> str:
    for factor in factors:
        by_level = rows.groupby(factor, sort=False)["seeds"]
        if (by_level.min() == by_level.max()).all():
            fewer = {str(level): int(count) for level, count in by_level.first().items() if count != seeds}
            return ", ".join(f"{names.get(level, level.upper())} {count}" for level, count in fewer.items())
    return f"of some rows {int(rows['seeds'].min())}"
