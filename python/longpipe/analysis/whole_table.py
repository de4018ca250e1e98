"""Tables of an analysis that are printed with all columns."""

from collections.abc import Callable
from typing import Any

import pandas as pd


class WholeTable(pd.DataFrame):
    """A data frame whose text has all columns with their whole texts; frames derived from it are plain."""

    @property
    def _constructor(self) -> Callable[..., Any]:
        return pd.DataFrame

    def __repr__(self) -> str:
        """Returns the table as text, in several parts if it is wider than the terminal."""
        with pd.option_context("display.max_columns", None, "display.max_colwidth", None):
            return super().__repr__()

    def _repr_html_(self) -> str | None:
        """Returns the table for a notebook."""
        with pd.option_context("display.max_columns", None, "display.max_colwidth", None):
            html: str | None = super()._repr_html_()  # type: ignore[misc]
            return html
