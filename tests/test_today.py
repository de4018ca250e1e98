"""Tests of `longpipe reproduce --today`: every conclusion of the documents has an answer, from runs that come with
longpipe.
"""

from pathlib import Path

import pandas as pd
import pytest
from markupsafe import escape
from typer.testing import CliRunner

from longpipe import simulate
from longpipe.analysis.claims import Condition, Verdict
from longpipe.cli import app
from longpipe.units import TIME
from longpipe_evidence.papers import FOUNDING
from longpipe_evidence.papers.today.answers import QUESTIONS, answers, conclusions
from longpipe_evidence.papers.today.conclusions import Question, answer
from longpipe_evidence.papers.today.experiments import DESIGNS, SEEDS, experiments, measure
from longpipe_evidence.papers.today.inapplicable import REASONS
from longpipe_evidence.papers.today.paths import CLASS_SHARES, PAGE, PAGE_KB, PATHS, REQUESTS, clients
from longpipe_evidence.papers.today.results import frozen
from reproduced import drawn_here


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    return frozen().runs


def test_every_conclusion_is_examined_or_has_a_reason() -> None:
    concluded = [one for document in FOUNDING for one in conclusions(document)]
    assert len(concluded) == 65
    assert sorted([*QUESTIONS, *REASONS]) == sorted(concluded)
    assert all(question.reason for question in QUESTIONS.values())


def test_designs_are_full_factorials_and_their_runs_complete(runs: pd.DataFrame) -> None:
    seeds = frozen().record["seeds"]
    assert seeds == SEEDS, frozen().record["command"]
    wanted = {"long-lived": 3 * 3 * 6 * 4 * 2, "bursts": 3 * 3 * 3 * 4, "web": 3 * 3 * 5 * 3, "transfer": 6 * 4 * 3}
    planned = [str(experiment.table) for experiment in experiments()]
    for design, count in wanted.items():
        assert planned.count(design) == count
        of_design = runs[runs["design"] == design]
        assert len(of_design.drop_duplicates([*DESIGNS[design].levels, "seed"])) == len(of_design) == seeds * count
        assert of_design[list(DESIGNS[design].responses)].notna().all(axis=None)


def test_paths_have_the_round_trips_that_their_sources_name() -> None:
    for path in PATHS.values():
        assert 2 * (TIME.parse(path.trunk_delay) + 2 * TIME.parse("1 ms")) == TIME.parse(path.round_trip)


def test_pages_have_the_sizes_of_the_web_almanac() -> None:
    # Sizes within a class are k times 10^(class - 1) KB, where k is Poisson with mean 5, clamped to 1 to 9; its mean is
    # 4.95.
    mean_kb = sum(share * 4.95 * 10.0 ** (of_class - 1) for of_class, share in enumerate(CLASS_SHARES))
    assert REQUESTS * mean_kb == pytest.approx(PAGE_KB, rel=0.01)
    assert PAGE["requests_mean"] == REQUESTS
    # 104.71 Mbit/s over 10 s is 48 pages of 2652 KB, and 49.12 Mbit/s is 23 pages.
    assert [clients(path) for path in PATHS.values()] == [52, 52, 24]


@pytest.mark.parametrize("design", DESIGNS)
def test_packaged_runs_equal_simulated_ones(design: str, runs: pd.DataFrame) -> None:
    # The cheapest runs of each design: the smallest buffers, and the link with the shortest runs.
    experiment = next(one for one in experiments() if one.table == design)
    measured = measure(design, simulate(experiment.replicated, 1))
    at = {"design": design, **experiment.factors, "seed": 1}
    [row] = runs[(runs[list(at)] == pd.Series(at)).all(axis="columns")].to_dict("records")
    for name, value in measured.items():
        assert row[name] == pytest.approx(value, rel=1e-5), name


def _question(*limits: tuple[float, float]) -> Question:
    return Question("F2", "web", "text", lambda runs: (Condition("x", runs["x"], *one) for one in limits), "reason")


def test_conclusion_has_the_combined_verdict_of_its_conditions() -> None:
    runs = pd.DataFrame({"design": ["web"] * 3 + ["transfer"], "seed": [1, 2, 3, 1], "x": [1.0, 1.1, 0.9, -50.0]})
    # The mean is 1, and its 95 % interval is 0.75 to 1.25: Student's t for 2 degrees of freedom is 4.303.
    above, below, within, beside = (0.0, 9.0), (2.0, 9.0), (0.7, 1.3), (1.0, 9.0)
    assert answer(_question(above, within), runs).verdict == Verdict.HOLDS
    assert answer(_question(below), runs).verdict == Verdict.FAILS
    assert answer(_question(above, below), runs).verdict == Verdict.IN_PART
    assert answer(_question(above, beside), runs).verdict == Verdict.UNDECIDED
    assert answer(_question(above), runs).reason == "reason"


def test_answers_are_those_of_the_selected_documents(runs: pd.DataFrame) -> None:
    found = answers(["lbd-01"], runs)
    assert list(found) == ["lbd-01"]
    assert [one.statement for one in found["lbd-01"]] == conclusions("lbd-01")


def test_the_page_has_every_conclusion_with_its_answer(tmp_path: Path) -> None:
    out = tmp_path / "today"
    with drawn_here():
        found = CliRunner().invoke(app, ["reproduce", *FOUNDING, "--today", "--out", str(out)])
    assert found.exit_code == 0, found.output
    page, text = ((out / name).read_text(encoding="utf-8") for name in ("today.html", "today.txt"))
    for document, of_document in answers(FOUNDING, frozen().runs).items():
        assert document in text
        for one in of_document:
            assert escape(one.reason) in page
            assert f"{one.statement:<4} {one.verdict}" in text
            assert (f'id="today-{one.statement}"' in page) == (one.judged is not None)
    for source in ("Ookla", "O3b", "HTTP Archive"):
        assert source in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rfc-9438", "--today"], "--today: 'rfc-9438'"),
        (["frr-96", "--today", "--sensitivity"], "--today: not with --sensitivity"),
        (["frr-96", "--today", "--json", "-"], "--today: not with --sensitivity"),
    ],
)
def test_today_rejects_unsupported_documents(arguments: list[str], message: str) -> None:
    found = CliRunner().invoke(app, ["reproduce", *arguments])
    assert found.exit_code != 0
    assert message in str(found.exception or found.output) + found.output
