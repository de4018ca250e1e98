"""Names of loss causes in the trace `drops`."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pandas as pd

# Names of the core's numbers in column `cause`: 0 is a mark, not a loss.
CAUSES: Final = (
    "marked", "overflow", "aqm", "injected_loss", "outage", "bit_error", "partial_frame", "ack_filter", "no_route",
    "policer",
)  # fmt: skip


def completed(trace: "pd.DataFrame") -> "pd.DataFrame":
    """Returns a trace `drops` with integers, or missing values, in the column `sequence_bytes`."""
    import pandas as pd

    sequences = pd.to_numeric(trace["sequence_bytes"], errors="coerce").astype("Int64")
    return trace.assign(sequence_bytes=sequences.mask(sequences < 0))
