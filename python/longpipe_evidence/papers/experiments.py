"""Parts of a paper with replicated runs: experiments, printed tables, variants, and extensions."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from longpipe.scenario import Scenario

Level = str | int | float
Factors = Mapping[str, Level]


def cell_name(names: Iterable[str], factors: Mapping[Any, Any]) -> str:
    """Returns the name of a configuration: its levels in the order of the paper's factors `names`."""
    return " ".join(str(factors[name]) for name in names)


@dataclass(frozen=True)
class Experiment:
    """One row of a published table, or a run that only a claim needs (`table` is None)."""

    factors: Factors
    # The scenario of the replications, in which only choices that the paper leaves open are random.
    replicated: Scenario
    # The scenario as in the paper, without randomization, which is run once.
    deterministic: Scenario | None = None
    table: str | None = None
    # Fraction of the requested seeds, because runs with little variation need fewer.
    share_of_seeds: float = 1.0

    def seeds(self, requested: int) -> range:
        """Returns the seeds of the replications, from 1 to `requested`; at least two, because an interval needs two."""
        return range(1, min(requested, max(2, math.ceil(requested * self.share_of_seeds))) + 1)


@dataclass(frozen=True)
class Variant:
    """Alternative values of an open parameter, as dotted scenario fields, for experiments with the levels in `only`."""

    name: str
    changes: Mapping[str, object]
    only: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)

    def applies(self, factors: Factors) -> bool:
        """Returns whether the variant changes an experiment with these factors."""
        return all(factors[name] in levels for name, levels in self.only.items())

    def apply(self, experiment: Experiment) -> Scenario:
        """Returns the replicated scenario under this variant."""
        return self.applied(experiment, experiment.replicated)

    def applied(self, experiment: Experiment, scenario: Scenario) -> Scenario:
        """Returns a scenario of the experiment under this variant."""
        return scenario.with_(**self.changes) if self.applies(experiment.factors) else scenario


@dataclass(frozen=True)
class Caption:
    """A printed table: one metric of the rows of `table` (an id in the data file)."""

    number: int
    table: str
    metric: str
    title: str
    # The paper's word for this part, as in "Table 1".
    kind: str = "Table"


@dataclass(frozen=True)
class Beyond:
    """An extension of a paper: replicated experiments without a published table, and their summary tables by name."""

    experiments: Callable[[], list[Experiment]]
    summaries: Mapping[str, Callable[[pd.DataFrame], pd.DataFrame]]
    seeds: int
