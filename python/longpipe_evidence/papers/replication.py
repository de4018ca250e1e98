"""Declarations of a paper with replicated experiments; `replicated` uses them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pandas as pd

from longpipe.analysis.claims import Claim
from longpipe.errors import ScenarioError
from longpipe.result import Result
from longpipe_evidence.papers.experiments import Beyond, Caption, Experiment, Factors, Variant
from longpipe_evidence.papers.paper import Paper, published_data
from longpipe_evidence.papers.reasons import Reason
from longpipe_evidence.papers.recorded import Recording
from longpipe_evidence.papers.rounding import DECIMALS


@dataclass(frozen=True, kw_only=True)
class Replication(Paper):
    """The experiments behind a paper's tables, their measures, and the format of the tables."""

    claims_title: str = "Claims, judged by 95 % intervals over seeds (E, F: mean efficiency, fairness)"
    # CSV in the package: column `table`, factors, metrics; None if the paper prints no numbers.
    data: str | None
    # Names of the factors, and their headings.
    factors: Mapping[str, str]
    # The factor whose levels are the columns of a printed table, and their names there.
    columns: str
    column_names: Mapping[Any, str]
    metrics: tuple[str, ...]
    # Decimals of the printed numbers.
    decimals: int = DECIMALS
    # Published standard errors by table and metric; differences are also shown in their units.
    standard_errors: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # Reasons for deviations; the first applicable one is shown with a cell.
    reasons: tuple[Reason, ...] = ()
    # The factor over whose levels a sensitivity table summarizes errors.
    series: str
    captions: tuple[Caption, ...]
    experiments: Callable[[], list[Experiment]]
    # Function that returns the metrics of one run, and other values that claims need.
    measure: Callable[[Result], Mapping[str, float]]
    claims: tuple[Claim, ...]
    variants: tuple[Variant, ...]
    # Variants that are judged by all claims, because the paper's text permits them as much as the settings here.
    other_readings: tuple[Variant, ...] = ()
    # Rows that a sensitivity table shows individually: a name, and the factors that select them.
    watched: Mapping[str, Factors]
    # Additional tables by name, each computed from the rows and the replicated runs of a reproduction.
    summaries: Mapping[str, Callable[[pd.DataFrame, pd.DataFrame], pd.DataFrame]] = field(default_factory=dict)
    # Additional tables with published numbers: the meaning and unit of their columns `published_` and `mean_`.
    compared: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    beyond: Beyond | None = None
    # Runs with traces; their rows are added to the replicated runs, without a table.
    recordings: tuple[Recording, ...] = ()

    @property
    def beyond_seeds(self) -> int | None:
        """Returns the number of replications of the extension, or None if there is no extension."""
        return self.beyond.seeds if self.beyond else None

    def published(self) -> pd.DataFrame:
        """Returns the published numbers: `table`, a column per factor and metric; nan where none is printed."""
        if self.data is None:
            rows = [{"table": e.table, **e.factors} for e in self.experiments() if e.table]
            return pd.DataFrame(rows).assign(**dict.fromkeys(self.metrics, math.nan))
        numbers = published_data(self.id, self.data)
        return numbers[numbers["table"].isin([caption.table for caption in self.captions])].reset_index(drop=True)

    def under(self, reading: Variant) -> Self:
        """Returns the paper with a variant applied to all of its experiments."""
        every = self.experiments

        def changed() -> list[Experiment]:
            return [
                replace(
                    experiment,
                    replicated=reading.apply(experiment),
                    deterministic=experiment.deterministic and reading.applied(experiment, experiment.deterministic),
                )
                for experiment in every()
            ]

        return replace(self, experiments=changed)

    def only(self, table: int) -> Self:
        """Returns the paper with only one of its tables, without claims. Raises ScenarioError if there is none."""
        captions = tuple(caption for caption in self.captions if caption.number == table)
        if not captions:
            numbers = ", ".join(dict.fromkeys(str(caption.number) for caption in self.captions))
            raise ScenarioError(f"--table: {table}; {self.id} accepts {numbers}")
        shown, every = {caption.table for caption in captions}, self.experiments
        return replace(
            self,
            captions=captions,
            experiments=lambda: [experiment for experiment in every() if experiment.table in shown],
            claims=(),
            summaries={},
            compared={},
            recordings=(),
        )
