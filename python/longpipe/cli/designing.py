"""What `longpipe design` does: a plan, its cost, its runs."""

import shlex
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from longpipe.analysis.intervals import estimate
from longpipe.cli.progress import Bar
from longpipe.cli.storing import opened, resumable
from longpipe.design import Design, Factor
from longpipe.errors import ScenarioError
from longpipe.files import write_text
from longpipe.scenario import Scenario
from longpipe.study import Study, run_until

MOST_POINTS = 40
METRICS = ("efficiency", "fairness")


def plan(
    file: Path,
    factors: Sequence[str],
    *,
    one_at_a_time: bool,
    generators: Sequence[str] | None,
    confounded: Sequence[str] | None,
    **seeds: Any,  # noqa: ANN401 - the options that every kind of design takes
) -> Design:
    """The design that the options describe; ScenarioError if they contradict each other or its scenarios can't be."""
    base, chosen = Scenario.from_toml(file), [parse_factor(text) for text in factors]
    if one_at_a_time and (generators or confounded):
        raise ScenarioError("--one-at-a-time: not with --generator or --confounded; needs one kind of design")
    if one_at_a_time:
        found = Design.one_at_a_time(base, chosen, **seeds)
    elif generators or confounded:
        found = Design.two_level(base, chosen, generators=generators or (), confounded=confounded or (), **seeds)
    else:
        found = Design.full_factorial(base, chosen, **seeds)
    _ = found.scenarios
    return found


def parse_factor(text: str) -> Factor:
    """A factor from "[NAME:]FIELD=LEVEL,..."; levels are TOML values, or else text."""
    left, equals, right = text.partition("=")
    name, _, field = left.rpartition(":")
    if not (field.strip() and equals and right.strip()):
        raise ScenarioError(f"--factor: {text!r}; accepts FIELD=LEVEL,LEVEL as in tcp.recovery=vanilla,reno")
    try:
        levels = tomllib.loads(f"levels = [{right}]")["levels"]
    except tomllib.TOMLDecodeError:
        levels = [level.strip() for level in right.split(",")]
    return Factor.over(field.strip(), levels, name.strip() or None)


def show_plan(design: Design) -> None:
    """Prints the factors, the cost, and what a fraction can't tell apart."""
    console = Console(highlight=False)
    for factor in design.factors:
        levels = ", ".join(map(str, factor.levels))
        console.print(f"[bold]{escape(factor.name)}[/]: {escape(levels)}")
    console.print(str(design.cost()), markup=False)
    if design.common and design.replications > 1:
        console.print("Points share their seeds (common random numbers): analyse with --blocks seed.", style="dim")
    if design.fraction is not None and design.fraction.generators:
        console.print(f"Fraction of resolution {design.fraction.resolution}. One effect stands for all of its line:")
        for row in design.fraction.alias_structure().to_dict("records"):
            console.print(f"  {row['effect']} = {row['aliases'].replace(', ', ' = ')}", markup=False)


def run(
    design: Design,
    name: str,
    url: str | None,
    *,
    csv: Path | None,
    until: str | None,
    most: int,
    executor: str | None,
    workers: int | None,
) -> None:
    """Runs a design as a study, shows the mean of each point, and what to do next."""
    reached = True
    with opened(url) as store:
        study = Study(design, store, name)
        with resumable(study), Bar(name) as bar:
            if until is None:
                study.run(executor, workers=workers, progress=bar.update)
            else:
                metric, _, margin = until.partition("=")
                found = run_until(
                    study, metric.strip(), margin, most=most, executor=executor, workers=workers, progress=bar.update
                )
                reached = found.reached
        runs, design = study.frame(), study.design
    if csv is not None:
        write_text(csv, runs.to_csv(index=False))
    console = Console(highlight=False)
    console.print()
    console.print(_means(design, runs))
    if not reached:
        console.print(f"{until}: not reached by every point in {design.replications} replications", style="yellow")
    names = ",".join(factor.name for factor in design.factors)
    blocks = " --blocks seed" if design.common and design.replications > 1 else ""
    where = "" if url is None else f" --store {shlex.quote(url)}"
    first = "" if csv else f"longpipe study export {shlex.quote(name)} -o runs.csv{where}\n"
    next_command = f"{first}longpipe analyse {csv or 'runs.csv'} --response efficiency --factors {names}{blocks}"
    console.print(f"\nNext:\n{next_command}", markup=False, soft_wrap=True)


def _means(design: Design, runs: pd.DataFrame) -> Table:
    names = [factor.name for factor in design.factors]
    table = Table(
        title=f"Means and 95 % intervals of {design.replications} replications", title_justify="left",
        title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold",
        caption_justify="left", caption_style="dim",
    )  # fmt: skip
    for name in names:
        table.add_column(escape(name), overflow="fold")
    for metric in METRICS:
        table.add_column(metric, justify="right", no_wrap=True)
    for _, group in list(runs.groupby("point"))[:MOST_POINTS]:
        levels = [escape(str(group[name].iloc[0])) for name in names]
        table.add_row(*levels, *(_interval(group[metric]) for metric in METRICS))
    if len(design.points) > MOST_POINTS:
        table.caption = f"{MOST_POINTS} of {len(design.points)} points; `longpipe study export` has all"
    return table


def _interval(values: pd.Series) -> str:
    found = estimate(values)
    margin = (found.mean_high - found.mean_low) / 2
    return f"{found.mean:.4f}" + ("" if len(values) < 2 else f" ±{margin:.4f}")
