"""Results of one part of a suite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from longpipe.analysis.intervals import estimate
from longpipe.measures.readable import readable
from longpipe_evidence.suites.over_time import OverTime, figures

if TYPE_CHECKING:
    from longpipe.design import Design
    from longpipe.study import Runner
    from longpipe_evidence.suites.suite import SuitePart

LEVEL: Final = 0.95


@dataclass(frozen=True)
class PartOutcome:
    """A part, its design, and its runs with the columns `point`, factors, `replication`, `seed` and measures."""

    part: SuitePart
    design: Design
    runs: pd.DataFrame
    # Figures of runs over time, if the part has any.
    figures: tuple[OverTime, ...] = ()

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the columns that identify the point of a row."""
        return tuple(factor.name for factor in self.design.factors)

    def means(self) -> pd.DataFrame:
        """Returns a row per point: factors, and each measure's mean with its interval's half-width, in a readable unit.

        Shares are in percent, because shares of losses are small.
        """
        rows = []
        for _, group in self.runs.groupby("point"):
            row: dict[str, Any] = {name: group[name].iloc[0] for name in self.factors}
            for measure in self.design.asked:
                shown = readable(measure.name, self.design.asked)
                if shown.unit == "share":
                    shown = replace(shown, unit="%", scale=0.01)
                interval = estimate(group[measure.name] / shown.scale, level=LEVEL)
                row[shown.head] = interval.mean
                if len(group) > 1:
                    row[f"± {measure.name}"] = (interval.mean_high - interval.mean_low) / 2
            rows.append(row)
        return pd.DataFrame(rows)


def margin(row: Mapping[Any, Any], head: str) -> float:
    """Returns the half-width of a measure's interval, given its column's name in `means`; NaN if it has none."""
    return float(row.get(f"± {head.partition(' [')[0]}", math.nan))


def run(part: SuitePart, design: Design, runner: Runner) -> PartOutcome:
    """Runs the missing runs of a part, and returns its measures and figures."""
    scenarios, runs = design.scenarios, list(design.runs())
    runner.complete((scenarios[planned_run.point - 1], planned_run.seed) for planned_run in runs)
    rows = []
    for planned_run in runs:
        result = runner.require(scenarios[planned_run.point - 1], planned_run.seed)
        heads = {
            "point": planned_run.point,
            **design.levels(planned_run.point),
            "replication": planned_run.replication,
            "seed": planned_run.seed,
        }
        rows.append({**heads, **{measure.name: measure(result) for measure in design.asked}})
    drawn = tuple(figures(part, design.base, runner)) if part.over_time else ()
    return PartOutcome(part, design, pd.DataFrame(rows), drawn)
