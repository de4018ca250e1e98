"""Conditions on rows, as given with `--where`."""

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import pandas as pd

from longpipe.errors import ScenarioError, nearest

# Operator of each sign in a condition.
_COMPARE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONDITION: Final = re.compile(r"([^<>!=]+)(<=|>=|!=|=|<|>)(.*)")
# Maximum number of values that a message lists.
_SHOWN: Final = 20


def matching(frame: pd.DataFrame, conditions: Iterable[str]) -> pd.DataFrame:
    """Returns the rows that satisfy all conditions: "tcp=reno", "buffer!=1000 cells", "efficiency>=0.9".

    Raises ScenarioError for an invalid condition, a missing column, text compared by order, and conditions that no row
    satisfies.
    """
    for condition in conditions:
        match = _CONDITION.fullmatch(condition)
        name, sign, value = (part.strip() for part in match.groups()) if match else ("", "", "")
        if not name or not value:
            raise ScenarioError(
                f"--where: {condition!r}; accepts COLUMN=VALUE, also with !=, <, <=, > and >=, as in network=wan"
            )
        if name not in frame:
            raise ScenarioError(f"--where: {name!r} is not a column; {nearest(name, map(str, frame.columns))}")
        column = frame[name]
        number = pd.to_numeric(value, errors="coerce")
        if pd.api.types.is_numeric_dtype(column) and not pd.isna(number):
            satisfying = frame[_COMPARE[sign](column, number)]
        elif sign in ("=", "!="):
            satisfying = frame[_COMPARE[sign](column.astype(str), value)]
        else:
            raise ScenarioError(f"--where: {condition!r} compares text by size; accepts {name}= and {name}!=")
        if satisfying.empty:
            values = f"; {nearest(value, column.astype(str).unique(), _SHOWN)}" if sign == "=" else ""
            raise ScenarioError(f"--where: no row has {name} {sign} {value!r}{values}")
        frame = satisfying
    return frame
