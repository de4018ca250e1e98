"""Actions of `longpipe design`: plan, cost, runs."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.markup import escape

from longpipe.cli.console import show_table, terminal
from longpipe.cli.design.following import commands
from longpipe.cli.design.means import limits_by_point, means
from longpipe.cli.naming import check_whole
from longpipe.cli.progress import Bar
from longpipe.cli.run import scenario_with
from longpipe.cli.storing import opened, resumable
from longpipe.cli.warnings import warn_of_design
from longpipe.design import Design, Factor
from longpipe.errors import ScenarioError
from longpipe.files import write_text
from longpipe.inputs import NoTomlError, parse_toml
from longpipe.study import Study, run_until

# Splits at commas outside of braces.
_LEVEL: Final = re.compile(r"(?:\{[^{}]*\}|[^,{])+")


def plan(
    file: Path,
    factors: Sequence[str],
    *,
    changes: Sequence[str] = (),
    one_at_a_time: bool,
    generators: Sequence[str] | None,
    confounded: Sequence[str] | None,
    **seeds: Any,  # noqa: ANN401 - the options that every kind of design takes
) -> Design:
    """Builds the design of the options; raises ScenarioError for contradictory options or invalid scenarios."""
    base, chosen = scenario_with(file, changes), [parse_factor(text) for text in factors]
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


def parse_factor(text: str, option: str = "--factor") -> Factor:
    """Parses a factor "[NAME:]FIELD=LEVEL,..."; levels are TOML values or plain text."""
    left, equals, right = text.partition("=")
    name, _, field = left.rpartition(":")
    if not (field.strip() and equals and right.strip()):
        raise ScenarioError(f"{option}: {text!r}; accepts FIELD=LEVEL,LEVEL as in tcp.recovery=vanilla,reno")
    check_whole(option, field.strip())
    try:
        levels = parse_toml(f"levels = [{right}]", option)["levels"]
    except NoTomlError:
        levels = [_level(level.strip(), option) for level in _LEVEL.findall(right)]
    return Factor.over(field.strip(), levels, name.strip() or None)


def _level(text: str, option: str) -> Any:  # noqa: ANN401 - whatever was written
    """Returns a TOML table as a dict, anything else as text."""
    if not text.startswith("{"):
        return text
    try:
        return parse_toml(f"level = {text}", option)["level"]
    except NoTomlError:
        return text


def show_plan(design: Design) -> None:
    """Prints factors, cost, aliases of a fraction, and warnings."""
    console = terminal()
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
    warn_of_design(design)


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
    memory: str | None,
) -> None:
    """Runs a design as a study and prints the means and suggested commands."""
    reached = True
    with opened(url) as store:
        study = Study(design, store, name)
        with resumable(study), Bar(name) as bar:
            if until is None:
                study.run(executor, workers=workers, memory=memory, progress=bar.update)
            else:
                # An expression may have a name: share=a/(a+b)=±0.01.
                metric, _, margin = until.rpartition("=")
                found = run_until(
                    study,
                    metric.strip(),
                    margin,
                    most=most,
                    executor=executor,
                    workers=workers,
                    memory=memory,
                    progress=bar.update,
                )
                reached = found.reached
        runs, design = study.frame(), study.design
        limited = limits_by_point(study)
    if csv is not None:
        write_text(csv, runs.to_csv(index=False))
    console = terminal()
    console.print()
    show_table(console, means(design, runs, limited), len(design.factors))
    if csv is not None:
        console.print(f"\n{len(runs)} runs: {csv}", markup=False, soft_wrap=True)
    if not reached:
        console.print(f"{until}: not reached by every point in {design.replications} replications", style="yellow")
    if following := list(commands(design, runs, name, csv, url)):
        console.print("\n".join(["", "Next:", *following]), markup=False, soft_wrap=True)
