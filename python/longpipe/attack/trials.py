"""Runs the control and the reference on each candidate scenario with equal seeds until the budget is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from longpipe.advise.budget import Budget, SpentError
from longpipe.errors import ScenarioError
from longpipe.study.errors import StudyError
from longpipe.study.progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.attack.target import Target
    from longpipe.attack.varied import Setting
    from longpipe.executors import Job
    from longpipe.scenario import Scenario
    from longpipe.study import Runner

    Numbers = NDArray[np.float64]
    Pair = tuple[Scenario, Scenario]


class Trials:
    """Measures candidates. The values depend neither on the number of workers nor on the order of completion."""

    def __init__(self, target: Target, runner: Runner, budget: Budget, progress: Callable[[Progress], None]) -> None:
        self._target = target
        self._runner = runner
        self._budget = budget
        self._report_progress = progress
        # Values of both sides of each defect, by the digests of a pair and the seed.
        self._values: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
        # Digest and seed of each run that counts towards the budget.
        self._counted: set[tuple[str, int]] = set()
        # Progress at the end of the latest call of `values`.
        self._completed = Progress(0, 0)
        # Problems of failed runs and of candidates that are not valid scenarios, in order of appearance.
        self.invalid: list[str] = []
        self.failures: list[str] = []

    @property
    def runs(self) -> int:
        """Number of runs so far, including stored ones."""
        return len(self._counted)

    def values(self, settings: Sequence[Setting], seeds: Iterable[int], *, limited: bool = True) -> list[Numbers]:
        """Returns the values of both sides of each defect, shape (seeds, defects, 2), for each setting.

        They are nan for runs that failed and for invalid scenarios. Raises SpentError if the budget does not suffice,
        unless `limited` is false.
        """
        seeds = list(seeds)
        pairs = [self._pair(setting) for setting in settings]
        jobs = {
            (scenario.digest(), seed): (scenario, seed) for pair in pairs for scenario in pair or () for seed in seeds
        }
        missing = {key: job for key, job in jobs.items() if key not in self._counted}
        if limited:
            self._budget.check()
            if self.runs + len(missing) > self._budget.runs:
                raise SpentError
        if missing:
            self._complete(list(missing.values()), limited=limited)
            self._counted |= set(missing)
        return [np.array([self._values_of(pair, seed) for seed in seeds]) for pair in pairs]

    def _pair(self, setting: Setting) -> Pair | None:
        """Returns the scenarios of the control and the reference; None if they are invalid."""
        try:
            return self._target.pair(setting)
        except ScenarioError as error:
            self.invalid.append(error.problems[0])
            return None

    def _complete(self, jobs: list[Job], *, limited: bool) -> None:
        """Runs jobs, and reports the progress of all runs so far; if `limited`, the budget bounds their number."""
        earlier = latest = self._completed
        max_runs = self._budget.runs if limited else math.inf

        def report(now: Progress) -> None:
            nonlocal latest
            stored, done, failed = earlier.stored + now.stored, earlier.done + now.done, earlier.failed + now.failed
            worked_s, expected, bound = earlier.worked + now.worked, earlier.ended + now.wanted, ""
            if max_runs < math.inf:
                # The search stops early if it finds the defect.
                expected, bound = int(max_runs), "at most"
            remaining = expected - stored - done - failed
            left_s = worked_s / (done + failed) * remaining if done + failed else 0.0
            latest = Progress(expected, stored, done, failed, worked_s, left_s, bound)
            self._report_progress(latest)
            if limited:
                self._budget.check()

        try:
            self._runner.telling(report).complete(jobs)
        except StudyError as error:
            self.failures.extend(str(error).split("\n"))
        finally:
            self._completed = latest

    def _values_of(self, pair: Pair | None, seed: int) -> list[tuple[float, float]]:
        """Returns the values of both sides of each defect for a pair of runs; nan unless both runs have finished."""
        defects, store = self._target.defects, self._runner.store
        if pair is None:
            return [(math.nan, math.nan)] * len(defects)
        key = (pair[0].digest(), pair[1].digest(), seed)
        if key not in self._values:
            jobs = [(scenario, seed) for scenario in pair]
            if len(store.finished(jobs)) < len(jobs):
                self._values[key] = [(math.nan, math.nan)] * len(defects)
            else:
                control, reference = store.require_all(jobs)
                self._values[key] = [defect.values(control, reference) for defect in defects]
        return self._values[key]
