"""Sources of a paper's tables for a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pandas as pd


class Tables(Protocol):
    """Source of a paper's tables and their record: a folder, or the package."""

    @property
    def document(self) -> str:
        """Returns the id of the paper."""

    @property
    def records(self) -> Mapping[str, Mapping[str, Any]]:
        """Returns the provenance of each part."""

    def frame(self, name: str) -> pd.DataFrame:
        """Returns a table by its file stem."""
