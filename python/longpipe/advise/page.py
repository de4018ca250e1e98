"""The answer as one HTML page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from longpipe import _core
from longpipe.advise import sensitivity, words
from longpipe.advise.quantities import shown
from longpipe.advise.tables import alternatives, runs
from longpipe.pictures.saving import to_svg
from longpipe.report.frames import MAX_OPEN_ROWS, cell, download
from longpipe.report.page import render
from longpipe.report.parts import Cell, Column, Downloads, Facts, Grid, Picture, Report, Section, with_margin
from longpipe.report.svg import Palette, inline

if TYPE_CHECKING:
    from longpipe.advise.answer import Answer


def page(answer: Answer, command: str, *, stored: bool = True) -> str:
    """Renders the page as HTML; `command` repeats the answer, and `stored` is true if its runs are kept."""
    question, palette = answer.advice.question, Palette()
    facts: list[tuple[str, str]] = []
    if answer.choice is not None:
        facts.append(("choice", words.headline(answer)))
        facts.append(("runner-up", words.runner_up(answer)))
    facts.append(("repeat", command))
    changes = tuple(words.changes(answer)) or ("None of the varied inputs.",)
    files = [
        download("alternatives.csv", alternatives(answer).to_csv(index=False).encode()),
        download("runs.csv", runs(answer).to_csv(index=False).encode()),
    ]
    if answer.choice is not None:
        files.append(download("choice.toml", question.design.scenarios[answer.choice].to_toml().encode()))
    lead = [words.headline(answer), words.confidence(answer, stored=stored)]
    if close := list(words.equal(answer)):
        lead.append(f"{words.EQUAL}: {'; '.join(close)}.")
    sections = [
        Section("answer", "Answer", tuple(lead), (Facts(tuple(facts)),)),
        Section(
            "alternatives",
            "Alternatives",
            (
                f"Means over the seeds. {words.legend(answer)} front: no other alternative is better in the objective "
                "and in all limited measures.",
            ),
            (*_pictures(answer, palette), _alternatives(answer)),
        ),
        Section(
            "changes",
            "What would change the answer",
            (*changes, *words.theory(answer)),
            tuple(_situations(answer)),
        ),
        Section("question", "Question", tuple(words.conditions(answer)), (Downloads(tuple(files)),)),
        Section(
            "about",
            "Method",
            (
                "Alternatives run with common random numbers until all but one are eliminated: objectives by procedure "
                "KN (Kim and Nelson 2001), limits by procedure F (Batur and Kim 2010), which share the error allowance "
                "by Bonferroni's inequality. The stated confidence assumes that replications are normally distributed.",
            ),
            (Facts((("longpipe", _core.__version__), ("engine", str(_core.__engine__)))),),
        ),
    ]
    return render(Report(f"Advice for {question.base.name}", (), tuple(sections)), palette)


def _pictures(answer: Answer, palette: Palette) -> Iterator[Picture]:
    from longpipe.advise.picture import front

    figure = front(answer)
    drawing = inline(to_svg(figure, "front"), "front", palette)
    yield Picture("front", drawing.title, drawing.alt, drawing.svg)


def _alternatives(answer: Answer) -> Grid:
    """Returns the table of alternatives, with intervals beside their means and with the result after the factors."""
    frame = alternatives(answer)
    factors = [factor.name for factor in answer.advice.question.factors]
    halves = {name: half for name in frame.columns if (half := f"± {name.partition(' [')[0]}") in frame.columns}
    measure_columns = [name for name in frame.columns if name not in (*factors, *halves.values(), "result")]
    names = [*factors, "result", *measure_columns]
    columns = tuple(Column(name, number=name in halves or name == "runs") for name in names)
    rows = tuple(
        tuple(_mean(row[name], row[halves[name]]) if name in halves else cell(row[name]) for name in names)
        for row in frame.to_dict("records")
    )
    return Grid("table", "Alternatives, best first", columns, rows, closed=len(rows) > MAX_OPEN_ROWS, stacked=True)


def _mean(mean: float, half: float) -> Cell:
    return replace(cell(mean, decimals=3), text=with_margin(mean, half, 3))


def _situations(answer: Answer) -> Iterator[Grid]:
    """Yields a table of the best alternative in each situation, if inputs are uncertain."""
    question = answer.advice.question
    if not question.uncertain:
        return
    heads = (
        *(Column(uncertain_field.field) for uncertain_field in question.uncertain),
        Column("best"),
        Column("loss of the choice", number=True),
    )
    rows = tuple(
        (
            *(Cell(str(value)) for value in situation.fields.values()),
            Cell(
                f"none {words.acceptable(answer)}" if situation.best is None else words.levels(answer, situation.best)
            ),
            Cell(shown(question.goal, situation.loss), None if math.isnan(situation.loss) else situation.loss),
        )
        for situation in sensitivity.compared_situations(answer)
    )
    yield Grid("situations", "The best alternative in each situation, by means", heads, rows)
