"""Expressions over the columns of a table, such as "bulk / (bulk + web)"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from longpipe.errors import ScenarioError, nearest
from longpipe.inputs.frame import column_named, in_base_units, not_numbers
from longpipe.measures import expressions
from longpipe.measures.expressions import OPERATORS

if TYPE_CHECKING:
    import pandas as pd

# Maximum number of columns that an error names.
_MAX_NAMED = 30


def with_expression(frame: pd.DataFrame, text: str, field: str = "response") -> pd.DataFrame:
    """Returns the frame with an additional column, named after an expression, that contains its value in each row.

    If the frame already has this column, or the text has no operations, the frame is returned unchanged. Cells with
    units are converted to bit/s, s and bytes; other numbers have no unit. Raises ScenarioError for names that are not
    numeric columns.
    """
    from pandas.api.types import is_numeric_dtype

    if column_named(frame, text) in frame.columns or not set(text) & OPERATORS:
        return frame
    expression = expressions.parse(text, field)
    values: dict[str, Any] = {}
    for name in expression.names:
        column = column_named(frame, "throughput_bps" if name == "throughput" and name not in frame.columns else name)
        if column not in frame.columns:
            raise ScenarioError(
                f"{field}: {name!r} is not a column; {nearest(name, map(str, frame.columns), _MAX_NAMED)}"
            )
        converted, _ = in_base_units(frame, column)
        if not is_numeric_dtype(converted[column]):
            raise ScenarioError(f"{field}: {name!r} {not_numbers(frame[column])}")
        values[name] = converted[column].to_numpy(dtype=float, na_value=np.nan)
    return frame.assign(**{text: expression.value(values)})
