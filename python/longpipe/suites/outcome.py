"""What a part of a suite comes to once it was run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from longpipe.analysis.intervals import estimate
from longpipe.analysis.readable import readable

if TYPE_CHECKING:
    from longpipe.design import Design
    from longpipe.study import Runner
    from longpipe.suites.suite import SuitePart

LEVEL: Final = 0.95


@dataclass(frozen=True)
class PartOutcome:
    """A part, its design, and a row per run: `point`, the factors, `replication`, `seed`, what is measured."""

    part: SuitePart
    design: Design
    runs: pd.DataFrame

    def means(self) -> pd.DataFrame:
        """A row per point: the factors, each measure's mean in a reader's unit, half its interval if it has one."""
        names, rows = [factor.name for factor in self.design.factors], []
        for _, group in self.runs.groupby("point"):
            row: dict[str, Any] = {name: group[name].iloc[0] for name in names}
            for measure in self.design.asked:
                shown = readable(measure.name, self.design.asked)
                found = estimate(group[measure.name] / shown.scale, level=LEVEL)
                row[shown.head] = found.mean
                if len(group) > 1:
                    row[f"± {measure.name}"] = (found.mean_high - found.mean_low) / 2
            rows.append(row)
        return pd.DataFrame(rows)


def run(part: SuitePart, design: Design, runner: Runner) -> PartOutcome:
    """Runs what the store lacks of a part, and measures."""
    scenarios, runs = design.scenarios, list(design.runs())
    runner.complete((scenarios[one.point - 1], one.seed) for one in runs)
    rows = []
    for one in runs:
        result = runner.require(scenarios[one.point - 1], one.seed)
        heads = {"point": one.point, **design.levels(one.point), "replication": one.replication, "seed": one.seed}
        rows.append({**heads, **{measure.name: measure(result) for measure in design.asked}})
    return PartOutcome(part, design, pd.DataFrame(rows))
