"""What `longpipe design` does with its options: builds the design, prints its cost, runs it, and prints the means."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rich.markup import escape
from rich.table import Table

from longpipe.cli.design.following import commands
from longpipe.cli.design.means import limits_by_point, means
from longpipe.cli.run import scenario_with
from longpipe.cli.toolkit.console import show_table, terminal
from longpipe.cli.toolkit.naming import change, check_path, number_or_text, value_of
from longpipe.cli.toolkit.outputs import is_stdout, write_csv
from longpipe.cli.toolkit.progress import Bar
from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import Execution, opened, opened_store, resumable
from longpipe.cli.toolkit.warnings import changes_shown, warn_of_design, warn_of_replaced_changes
from longpipe.design import Design, Factor
from longpipe.design.cost import Cost
from longpipe.design.factor import Level, by_label, labels_of
from longpipe.design.ranges import Range
from longpipe.errors import ScenarioError
from longpipe.inputs import NoTomlError, parse_toml
from longpipe.scenario import Scenario
from longpipe.scenario.reference import may_be_absent
from longpipe.study import Study, StudyError, run_until
from longpipe.study.pilot import study_cost
from longpipe.study.until import CONFIRMED_BY, Sequential, first_replications, margin_text, parse_until
from longpipe.system.memory import cores, share

# A named level that is a table: split={at="switch1"}.
_NAMED: Final = re.compile(r"([A-Za-z][\w .-]*?)\s*=\s*(\{.*\})", re.DOTALL)
# Absolute skewness above which more replications are needed than for a normal distribution.
_LARGE_SKEWNESS: Final = 1.0


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
    chosen = [parse_factor(text, base) for text in factors]
    if one_at_a_time and (generators or confounded):
        raise ScenarioError("--one-at-a-time: not with --generator or --confounded; needs one kind of design")
    if one_at_a_time:
        design = Design.one_at_a_time(base, chosen, **seeds)
    elif generators or confounded:
        design = Design.two_level(base, chosen, generators=generators or (), confounded=confounded or (), **seeds)
    else:
        design = Design.full_factorial(base, chosen, **seeds)
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


def parse_factor(text: str, base: Scenario | None = None, option: str = "--factor") -> Factor:
    """Parses a factor "[NAME:]FIELD=LEVEL,..."; levels are TOML values or plain text.

    A range such as "0.05..4 BDP" stands for its levels that give different runs of the scenario `base`.
    """
    name_and_field, equals, levels_text = text.partition("=")
    name, _, field = name_and_field.rpartition(":")
    if not (field.strip() and equals and levels_text.strip()):
        raise ScenarioError(f"{option}: {text!r}; accepts FIELD=LEVEL,LEVEL as in tcp.recovery=vanilla,reno")
    field = field.strip()
    check_path(option, field)
    if base is not None and (value_range := Range.parse(levels_text, option)) is not None:
        return Factor.over(field, value_range.levels_of(base, field), name.strip() or None)
    try:
        levels = parse_toml(f"levels = [{levels_text}]", option)["levels"]
    except NoTomlError:
        levels = [_level(field, level, option) for level in _split(levels_text)]
        if any(isinstance(level, _Labeled) or level is None for level in levels):
            return Factor.over(field, _labeled(field, levels), name.strip() or None)
    return Factor.over(field, levels, name.strip() or None)


@dataclass(frozen=True)
class _Labeled:
    """A named level, as in split={at="switch1", buffer="4 MB"}."""

    label: str
    value: object


def _split(text: str) -> list[str]:
    """Splits levels at commas outside of braces, brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "{[":
            depth += 1
        elif letter in "}]":
            depth -= 1
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _level(field: str, text: str, option: str) -> Any:  # noqa: ANN401 - unvalidated input
    """Returns a level: a TOML table as a dict, a number, None for `none` if the field may be absent, or the text."""
    named = _NAMED.fullmatch(text)
    if named is not None:
        return _Labeled(named[1].strip(), _level(field, named[2], option))
    if text == "none" and may_be_absent(field):
        return None
    if not text.startswith("{"):
        return number_or_text(text)
    return value_of(text, option)


def _labeled(field: str, levels: list[object]) -> dict[Level, object]:
    """Returns the values of named and unnamed levels by their labels. Raises ScenarioError if a label occurs twice."""
    unnamed = iter(labels_of(field, [level for level in levels if not isinstance(level, _Labeled)]))
    return by_label(
        field,
        ((level.label, level.value) if isinstance(level, _Labeled) else (next(unnamed), level) for level in levels),
    )


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


def run(
    design: Design,
    name: str,
    execution: Execution,
    *,
    csv: Path | None,
    until: str | None,
    most: int,
) -> None:
    """Runs a design as a study and prints the means and, if the runs are kept, suggested commands.

    `until` is the margin up to which replications are added, at most `most` per point; None for a fixed number.
    """
    sequential: Sequential | None = None
    failed: StudyError | None = None
    with opened_store(None, no_store=True) if execution.no_store else opened(execution.store) as store:
        with changes_shown():
            study = Study(design, store, name)
        _note_stored(design, study)
        memory = share(execution.memory, execution.workers or cores())
        try:
            with resumable(study):
                show_plan(design, lambda part: study_cost(store, part, memory), until=until, most=most)
            with changes_shown(), resumable(study), Bar(name) as bar:
                if until is None:
                    study.run(progress=bar.update, **execution.arguments)
                else:
                    sequential = run_until(
                        study, *parse_until(until), most=most, progress=bar.update, **execution.arguments
                    )
        except StudyError as error:
            # The means and the table contain the finished runs.
            failed = error
        runs, design = study.frame(), study.design
        limited = limits_by_point(study)
    if failed is not None and runs.empty:
        raise failed
    if csv is not None:
        write_csv(csv, runs)
    table = means(design, runs, limited, until=None if sequential is None else sequential.metric)
    _show_results(design, table, len(runs), csv)
    console = terminal()
    if sequential is not None:
        outcome = _outcome(sequential, margin_text(design, str(until)))
        console.print(outcome, style="" if sequential.reached else "yellow", markup=False, soft_wrap=True)
    if failed is not None:
        raise failed
    csv_file = None if is_stdout(csv) else csv
    if not execution.no_store and (suggested := list(commands(design, runs, name, csv_file, execution.store))):
        console.print("\n".join(["", "Next:", *suggested]), markup=False, soft_wrap=True)


def _show_results(design: Design, table: Table, runs: int, csv: Path | None) -> None:
    """Prints the table of means, and the file that contains the runs."""
    console = terminal()
    console.print()
    show_table(console, table, len(design.factors))
    if csv is not None and not is_stdout(csv):
        console.print(f"\n{runs} runs: {csv}", markup=False, soft_wrap=True)


def _note_stored(design: Design, study: Study) -> None:
    """Prints that the study has more runs than the design, because a study never loses any."""
    stored = study.design
    counts = {
        "replications per point": (design.replications, stored.replications),
        "points": (len(design.points), len(stored.points)),
    }
    for what, (requested, in_study) in counts.items():
        if in_study > requested:
            note = f"study {study.name!r} has {in_study} {what}, not {requested}: the results include all of them"
            echo(f"note: {note}", err=True)


def _outcome(sequential: Sequential, until: str) -> str:
    """States whether the margin of --until was reached; if not, at how many points, and which --most would suffice.

    It names the point with the widest interval, and its skewness if this increases the number of replications.
    """
    replications, points = sequential.design.replications, len(sequential.precision)
    if sequential.reached:
        return f"{until}: reached at every point after {replications} replications"
    too_wide = points - int(sequential.precision["reached"].sum())
    rest = f"{until}: {too_wide} of {points} points need more than the {replications} replications of --most"
    if not math.isfinite(sequential.wanted):
        return f"{rest}; a mean is 0, so no number of replications reaches a relative margin: use one such as ±0.01"
    # A margin that is reached has to hold again with a tenth more replications.
    enough = math.ceil(sequential.wanted * (1 + CONFIRMED_BY))
    widest = sequential.precision.iloc[int(sequential.precision["wanted"].argmax())]
    factors = [factor.name for factor in sequential.design.factors]
    at = " at " + ", ".join(f"{name}={widest[name]}" for name in factors) if factors else ""
    skewness = float(widest["skewness"])
    why = f", because of a skewness of {skewness:.1f}" if abs(skewness) > _LARGE_SKEWNESS else ""
    advice = f"repeat with --most {enough}, which reuses these runs, or a larger margin"
    return f"{rest}; about {enough} suffice{at}{why}: {advice}"
