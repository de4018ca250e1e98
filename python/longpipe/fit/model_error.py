"""Errors of longpipe's models of congestion controls, which widen the intervals of predictions over a fitted path.

The numbers are relative errors of goodput and of the median RTT that simulations over 95 % of 36 known paths do not
exceed, compared with Linux 6.1: `longpipe validate model-errors tests/data/linux/control-paths.csv`. The simulated
hosts are those that a fit assumes, so the errors include differences between these hosts and the guest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

GOODPUT: Final = "goodput"
MEDIAN_RTT: Final = "median RTT"
_MEASURES: Final = (GOODPUT, MEDIAN_RTT)
# Errors of goodput and of the median RTT by control, rounded up.
ERRORS: Final[dict[str, tuple[float, float]]] = {
    "bbr": (0.023, 0.043),
    "bic": (0.062, 0.014),
    "cubic": (0.008, 0.019),
    "highspeed": (0.039, 0.017),
    "htcp": (0.037, 0.033),
    "hybla": (0.019, 0.035),
    "illinois": (0.032, 0.018),
    "linux-reno": (0.006, 0.010),
    "scalable": (0.003, 0.012),
    "vegas": (0.006, 0.019),
    "veno": (0.010, 0.008),
    "westwood": (0.158, 0.133),
}
# Errors over the paths of all controls together, which are assumed for controls that Linux 6.1 lacks.
OTHERS: Final = (0.038, 0.030)
# Additional errors beside other flows, whose shares depend on single losses: `longpipe validate fit FOLDER --seed 900
# --paths 0 --queues 0`, 12 paths.
SHARED: Final = (0.35, 0.02)


def model_error(scenario: Scenario, measure: str) -> float:
    """Returns the relative error of a measure of a simulated flow; 0 if it is neither goodput nor the median RTT."""
    if measure not in _MEASURES:
        return 0.0
    errors = [ERRORS.get(scenario.tcp.congestion.kind, OTHERS)]
    if getattr(scenario.network, "group", None):
        errors.append(SHARED)
    return sum(error[_MEASURES.index(measure)] for error in errors)
