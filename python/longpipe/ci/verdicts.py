"""Whether a changed sender is worse than its baseline: paired differences over the seeds, with a family-wise error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from longpipe.analysis.intervals import Estimate, estimate
from longpipe.ci.measured import MEASURES, PenalizedMeasure, SenderRun

# Probability that an unchanged sender is reported as regressed in any scenario and measure.
FALSE_ALARM: Final = 0.01


class Verdict(StrEnum):
    """Result of the comparison of a measure in a scenario."""

    REGRESSED = "regressed"
    INCONCLUSIVE = "inconclusive"
    NOT_REGRESSED = "not regressed"
    IMPROVED = "improved"


@dataclass(frozen=True)
class Comparison:
    """A measure in a scenario: its means, and the relative change with its interval.

    `change` is the mean over the seeds of the differences between the changed and the base sender, divided by the mean
    of the base; positive numbers are worse. `deaths` tells why connections of the changed sender ended early.
    """

    scenario: str
    measure: PenalizedMeasure
    base: float
    new: float
    change: Estimate
    verdict: Verdict
    deaths: Sequence[str] = ()


def compare(
    base: Mapping[str, Sequence[SenderRun]], new: Mapping[str, Sequence[SenderRun]], margin: float
) -> tuple[Comparison, ...]:
    """Compares the runs of two senders by scenario; the runs of a scenario are in the order of equal seeds.

    A measure has regressed if the interval of its change lies above `margin` (a fraction), and has not if it lies
    below. The intervals hold together: an unchanged sender is reported as regressed anywhere with a probability of at
    most 1 % (Bonferroni). A connection that ended early is a regression unless as many ended with the base sender.
    """
    level = 1 - 2 * FALSE_ALARM / (len(base) * len(MEASURES))
    return tuple(
        _comparison(scenario, measure, base[scenario], new[scenario], margin, level)
        for scenario in base
        for measure in MEASURES
    )


def _comparison(
    scenario: str,
    measure: PenalizedMeasure,
    base: Sequence[SenderRun],
    new: Sequence[SenderRun],
    margin: float,
    level: float,
) -> Comparison:
    of_base = np.array([run.values[measure.name] for run in base])
    of_new = np.array([run.values[measure.name] for run in new])
    scale = max(float(of_base.mean()), measure.floor)
    change = estimate((of_new - of_base) / scale, level=level)
    deaths = tuple(line for run in new for line in run.deaths)
    if change.mean_low > margin or len(deaths) > sum(len(run.deaths) for run in base):
        verdict = Verdict.REGRESSED
    elif change.mean_high >= margin:
        verdict = Verdict.INCONCLUSIVE
    else:
        verdict = Verdict.IMPROVED if change.mean_high < -margin else Verdict.NOT_REGRESSED
    return Comparison(scenario, measure, float(of_base.mean()), float(of_new.mean()), change, verdict, deaths)
