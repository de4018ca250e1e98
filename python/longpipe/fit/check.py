"""Check of a fit: the goodput of the scenario that it writes, compared with the goodput of the capture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.cautions.cautions import seedless
from longpipe.errors import RunError
from longpipe.fit.model_error import GOODPUT, model_error
from longpipe.fit.series import TRACES, simulated
from longpipe.fit.steady import deviation_line, goodput_bps
from longpipe.fit.whatif import single_run
from longpipe.result import duration_s
from longpipe.run import simulate
from longpipe.system.interrupts import TerminatedError, clear_interruption
from longpipe.units import TIME

if TYPE_CHECKING:
    from longpipe.fit.report import FitReport
    from longpipe.scenario import Scenario

# Number of runs of a scenario with random numbers.
_SEEDS: Final = 5
# Number of packets of a run at the path's rate, to which the duration of the runs is limited.
_MAX_PACKETS: Final = 5_000_000


@dataclass(frozen=True)
class FittedGoodput:
    """Goodput [bit/s] of a capture and of its fitted scenario, both without the first third.

    `simulated_bps` is the mean of `runs` runs, and `half_bps` is the half-width of the 95 % prediction interval of one
    run, which includes longpipe's own error. `warning` is "" if the capture deviates no more than is tolerated.
    """

    observed_bps: float
    simulated_bps: float
    half_bps: float
    runs: int
    warning: str

    @property
    def line(self) -> str:
        """Returns one line with both goodputs."""
        observed, simulated = (f"{bps / 1e6:.5g} Mbit/s" for bps in (self.observed_bps, self.simulated_bps))
        runs = "" if self.runs == 1 else f" (mean of {self.runs} runs)"
        return f"goodput without the first third: {observed} in the file, {simulated} in the fitted scenario{runs}"


def checked(report: FitReport) -> FitReport:
    """Runs the scenario of a fit and returns the report with the goodputs of file and scenario.

    Returns the report unchanged if the file contains no transfer or no delivered data, and if the runs are interrupted
    or need too much memory.
    """
    if not report.is_transfer:
        return report
    time_s, delivered_bytes = (np.array(report.series[name], dtype=float) for name in ("time_s", "delivered_bytes"))
    observed = goodput_bps(time_s, delivered_bytes)
    if not observed > 0:
        return report
    scenario = _shortened(report.scenario, report.mss)
    runs = 1 if seedless(scenario) else _SEEDS
    try:
        values = np.array([_goodput(scenario, seed) for seed in range(runs)])
    except TerminatedError:
        raise
    except (KeyboardInterrupt, RunError):
        clear_interruption()
        return report
    mean, error = float(values.mean()), model_error(scenario, GOODPUT)
    half_width = error * mean
    if runs > 1:
        low, high = single_run(values)
        half_width += (high - low) / 2
    warning = deviation_line(GOODPUT, observed, (mean, half_width))
    return replace(report, goodput=FittedGoodput(observed, mean, half_width, runs, warning))


def _shortened(scenario: Scenario, mss: int) -> Scenario:
    """Returns the scenario with the traces that its goodput needs, and with a shorter duration if it is very long."""
    longest_s = _MAX_PACKETS * 8 * mss / min(link["rate_bps"] for link in scenario.resolved["links"])
    shorter = {"duration": f"{max(1, int(longest_s))} s"} if TIME.parse(scenario.duration) / 1e12 > longest_s else {}
    return scenario.with_(**TRACES, **shorter)


def _goodput(scenario: Scenario, seed: int) -> float:
    """Returns the goodput [bit/s] of a run."""
    series = simulated(simulate(scenario, seed=seed), duration_s(scenario))
    return goodput_bps(series.grid, series.delivered)
