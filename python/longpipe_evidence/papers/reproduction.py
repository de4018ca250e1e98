"""A paper's published tables, compared with replicated runs of the same configurations."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd

import longpipe
from longpipe.analysis.claims import Judgement, judge
from longpipe.analysis.intervals import Estimate, estimate, estimate_average
from longpipe.store import engine_version

# For type checking only, because processes that draw figures do not need the database.
if TYPE_CHECKING:
    from longpipe.study import Runner
    from longpipe_evidence.papers.experiments import Beyond, Caption
    from longpipe_evidence.papers.replication import Replication

# Efficiency and fairness, and their intervals, lie between 0 and 1.
BOUNDS = (0.0, 1.0)
# Estimate of a metric that no seed defines.
UNDEFINED = Estimate(*[math.nan] * 5)
# The single run is not random, so its seed has no effect.
DETERMINISTIC_SEED = 1


@dataclass(frozen=True)
class Reproduction:
    """Results of `reproduce`.

    `runs` has a row per run: `table`, `replicated`, the factors, `seed` and the measures of the paper. `rows` has a row
    per table, configuration and metric: `published`, `deterministic` (the single run), `mean` over seeds, `low`..`high`
    (95 % of single runs), `mean_low`..`mean_high` (95 % interval of the mean), and the number of `seeds` in which the
    metric is defined, as fairness is not if nothing is delivered.
    """

    paper: Replication
    engine: str
    seeds: int
    seconds: float
    runs: pd.DataFrame
    rows: pd.DataFrame
    claims: tuple[Judgement, ...]

    @property
    def tables(self) -> list[str]:
        """Returns the ids of the tables in the paper's order."""
        return [str(table) for table in self.rows["table"].unique()]

    def averages(self, caption: Caption) -> pd.DataFrame:
        """Returns a printed table's column averages: column, `published`, `mean` of means, `mean_low`, `mean_high`."""
        column, metric = self.paper.columns, caption.metric
        published = self.rows[(self.rows["table"] == caption.table) & (self.rows["metric"] == metric)]
        chosen = self.runs[self.runs["replicated"] & (self.runs["table"] == caption.table)]
        rows = []
        for level, runs in chosen.groupby(column, sort=False):
            by_row = runs.groupby(list(self.paper.factors))
            defined = (group[group[metric].notna()] for _, group in by_row)
            by_seed = [dict(zip(group["seed"], group[metric], strict=True)) for group in defined if len(group)]
            mean = estimate_average(by_seed)
            average = published.loc[published[column] == level, "published"].mean()
            rows.append((level, average, mean.mean, mean.mean_low, mean.mean_high))
        return pd.DataFrame(rows, columns=[column, "published", "mean", "mean_low", "mean_high"])

    @cached_property
    def summaries(self) -> dict[str, pd.DataFrame]:
        """Returns the paper's additional tables by name."""
        replicated = self.runs[self.runs["replicated"]]
        return {name: summarize(self.rows, replicated) for name, summarize in self.paper.summaries.items()}

    def errors(self, *by: str, of: str = "mean") -> pd.DataFrame:
        """Returns the mean absolute error of `of`: a row per level of `by`, a column per metric."""
        rows = self.rows.assign(error=(self.rows[of] - self.rows["published"]).abs())
        rows_of = {metric: rows[rows["metric"] == metric] for metric in self.paper.metrics}
        columns = {metric: group.groupby(list(by), sort=False)["error"].mean() for metric, group in rows_of.items()}
        return pd.DataFrame(columns)

    def to_json(self) -> str:
        """Returns the reproduction as JSON text; intervals, which do not exist for one seed, are null."""
        report = {
            **head(self.paper.id, self.engine, self.seeds, self.seconds),
            "tables": [self._table(table) for table in self.tables],
            "claims": [claim.record() for claim in self.claims],
        }
        return json.dumps(report, indent=2, allow_nan=False) + "\n"

    def _table(self, table: str) -> dict[str, Any]:
        """Returns a printed table with its errors as values for JSON."""
        factors, column = list(self.paper.factors), self.paper.columns
        by_column = self.errors("table", column).xs(table, level="table")
        numbers = ["published", "deterministic", "mean", "low", "high", "mean_low", "mean_high"]
        rows = []
        for levels, group in self.rows[self.rows["table"] == table].groupby(factors, sort=False):
            row: dict[str, Any] = {name: plain(level) for name, level in zip(factors, levels, strict=True)}
            for metric, values in group.set_index("metric")[numbers].iterrows():
                row[str(metric)] = _plain_all(values)
            rows.append(row)
        return {
            "table": table,
            "mean_absolute_error": _plain_all(self.errors("table").T[table]),
            f"mean_absolute_error_by_{column}": {str(name): _plain_all(row) for name, row in by_column.iterrows()},
            "rows": rows,
        }


def head(paper: str, kind: str, seeds: int, seconds: float) -> dict[str, Any]:
    """Returns the first entries of a reproduction as JSON.

    `engine` is the engine's number, as in stores and studies, and `engine_kind` is the `engine` of the scenarios. The
    kind does not affect results.
    """
    return {
        "paper": paper,
        "version": longpipe.__version__,
        "engine": engine_version(),
        "engine_kind": kind,
        "seeds": seeds,
        "seconds": round(seconds, 1),
    }


def reproduce(paper: Replication, seeds: int, runner: Runner) -> Reproduction:
    """Runs the missing experiments of a paper with seeds 1 to `seeds`, and compares the results with the paper."""
    began = time.monotonic()
    experiments = paper.experiments()
    single = [(e, False, (e.deterministic, DETERMINISTIC_SEED)) for e in experiments if e.deterministic]
    planned = [*single, *((e, True, (e.replicated, seed)) for e in experiments for seed in e.seeds(seeds))]
    runner.complete(job for *_, job in planned)
    measured = (
        {"table": e.table, "replicated": replicated, **e.factors, "seed": job[1], **paper.measure(runner.require(*job))}
        for e, replicated, job in planned
    )
    recorded = (row for recording in paper.recordings for row in recording.rows(experiments, seeds))
    runs = _frame(chain(measured, recorded))
    # If a paper prints no numbers, the runs without randomization take their place.
    compared, source = (paper.published(), "published") if paper.data else (runs[~runs["replicated"]], "single run")
    return Reproduction(
        paper=paper,
        engine=experiments[0].replicated.engine,
        seeds=seeds,
        seconds=time.monotonic() - began,
        runs=runs,
        rows=table_rows(paper, runs),
        claims=tuple(judge(claim, runs[runs["replicated"]], compared.assign(seed=0), source) for claim in paper.claims),
    )


def scenarios(paper: Replication, seeds: int) -> pd.DataFrame:
    """Returns the scenarios of `reproduce`, a row each: `scenario`, `digest`, `replicated`, `seeds`."""
    planned = []
    for experiment in paper.experiments():
        seeds_to_run = experiment.seeds(seeds)
        if experiment.deterministic:
            planned.append((experiment.deterministic, False, DETERMINISTIC_SEED))
        planned.append((experiment.replicated, True, len(seeds_to_run)))
    rows = ((scenario.name, scenario.digest(), replicated, count) for scenario, replicated, count in planned)
    return pd.DataFrame(rows, columns=["scenario", "digest", "replicated", "seeds"]).drop_duplicates("digest")


def reproduce_beyond(paper: Replication, beyond: Beyond, seeds: int, runner: Runner) -> pd.DataFrame:
    """Runs the missing experiments of an extension. Returns a row per run: factors, `seed`, the paper's measures."""
    planned = [(e, seed) for e in beyond.experiments() for seed in e.seeds(seeds)]
    runner.complete((e.replicated, seed) for e, seed in planned)
    return _frame(
        {**e.factors, "seed": seed, **paper.measure(runner.require(e.replicated, seed))} for e, seed in planned
    )


def _frame(rows: Iterable[Mapping[str, object]]) -> pd.DataFrame:
    """Returns a frame of rows that are given one by one and may lack columns, without keeping all rows."""
    columns: dict[str, list[object]] = {}
    for count, row in enumerate(rows):
        for name in row:
            if name not in columns:
                columns[name] = [math.nan] * count
        for name, column in columns.items():
            column.append(row.get(name, math.nan))
    return pd.DataFrame(columns)


def table_rows(paper: Replication, runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows of a reproduction, computed from its runs."""
    factors = ["table", *paper.factors]
    runs = runs[runs["table"].notna()]
    single = runs[~runs["replicated"]].set_index(factors)
    replications = dict(list(runs[runs["replicated"]].groupby(factors)))
    values = []
    for published in paper.published().to_dict("records"):
        key = tuple(published[name] for name in factors)
        for metric in paper.metrics:
            measured = replications[key][metric].dropna()
            replicated = estimate(measured, BOUNDS) if len(measured) else UNDEFINED
            row = {name: published[name] for name in factors}
            deterministic = single.loc[key, metric] if key in single.index else math.nan
            numbers = {
                "published": published[metric],
                "deterministic": deterministic,
                **vars(replicated),
                "seeds": len(measured),
            }
            values.append({**row, "metric": metric, **numbers})
    return pd.DataFrame(values)


def plain(value: Any) -> Any:  # noqa: ANN401 - any value of a cell
    """Converts a cell of a frame for JSON: numbers are rounded, nan and infinity become None."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value


def _plain_all(values: Mapping[Any, Any] | pd.Series) -> dict[str, Any]:
    return {str(name): plain(value) for name, value in values.items()}
