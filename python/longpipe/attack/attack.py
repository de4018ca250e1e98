"""Searches for a scenario with a defect, reduces it, and measures it with separate seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.advise.budget import Budget, SpentError
from longpipe.attack.defect import score
from longpipe.attack.search import FEWER_FIELDS_GENERATIONS, evolve, reductions, roundings
from longpipe.attack.target import MISSES
from longpipe.attack.trials import Trials
from longpipe.study.progress import Progress, ignore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.attack.target import Target
    from longpipe.attack.varied import Setting
    from longpipe.study import Runner

    Numbers = NDArray[np.float64]

# Number of candidates of one population that are confirmed, best first. Further candidates are usually similar.
CONFIRMED: Final = 3


class _FoundError(Exception):
    """Ends the search."""


@dataclass
class Attack:
    """A search and its results so far, which are kept if Ctrl-C ends `run`.

    `setting` is the candidate with the defect or, if there is none, the nearest candidate; None before the first one.
    `unconfirmed` says whether the search ended during the confirmation of the candidate, which shows the defect with
    the seeds of the search. `measured` contains the values of the answer by seed, defect and side. `reduced` says
    whether the reduction is complete, and `ended` whether `run` has returned.
    """

    target: Target
    runner: Runner
    budget: Budget = field(default_factory=Budget)
    progress: Callable[[Progress], None] = ignore
    setting: Setting | None = None
    found: bool = False
    unconfirmed: bool = False
    reduced: bool = False
    spent: bool = False
    ended: bool = False
    candidates: int = 0
    measured: Numbers | None = None
    nearest: float = -np.inf
    # Number of runs until the defect was found.
    runs_to_find: int = 0

    def __post_init__(self) -> None:
        self.trials = Trials(self.target, self.runner, self.budget, self.progress)

    def run(self) -> None:
        """Searches until a candidate has the defect or the budget is spent; equal input gives equal answers.

        If the budget is a time, the answer may depend on the speed of the machine.
        """
        self.target.check()
        try:
            self._search()
            if self.found:
                self._reduce()
        except SpentError:
            self.spent = True
        if self.setting is not None:
            [self.measured] = self.trials.values([self.setting], self.target.answer_seeds, limited=False)
        self.ended = True

    def _search(self) -> None:
        """Tests the base scenario, then populations; sets `found` unless all candidates are known."""
        try:
            self._scores([{}])
            start = self.target.first_seed
            runs = -1
            while self.trials.runs > runs:
                runs = self.trials.runs
                evolve(self.target.varied, self._scores, start)
                start += 1
        except _FoundError:
            self.found = True
            self.runs_to_find = self.trials.runs

    def _reduce(self) -> None:
        """Simplifies the setting with the defect, and sets `reduced` unless the budget ends before that."""
        simpler = True
        while simpler:
            for setting in reductions(self.setting or {}, self._stands):
                self.setting = setting
            simpler = self._found_with_fewer_fields()
        for setting in roundings(self.target.varied, self.setting or {}, self._stands):
            self.setting = setting
        self.reduced = True

    def _found_with_fewer_fields(self) -> bool:
        """Searches for the defect with all but one of the changed fields, whose other values may also show it."""
        changed = dict(self.setting or {})
        for name in changed:
            remaining = [varied for varied in self.target.varied if varied.field in changed and varied.field != name]
            if not remaining:
                continue
            try:
                evolve(remaining, self._scores, self.target.first_seed, FEWER_FIELDS_GENERATIONS)
            except _FoundError:
                return True
        return False

    def _scores(self, settings: list[Setting]) -> list[float]:
        """Returns the score of each setting; raises _FoundError if one also shows the defect with other seeds."""
        self.candidates += len(settings)
        scores = [
            score(self.target.defects, values.mean(axis=0))
            for values in self.trials.values(settings, self.target.search_seeds)
        ]
        order = sorted(range(len(settings)), key=lambda i: -scores[i])
        if not self.found and scores[order[0]] > self.nearest:
            self.setting, self.nearest = settings[order[0]], scores[order[0]]
        nearest = self.setting
        for index in order[:CONFIRMED]:
            if scores[index] < 0:
                break
            if not self.found:
                self.setting, self.unconfirmed = settings[index], True
            if self._stands(settings[index]):
                self.setting = settings[index]
                raise _FoundError
            if not self.found:
                self.setting, self.unconfirmed = nearest, False
        return scores

    def _stands(self, setting: Setting) -> bool:
        """Returns whether the defect shows with all but MISSES of the seeds of the checks.

        With means alone, the reduction would end at the limits, where only half of further seeds show the defect.
        """
        misses = 0
        for seeds in self.target.check_seeds:
            [values] = self.trials.values([setting], seeds)
            misses += sum(not shows(self.target, of_seed) for of_seed in values)
            if misses > MISSES:
                return False
        return True


def shows(target: Target, values: Numbers) -> bool:
    """Returns whether all comparisons hold, given the values of both sides of each defect."""
    return all(defect.holds(*sides) for defect, sides in zip(target.defects, values, strict=True))
