"""Exercises of the lab, and homework: settings for each student, hand-in codes and grades."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from longpipe import Scenario, ScenarioError, simulate
from longpipe.cli import app
from longpipe.homework import KEY_COLUMNS, Task
from longpipe.lab.exercises import exercises

# Correct choices with the settings of the texts and seed 1, which the texts explain.
ANSWERS = (
    "10 ms", "20 ms", "5 packets", "1", "0.25 BDP", "768 KiB",
    "0.002", "0.1", "3 BDP", "40 ms", "200 kbit/s", "2",
)  # fmt: skip
NUMBERS = range(1, len(ANSWERS) + 1)
CLASS = ("Ada", "Chen, Li", "Élise")


@pytest.fixture
def homework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Returns the rows of the key of a class, in whose folder the test runs."""
    monkeypatch.chdir(tmp_path)
    write("class.csv", ["student"], [[student] for student in CLASS])
    command("make", "class.csv", "--base", "https://example.org/lab.html", "--exercise", "3")
    return rows("homework-key.csv")


def command(*arguments: str) -> None:
    app(["homework", *arguments], standalone_mode=False)


def write(name: str, columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *cells])


def rows(name: str) -> list[dict[str, str]]:
    with Path(name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("number", NUMBERS)
def test_engine_finds_the_answer_that_the_text_explains(number: int) -> None:
    exercise = exercises()[number - 1]
    answer = Task("", number, 1, {}).answer()
    assert answer is not None
    assert exercise.choices[answer].words == ANSWERS[number - 1]


def test_every_exercise_has_an_answer() -> None:
    assert len(exercises()) == len(ANSWERS)


def test_unchanged_scenario_does_not_contain_the_answer() -> None:
    for number in NUMBERS:
        task = Task("", number, 1, {})
        answer = task.answer()
        assert answer is not None
        assert Scenario(**task.fields(answer)).digest() != Scenario(**task.fields()).digest()


@pytest.mark.parametrize("number", NUMBERS)
def test_settings_of_students_differ_and_have_answers(number: int) -> None:
    tasks = [Task.drawn(student, number, 1) for student in CLASS]
    assert len({json.dumps([task.seed, dict(task.settings)]) for task in tasks}) == len(CLASS)
    assert tasks[0] == Task.drawn(CLASS[0], number, 1)
    assert all(task.settings.keys() == exercises()[number - 1].vary.keys() for task in tasks)


def test_correct_codes_are_graded_as_correct(
    homework: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert [row["student"] for row in homework] == list(CLASS)
    write("answers.csv", ["student", "code"], [[row["student"], row["code"]] for row in homework])
    command("grade", "answers.csv", "--output", "grades.csv")
    assert capsys.readouterr().out.splitlines()[-1] == "3 of 3 are correct"
    assert {row["correct"] for row in rows("grades.csv")} == {"1"}


def test_code_is_valid_only_for_a_run_of_the_students_scenario(
    homework: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third = homework
    number, engine_hash = first["code"].split("-")
    task = Task.drawn(first["student"], 3, 1)
    # A run with another choice than the correct one.
    wrong = 0 if number != "1" else 1
    run = simulate(Scenario(**task.fields(wrong)), task.seed)
    answers = [
        [first["student"], first["code"]],
        [first["student"], f"{wrong + 1}-{run.state_hash[:10].upper()}"],
        [second["student"], f"{second['code'].split('-')[0]}-{engine_hash}"],
        [third["student"], "5 packets"],
        ["Zoe", first["code"]],
    ]
    write("answers.csv", ["student", "code"], answers)
    command("grade", "answers.csv")
    *lines, total = capsys.readouterr().out.splitlines()
    reasons = dict(line.split("  ", 1) for line in lines)
    assert total == "0 of 4 are correct"
    words = exercises()[2].choices[wrong].words
    assert [reason.strip() for reason in reasons.values()] == [
        f"wrong: {words}",
        "not a run of the student's scenario",
        "no hand-in code: '5 packets'",
        "not in the key",
    ]


def test_links_have_the_settings_of_the_students(homework: list[dict[str, str]]) -> None:
    links = [row["link"] for row in rows("homework.csv")]
    assert len(set(links)) == len(CLASS)
    for link, row in zip(links, homework, strict=True):
        page, _, fragment = link.partition("#")
        assert page == "https://example.org/lab.html"
        assert fragment.startswith(f"exercise=3&homework=1&seed={row['seed']}&s=")


@pytest.mark.parametrize(
    ("roster", "arguments", "problem"),
    [
        ("student\nAda\nAda\n", [], "class.csv:3: student 'Ada'; needs each name once"),
        ("student,group\n,1\n", [], "class.csv:2: student ''; needs each name once"),
        ("student\n", [], "class.csv: 0 students; needs 1 to 10000"),
        ("name\nAda\n", [], "class.csv:1: no column student among name; needs a CSV file with a column student"),
        ("student\nAda\n", ["--exercise", "13"], "--exercise: 13; needs 1 to 12"),
        (
            "student\nAda\n",
            ["--base", "lab.html"],
            "--base: 'lab.html'; needs a URL without '#', as in https://example.org/lab.html",
        ),
    ],
)
def test_unsuitable_input_is_rejected_in_one_line(
    roster: str, arguments: list[str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("class.csv").write_text(roster, encoding="utf-8")
    with pytest.raises(ScenarioError) as error:
        command("make", "class.csv", "--base", "https://example.org/lab.html", *arguments)
    assert str(error.value) == problem


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"engine": "3"}, "homework-key.csv:2: engine '3'; this longpipe has engine "),
        ({"settings": "{"}, "homework-key.csv:2: damaged; needs a key of longpipe homework make"),
        ({"exercise": "99"}, "homework-key.csv:2: damaged; needs a key of longpipe homework make"),
        ({"settings": '{"network.sources": -1}'}, "homework-key.csv:2: damaged; needs a key of longpipe homework make"),
    ],
)
def test_key_of_another_engine_or_with_damage_is_rejected(
    homework: list[dict[str, str]], changes: dict[str, str], problem: str
) -> None:
    cells = [[(row | changes)[column] for column in KEY_COLUMNS] for row in homework]
    write("homework-key.csv", KEY_COLUMNS, cells)
    write("answers.csv", ["student", "code"], [])
    with pytest.raises(ScenarioError) as error:
        command("grade", "answers.csv")
    assert str(error.value).startswith(problem)
