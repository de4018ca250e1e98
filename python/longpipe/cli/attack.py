"""`longpipe attack`: a scenario in which a congestion control or a stack performs badly."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from longpipe.cli.toolkit.completers import field_and_level
from longpipe.cli.toolkit.given import given, refuse
from longpipe.cli.toolkit.help import MORE
from longpipe.cli.toolkit.outputs import check_output, is_stdout, write_output
from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import Execution, SetOption, typed_command
from longpipe.errors import RunError, ScenarioError
from longpipe.system.files import check_directory, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from longpipe.attack.attack import Attack
    from longpipe.attack.target import Target
    from longpipe.attack.varied import Varied
    from longpipe.fairness.controls import Sender
    from longpipe.scenario import Scenario

BUDGET = "2000 runs"


@dataclass(frozen=True)
class Options:
    """The controls to compare, the defect to find, the fields to vary, and the effort of the search."""

    file: Path | None = typer.Argument(
        None,
        metavar="[FILE.toml]",
        help="Scenario to change. \\[default: one download over 20 Mbit/s; --write writes it]",
    )
    control: str | None = typer.Option(
        None,
        metavar="CONTROL",
        help="Congestion control: a name, a table with its options, module:FILE, python:FILE.py:CLASS, "
        "stack:quinn-bbr, or own-stack:FILE.so:NAME.",
    )
    reference: str | None = typer.Option(None, metavar="CONTROL", help="Control to compare with. \\[default: cubic]")
    defects: list[str] | None = typer.Option(
        None,
        "--defect",
        metavar="COMPARISON",
        help="Defect to find: 'efficiency < 30 %', 'reference(efficiency) > 80 %'. Repeat to require several at "
        "once. \\[default: less than half of the reference's efficiency, which is at least 50 %]",
    )
    varied: list[str] | None = typer.Option(
        None,
        "--may",
        metavar="FIELD=VALUES",
        help="A field that may change: a range switch.buffer='0.1..4 BDP', levels switch.policy=pie,codel, a "
        "table with ranges. Repeatable. \\[default without a file: rates, delays, buffer, queue, loss, jitter]",
        autocompletion=field_and_level,
    )
    group: str | None = typer.Option(
        None,
        metavar="NAME",
        help="Group of flows that the control drives. \\[default: all flows]",
        rich_help_panel=MORE,
    )
    budget: str = typer.Option(
        BUDGET, metavar="TIME|RUNS", help="Maximum time or number of runs of the search, as in '10 min' or '2000 runs'."
    )
    seeds: int = typer.Option(
        10, min=1, help="Replications of the answer, independent of those of the search.", rich_help_panel=MORE
    )
    first_seed: int = typer.Option(
        1, min=0, help="Seed of the search; other runs use the following seeds.", rich_help_panel=MORE
    )
    changes: SetOption = None


def attack(
    context: typer.Context,
    options: Options,
    write: Path | None = typer.Option(
        None,
        "--write",
        metavar="FILE|-",
        help="Write the default scenario to this file for editing, and exit; - is stdout.",
        rich_help_panel=MORE,
    ),
    out: Path | None = typer.Option(
        None,
        "--out",
        "-o",
        metavar="DIR",
        help="Directory for scenarios, picture and table. \\[default: results/attack-CONTROL]",
        rich_help_panel=MORE,
    ),
    *,
    execution: Execution,
) -> None:
    """Search for a scenario in which a control or a stack is worse than a reference.

    longpipe attack --control bbr --defect 'efficiency <= 30 %' --defect 'reference(efficiency) >= 80 %'

    The answer is a minimal scenario. Each run is stored as soon as it is complete: the same command continues after an
    interruption.
    """
    # Imported here because the database and pandas take a second to load.
    from longpipe.advise.budget import Budget
    from longpipe.attack import template
    from longpipe.attack.attack import Attack
    from longpipe.cli.toolkit.progress import Bar
    from longpipe.cli.toolkit.warnings import warn

    if write is not None:
        if options.file is not None:
            raise ScenarioError(f"--write: {write}; not with a file")
        refuse(context, set(given(context)) - {"--write"}, "not with --write, which only writes the scenario")
        check_output("--write", write)
        write_output(write, template.SCENARIO)
        if is_stdout(write):
            return
        ranges = shlex.join(word for option in template.RANGES for word in ("--may", option))
        echo(f"Scenario: {write}; change it, then: {shlex.join(['longpipe', 'attack', str(write)])} {ranges} ...")
        return
    target = _target(options)
    target.check()
    spending = Budget.parse(options.budget)
    folder = out or Path("results") / re.sub(r"[^\w.]+", "-", f"attack-{target.control.name}")
    check_directory("--out", folder)
    warn(target.base)
    with execution.runner() as runner:
        bar = Bar("attack")
        hunt = Attack(target, runner, spending, bar.update)
        try:
            with bar:
                hunt.run()
        except KeyboardInterrupt:
            _finish(hunt, folder)
            raise
    _finish(hunt, folder)


def _target(options: Options) -> Target:
    """Builds the target of the search; raises ScenarioError if options are missing."""
    from longpipe.attack import template
    from longpipe.attack.defect import Defect
    from longpipe.attack.target import Target
    from longpipe.cli.run import scenario_with
    from longpipe.cli.toolkit.naming import change
    from longpipe.inputs import load_toml, parse_toml
    from longpipe.scenario import Scenario
    from longpipe.scenario.defaults import fields_of_file

    if options.control is None:
        raise ScenarioError("--control: absent; needs a congestion control, as in --control bbr")
    changes, varied = options.changes or [], options.varied
    fields = dict(change(text) for text in changes)
    if options.file is None:
        base = Scenario.from_toml(template.SCENARIO, fields)
        written: dict[str, Any] = fields_of_file(parse_toml(template.SCENARIO, "TOML text"), "TOML text")
        varied = list(template.RANGES) if varied is None else varied
    else:
        base, written = scenario_with(options.file, changes), fields_of_file(load_toml(options.file), str(options.file))
    if not varied:
        raise ScenarioError("--may: missing; needs FIELD=LOW..HIGH, as in switch.buffer=0.1..4 BDP")
    return Target(
        base, written, _sender(options.control, "--control"),
        _sender(options.reference or template.REFERENCE, "--reference"), tuple(map(_varied, varied)),
        tuple(map(Defect.parse, options.defects or template.DEFECTS)), fields,
        options.group, options.seeds, options.first_seed,
    )  # fmt: skip


def _sender(text: str, option: str) -> Sender:
    """Returns the sender with a name, or the control that a table describes."""
    from longpipe.fairness.controls import Sender
    from longpipe.inputs import parse_toml
    from longpipe.scenario.remedies import of_control

    if not text.lstrip().startswith("{"):
        return Sender.parse(text, option)
    table = parse_toml(f"congestion = {text}", option)["congestion"]
    options = [f"{name}={value}" for name, value in table.items() if name != "kind"]
    needed = of_control(table, "linux-6") if "kind" in table else {}
    return Sender(" ".join([str(table.get("kind", "")), *options]).strip(), {"tcp": {"congestion": table, **needed}})


def _varied(text: str) -> Varied:
    """Parses FIELD=LOW..HIGH, FIELD=LEVEL,LEVEL or FIELD=TABLE."""
    from longpipe.attack.varied import Varied
    from longpipe.cli.design.factors import parse_factor
    from longpipe.cli.toolkit.naming import check_path
    from longpipe.design.ranges import Range
    from longpipe.inputs import NoTomlError, parse_toml

    field, equals, value = (part.strip() for part in text.partition("="))
    if not (field and equals and value):
        raise ScenarioError(f"--may: {text!r}; accepts FIELD=LOW..HIGH, FIELD=LEVEL,LEVEL or FIELD=TABLE")
    check_path("--may", field)
    if (span := Range.parse(value, "--may")) is not None:
        return Varied(field, span)
    if value[0] in "{[":
        try:
            return Varied.table(field, parse_toml(f"value = {value}", "--may")["value"], "--may")
        except NoTomlError:
            # Several tables, separated by commas.
            pass
    factor = parse_factor(text, option="--may")
    return Varied(field, levels=tuple(factor.levels.values()))


def _finish(hunt: Attack, folder: Path) -> None:
    """Prints what was found and writes its files."""
    from longpipe.attack import words
    from longpipe.cli.toolkit.console import terminal

    console = terminal()
    target, command = hunt.target, typed_command()

    def print_line(line: str, **style: Any) -> None:  # noqa: ANN401 - options of the console
        console.print(line, markup=False, highlight=False, soft_wrap=True, **style)

    print_line(words.headline(hunt), style="bold")
    for line in words.effort(hunt):
        print_line(line)
    if hunt.setting is not None:
        print_line("\nScenario:" if hunt.found else "\nNearest candidate:", style="bold")
        for line in words.fields(hunt):
            print_line(f"  {line}")
        seeds = target.answer_seeds
        print_line(f"\nMeans over the seeds {seeds[0]} to {seeds[-1]}, with 95 % intervals:", style="bold")
        for line in words.numbers(hunt):
            print_line(f"- {line}")
        print_line(words.certainty(hunt))
        control, reference = target.pair(hunt.setting)
        _write(hunt, folder, "control", target.control, control, command)
        _write(hunt, folder, "reference", target.reference, reference, command)
        if hunt.measured is not None:
            write_text(folder / "runs.csv", words.table(hunt).to_csv(index=False))
            for line in _draw(hunt, folder):
                print_line(line)
        print_line("")
        files = [str(folder / f"{name}.toml") for name in ("control", "reference")]
        for file in files:
            print_line(f"Run it: {shlex.join(['longpipe', 'run', file, '--seed', str(seeds[0])])}")
        for line in _replays(dict(zip(files, (control, reference), strict=True))) if hunt.found else ():
            print_line(line)
        print_line(f"Files: {folder}")
    print_line(f"Repeat: {command}")


def _write(hunt: Attack, folder: Path, name: str, sender: Sender, scenario: Scenario, command: str) -> None:
    """Writes a scenario of the answer, with the answer's numbers as comments."""
    from longpipe.attack import words
    from longpipe.scenario.short_file import short_toml

    run = f"Run it: longpipe run {name}.toml --seed {hunt.target.answer_seeds[0]}"
    notes = [f"{sender.name} of: {command}", *words.numbers(hunt), run]
    # A quoted command can have several lines.
    lines = (line for note in notes for line in note.splitlines())
    changes = {**hunt.target.fixed, **hunt.target.changes(hunt.setting or {}, sender)}
    text = short_toml(scenario, hunt.target.written, changes)
    write_text(folder / f"{name}.toml", "".join(f"# {line}\n" for line in lines) + text)


def _replays(scenarios: Mapping[str, Scenario]) -> Iterator[str]:
    """Yields a line with a command for each other implementation that can run all of the scenarios."""
    from longpipe.extensions import REPLAYS, extensions, load

    for name, target in extensions(REPLAYS).items():
        if (command := load(target)(scenarios)) is not None:
            yield f"Replay it in {name}: {shlex.join(command)}"


def _draw(hunt: Attack, folder: Path) -> list[str]:
    """Draws the throughput of control and reference over time.

    Returns a line for each connection that died, or why there is no picture.
    """
    from longpipe import simulate
    from longpipe.pictures.overlays import overlay
    from longpipe.pictures.saving import save_as

    target, picture = hunt.target, folder / "throughput.svg"
    scenarios = zip((target.control, target.reference), target.pair(hunt.setting or {}), strict=True)
    try:
        runs = {
            sender.name: simulate(scenario.with_(**{"traces.arrivals": True}), target.answer_seeds[0])
            for sender, scenario in scenarios
        }
    except RunError as error:
        # An interrupted search may have drawn another candidate.
        picture.unlink(missing_ok=True)
        return [f"No picture, because the run failed: {error}"]
    save_as(overlay(runs, "throughput"), picture)
    return [f"With seed {target.answer_seeds[0]}: {line}" for result in runs.values() for line in result.deaths]
