"""Describes the number of seeds on which the means of a paper's table are based."""

from collections.abc import Iterable
from typing import Final

import pandas as pd

from longpipe.analysis.intervals import CONFIDENCE
from longpipe.analysis.quantiles import t_quantile

# Number of seeds up to which Student's t intervals are wide; with one seed there are none.
FEW: Final = 4


def seeds_text(rows: pd.DataFrame, factors: Iterable[str], names: dict[str, str]) -> str:
    """Describes the seeds of a table's rows by their column `seeds`, as in "20 seeds (WAN 10)".

    Also returns whether there are few. `factors` are those by which the number of seeds may differ, `names` the
    names of their levels.
    """
    counts = rows["seeds"]
    seeds, fewest = int(counts.max()), int(counts.min())
    said = f"{seeds} seed{'' if seeds == 1 else 's'}"
    if seeds != fewest:
        said += f" ({_those_with_fewer(rows, factors, names, seeds)})"
    if fewest == 1:
        return f"{said}, which have no interval" if seeds > 1 else f"{said}, which has no interval"
    if fewest <= FEW:
        wide = t_quantile(CONFIDENCE, fewest - 1)
        return f"{said}; few seeds make wide intervals: ±{wide:.1f} standard errors with {fewest}"
    return said


def _those_with_fewer(rows: pd.DataFrame, factors: Iterable[str], names: dict[str, str], seeds: int) -> str:
    for factor in factors:
        by_level = rows.groupby(factor, sort=False)["seeds"]
        if (by_level.min() == by_level.max()).all():
            fewer = {str(level): int(count) for level, count in by_level.first().items() if count != seeds}
            return ", ".join(f"{names.get(level, level.upper())} {count}" for level, count in fewer.items())
    return f"of some rows {int(rows['seeds'].min())}"
