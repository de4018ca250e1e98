"""Effects of parameters that a paper does not specify: its errors under variants, one parameter at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pandas as pd

from longpipe_evidence.papers.experiments import Experiment, Variant

# For type checking only, because processes that draw figures do not need the database.
if TYPE_CHECKING:
    from longpipe.executors import Job
    from longpipe.study import Runner
    from longpipe_evidence.papers.replication import Replication

BASELINE = Variant("as reproduced", {})
# Maximum difference from a published value that counts as close to it.
NEAR: Final = 0.05


def sensitivity(paper: Replication, seeds: int, runner: Runner) -> pd.DataFrame:
    """Returns the mean of each metric over seeds 1 to `seeds`, for the baseline and for each variant of a paper.

    One row per variant, configuration and metric: `variant`, the factors, `metric`, `published`, `mean`. If a paper
    prints no numbers, `published` contains the means of the baseline.
    """
    experiments = [experiment for experiment in paper.experiments() if experiment.table]
    variants = (BASELINE, *paper.other_readings, *paper.variants)
    jobs = [job for variant in variants for e in experiments for job in _jobs(variant, e, seeds)]
    runner.complete(jobs)
    names = ["table", *paper.factors]
    published = {tuple(row[name] for name in names): row for row in paper.published().to_dict("records")}
    rows = []
    for variant in variants:
        for experiment in experiments:
            key = (experiment.table, *(experiment.factors[name] for name in paper.factors))
            means = _means(paper, runner, _jobs(variant, experiment, seeds))
            for metric in paper.metrics:
                numbers = {"metric": metric, "published": published[key][metric], "mean": means[metric]}
                rows.append({"variant": variant.name, **experiment.factors, **numbers})
    table = pd.DataFrame(rows)
    return with_baseline(paper, table) if paper.data is None else table


def with_baseline(paper: Replication, frame: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows with the means of the baseline, the first variant, as `published`; nan if they are undefined."""
    means = frame.groupby([*paper.factors, "metric"])["mean"]
    return frame.assign(published=means.transform(lambda of_variants: of_variants.iloc[0]))


def errors(frame: pd.DataFrame, *by: str) -> pd.DataFrame:
    """Returns the mean absolute error of each variant (rows), by the levels of `by` and the metric (columns)."""
    frame = frame.assign(error=(frame["mean"] - frame["published"]).abs())
    return frame.pivot_table("error", index="variant", columns=[*by, "metric"], sort=False)


def closest(paper: Replication, frame: pd.DataFrame) -> pd.DataFrame:
    """Returns, for each configuration and metric, the variant whose mean is closest to the published value.

    Columns: the factors, `metric`, `published`, `as_reproduced` (the mean of the baseline), `variant` (possibly the
    baseline) and its `mean`. Configurations without a published value or a mean have no row.
    """
    keys = [*paper.factors, "metric"]
    # Rows that several tables share come from the same runs.
    frame = frame.drop_duplicates([*keys, "variant"]).assign(error=(frame["mean"] - frame["published"]).abs())
    defined = frame.dropna(subset=["error"])
    best = defined.loc[defined.groupby(keys, sort=False)["error"].idxmin()]
    base = frame.loc[frame["variant"] == BASELINE.name, [*keys, "mean"]].rename(columns={"mean": "as_reproduced"})
    return best.merge(base, on=keys)[[*keys, "published", "as_reproduced", "variant", "mean"]]


def explained(paper: Replication, outside: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Returns published values to which no seed is close, each with the closest variant.

    `outside` has a row per value, with the factors, `metric`, `published` and `mean`. Added columns are `variant` ("as
    reproduced" if none is closer), its `variant_mean`, and `near`: whether this mean is within 0.05.
    """
    keys = [*paper.factors, "metric"]
    nearest = closest(paper, frame).rename(columns={"mean": "variant_mean"})
    rows = outside.merge(nearest[[*keys, "variant", "variant_mean"]], on=keys, how="left")
    return rows.assign(near=(rows["variant_mean"] - rows["published"]).abs() <= NEAR)


def explanations(paper: Replication, rows: pd.DataFrame) -> pd.DataFrame:
    """Summarizes `explained` by the paper's series, the TCP flavor and the metric.

    `rows` counts values (values in two tables count once), `near` those to which some variant is close; `distance` and
    `variant_distance` are mean distances from the published values; `mostly` is the variant that is closest most often,
    with the number of its values.
    """
    keys = [*paper.factors, "metric"]
    by = [paper.series, "tcp", "metric"]
    counts = []
    in_order = {level: index for index, level in enumerate(rows[paper.series].unique())}
    rows = rows.drop_duplicates(keys).sort_values(by, key=lambda column: column.map(lambda x: in_order.get(x, x)))
    for levels, group in rows.groupby(by, sort=False):
        variants = group.loc[group["near"], "variant"].value_counts()
        numbers = {
            "rows": len(group),
            "near": int(group["near"].sum()),
            "distance": float((group["mean"] - group["published"]).abs().mean()),
            "variant_distance": float((group["variant_mean"] - group["published"]).abs().mean()),
            "mostly": f"{variants.index[0]} ({variants.iloc[0]})" if len(variants) else "",
        }
        counts.append({**dict(zip(by, levels, strict=True)), **numbers})
    return pd.DataFrame(counts, columns=[*by, "rows", "near", "distance", "variant_distance", "mostly"])


def watched(paper: Replication, frame: pd.DataFrame) -> pd.DataFrame:
    """Returns replicated means of selected rows under each variant (rows), by their name and the metric (columns)."""
    columns = {}
    for name, factors in paper.watched.items():
        chosen = frame
        for factor, level in factors.items():
            chosen = chosen[chosen[factor] == level]
        for metric in paper.metrics:
            columns[(name, metric)] = chosen[chosen["metric"] == metric].set_index("variant")["mean"]
    return pd.DataFrame(columns)


def summary(paper: Replication, rows: pd.DataFrame) -> pd.DataFrame:
    """Returns one row per variant: mean absolute errors by series, by series and column, and means of selected rows."""
    parts = (
        ("error of", errors(rows, paper.series)),
        ("error of", errors(rows, paper.series, paper.columns)),
        ("mean of", watched(paper, rows)),
    )
    named = [
        frame.set_axis([" ".join((what, *map(str, names))) for names in frame.columns], axis="columns")
        for what, frame in parts
    ]
    return pd.concat(named, axis="columns").rename_axis("variant")


def _jobs(variant: Variant, experiment: Experiment, seeds: int) -> list[Job]:
    scenario = variant.apply(experiment)
    return [(scenario, seed) for seed in range(1, seeds + 1)]


def _means(paper: Replication, runner: Runner, jobs: list[Job]) -> pd.Series:
    def measured() -> Iterator[dict[str, float]]:
        for scenario, seed in jobs:
            yield dict(paper.measure(runner.require(scenario, seed)))

    return pd.DataFrame(measured()).mean()
