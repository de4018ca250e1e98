"""Metrics of ATM Forum/96-1761 section 3.2."""

from collections.abc import Iterable

from longpipe.metrics.sums import total


def throughputs_bps(delivered_bytes: Iterable[int], duration_s: float) -> list[float]:
    """Returns each flow's throughput [bit/s]: bytes delivered to the application divided by the duration [s]."""
    return [delivered * 8.0 / duration_s for delivered in delivered_bytes]


def efficiency(throughputs_bps: Iterable[float], attainable_bps: float) -> float:
    """Returns the sum of the throughputs [bit/s] divided by the attainable throughput [bit/s]; NaN if that is 0."""
    return total(list(throughputs_bps)) / attainable_bps if attainable_bps else float("nan")


def fairness(throughputs_bps: Iterable[float]) -> float:
    """Returns Jain's index (sum x)^2 / (n sum x^2), from 1/n to 1; NaN if no data was delivered."""
    x = [float(rate) for rate in throughputs_bps]
    squares = len(x) * total([rate * rate for rate in x])
    # A rounding error would give equal throughputs an index above 1.
    return min(1.0, total(x) ** 2 / squares) if squares > 0 else float("nan")
