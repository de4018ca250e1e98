"""`longpipe homework`: an exercise of the lab with other settings for each student."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

from longpipe.cli.toolkit.safe import echo
from longpipe.system.files import check_file, write_text

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Give each student an exercise of the lab with other settings, and grade the answers.",
)


@app.command()
def make(
    roster: Path = typer.Argument(metavar="ROSTER.csv", help="Names of the students, in a column student."),
    base: str = typer.Option(metavar="URL", help="Address at which the students open the page of the lab."),
    exercise: int = typer.Option(1, metavar="N", help="Number of the exercise, as in the menu of the lab."),
    seed: int = typer.Option(1, min=0, help="Seed from which all settings are drawn; change it for a new class."),
    output: Path = typer.Option(
        Path("homework.csv"), "--output", "-o", metavar="FILE", help="Links by student, to hand out."
    ),
    key: Path = typer.Option(
        Path("homework-key.csv"), metavar="FILE", help="Settings and answers by student, for the teacher."
    ),
) -> None:
    """Draw settings for each student, and write the links to the lab and the key.

    longpipe homework make class.csv --base https://example.org/lab.html --exercise 1

    Each link opens the exercise with the student's settings. The page shows a hand-in code for each run instead of
    checking the answer.
    """
    # Imported here so that other commands start faster.
    from longpipe import homework
    from longpipe.lab import check_base

    check_base(base)
    homework.numbered(exercise)
    check_file("--output", output)
    check_file("--key", key)
    tasks = [homework.Task.drawn(student, exercise, seed) for student in homework.students(roster)]
    rows = [homework.key_row(task) for task in tasks]
    write_text(output, _csv(["student", "link"], ([task.student, task.link(base)] for task in tasks)))
    write_text(key, _csv(homework.KEY_COLUMNS, rows))
    title = homework.numbered(exercise).title
    echo(f"exercise {exercise}, {title}, for {len(tasks)} students: links in {output}, answers in {key}")


@app.command()
def grade(
    answers: Path = typer.Argument(metavar="ANSWERS.csv", help="Hand-in codes, in columns student and code."),
    key: Path = typer.Option(
        Path("homework-key.csv"), metavar="FILE", help="The key that longpipe homework make wrote."
    ),
    output: Path | None = typer.Option(None, "--output", "-o", metavar="FILE", help="Grades as CSV."),
) -> None:
    """Check the hand-in codes of all students, and print who is right.

    longpipe homework grade answers.csv

    A code is valid only if the student's scenario was run: its second part is the beginning of the run's state hash,
    which is simulated again here. The last answer of a student counts.
    """
    # Imported here so that other commands start faster.
    from longpipe import homework

    if output is not None:
        check_file("--output", output)
    rows = list(homework.grades(answers, homework.Key.read(key)))
    width = max((len(student) for student, *_ in rows), default=0)
    for student, _, reason in rows:
        echo(f"{student:<{width}}  {reason}")
    echo(f"{sum(right for _, right, _ in rows)} of {len(rows)} are correct")
    if output is not None:
        columns = ["student", "correct", "reason"]
        write_text(output, _csv(columns, ([student, str(int(right)), reason] for student, right, reason in rows)))


def _csv(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
