"""What a paper of replicated runs consists of: experiments, printed tables, variants, and what goes past it."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from longpipe.scenario import Scenario

Level = str | int | float
Factors = Mapping[str, Level]


def cell_name(names: Iterable[str], factors: Mapping[Any, Any]) -> str:
    """The name of a configuration: its levels in the order of the paper's factors `names`."""
    return " ".join(str(factors[name]) for name in names)


@dataclass(frozen=True)
class Experiment:
    """One row of a published table, or a run that only a claim needs (`table` is None)."""

    factors: Factors
    # Varies with the seed only in what the paper left open.
    replicated: Scenario
    # As the paper did it, without randomization; run once.
    deterministic: Scenario | None = None
    table: str | None = None
    # Of the seeds asked for: fewer are enough where runs differ little.
    share_of_seeds: float = 1.0

    def seeds(self, asked: int) -> range:
        """The seeds to replicate with, out of 1 to `asked`; at least two, for an interval."""
        return range(1, min(asked, max(2, math.ceil(asked * self.share_of_seeds))) + 1)


@dataclass(frozen=True)
class Variant:
    """Other settings of an open choice: dotted scenario fields, where the factors have the levels in `only`."""

    name: str
    changes: Mapping[str, object]
    only: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)

    def applies(self, factors: Factors) -> bool:
        """Whether it changes the experiment with these factors."""
        return all(factors[name] in levels for name, levels in self.only.items())

    def apply(self, experiment: Experiment) -> Scenario:
        """The replicated scenario under this variant."""
        if not self.applies(experiment.factors):
            return experiment.replicated
        return experiment.replicated.with_(**self.changes)


@dataclass(frozen=True)
class Caption:
    """A table as printed: the rows of `table` (an id in the data file), one metric."""

    number: int
    table: str
    metric: str
    title: str
    # What the paper calls it.
    kind: str = "Table"


@dataclass(frozen=True)
class Beyond:
    """Runs past what a paper did: replicated experiments without a table, and the tables that sum them up by name."""

    experiments: Callable[[], list[Experiment]]
    summaries: Mapping[str, Callable[[pd.DataFrame], pd.DataFrame]]
    seeds: int
