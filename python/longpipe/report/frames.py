"""Converts data frames to tables and downloads of a report."""

import base64
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_numeric_dtype

from longpipe.measures.readable import p_text
from longpipe.report.parts import NOTHING, Cell, Column, Download, Grid, number

# Tables with more rows are collapsed initially.
MAX_OPEN_ROWS: Final = 40
# Column of p values, which have the format of `longpipe analyse`.
P_VALUE: Final = "p_value"
MEDIA_TYPES: Final = {".csv": "text/csv", ".json": "application/json", ".toml": "application/toml"}


def grid(
    frame: pd.DataFrame,
    name: str,
    title: str,
    *,
    note: str = "",
    heads: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    digits: int = 3,
) -> Grid:
    """Returns a table with the frame's columns; `heads` renames columns, `names` renames their values."""
    heads, names = heads or {}, names or {}
    columns = tuple(
        Column(heads.get(str(name), str(name).replace("_", " ")), number=_is_number(frame[name]))
        for name in frame.columns
    )
    decimals = [digits if _has_decimals(frame[name]) else None for name in frame.columns]
    rows = tuple(
        tuple(
            _p_cell(value)
            if column == P_VALUE
            else cell(names.get(value, value) if isinstance(value, str) else value, digits, decimals=of_column)
            for column, value, of_column in zip(frame.columns, row, decimals, strict=True)
        )
        for row in frame.itertuples(index=False, name=None)
    )
    return Grid(name, title, columns, rows, note=note, closed=len(rows) > MAX_OPEN_ROWS)


def cell(value: Any, digits: int = 3, *, decimals: int | None = None) -> Cell:  # noqa: ANN401 - any value of a cell
    """Formats a cell: text unchanged, numbers rounded (see `number`) and sorted by value, missing values as a dash."""
    if isinstance(value, str):
        return Cell(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return Cell(NOTHING)
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if not isinstance(value, int | float):
        return Cell(str(value))
    return Cell(number(value, digits, decimals=decimals), float(value))


def _p_cell(value: float) -> Cell:
    return Cell(NOTHING) if math.isnan(value) else Cell(p_text(value), value)


def _has_decimals(column: pd.Series) -> bool:
    """Returns whether all numbers of a column get the same number of decimals, so that they align."""
    if not is_float_dtype(column):
        return False
    values = column[np.isfinite(column)]
    return bool((values != values.round()).any() and (values.abs() < 1000).all())


def _is_number(column: pd.Series) -> bool:
    return is_numeric_dtype(column) and not is_bool_dtype(column)


def download(name: str, content: bytes) -> Download:
    """Returns a download that is embedded in the page."""
    kilobytes = math.ceil(len(content) / 1000)
    media = MEDIA_TYPES[Path(name).suffix]
    return Download(name, f"{kilobytes} kB", f"data:{media};base64,{base64.b64encode(content).decode()}")
