"""Response times of web traffic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd

QUANTILES: Final = {"median_s": 0.5, "p95_s": 0.95, "p99_s": 0.99}
# Columns of `waiting` and of `response_times`.
WAITING: Final = ("files", "completed", *QUANTILES)
COLUMNS: Final = ("class", *WAITING)


def response_times(files: pd.DataFrame, duration_s: float) -> pd.DataFrame:
    """Returns response times (request to last byte) by class: `files`, `completed`, `median_s`, `p95_s`, `p99_s`.

    `files` is `Result.files`. A file that is still being transferred at the end of the run is a censored observation
    (Kaplan and Meier 1958). A quantile beyond the end of the run is NaN.
    """
    # Return early, because most runs have no web traffic and so do not need pandas.
    import pandas as pd

    rows = [{"class": level, **waiting(group, duration_s)} for level, group in files.groupby("class")]
    return pd.DataFrame(rows, columns=[*COLUMNS])


def waiting(files: pd.DataFrame, duration_s: float) -> dict[str, Any]:
    """Returns the response times of all files of all classes together."""
    done = files["completed_s"].notna()
    waited = files["completed_s"].where(done, duration_s) - files["requested_s"]
    quantiles = {name: _quantile(waited, done, share) for name, share in QUANTILES.items()}
    return {"files": len(files), "completed": int(done.sum()), **quantiles}


def _quantile(waited_s: pd.Series, done: pd.Series, share: float) -> float:
    # Imported here because SciPy's statistics take half a second to load.
    from scipy.stats import CensoredData, ecdf

    if not done.any():
        return math.nan
    survival = ecdf(CensoredData(waited_s[done], right=waited_s[~done])).sf
    reached = survival.probabilities <= 1 - share + 1e-12
    return float(survival.quantiles[reached][0]) if reached.any() else math.nan
