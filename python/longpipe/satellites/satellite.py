"""One satellite as a file has it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

NEEDS: Final = "TLEs of two or three lines, or OMMs as CSV, XML, JSON or KVN"


@dataclass(frozen=True)
class Elements:
    """A satellite: its name, SGP4's state, the epoch of its elements, and where they stand."""

    name: str
    satellite: Any
    epoch: datetime
    where: str
