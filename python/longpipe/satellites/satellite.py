"""A satellite from a file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

NEEDS: Final = "TLEs of two or three lines, or OMMs as CSV, XML, JSON or KVN"
# Ephemeris types whose elements are for SGP4; others, such as 4 for SGP4-XP, need another propagator.
EPHEMERIS_TYPES: Final = ("0", "1", "2", "3")


@dataclass(frozen=True)
class Elements:
    """A satellite: its name, its SGP4 state, its elements' epoch, and its place in the file."""

    name: str
    satellite: Any
    epoch: datetime
    where: str
