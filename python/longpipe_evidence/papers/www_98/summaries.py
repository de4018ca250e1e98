"""Tables 5, 6, 8, 9, 11 and 12 of ATM Forum/98-0876 with replications, conclusions that hold, and response times."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from longpipe.analysis.anova import Anova, anova
from longpipe.analysis.claims import judge
from longpipe.analysis.intervals import estimate
from longpipe.metrics.web import QUANTILES
from longpipe_evidence.papers.paper import published_data
from longpipe_evidence.papers.www_98.claims import CLAIMS
from longpipe_evidence.papers.www_98.variation import FACTORS, LETTERS, LEVEL

NETWORKS: Final = ("wan", "meo", "geo")


def by_seed(runs: pd.DataFrame, network: str, metric: str) -> list[Anova]:
    """Returns the paper's analysis of one link, for each seed's 24 runs separately."""
    chosen = runs[runs["network"] == network]
    return [anova(part, metric, FACTORS, order=2) for _, part in chosen.groupby("seed")]


def replicated(runs: pd.DataFrame, network: str, metric: str, factors: Sequence[str] = FACTORS) -> Anova:
    """Returns the analysis of all seeds together: all interactions, seeds as blocks, and their disagreement as error.

    A single seed gives the paper's own analysis.
    """
    chosen = runs[runs["network"] == network]
    if chosen["seed"].nunique() < 2:
        return anova(chosen, metric, factors, order=2)
    return anova(chosen, metric, factors, order=3, blocks="seed")


def variation(_rows: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Returns Tables 5, 8 and 11 for efficiency (E) and fairness (F): sums of squares, percent of total variation.

    Each seed is analyzed as the paper analyzed its runs; `mean_` is over seeds, with a 95 % interval from `percent_low`
    to `percent_high`.
    """
    rows = []
    for row in published_data("www-98", "variation.csv").to_dict("records"):
        documents = [fitted.variation.set_index("component") for fitted in by_seed(runs, row["network"], row["metric"])]
        squares = [table.loc[row["component"], "sum_of_squares"] for table in documents]
        percent = estimate([table.loc[row["component"], "percent"] for table in documents])
        rows.append(
            {
                **_where(row),
                "published_squares": row["sum_of_squares"],
                "mean_squares": float(np.mean(squares)),
                "published_percent": row["percent"],
                "mean_percent": percent.mean,
                "percent_low": percent.mean_low,
                "percent_high": percent.mean_high,
            }
        )
    return pd.DataFrame(rows)


def effects(_rows: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Returns Tables 6, 9 and 12: main effects with 90 % intervals, published and from all seeds together."""
    rows = []
    published = published_data("www-98", "effects.csv")
    for network in NETWORKS:
        for metric in LETTERS:
            table = replicated(runs, network, metric).effects(LEVEL).set_index(["component", "level"])
            of_table = published[(published["network"] == network) & (published["metric"] == metric)]
            for row in of_table.to_dict("records"):
                ours = table.loc[(row["component"], row["level"])]
                rows.append(
                    {
                        **_where(row),
                        "level": row["level"],
                        **{f"published_{name}": row[name] for name in ("effect", "low", "high")},
                        **{f"mean_{name}": ours[name] for name in ("effect", "low", "high")},
                    }
                )
    return pd.DataFrame(rows)


def errors(rows: pd.DataFrame, _runs: pd.DataFrame) -> pd.DataFrame:
    """Returns, by link, the mean absolute error of the replicated means, and their mean deviation from the paper's."""
    lines = []
    for network, group in rows.groupby("network", sort=False):
        numbers: dict[str, object] = {"network": network}
        for metric, part in group.groupby("metric", sort=False):
            difference = part["mean"] - part["published"]
            numbers |= {f"{metric}_error": difference.abs().mean(), f"{metric}_difference": difference.mean()}
        lines.append(numbers)
    return pd.DataFrame(lines)


def survival(_rows: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the verdict on each conclusion, and the number of single seeds that would have led to it."""
    seeds = sorted(runs["seed"].unique())
    rows = []
    for claim in CLAIMS:
        conditions = list(claim.conditions(runs))
        true = pd.concat([(c.above < c.by_seed) & (c.by_seed < c.below) for c in conditions], axis="columns")
        verdict = judge(claim, runs, runs).verdict
        agreeing = int(true.all(axis="columns").sum())
        rows.append({"claim": claim.id, "replicated": verdict.value, "seeds_agreeing": f"{agreeing} of {len(seeds)}"})
    return pd.DataFrame(rows)


def response_times(_rows: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the median time [s] to a file's last byte by link, TCP and class, over all runs; inf if after the run."""
    classes = sorted(int(name.rpartition("_")[2]) for name in runs.columns if name.startswith("median_s_"))
    rows = []
    for (network, tcp), group in runs.groupby(["network", "tcp"], sort=False):
        for level in classes:
            of_class = group[[f"{name}_{level}" for name in QUANTILES]].fillna(np.inf).median()
            numbers = dict(zip(QUANTILES, of_class, strict=True))
            rows.append({"network": network, "tcp": tcp, "class": level, **numbers})
    return pd.DataFrame(rows)


def _where(row: Mapping[Hashable, Any]) -> dict[str, str]:
    """Returns a short description of a published number from its row in a data file."""
    component = row["component"].replace("buffer_bdp", "buffer")
    return {"table": f"{row['table']} {row['network']}", "of": LETTERS[row["metric"]], "component": component}


SUMMARIES: Final[Mapping[str, Callable[[pd.DataFrame, pd.DataFrame], pd.DataFrame]]] = {
    "survival": survival,
    "errors": errors,
    "variation": variation,
    "effects": effects,
    "response_times": response_times,
}
