"""Names of loss causes in the trace `drops`."""

from typing import TYPE_CHECKING, Final

from longpipe import _core

if TYPE_CHECKING:
    import pandas as pd

# Names of the core's numbers in column `cause`: 0 is a mark, not a loss.
CAUSES: Final = tuple(dict(_core.trace_names())["cause"])


def completed(trace: "pd.DataFrame") -> "pd.DataFrame":
    """Returns a trace `drops` with integers, or missing values, in the column `sequence_bytes`."""
    import pandas as pd

    sequences = pd.to_numeric(trace["sequence_bytes"], errors="coerce").astype("Int64")
    return trace.assign(sequence_bytes=sequences.mask(sequences < 0))
