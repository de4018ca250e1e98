"""Queueing delays at ports, from the trace `delay`."""

from collections.abc import Mapping
from typing import Any, Final

# Additional columns of `Result.ports` if delays were recorded.
MEAN: Final = "queueing_delay_mean_s"
QUANTILES: Final = {
    "queueing_delay_median_s": 0.5,
    "queueing_delay_p95_s": 0.95,
    "queueing_delay_p99_s": 0.99,
}


def by_port(trace: Mapping[str, Any], ports: int, begin_s: float = 0.0) -> dict[str, list[float]]:
    """Returns the mean, median, and 95th and 99th percentiles of each port's queueing delay [s], in one column each.

    The values are exact, for all packets that departed at or after `begin_s`: a quantile is the smallest delay that is
    not exceeded by at least this share of the packets. All are NaN if no packet departed.
    """
    # Imported here because few runs record delays.
    import numpy as np

    counted = np.asarray(trace["time_s"]) >= begin_s
    port, delay = np.asarray(trace["port"])[counted], np.asarray(trace["delay_s"], dtype=np.float64)[counted]
    columns = {name: np.full(ports, np.nan) for name in (MEAN, *QUANTILES)}
    # Sorted by port, and by delay within a port.
    order = np.lexsort((delay, port))
    port, delay = port[order], delay[order]
    for number in np.unique(port):
        first, last = np.searchsorted(port, (number, number + 1))
        at_port = delay[first:last]
        columns[MEAN][number] = at_port.mean()
        for name, share in QUANTILES.items():
            # The packet with rank ceil(share * n), counted from 1.
            columns[name][number] = at_port[max(int(np.ceil(share * len(at_port))), 1) - 1]
    return {name: column.tolist() for name, column in columns.items()}
