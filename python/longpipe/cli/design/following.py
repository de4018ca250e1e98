"""Suggested commands after a study was run."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from longpipe.analysis.anova import anova
from longpipe.cautions.cautions import seedless
from longpipe.cli.design.means import shown_metrics
from longpipe.design import Design
from longpipe.errors import ScenarioError
from longpipe.measures.readable import UNITS, readable

# Minimum number of replications for useful intervals.
ENOUGH = 5


def commands(design: Design, runs: pd.DataFrame, name: str, csv: Path | None, url: str | None) -> Iterator[str]:
    """Suggests a picture, more replications if there is only one and seeds matter, and an analysis if possible."""
    metric, factors = shown_metrics(design, runs)[0], [factor.name for factor in design.factors]
    store = "" if url is None else f" --store {shlex.quote(url)}"
    column, x = shlex.quote(metric.column), shlex.quote(factors[0])
    by = f" --by {shlex.quote(factors[1])}" if len(factors) > 1 else ""
    if len(factors) <= 2:
        yield f"longpipe plot {shlex.quote(name)} --x {x} --y {column}{by} -o {shlex.quote(f'{name}.svg')}{store}"
    blocks = design.common and design.replications > 1
    if not _can_be_analyzed(runs, metric.column, factors, "seed" if blocks else None):
        if design.replications == 1 and not any(map(seedless, design.scenarios)):
            yield f"longpipe study run {shlex.quote(name)} --replications {ENOUGH}{store}"
        return
    if csv is None:
        yield f"longpipe study export {shlex.quote(name)} -o runs.csv{store}"
    # The name of a user-defined column does not contain its unit, so the unit is passed as an option.
    unit = f" --unit {metric.unit}" if metric.unit in UNITS and readable(metric.column).unit != metric.unit else ""
    seed = " --blocks seed" if blocks else ""
    table = shlex.quote(str(csv or "runs.csv"))
    yield f"longpipe analyse {table} --response {column}{unit} --factors {shlex.quote(','.join(factors))}{seed}"


def _can_be_analyzed(runs: pd.DataFrame, response: str, factors: list[str], blocks: str | None) -> bool:
    try:
        anova(runs, response, factors, blocks=blocks)
    except ScenarioError:
        return False
    return True
