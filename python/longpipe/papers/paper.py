"""What every reproduced paper consists of: published tables, experiments, claims and variants."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import pandas as pd

from longpipe.analysis.claims import Claim
from longpipe.result import Result
from longpipe.scenario import Scenario

Level = str | int | float
Factors = Mapping[str, Level]


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


@dataclass(frozen=True)
class Paper:
    """A paper and how to reproduce it."""

    id: str
    title: str
    # CSV of papers/data: column `table`, the factors, the metrics; none where the paper prints no numbers.
    data: str | None
    # Names of the factors, and how a table heads them.
    factors: Mapping[str, str]
    # The factor whose levels are the columns of a printed table, and their names there.
    columns: str
    column_names: Mapping[Any, str]
    metrics: tuple[str, ...]
    # The factor by which a sensitivity table sums up its errors.
    series: str
    captions: tuple[Caption, ...]
    experiments: Callable[[], list[Experiment]]
    # The metrics, and whatever else the claims ask for, of one run.
    measure: Callable[[Result], Mapping[str, float]]
    claims: tuple[Claim, ...]
    variants: tuple[Variant, ...]
    # Rows that a sensitivity table shows one by one: a name and the factors that choose them.
    watched: Mapping[str, Factors]
    # What the single run fixes and what the replications draw.
    conditions: str
    # Tables beyond the printed ones, by name: each of the rows and the replicated runs of a reproduction.
    summaries: Mapping[str, Callable[[pd.DataFrame, pd.DataFrame], pd.DataFrame]] = field(default_factory=dict)
    # Replications if nobody asks for more or fewer.
    seeds: int = 20
    beyond: Beyond | None = None

    def published(self) -> pd.DataFrame:
        """The published numbers: `table`, one column per factor, one per metric; nan where the paper prints none."""
        if self.data is None:
            rows = [{"table": e.table, **e.factors} for e in self.experiments() if e.table]
            return pd.DataFrame(rows).assign(**dict.fromkeys(self.metrics, math.nan))
        with (resources.files("longpipe.papers") / "data" / self.data).open(encoding="utf-8") as file:
            return pd.read_csv(file, dtype={"table": str})
