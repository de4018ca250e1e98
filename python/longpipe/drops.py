"""Names of loss causes in the trace `drops` and in counters of ports, and their names in earlier releases."""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd

# Names of the core's numbers in column `cause`: 0 is a mark, not a loss.
CAUSES: Final = (
    "marked", "overflow", "aqm", "injected_loss", "outage", "bit_error", "partial_frame", "ack_filter", "no_route",
    "policer",
)  # fmt: skip
# Values of column `reason` as recorded by releases up to 6, by cause; other causes keep their names.
_REASONS: Final = {"aqm": "refused", "ack_filter": "refused", "injected_loss": "forced"}
_CAUSES_OF_REASONS: Final = {"refused": "aqm", "forced": "injected_loss"}
# Earlier names of the loss counters of ports, with their present names.
RENAMED_COUNTERS: Final = {
    f"{unit}_lost_{old}": f"{unit}_lost_{new}"
    for unit in ("cells", "packets")
    for old, new in (("refused", "aqm"), ("forced", "injected"))
}


def completed(trace: "pd.DataFrame") -> "pd.DataFrame":
    """Returns a trace `drops` from any release, with present and earlier columns.

    The columns are time_s, port, flow, sequence_bytes, cause and reason. `reason` is an alias of `cause` that contains
    the older names. If an older release recorded the trace, `flow` and `sequence_bytes` are missing values.
    """
    import pandas as pd

    if "cause" not in trace:
        causes = trace["reason"].astype(str).replace(_CAUSES_OF_REASONS)
        unknown = pd.Series(pd.NA, index=trace.index, dtype="object")
        trace = trace.assign(flow=unknown, sequence_bytes=unknown, cause=_category(causes))
    reasons = trace["cause"].astype(str).replace(_REASONS)
    sequences = pd.to_numeric(trace["sequence_bytes"], errors="coerce").astype("Int64")
    columns: dict[str, Any] = {
        **{name: trace[name] for name in ("time_s", "port", "flow")},
        "sequence_bytes": sequences.mask(sequences < 0),
        "cause": trace["cause"],
        "reason": reasons.astype("category"),
    }
    return pd.DataFrame(columns)


def _category(names: "pd.Series") -> "pd.Series":
    import pandas as pd

    return pd.Series(pd.Categorical(names, categories=pd.Index(CAUSES)), index=names.index)
