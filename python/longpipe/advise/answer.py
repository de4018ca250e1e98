"""Conclusions from the runs of a question: choice, confidence, maximum shortfall, and Pareto front."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from longpipe.advise.advise import Advice
from longpipe.advise.quantities import is_share, limit_text
from longpipe.advise.selection import NO_VALUE, WORSE
from longpipe.analysis.intervals import estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.measures.requirements import Requirement

    Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """Difference by which an alternative is worse than the choice, with its interval; negative if it is better."""

    alternative: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Answer:
    """Conclusions from the runs of an `Advice`."""

    advice: Advice

    @cached_property
    def rows(self) -> tuple[Numbers, ...]:
        """Values of each alternative, by replication and measure."""
        return tuple(self.advice.rows(i) for i in range(len(self.advice.values)))

    @cached_property
    def means(self) -> Numbers:
        """Mean of each measure, shape (alternatives, measures); nan if there are no runs, or if a run has no value."""
        return np.array([rows.mean(axis=0) if len(rows) else np.full(rows.shape[1], math.nan) for rows in self.rows])

    def half(self, alternative: int, measure: int) -> float:
        """Returns the half-width of the 95 % interval of a mean; nan for fewer than two replications."""
        if len(self.rows[alternative]) < 2:
            return math.nan
        interval = estimate(self.rows[alternative][:, measure])
        return (interval.mean_high - interval.mean_low) / 2

    @cached_property
    def certified(self) -> bool:
        """Whether the selection was completed, so that the error probability is at most the stated one."""
        return self.advice.selection is not None and self.advice.selection.done and not self.advice.spent

    @cached_property
    def choice(self) -> int | None:
        """The selected alternative.

        If the selection is incomplete, the alternative within the limits with the best mean over the replications that
        all remaining alternatives have, if any.
        """
        selection = self.advice.selection
        if self.certified and selection is not None:
            return selection.choice
        sign, count = 1 if self.advice.question.maximise else -1, self._complete
        means = {
            alternative: sign * float(self.rows[alternative][:count, 0].mean())
            for alternative in self._alive
            if self.within(alternative)
        }
        return max(means, key=means.__getitem__, default=None)

    @property
    def _alive(self) -> list[int]:
        """Alternatives that the selection has not eliminated."""
        selection = self.advice.selection
        return list(range(len(self.rows)) if selection is None else selection.alive)

    @cached_property
    def _complete(self) -> int:
        """Number of replications that all remaining alternatives with a run have."""
        return min(
            (len(self.rows[alternative]) for alternative in self._alive if len(self.rows[alternative])), default=0
        )

    def within(self, alternative: int, limits: tuple[Requirement, ...] | None = None) -> bool:
        """Returns whether the means of an alternative satisfy the limits, and all of its runs have values."""
        means = self.means[alternative]
        bounds = self.advice.question.bounds if limits is None else limits
        return bool(np.isfinite(means).all()) and all(
            limit.margin(mean) >= 0 for limit, mean in zip(bounds, means[1:], strict=True)
        )

    def closest(self, alternatives: Iterable[int]) -> int | None:
        """Returns the alternative with the smallest mean difference from the choice.

        The means themselves are not comparable, because eliminated alternatives have fewer replications.
        """
        return min(alternatives, key=lambda alternative: self.difference(alternative).mean, default=None)

    def allowed(self) -> list[int]:
        """Alternatives that do not violate a limit.

        This is decided by the selection if it is complete, otherwise by the means.
        """
        selection = self.advice.selection
        eliminated = {} if selection is None else selection.eliminated
        decided = {alternative for alternative, elimination in eliminated.items() if elimination.reason != WORSE}
        return [i for i in range(len(self.rows)) if i not in decided and self.within(i)]

    @cached_property
    def undefined(self) -> dict[int, str]:
        """Measure without a value in a run, for each alternative that was eliminated for this reason."""
        selection, question = self.advice.selection, self.advice.question
        measures = {}
        for alternative, (_, reason) in ({} if selection is None else selection.eliminated).items():
            if reason == NO_VALUE:
                measures[alternative] = question.goal.name
            elif reason != WORSE and not math.isfinite(self.means[alternative, 1 + reason]):
                measures[alternative] = question.bounds[reason].measure.name
        return measures

    def difference(self, alternative: int, error: float = 0.05) -> Difference:
        """Compares an alternative with the choice, replication by replication, at confidence 1 - `error`.

        Without a choice, it is compared with the first alternative, so that differences still order alternatives.
        """
        sign = 1 if self.advice.question.maximise else -1
        reference = 0 if self.choice is None else self.choice
        count = min(len(self.rows[alternative]), len(self.rows[reference]))
        if not self.certified and alternative in self._alive:
            # A budget that ends within a replication leaves more runs of some alternatives than of others.
            count = min(count, self._complete)
        lost = sign * (self.rows[reference][:count, 0] - self.rows[alternative][:count, 0])
        lead = estimate(lost, level=1 - error) if count > 1 else None
        if lead is None:
            return Difference(alternative, float(lost.mean()) if count else math.nan, math.nan, math.nan)
        return Difference(alternative, lead.mean, lead.mean_low, lead.mean_high)

    @cached_property
    def cost(self) -> float:
        """Upper bound, at the stated confidence, of how much worse the choice is than the best alternative.

        The one-sided intervals of all differences are simultaneous (Bonferroni). The result is nan if there is no
        choice, or if a difference has fewer than two replications and so no interval.
        """
        if self.choice is None:
            return math.nan
        alternatives = [alternative for alternative in self.allowed() if alternative != self.choice]
        if not alternatives:
            return 0.0
        # A two-sided interval with twice the error has the same ends as one-sided intervals.
        error = 2 * self.advice.question.error / len(alternatives)
        # Unlike `max`, numpy's maximum of numbers with a nan is nan.
        return float(np.max([0.0, *(-self.difference(alternative, error).low for alternative in alternatives)]))

    @property
    def is_bounded(self) -> bool:
        """Whether `cost` is below the largest possible difference.

        That is the choice's distance from 0 or, if shares are maximised, from 1.
        """
        if self.choice is None or math.isnan(self.cost):
            return False
        mean, question = float(self.means[self.choice, 0]), self.advice.question
        distance = 1 - mean if is_share(question.goal) and question.maximise else abs(mean)
        return self.cost == 0 or self.cost < distance

    @cached_property
    def runner_up(self) -> Difference | None:
        """The second best alternative within the limits, according to the mean difference."""
        return min(self._differences(), key=lambda difference: difference.mean, default=None)

    @cached_property
    def equal(self) -> list[Difference]:
        """Other alternatives within the limits that are worse than the choice by less than the indifference zone.

        The 95 % intervals of their differences end below the zone.
        """
        return [difference for difference in self._differences() if difference.high < self.advice.zone]

    def _differences(self) -> list[Difference]:
        """Returns the differences of the other alternatives within the limits; none if there is no choice."""
        if self.choice is None:
            return []
        return [self.difference(alternative) for alternative in self.allowed() if alternative != self.choice]

    @cached_property
    def front(self) -> list[int]:
        """Pareto front: alternatives that no other improves in the objective and all limited measures, best first.

        Two alternatives are compared by their means over the replications of both. Because pairs may share different
        replications, each alternative may be improved by another one; the front is then empty.
        """
        question = self.advice.question
        signs = [1 if question.maximise else -1, *(1 if limit.sign[0] == ">" else -1 for limit in question.bounds)]
        better = [rows * np.array(signs) for rows in self.rows]
        measured = [i for i in range(len(better)) if np.isfinite(self.means[i]).all()]

        def dominates(alternative: int, other: int) -> bool:
            count = min(len(better[alternative]), len(better[other]))
            lead = better[alternative][:count].mean(axis=0) - better[other][:count].mean(axis=0)
            return bool((lead >= 0).all() and (lead > 0).any())

        front = [i for i in measured if not any(dominates(j, i) for j in measured)]
        return sorted(front, key=lambda i: -signs[0] * float(self.means[i, 0]))

    def _eliminated(self, alternative: int) -> str:
        """Returns the status of an alternative that the selection eliminated as worse, from its difference.

        Within the indifference zone, the selection also eliminates alternatives that are equal or not certainly worse.
        """
        difference = self.difference(alternative)
        if self.choice is None or difference.low > 0:
            return "worse"
        return "equal" if difference.mean == difference.low == difference.high == 0 else "not better"

    def state(self, alternative: int) -> str:
        """Returns the status of an alternative in a few words."""
        selection = self.advice.selection
        if alternative == self.choice:
            return "the choice" if self.certified else "best so far"
        if selection is None or alternative not in selection.eliminated:
            return "undecided"
        after, reason = selection.eliminated[alternative]
        if alternative in self.undefined:
            return f"{self.undefined[alternative]} has no value in run {after + 1}"
        if reason == WORSE:
            return f"{self._eliminated(alternative)}, after {after} replications"
        bounds = self.advice.question.bounds
        means = zip(bounds, self.means[alternative][1:], strict=True)
        others = [(limit, mean) for limit, mean in means if limit is not bounds[reason]]
        violated = [limit_text(limit) for limit, mean in others if limit.margin(mean) < 0]
        also = f"; its mean also violates {' and '.join(violated)}" if violated else ""
        return f"violates {limit_text(bounds[reason])}, after {after} replications{also}"
