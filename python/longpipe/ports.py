"""The table of ports, which also accepts the column names of earlier releases."""

import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd

from longpipe.drops import RENAMED_COUNTERS


class Ports(pd.DataFrame):
    """A row per directed link. Indexing by a former column name returns the present column with a warning."""

    @property
    def _constructor(self) -> Callable[..., Any]:
        return Ports

    @property
    def _constructor_sliced(self) -> Callable[..., Any]:
        return Port

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 - as in pandas
        """Returns columns or rows as in pandas."""
        return super().__getitem__(_present(key))


class Port(pd.Series):
    """A row or column of `Ports`."""

    @property
    def _constructor(self) -> Callable[..., Any]:
        return Port

    @property
    def _constructor_expanddim(self) -> Callable[..., Any]:
        return Ports

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 - as in pandas
        """Returns values as in pandas."""
        return super().__getitem__(_present(key))


def _present(key: Any) -> Any:  # noqa: ANN401 - anything that pandas accepts
    if isinstance(key, list):
        return [_present(one) for one in key]
    if not isinstance(key, str) or key not in RENAMED_COUNTERS:
        return key
    present = RENAMED_COUNTERS[key]
    warnings.warn(f"column {key!r} is now {present!r}", FutureWarning, stacklevel=3)
    return present
