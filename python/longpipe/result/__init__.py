"""Results of runs: tables, traces and captures."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longpipe.result.result import PARTS, Result, duration_s, records
    from longpipe.result.trace_frames import SequenceEvent

__all__ = ["PARTS", "Result", "SequenceEvent", "duration_s", "records"]

# Hidden from type checkers, because they would otherwise accept any name.
if not TYPE_CHECKING:
    from longpipe.system.lazy import lazy_attributes

    # Imported on demand, because names of drops and captures are needed by commands that read no result.
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {**dict.fromkeys(__all__, "longpipe.result.result"), "SequenceEvent": "longpipe.result.trace_frames"},
    )
    del lazy_attributes
