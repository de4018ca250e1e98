"""Builds the design of `longpipe design` from its options, and prints its factors and its cost."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.markup import escape

from longpipe.cli.design.factors import parse_factor
from longpipe.cli.run import scenario_with
from longpipe.cli.toolkit.console import terminal
from longpipe.cli.toolkit.naming import change
from longpipe.cli.toolkit.warnings import warn_of_design, warn_of_replaced_changes
from longpipe.design import Design
from longpipe.design.cost import Cost
from longpipe.design.ranges import Range
from longpipe.errors import ScenarioError
from longpipe.scenario import Scenario
from longpipe.study.until import first_replications, margin_text


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
    """Builds the design from the options; raises ScenarioError for contradictory options or invalid scenarios.

    Warns on stderr of changes that have no effect.
    """
    base = _base(file, changes, factors)
    varied = [parse_factor(text, base) for text in factors]
    if one_at_a_time and (generators or confounded):
        raise ScenarioError("--one-at-a-time: not with --generator or --confounded; needs one kind of design")
    if one_at_a_time:
        design = Design.one_at_a_time(base, varied, **seeds)
    elif generators or confounded:
        design = Design.two_level(base, varied, generators=generators or (), confounded=confounded or (), **seeds)
    else:
        design = Design.full_factorial(base, varied, **seeds)
    _ = design.scenarios
    warn_of_replaced_changes(design, (change(text)[0] for text in changes))
    return design


def _base(file: Path, changes: Sequence[str], factors: Sequence[str]) -> Scenario:
    """Returns the scenario of a file; if it is invalid alone, with the first level of each factor.

    For example, a file with VBR needs the scheduler that a factor sets. Raises the first error if both are invalid.
    """
    try:
        return scenario_with(file, changes)
    except ScenarioError:
        first: dict[str, object] = {}
        for text in factors:
            # The levels of a range follow from a valid scenario.
            if Range.parse(text.partition("=")[2], "--factor") is None:
                first |= next(iter(parse_factor(text).levels.values()))
        try:
            return Scenario.from_toml(file, {**first, **dict(map(change, changes))})
        except ScenarioError:
            pass
        raise


def show_plan(
    design: Design, measure: Callable[[Design], Cost | None], *, until: str | None = None, most: int = 0
) -> None:
    """Prints factors, cost, aliases of a fraction, and warnings.

    `measure` measures the cost on first runs, which take a few seconds, or returns None if it cannot. With `until`, the
    cost is that of the replications before the first decision, followed by the range of the number of runs; `most` is
    the maximum number of replications.
    """
    console = terminal()
    for factor in design.factors:
        levels = ", ".join(map(str, factor.levels))
        console.print(f"[bold]{escape(factor.name)}[/]: {escape(levels)}")
    # The part of the design that is run in any case.
    certain = design if until is None else replace(design, replications=first_replications(design.replications, most))
    console.print(str(measure(certain) or certain.cost()), markup=False)
    if until is not None:
        first, points = certain.replications, len(design.points)
        console.print(
            f"At least these {points * first} runs ({first} per point), at most {points * most} ({most} per point), "
            f"until {margin_text(design, until)}.",
            markup=False,
        )
    if design.common and design.replications > 1:
        console.print("Points share their seeds (common random numbers): analyse with --blocks seed.", style="dim")
    if design.fraction is not None and design.fraction.generators:
        console.print(
            f"Fraction of resolution {design.fraction.resolution}. The effects on each line are aliased (cannot be "
            f"separated):"
        )
        for row in design.fraction.alias_structure().to_dict("records"):
            console.print(f"  {row['effect']} = {row['aliases'].replace(', ', ' = ')}", markup=False)
    warn_of_design(design)
