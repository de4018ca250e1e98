"""Recorded traces by name, and codes in their columns."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn

from longpipe.errors import ScenarioError

if TYPE_CHECKING:
    import pandas as pd


class SequenceEvent(IntEnum):
    """Codes in the column `event` of the trace of sequence numbers."""

    SENT = 0
    """The sender transmits a segment."""
    ACK = 1
    """The sender receives an ACK."""
    SACK = 2
    """A block in the SACK option of the ACK before it."""


class TraceFrames(dict[str, "pd.DataFrame"]):
    """Frames of recorded traces by name. Reading a trace that was not recorded raises a ScenarioError."""

    def __missing__(self, name: str) -> NoReturn:
        raise ScenarioError(f"traces.{name}: not recorded; needs traces.{name} = true, or longpipe run --trace {name}")
