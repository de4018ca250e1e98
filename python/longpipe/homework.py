"""Homework: an exercise of the lab with other settings for each student, and the grading of the answers.

The page shows a hand-in code for each run: the number of the choice and the beginning of the run's state hash. The
engine on the page and the one that grades give the same hash, so only a run of the student's scenario has a valid code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, Self

import tomli_w

from longpipe import _core
from longpipe.errors import RunError, ScenarioError, shown
from longpipe.inputs.table import read_table, shown_heads
from longpipe.lab import packed
from longpipe.lab.exercises import Exercise, exercises
from longpipe.measures.measure import parse
from longpipe.run import simulate
from longpipe.scenario import Scenario, change_fields
from longpipe.scenario.defaults import SCHEMA

MAX_STUDENTS: Final = 10_000
# Columns of the file that `make` writes for the teacher, and that `grade` reads.
KEY_COLUMNS: Final = ("student", "engine", "exercise", "seed", "settings", "answer", "code")
# Number of hexadecimal digits of the state hash in a hand-in code, as in lab/src/page/guide.ts.
_DIGITS: Final = 10
_CODE: Final = re.compile(rf"([1-9][0-9]?)-([0-9a-f]{{{_DIGITS}}})")
# Seeds of the runs.
_SEEDS: Final = range(1, 10_000)
# Maximum number of draws of a student's settings; a draw without an answer is repeated.
_DRAWS: Final = 100


@dataclass(frozen=True)
class Task:
    """The exercise of a student: its number, the seed of the runs, and the student's settings by dotted field."""

    student: str
    number: int
    seed: int
    settings: Mapping[str, Any]

    @classmethod
    def drawn(cls, student: str, number: int, seed: int) -> Self:
        """Draws settings with an answer for a student; equal arguments give equal tasks.

        Raises RunError if no draw has an answer.
        """
        random = Random(f"{number} {seed} {student}")  # noqa: S311 - no secret
        vary = numbered(number).vary
        for _ in range(_DRAWS):
            settings = {field: random.choice(values) for field, values in vary.items()}
            task = cls(student, number, random.choice(_SEEDS), settings)
            if task.answer() is not None:
                return task
        raise RunError(f"exercise {number}: none of {_DRAWS} draws of its settings has an answer")

    @property
    def exercise(self) -> Exercise:
        """The exercise, which is common to all students."""
        return numbered(self.number)

    def fields(self, choice: int | None = None) -> dict[str, Any]:
        """Returns the fields of the scenario: with the choice of this index, or as the student finds them."""
        fields = deepcopy(dict(self.exercise.scenario))
        answer = {} if choice is None else {self.exercise.field: self.exercise.choices[choice].value}
        change_fields(fields, {**self.settings, **answer})
        return fields

    def link(self, page: str) -> str:
        """Returns the address of the task on a page of the lab."""
        settings = packed(tomli_w.dumps({"schema": SCHEMA, **self.fields()}))
        return f"{page}#exercise={self.number}&homework=1&seed={self.seed}&s={settings}"

    def answer(self) -> int | None:
        """Simulates all choices; returns the index of the correct one, or None if no choice is correct."""
        exercise = self.exercise
        measure = parse(f"{exercise.flow}.throughput / throughput" if exercise.measure == "share" else exercise.measure)
        scenarios = [Scenario(**self.fields(choice)) for choice in range(len(exercise.choices))]
        return exercise.answer([measure(simulate(scenario, self.seed)) for scenario in scenarios])

    def code(self, choice: int) -> str:
        """Simulates the run of a choice, and returns its hand-in code."""
        return f"{choice + 1}-{simulate(Scenario(**self.fields(choice)), self.seed).state_hash[:_DIGITS]}"


def numbered(number: int) -> Exercise:
    """Returns an exercise by its number, from 1. Raises ScenarioError if there is none."""
    every = exercises()
    if not 1 <= number <= len(every):
        raise ScenarioError(f"--exercise: {number}; needs 1 to {len(every)}")
    return every[number - 1]


def students(roster: Path) -> list[str]:
    """Returns the names in a roster, a CSV file with a column `student`. Raises ScenarioError for other content."""
    rows = list(_rows(roster, ("student",)))
    names = [name for _, (name,) in rows]
    if not 0 < len(names) <= MAX_STUDENTS:
        raise ScenarioError(f"{roster}: {len(names)} students; needs 1 to {MAX_STUDENTS}")
    for i, (line, (name,)) in enumerate(rows):
        if not name or name in names[:i]:
            raise ScenarioError(f"{roster}:{line}: student {shown(name)}; needs each name once")
    return names


def key_row(task: Task) -> list[str]:
    """Returns the row of the teacher's file for a task, with the correct answer and its code."""
    answer = task.answer()
    if answer is None:
        raise RunError(f"student {task.student}: no choice is correct")
    words = task.exercise.choices[answer].words
    settings = json.dumps(dict(task.settings))
    number, seed = str(task.number), str(task.seed)
    return [task.student, _core.__engine__, number, seed, settings, words, task.code(answer)]


@dataclass(frozen=True)
class Key:
    """The tasks of all students and the codes of the correct answers, by student."""

    tasks: Mapping[str, Task]
    codes: Mapping[str, str]

    @classmethod
    def read(cls, file: Path) -> Self:
        """Reads the file that `make` wrote. Raises ScenarioError for other content or another engine."""
        tasks, codes = {}, {}
        for line, (student, engine, number, seed, settings, _, code) in _rows(file, KEY_COLUMNS):
            if engine != _core.__engine__:
                raise ScenarioError(
                    f"{file}:{line}: engine {shown(engine)}; this longpipe has engine {_core.__engine__}, "
                    "needs the longpipe that made the key"
                )
            try:
                tasks[student] = Task(student, int(number), int(seed), json.loads(settings))
                Scenario(**tasks[student].fields())
            except (ValueError, TypeError, RecursionError):
                raise ScenarioError(f"{file}:{line}: damaged; needs a key of longpipe homework make") from None
            codes[student] = code
        return cls(tasks, codes)

    def grade(self, student: str, code: str) -> tuple[bool, str]:
        """Returns whether an answer is correct, and the reason."""
        if (task := self.tasks.get(student)) is None:
            return False, "not in the key"
        if (match := _CODE.fullmatch(code.strip().lower())) is None:
            return False, f"no hand-in code: {shown(code)}"
        if match[0] == self.codes[student]:
            return True, "correct"
        choice = int(match[1]) - 1
        if choice >= len(task.exercise.choices) or task.code(choice) != match[0]:
            return False, "not a run of the student's scenario"
        return False, f"wrong: {task.exercise.choices[choice].words}"


def grades(answers: Path, key: Key) -> Iterator[tuple[str, bool, str]]:
    """Yields each student of the key with the grade of the last answer, and the students that are not in the key.

    `answers` is a CSV file with columns `student` and `code`. Raises ScenarioError for other content.
    """
    handed_in = {student: code for _, (student, code) in _rows(answers, ("student", "code"))}
    for student in {**key.tasks, **handed_in}:
        code = handed_in.get(student)
        yield (student, *(key.grade(student, code) if code else (False, "no answer")))


def _rows(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yields the line number and the cells of the given columns of each row. Raises ScenarioError if one is missing."""
    needs = f"a CSV file with {'a column' if len(columns) == 1 else 'columns'} {', '.join(columns)}"
    table = read_table(file, needs)
    if missing := [name for name in columns if name not in table.heads]:
        raise ScenarioError(f"{file}:1: no column {missing[0]} among {shown_heads(table.heads)}; needs {needs}")
    places = [table.heads.index(name) for name in columns]
    for line, cells in table:
        yield line, [cells[place] for place in places]
