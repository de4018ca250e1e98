"""`longpipe advise`: the best of several alternatives for a link, with a stated confidence."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from longpipe.cli.toolkit.completers import field_and_level
from longpipe.cli.toolkit.given import given, needing, refuse
from longpipe.cli.toolkit.help import MORE
from longpipe.cli.toolkit.outputs import check_output, is_stdout, write_output
from longpipe.cli.toolkit.quantities import share
from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import Execution, SetOption, typed_command
from longpipe.errors import ScenarioError
from longpipe.system.files import check_directory, write_text

if TYPE_CHECKING:
    from rich.table import Table

    from longpipe.advise.answer import Answer
    from longpipe.advise.question import Question
    from longpipe.advise.templates import Template
    from longpipe.store import Store

# Maximum number of alternatives in the terminal's table; the page and the CSV file contain all.
MAX_ROWS = 12
# File that identifies the question whose answer is in a directory.
QUESTION = "question.sha256"
COMMAND: Final = needing(
    {
        "--rtt": "--gateway",
        "--users": "--gateway",
        "--calls": "--gateway",
        "--proxy": "--gateway",
        "--write": "--gateway",
        "--over": "--uncertain",
    }
)
# Options that --write uses.
WRITES: Final = ("--write", "--gateway", "--rtt", "--users", "--calls", "--proxy")


@dataclass(frozen=True)
class Options:
    """The alternatives, their objective and limits, and the effort of the comparison."""

    file: Path | None = typer.Argument(
        None, metavar="[FILE.toml]", help="Scenario file; `longpipe init` writes one. Not needed with --gateway."
    )
    choices: list[str] | None = typer.Option(
        None,
        "--choose",
        metavar="[NAME:]FIELD=LEVEL,...",
        help="A field and the values to choose from: a list such as switch.policy=pie,fq-codel, or"
        " a range such as switch.buffer='0.05..4 BDP', which is divided into 7 values "
        "('0.05..4 BDP / 9' into 9). Repeat for more.",
        autocompletion=field_and_level,
    )
    maximise: str | None = typer.Option(
        None, "--maximise", "--maximize", metavar="MEASURE", help="Objective: efficiency, flow:bulk*.throughput"
    )
    minimise: str | None = typer.Option(
        None, "--minimise", "--minimize", metavar="MEASURE", help="Objective: web.p95, datagrams:call.delay"
    )
    limits: list[str] | None = typer.Option(
        None, "--subject-to", metavar="LIMIT", help="Condition: 'datagrams:call.p95 < 60 ms'. Repeat for more."
    )
    uncertain: list[str] | None = typer.Option(
        None,
        "--uncertain",
        metavar="FIELD=LOW..HIGH",
        help="Input that is not known exactly: network.trunk_rate='20..100 Mbit/s'. Repeat for more.",
        rich_help_panel=MORE,
    )
    over: str = typer.Option(
        "worst",
        metavar="worst|mean|SHARE",
        help="How to summarize the objective over uncertain inputs: worst case, mean, or the value"
        " that a share of them such as '90 %' reaches.",
        rich_help_panel=MORE,
    )
    zone: str | None = typer.Option(
        None,
        metavar="VALUE",
        help="Largest difference of the objective that does not matter (indifference zone). \\[default: 0.01 for a "
        "share, 5 % of the best page time with --gateway, otherwise 2 % of the best]",
        rich_help_panel=MORE,
    )
    tolerance: str | None = typer.Option(
        None,
        metavar="VALUE",
        help="Largest tolerated violation of a limit. \\[default: 5 % of the limit]",
        rich_help_panel=MORE,
    )
    error: float = typer.Option(
        0.05, metavar="P", parser=share, help="Allowed probability of a wrong choice.", rich_help_panel=MORE
    )
    budget: str | None = typer.Option(
        None, metavar="TIME|RUNS", help="Maximum time or number of runs, as in '10 min' or '2000 runs'."
    )
    first: int = typer.Option(
        10, min=3, help="Replications of every alternative before the first one is eliminated.", rich_help_panel=MORE
    )
    first_seed: int = typer.Option(
        1, min=0, help="Seed of the first replication; each further one uses the next number.", rich_help_panel=MORE
    )
    changes: SetOption = None


@dataclass(frozen=True)
class Gateway:
    """A gateway, in place of a scenario file."""

    gateway: str | None = typer.Option(
        None, metavar="RATE", help="Use a gateway with this rate towards its users instead of a scenario."
    )
    rtt: str = typer.Option("600 ms", metavar="TIME", help="With --gateway: round-trip time of the users.")
    users: int = typer.Option(50, help="With --gateway: number of users who read web pages; one in 40 downloads files.")
    calls: int = typer.Option(0, help="With --gateway: simultaneous telephone calls.", rich_help_panel=MORE)

    proxy: str | None = typer.Option(
        None,
        metavar="TIME",
        help="With --gateway: also choose whether to use a split-TCP proxy, and its buffer. TIME is the part of --rtt "
        "between the gateway and the servers.",
        rich_help_panel=MORE,
    )

    def template(self) -> Template | None:
        """Returns the scenario with what to ask about it; None without --gateway."""
        if self.gateway is None:
            return None
        from longpipe.advise import templates

        return templates.gateway(self.gateway, self.rtt, self.users, self.calls, self.proxy)


def advise(
    context: typer.Context,
    options: Options,
    gateway: Gateway,
    write: Path | None = typer.Option(
        None,
        "--write",
        metavar="FILE|-",
        help="Write the scenario of --gateway to this file for editing, and exit; - is stdout.",
        rich_help_panel=MORE,
    ),
    out: Path | None = typer.Option(
        None,
        "--out",
        "-o",
        metavar="DIR",
        help="Directory for the page and tables. \\[default: results/advise-NAME, or with a number if that directory "
        "has the answer to another question]",
        rich_help_panel=MORE,
    ),
    *,
    execution: Execution,
) -> None:
    """Choose the queue, buffer or congestion control of a link, with a stated confidence.

    longpipe advise home.toml --choose switch.policy=tail-drop,fq-codel --maximise efficiency --budget '5 min'

    longpipe advise --gateway '100 Mbit/s' --rtt '600 ms' --users 200 --calls 5

    All alternatives run with the same seeds until all but one are eliminated. Each run is stored as soon as it is
    complete: without --no-store, the same command continues after an interruption.
    """
    # Imported here because designs, the database and pandas take a second to load.
    from longpipe.advise.advise import advise as ask
    from longpipe.advise.answer import Answer
    from longpipe.advise.budget import Budget
    from longpipe.advise.page import page
    from longpipe.advise.tables import alternatives, runs
    from longpipe.cli.toolkit.naming import change
    from longpipe.cli.toolkit.progress import Bar
    from longpipe.cli.toolkit.warnings import warn_of_changes, warn_of_design, warn_of_replaced_changes

    if (options.file is None) == (gateway.gateway is None):
        raise ScenarioError("FILE.toml: needs either a scenario file or --gateway RATE")
    template = gateway.template()
    if template is not None and write is not None:
        refuse(context, set(given(context)).difference(WRITES), "not with --write, which only writes the scenario")
        check_output("--write", write)
        write_output(write, template.scenario)
        if is_stdout(write):
            return
        following = shlex.join(["longpipe", "advise", str(write)])
        echo(f"Scenario: {write}; change it, then: {following} {template.options}")
        return
    question = _question(options, template)
    question.check()
    spending = Budget.parse(options.budget)
    folder = out or _folder(question)
    check_directory("--out", folder)
    changed = [change(text)[0] for text in options.changes or ()]
    if template is None:
        warn_of_replaced_changes(question.design, changed)
    else:
        warn_of_changes({question.base.name: question.design}, changed)
    warn_of_design(question.design)
    with execution.runner() as runner, Bar("advise") as bar:
        _announce(question, runner.store, execution.memory)
        advice = ask(question, runner, spending, bar.update)
    answer = Answer(advice)
    command = typed_command()
    if answer.choice is None:
        # A run with a smaller budget may have written a choice.
        (folder / "choice.toml").unlink(missing_ok=True)
    else:
        write_text(folder / "choice.toml", question.design.scenarios[answer.choice].to_toml())
    write_text(folder / "alternatives.csv", alternatives(answer).to_csv(index=False))
    write_text(folder / "runs.csv", runs(answer).to_csv(index=False))
    write_text(folder / QUESTION, question.digest)
    write_text(folder / "report.html", page(answer, command, stored=not execution.no_store))
    _show(answer, folder, command, stored=not execution.no_store)


def _announce(question: Question, store: Store, memory: str | None) -> None:
    """Prints the cost of the runs before the first alternative is eliminated; nothing if it cannot be measured."""
    from dataclasses import replace

    from longpipe.design.cost import duration_text
    from longpipe.study.pilot import study_cost

    situations = len(question.situations)
    design = replace(question.design, replications=question.first, first_seed=question.first_seed)
    cost = study_cost(store, design, memory)
    if cost is not None and cost.measured:
        echo(
            f"note: before the first elimination: {cost.points} alternatives, {cost.runs * situations} runs, about "
            f"{duration_text(cost.cpu_s * situations)} of processor time; without --budget, until one is chosen",
            err=True,
        )


def _folder(question: Question) -> Path:
    """Returns the first directory without the answer of another question: results/advise-NAME, advise-NAME-2, ..."""
    folder = Path("results") / f"advise-{question.base.name}"
    number = 1
    while (folder / "report.html").exists() and not _is_of(folder, question):
        number += 1
        folder = folder.with_name(f"advise-{question.base.name}-{number}")
    return folder


def _is_of(folder: Path, question: Question) -> bool:
    kept = folder / QUESTION
    return kept.is_file() and kept.read_text(encoding="utf-8", errors="replace") == question.digest


def _question(options: Options, template: Template | None) -> Question:
    """Builds the question from the options; raises ScenarioError if options are missing or contradictory."""
    from longpipe.advise.question import Question
    from longpipe.advise.ranges import Uncertain
    from longpipe.cli.design.factors import parse_factor
    from longpipe.cli.run import scenario_with
    from longpipe.cli.toolkit.naming import change
    from longpipe.scenario import Scenario

    if options.maximise is not None and options.minimise is not None:
        raise ScenarioError("--maximise: not with --minimise; needs one objective, others as --subject-to")
    objective, limits, choices = options.maximise or options.minimise, options.limits, options.choices
    changes, zone = options.changes or [], options.zone
    if template is not None:
        base = Scenario.from_toml(template.scenario, dict(change(text) for text in changes)).with_(name=template.name)
        zone = zone or (template.zone if objective is None else None)
        objective = objective or template.objective
        limits = list(template.limits) if limits is None else limits
        choices = choices or list(template.choices)
    else:
        base = scenario_with(Path(options.file or ""), changes)
    if objective is None:
        raise ScenarioError("--maximise: absent; needs --maximise MEASURE or --minimise MEASURE, as in efficiency")
    if not choices:
        raise ScenarioError("--choose: absent; needs FIELD=LEVEL,LEVEL as in switch.policy=tail-drop,fq-codel")

    return Question(
        base, tuple(parse_factor(text, base, "--choose") for text in choices), objective, options.maximise is not None,
        tuple(limits or ()), tuple(map(Uncertain.parse, options.uncertain or [])), options.over, zone,
        options.tolerance, options.error, options.first, options.first_seed,
    )  # fmt: skip


def _show(answer: Answer, folder: Path, command: str, *, stored: bool) -> None:
    """Prints the answer: the choice, its confidence, the table of alternatives, and what would change it."""
    from longpipe.advise import words
    from longpipe.cli.toolkit.console import show_table, terminal

    console = terminal()
    console.print(words.headline(answer), style="bold", markup=False, highlight=False)
    console.print(words.confidence(answer, stored=stored), markup=False, highlight=False)
    if answer.choice is not None:
        console.print(f"Runner-up: {words.runner_up(answer)}", markup=False, highlight=False)
    console.print()
    show_table(console, _table(answer), len(answer.advice.question.factors))
    console.print(words.legend(answer), markup=False, highlight=False)
    for title, lines in (
        (words.EQUAL, words.equal(answer)),
        ("What would change the choice", words.changes(answer)),
        ("Theory", words.theory(answer)),
        ("Question", words.conditions(answer)),
    ):
        texts = list(lines)
        if texts:
            console.print(f"\n{title}:", style="bold", markup=False)
            for line in texts:
                console.print(f"- {line}", markup=False, highlight=False)
    console.print()
    if answer.choice is not None:
        run_command = shlex.join(["longpipe", "run", str(folder / "choice.toml")])
        console.print(f"Run the choice: {run_command}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"Repeat: {command}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"Page, and tables of alternatives and runs: {folder}", markup=False, highlight=False, soft_wrap=True)


def _table(answer: Answer) -> Table:
    """Returns the alternatives on the Pareto front, followed by the others, best first."""
    from rich.markup import escape

    from longpipe.advise.tables import alternatives
    from longpipe.cli.toolkit.console import terminal_table

    frame = alternatives(answer).head(MAX_ROWS)
    row_count = len(answer.rows)
    title = "Alternatives, best first" + (f" ({len(frame)} of {row_count})" if row_count > len(frame) else "")
    table = terminal_table(title=title, title_style="bold")
    heads = len(answer.advice.question.factors)
    for index, name in enumerate(frame.columns):
        table.add_column(
            escape(str(name)), justify="left" if index < heads or name == "result" else "right", no_wrap=True
        )
    for row in frame.itertuples(index=False, name=None):
        table.add_row(*(escape(_cell(value)) for value in row))
    return table


def _cell(value: object) -> str:
    from longpipe.report.parts import number

    return number(value, decimals=3) if isinstance(value, float) else str(value)
