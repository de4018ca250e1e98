"""Metrics of ATM Forum/96-1761 section 3.2."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def throughputs_bps(delivered_bytes: ArrayLike, duration_s: float) -> NDArray[np.float64]:
    """Throughput of each flow [bit/s]: bytes delivered in order to the application, over the whole duration [s]."""
    return np.asarray(delivered_bytes) * 8.0 / duration_s


def efficiency(throughputs_bps: ArrayLike, attainable_bps: float) -> float:
    """Sum of the throughputs [bit/s] over the attainable throughput [bit/s]; nan where nothing is attainable."""
    return float(np.sum(throughputs_bps)) / attainable_bps if attainable_bps else float("nan")


def fairness(throughputs_bps: ArrayLike) -> float:
    """Jain's index (sum x)^2 / (n sum x^2), from 1/n to 1; nan where nothing was delivered."""
    x = np.asarray(throughputs_bps, dtype=float)
    squares = x.size * np.sum(x * x)
    return float(np.sum(x) ** 2 / squares) if squares > 0 else float("nan")
