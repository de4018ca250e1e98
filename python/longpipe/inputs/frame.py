"""Tables of text files as data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longpipe.errors import shown
from longpipe.inputs.table import head_parts, read_table
from longpipe.units import RATE, SIZE, TIME, Dimension

if TYPE_CHECKING:
    import pandas as pd

# Dimension of a column whose cells have units, the unit of its numbers (bit/s, s and bytes, as in columns of runs), and
# its display unit.
_COUNTED_IN = ((RATE, "bit/s", "Mbit/s"), (TIME, "s", "ms"), (SIZE, "B", "MB"))


def read_frame(file: str | Path, needs: str, texts: Sequence[str] = ()) -> pd.DataFrame:
    """Returns the table of a file; columns of numbers are numeric, other columns and those of `texts` hold text."""
    import pandas as pd

    table = read_table(file, needs)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.heads)
    writer.writerows(cells for _, cells in table)
    text.seek(0)
    return pd.read_csv(text, skip_blank_lines=False, dtype=dict.fromkeys(texts, str))


def column_named(frame: pd.DataFrame, name: str) -> str:
    """Returns the header of a column, such as "rate [Mbit/s]", given its name without the unit, such as "rate"."""
    heads = [str(head) for head in frame.columns]
    matching = [head for head in heads if head_parts(head)[0] == name]
    return matching[0] if name not in heads and len(matching) == 1 else name


def in_base_units(frame: pd.DataFrame, name: str) -> tuple[pd.DataFrame, str | None]:
    """Converts a column of quantities with units to numbers; also returns the unit for display.

    Other frames are returned unchanged, without a unit.
    """
    from pandas.api.types import is_numeric_dtype

    if name not in frame.columns or is_numeric_dtype(frame[name]):
        return frame, None
    cells = [str(cell) for cell in frame[name]]
    for dimension, unit, readable in _COUNTED_IN:
        numbers = _numbers(cells, dimension, unit)
        if numbers is not None:
            return frame.assign(**{name: numbers}), readable
    return frame, None


def _numbers(cells: list[str], dimension: Dimension, unit: str) -> list[float] | None:
    try:
        split = [dimension.split(cell) for cell in cells]
    except ValueError:
        return None
    return [float(number * dimension.units[written_unit] / dimension.units[unit]) for number, written_unit in split]


def not_numbers(column: pd.Series[Any]) -> str:
    """Returns the end of an error about a column that is not numeric; it names the first text that is not a number."""
    import pandas as pd

    texts = column[pd.to_numeric(column.astype(str), errors="coerce").isna() & column.notna()]
    if texts.empty or not pd.api.types.is_string_dtype(column):
        return f"has values of type {column.dtype}; needs a column of numbers"
    row = 1 + column.index.get_indexer(texts.index[:1])[0]
    return f"has {shown(texts.iloc[0])} in row {row}; needs a column of numbers, or of numbers with units of one kind"
