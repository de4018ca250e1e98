"""The table of means of a design, one row per point."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import pandas as pd
from rich.markup import escape
from rich.table import Table

from longpipe.analysis.intervals import copies, estimate
from longpipe.cli.toolkit.console import terminal_table
from longpipe.design import Design
from longpipe.measures.readable import INDEXES, Readable, readable, written
from longpipe.scenario import Scenario
from longpipe.scenario.paths import paths
from longpipe.scenario.warm_up import NONE
from longpipe.study import Study
from longpipe.verdicts.limits import without_further_paths

MAX_POINTS: Final = 40
# Number of replications below which intervals are of little use.
FEW: Final = 4
LATE: Final = (
    "a throughput exceeds the rate of the slowest links, because it includes data that arrived in the warm-up behind a "
    "loss and were delivered after it"
)
_LOCKOUT: Final = ", lockout"
_DIED: Final = ", died"
_ENDED: Final = (
    "died: in some runs, the connection of a flow ended before all data had arrived; its throughput is the mean of the "
    "whole run (flow:NAME.died counts these runs)"
)
_LOCKED: Final = (
    "lockout: in some runs, a flow starves others, because its access link has the bottleneck's rate; needs another "
    "network.access_rate, or network.host_buffer (see the documentation of links)"
)


def shown_metrics(design: Design, runs: pd.DataFrame, until: str | None = None) -> list[Readable]:
    """Returns the column `until`, whose mean has to reach a margin, the requested measures, and the usual metrics.

    These are the ones of efficiency and fairness that have a value in any run, and throughput if nothing is requested
    and efficiency has no value, as in graphs.
    """
    usual = [name for name in INDEXES if name in runs and runs[name].notna().any()]
    requested = [measure.name for measure in design.asked]
    if not requested and INDEXES[0] not in usual:
        requested = ["throughput_bps"]
    return [readable(name, design.asked) for name in dict.fromkeys([*filter(None, [until]), *requested, *usual])]


def limits_by_point(study: Study) -> dict[int, str]:
    """Returns, for each point, what limited most of its flows and the share of these flows, and marks lockouts."""
    runs = study.columns(finished_only=True)
    counts: dict[int, Counter[str]] = {}
    locked: set[int] = set()
    died: set[int] = set()
    for point, result in zip(runs["point"], study.results(), strict=True):
        if point > MAX_POINTS:
            break
        limited = (flow_limit.limited_by for flow_limit in without_further_paths(result.flow_limits))
        counts.setdefault(point, Counter()).update(limited)
        if result.locked_out:
            locked.add(point)
        if result.died:
            died.add(point)
    return {
        point: _most_common(of_point) + (_DIED if point in died else "") + (_LOCKOUT if point in locked else "")
        for point, of_point in counts.items()
    }


def means(design: Design, runs: pd.DataFrame, limited: Mapping[int, str], until: str | None = None) -> Table:
    """Returns a table with the mean of each metric with its 95 % interval at each point, and what limited most flows.

    For two points with common seeds, a last row contains the mean differences of pairs of runs, with their intervals.
    `until` is the column of `--until`.
    """
    names, metrics = [factor.name for factor in design.factors], shown_metrics(design, runs, until)
    table = terminal_table(
        *names, *(metric.head for metric in metrics), left=len(names),
        title=_title(design.replications), title_style="bold", caption_style="dim",
    )  # fmt: skip
    table.add_column("limited by", no_wrap=True)
    unknown, notes = [metric.name for metric in metrics if runs[metric.column].isna().any()], []
    for point, group in list(runs.groupby("point"))[:MAX_POINTS]:
        levels = [escape(str(group[name].iloc[0])) for name in names]
        intervals = (interval_text(group[metric.column] / metric.scale) for metric in metrics)
        table.add_row(*levels, *intervals, limited[int(str(point))])
    of_points = [group.set_index("seed") for _, group in runs.groupby("point")]
    # A point may have no finished run.
    if len(design.points) == len(of_points) == 2 and design.common and design.replications > 1:
        first, second = of_points
        pairs = (interval_text((second[metric.column] - first[metric.column]) / metric.scale) for metric in metrics)
        table.add_row("difference", *[""] * (len(names) - 1), *pairs, "")
        notes.append("difference: second row minus first, mean over pairs of runs with equal seeds")
    if len(design.points) > MAX_POINTS:
        notes.append(f"{MAX_POINTS} of {len(design.points)} points; `longpipe study export` has all")
    if unknown:
        notes.append(f"-: {', '.join(unknown)} not known in every run, for example because a flow did not end")
    rates = [metric.column for metric in metrics if metric.head.endswith("bit/s]")]
    if any(_exceeds_links(scenario, group[rates]) for scenario, group in _with_warm_up(design, runs)):
        notes.append(LATE)
    notes += _doubts(design, runs, limited)
    table.caption = "\n".join(notes) or None
    return table


def _doubts(design: Design, runs: pd.DataFrame, limited: Mapping[int, str]) -> Iterator[str]:
    """Yields a note for each reason why the means may mislead: starved flows, identical or few replications."""
    if any(_DIED in text for text in limited.values()):
        yield _ENDED
    if any(text.endswith(_LOCKOUT) for text in limited.values()):
        yield _LOCKED
    if copied := copies(runs):
        yield copied
    elif 1 < design.replications < FEW:
        yield f"{design.replications} replications make wide intervals; --replications 5 adds runs"


def _with_warm_up(design: Design, runs: pd.DataFrame) -> list[tuple[Scenario, pd.DataFrame]]:
    """Returns the points that have a warm-up, with their runs."""
    of_points = ((design.scenarios[int(str(point)) - 1], group) for point, group in runs.groupby("point"))
    return [(scenario, group) for scenario, group in of_points if scenario.warm_up != NONE]


def _exceeds_links(scenario: Scenario, rates_bps: pd.DataFrame) -> bool:
    """Returns whether a rate in a scenario's runs [bit/s] exceeds the total rate of the flows' slowest links."""
    resolved = scenario.resolved
    slowest = {path.bottleneck for path in paths(resolved)}
    total_bps = sum(resolved["links"][link]["rate_bps"] for link in slowest) if slowest else math.inf
    return bool((rates_bps > total_bps).any(axis=None))


def _title(replications: int) -> str:
    return "One run of each point" if replications == 1 else f"Means and 95 % intervals of {replications} replications"


def _most_common(counts: Counter[str]) -> str:
    limit, count = counts.most_common(1)[0]
    share = count / counts.total()
    return limit if share == 1 else f"{limit} {share:.0%}"


def interval_text(values: pd.Series) -> str:
    """Returns the mean of the replications with the half-width of its 95 % interval; "-" if one has no value."""
    # A value is missing, for example for an incomplete flow or a quantile beyond the run.
    if values.isna().any():
        return "-"
    mean = estimate(values)
    return written(mean.mean, None if len(values) < 2 else (mean.mean_high - mean.mean_low) / 2)
