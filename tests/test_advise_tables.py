"""Tests on tables of stored runs how often the selection is correct, and how many runs it needs.

The true means come from separate seeds; the repetitions draw replications, which all alternatives share, from the other
seeds. `make validate` repeats each of the 20 problems 100 times.
"""

import math
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray

from longpipe.advise.quantities import is_share
from longpipe.advise.question import Question, tolerance
from longpipe.advise.selection import Allowances, Selection
from selection_tables import DATA, Table, load, problems
from thorough import examples, one_in

TABLES: Final = sorted(DATA.glob("*.npz"))
FIRST: Final = 10
STATED: Final = 0.95
REPETITIONS: Final = examples(20, 100)


def oriented(question: Question, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the objectives, oriented so that the largest is the best, and the limits' margins."""
    columns = [values[..., 0] if question.maximise else -values[..., 0]]
    for i, limit in enumerate(question.bounds):
        columns.append((limit.limit - values[..., 1 + i]) * (1 if limit.sign[0] == "<" else -1))
    return np.stack(columns, axis=-1)


def allowances(question: Question, best: float) -> Allowances:
    zone = 0.01 if is_share(question.goal) else 0.02 * abs(best)
    return Allowances(1 - STATED, zone, tuple(tolerance(limit, None) for limit in question.bounds), FIRST)


def right(truth: NDArray[np.float64], given: Allowances) -> set[int]:
    """Returns the alternatives within the zone of the best one that satisfies all limits by their tolerance.

    These alternatives satisfy the limits within their tolerances; if no alternative satisfies all limits, -1 is
    correct.
    """
    means = truth.mean(axis=1)
    # An alternative that has no value in some run counts as violating its limit.
    means[~np.isfinite(means).all(axis=1)] = -np.inf
    margins = means[:, 1:] / np.array([*given.tolerances, 1.0])[: means.shape[1] - 1]
    clear = (margins >= 1).all(axis=1)
    acceptable = (margins > -1).all(axis=1)
    if not clear.any():
        return {-1, *np.flatnonzero(acceptable).tolist()}
    best = means[clear, 0].max()
    return set(np.flatnonzero(acceptable & (means[:, 0] >= best - given.zone)).tolist())


def selected(drawn: NDArray[np.float64], given: Allowances, rng: np.random.Generator) -> tuple[int, int, int]:
    """Returns the choice (-1 if there is none), its number of runs, and the replications of the last decision."""
    selection, runs = Selection(len(drawn), given), 0
    while not selection.done:
        rows = drawn[:, rng.integers(drawn.shape[1])]
        runs += len(selection.alive)
        selection.add(dict(enumerate(rows)))
    return (-1 if selection.choice is None else selection.choice), runs, selection.replications


def judged(table: Table, repetitions: int) -> tuple[int, int, int]:
    """Returns the numbers of correct choices, of runs, and of runs that equal allocation would need."""
    question = problems()[table.name]
    truth, drawn = oriented(question, table.truth), oriented(question, table.drawn)
    given = allowances(question, float(np.nanmax(truth.mean(axis=1)[:, 0])))
    rng = np.random.default_rng(1)
    correct, found = right(truth, given), [selected(drawn, given, rng) for _ in range(repetitions)]
    equal = sum(replications for _, _, replications in found) * len(drawn)
    return sum(choice in correct for choice, _, _ in found), sum(runs for _, runs, _ in found), equal


def test_each_problem_has_a_table() -> None:
    assert [path.stem for path in TABLES] == sorted(problems())
    assert all(10 <= len(load(path).truth) <= 50 for path in TABLES)


@pytest.fixture(scope="module")
def judgements() -> dict[str, tuple[int, int, int]]:
    return {path.stem: judged(load(path), REPETITIONS) for path in one_in(3, TABLES)}


def test_the_choice_is_right_as_often_as_stated(judgements: dict[str, tuple[int, int, int]]) -> None:
    for name, (right_ones, _, _) in judgements.items():
        assert right_ones >= math.floor(STATED * REPETITIONS), name
    assert sum(right_ones for right_ones, _, _ in judgements.values()) >= (STATED - 0.02) * REPETITIONS * len(
        judgements
    )


def test_the_selection_takes_at_most_half_of_the_runs_of_equal_allocation(
    judgements: dict[str, tuple[int, int, int]],
) -> None:
    """With equal allocation, every alternative would have as many replications as the last decision needs."""
    assert sum(runs for _, runs, _ in judgements.values()) <= 0.5 * sum(equal for _, _, equal in judgements.values())


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_true_means_are_accurate_to_a_quarter_of_the_zone(path: Path) -> None:
    table = load(path)
    question = problems()[table.name]
    truth = oriented(question, table.truth)
    given = allowances(question, float(np.nanmax(truth.mean(axis=1)[:, 0])))
    means = truth.mean(axis=1)[:, 0]
    best = np.nanargmax(means)
    # The alternatives that are worse by more zones than this are certain not to be selected.
    close = means > means[best] - 3 * given.zone
    differences = truth[close, :, 0] - truth[best, :, 0]
    assert (differences.std(axis=1, ddof=1) / math.sqrt(truth.shape[1])).max() <= given.zone / 4
