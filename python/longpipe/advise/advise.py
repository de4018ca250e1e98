"""Runs the alternatives of a question until one is selected or the budget is spent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.advise.budget import Budget, SpentError
from longpipe.advise.quantities import is_share, quantity
from longpipe.advise.question import ZONE, ZONE_OF_SHARES, Question, tolerance
from longpipe.advise.selection import FEWEST, Allowances, Selection
from longpipe.cautions.cautions import seedless
from longpipe.study.progress import Progress, ignore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.executors import Job
    from longpipe.study import Runner

    Numbers = NDArray[np.float64]

# Number of runs started together: large enough that few workers wait for the last run. It does not affect the answer.
AT_ONCE: Final = 24
MAX_REPLICATIONS: Final = 10_000


@dataclass(frozen=True, eq=False)
class Advice:
    """The runs of a question, and the selection from them.

    `values[i]` contains the measures of alternative i in their base units, indexed by replication, situation and
    measure. `selection` is None if the budget ended before the first decision. `spent` is true if the budget ended
    before the selection did.
    """

    question: Question
    values: tuple[Numbers, ...]
    selection: Selection | None
    zone: float
    spent: bool
    budget: str
    runs: int

    def rows(self, alternative: int) -> Numbers:
        """Returns one value per replication and measure, reduced over the situations."""
        return reduced(self.question, self.values[alternative])


def reduced(question: Question, values: Numbers) -> Numbers:
    """Reduces the situations of each replication to one value per measure, shape (replications, measures)."""
    better = (question.maximise, *(limit.sign[0] == ">" for limit in question.bounds))
    return np.array(
        [[question.reduce(row[:, i], larger_is_better=larger) for i, larger in enumerate(better)] for row in values]
    ).reshape(len(values), len(better))


def advise(
    question: Question,
    runner: Runner,
    budget: Budget | None = None,
    progress: Callable[[Progress], None] = ignore,
) -> Advice:
    """Adds replications of the surviving alternatives until the selection is done or the budget is spent.

    The same question has the same answer with any number of workers, unless a time limit ends the runs.
    """
    budget = budget or Budget()
    question.check()
    if all(seedless(scenario) for row in question.scenarios for scenario in row):
        # Without random numbers all replications are identical.
        question = replace(question, first=FEWEST)
    work = _Work(question, runner, budget, progress)
    selection, zone, spent = None, math.nan, False
    try:
        work.replicate(list(range(len(question.scenarios))), question.first)
        selection, zone = _first_decisions(question, work.values)
        while not selection.done:
            if selection.replications >= MAX_REPLICATIONS:
                raise SpentError
            work.expect(selection)
            work.replicate(selection.alive, selection.replications + 1)
            _feed(question, selection, work.values, selection.replications)
    except SpentError:
        spent = True
    values = tuple(np.array(value).reshape(-1, *work.shape) for value in work.values)
    return Advice(question, values, selection, zone, spent, budget.text, work.runs)


class _Work:
    """Runs replications in order of seeds, so all alternatives have the same number if the runs end early."""

    def __init__(
        self, question: Question, runner: Runner, budget: Budget, progress: Callable[[Progress], None]
    ) -> None:
        self._question = question
        self._runner = runner
        self._budget = budget
        self._report = progress
        self.values: list[list[Numbers]] = [[] for _ in question.scenarios]
        self.shape = (len(question.scenarios[0]), len(question.measures))
        self.runs = 0
        self._ready = 0
        # Total number of runs that the selection is expected to need, and the bounds of its probable range.
        self._expected: tuple[float, float, float] | None = None

    def expect(self, selection: Selection) -> None:
        """Estimates the number of runs that are still needed, from the differences so far."""
        situations = self.shape[0]
        likely, upper, lower = (self.runs + situations * selection.outlook(errors) for errors in (0.0, 2.0, -2.0))
        self._expected = likely, lower, upper

    def replicate(self, alternatives: list[int], replications: int) -> None:
        """Completes replications of these alternatives; raises SpentError if the budget ends before that."""
        while self._ready < replications:
            # A full round of runs keeps all workers busy, so later replications of survivors may be started early.
            count = max(1, AT_ONCE // (len(alternatives) * self.shape[0]))
            last = self._ready + count
            new_runs = [(r, i) for r in range(self._ready, last) for i in alternatives]
            room = int(min(self._budget.runs - self.runs, len(new_runs) * self.shape[0]) // self.shape[0])
            is_spent = room < len(new_runs)
            try:
                self._complete([job for r, i in new_runs[:room] for job in self._jobs(i, r)])
            except SpentError:
                is_spent = True
            finally:
                self._read(new_runs[:room])
            # The budget may end within the replications that were started early, although the wanted ones are complete.
            self._ready = min(len(self.values[i]) for i in alternatives) if is_spent else last
            if is_spent and self._ready < replications:
                raise SpentError

    def _jobs(self, alternative: int, replication: int) -> list[Job]:
        seed = self._question.first_seed + replication
        return [(scenario, seed) for scenario in self._question.scenarios[alternative]]

    def _complete(self, jobs: list[Job]) -> None:
        def report(now: Progress) -> None:
            self._report(replace(self._overall(now), limit_s=self._budget.left_s))
            self._budget.check()

        self._runner.telling(report).complete(jobs)

    def _overall(self, now: Progress) -> Progress:
        """Returns the progress of the selection from that of the runs in progress."""
        requested, ran = self.runs + now.wanted, now.done + now.failed
        counts = (self.runs + now.stored, now.done, now.failed)
        if self._expected is None:
            return Progress(requested, *counts, now.worked, now.left, "at least")
        likely, lower, upper = (min(max(requested, end), self._budget.runs) for end in self._expected)
        rest = max(likely - counts[0] - ran, 1.0)
        ends = ((lower - counts[0] - ran) / rest, (upper - counts[0] - ran) / rest)
        left = now.worked / ran * rest if ran and now.worked else 0.0
        return Progress(round(likely), *counts, now.worked, left, "about", ends)

    def _read(self, replications: list[tuple[int, int]]) -> None:
        """Reads those of the given replications that are complete."""
        store, measures = self._runner.store, self._question.measures
        for replication, alternative in replications:
            jobs = self._jobs(alternative, replication)
            if len(self.values[alternative]) != replication or len(store.finished(jobs)) < len(jobs):
                continue
            measured = [[measure(result) for measure in measures] for result in store.require_all(jobs)]
            self.values[alternative].append(np.array(measured, dtype=float))
            self.runs += len(jobs)


def _first_decisions(question: Question, values: list[list[Numbers]]) -> tuple[Selection, float]:
    """Returns the selection after the first replications, with the indifference zone."""
    zone = _zone(question, values)
    selection = Selection(len(values), _allowances(question, zone))
    for replication in range(question.first):
        _feed(question, selection, values, replication)
    return selection, zone


def replayed(question: Question, rows: tuple[Numbers, ...], zone: float) -> Selection:
    """Repeats the selection with another indifference zone, from one value per replication and measure.

    The selection ends early if it needs a replication that was not run.
    """
    selection = Selection(len(rows), _allowances(question, zone))
    while not selection.done and all(
        len(rows[alternative]) > selection.replications for alternative in selection.alive
    ):
        selection.add(
            {
                alternative: _observation(question, rows[alternative][selection.replications])
                for alternative in selection.alive
            }
        )
    return selection


def _allowances(question: Question, zone: float) -> Allowances:
    tolerances = tuple(tolerance(limit, question.tolerance) for limit in question.bounds)
    return Allowances(question.error, zone, tolerances, question.first)


def _zone(question: Question, values: list[list[Numbers]]) -> float:
    """Returns the indifference zone: as given, or 0.01 for a share, or 2 % of the best mean of the first runs."""
    goal = question.goal
    zone, relative = (
        ((ZONE_OF_SHARES, False) if is_share(goal) else (ZONE, True))
        if question.zone is None
        else quantity(goal, question.zone, "--zone")
    )
    if not relative:
        return zone
    means = np.array([reduced(question, np.array(value))[: question.first, 0].mean() for value in values])
    means = means[np.isfinite(means)]
    if not len(means):
        return zone
    best = abs(float(means.max() if question.maximise else means.min())) or float(np.abs(means).max())
    return zone * best or zone


def _feed(question: Question, selection: Selection, values: list[list[Numbers]], replication: int) -> None:
    """Adds one replication to a selection."""
    selection.add(
        {
            alternative: _observation(question, reduced(question, values[alternative][replication][None])[0])
            for alternative in selection.alive
        }
    )


def _observation(question: Question, row: Numbers) -> list[float]:
    """Returns the objective, of which the largest is the best, and the margins of the limits in one replication."""
    margins = [limit.margin(value) for limit, value in zip(question.bounds, row[1:], strict=True)]
    return [row[0] if question.maximise else -row[0], *margins]
