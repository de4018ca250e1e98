"""Recorded traces by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from longpipe.errors import ScenarioError

if TYPE_CHECKING:
    import pandas as pd


class TraceFrames(dict[str, "pd.DataFrame"]):
    """Frames of recorded traces by name. Reading a trace that was not recorded raises a ScenarioError."""

    def __missing__(self, name: str) -> NoReturn:
        raise ScenarioError(f"traces.{name}: not recorded; needs traces.{name} = true, or longpipe run --trace {name}")
