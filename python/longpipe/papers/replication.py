"""What a paper of replicated experiments declares; `replicated` says what is done with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pandas as pd

from longpipe.analysis.claims import Claim
from longpipe.errors import ScenarioError
from longpipe.papers.experiments import Beyond, Caption, Experiment, Factors, Variant
from longpipe.papers.paper import Paper, published_data
from longpipe.papers.reasons import Reason
from longpipe.papers.recorded import Recording
from longpipe.papers.rounding import DECIMALS
from longpipe.result import Result


@dataclass(frozen=True, kw_only=True)
class Replication(Paper):
    """The experiments behind a paper's tables, what is measured of them, and how those tables look."""

    judged: str = "Claims, judged by 95 % intervals over seeds (E, F: mean efficiency, fairness)"
    # CSV of its package: column `table`, the factors, the metrics; none where the paper prints no numbers.
    data: str | None
    # Names of the factors, and how a table heads them.
    factors: Mapping[str, str]
    # The factor whose levels are the columns of a printed table, and their names there.
    columns: str
    column_names: Mapping[Any, str]
    metrics: tuple[str, ...]
    # Decimals of its printed numbers.
    decimals: int = DECIMALS
    # Standard errors that it prints for its tables, by the table and the metric, in which differences are shown, too.
    standard_errors: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # Why cells deviate; the first that applies is shown beside a cell.
    reasons: tuple[Reason, ...] = ()
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
    # Tables beyond the printed ones, by name: each of the rows and the replicated runs of a reproduction.
    summaries: Mapping[str, Callable[[pd.DataFrame, pd.DataFrame], pd.DataFrame]] = field(default_factory=dict)
    # Those with published numbers beside means: what the columns `published_` and `mean_` are of, with its unit.
    compared: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    beyond: Beyond | None = None
    # Runs with traces on; their rows join the replicated runs, without a table.
    recordings: tuple[Recording, ...] = ()

    @property
    def beyond_seeds(self) -> int | None:
        """Replications of what goes past the paper; None if nothing does."""
        return self.beyond.seeds if self.beyond else None

    def published(self) -> pd.DataFrame:
        """The published numbers: `table`, one column per factor, one per metric; nan where the paper prints none."""
        if self.data is None:
            rows = [{"table": e.table, **e.factors} for e in self.experiments() if e.table]
            return pd.DataFrame(rows).assign(**dict.fromkeys(self.metrics, math.nan))
        found = published_data(self.id, self.data)
        return found[found["table"].isin([caption.table for caption in self.captions])].reset_index(drop=True)

    def only(self, table: int) -> Self:
        """The paper with one of its tables alone, without claims; ScenarioError if it has no such table."""
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
