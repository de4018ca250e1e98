"""Conclusions from the runs of a question: choice, confidence, maximum shortfall, and sensitivity."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.advise.advise import Advice, replayed
from longpipe.advise.quantities import is_share, shown
from longpipe.advise.selection import NO_VALUE, WORSE
from longpipe.analysis.intervals import estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.measures.requirements import Requirement

    Numbers = NDArray[np.float64]

# Relative change of a limit, in both directions, that tests whether the limit affects the choice.
SHIFT: Final = 0.1
# Maximum number of times that the zone is doubled in the search for the smallest certifying zone, and resolution of
# its binary logarithm.
_MAX_DOUBLINGS: Final = 40
_FINEST: Final = 1e-3


@dataclass(frozen=True)
class Difference:
    """Difference by which an alternative is worse than the choice, with its 95 % interval; negative if it is better."""

    alternative: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Effect:
    """The share of the variation between alternatives that a factor explains, and what each of its levels costs.

    `best` contains, for each level, the best alternative within the limits; None if there is none.
    """

    factor: str
    share: float
    best: tuple[tuple[object, Difference | None], ...]


@dataclass(frozen=True)
class Shift:
    """The choice, according to the means, if a limit were different."""

    limit: str
    choice: int | None


def limit_text(limit: Requirement) -> str:
    """Formats a limit: "datagrams:call.p95 < 30 ms"."""
    return f"{limit.measure.name} {limit.sign} {shown(limit.measure, limit.limit)}"


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

    def _closest(self, alternatives: Iterable[int]) -> int | None:
        """Returns the alternative with the smallest mean difference from the choice.

        The means themselves are not comparable, because eliminated alternatives have fewer replications.
        """
        return min(alternatives, key=lambda alternative: self.difference(alternative).mean, default=None)

    def allowed(self) -> list[int]:
        """Alternatives that do not violate a limit.

        This is decided by the selection if it is complete, otherwise by the means.
        """
        selection = self.advice.selection
        violating = {} if selection is None else selection.eliminated
        decided = {alternative for alternative, (_, why) in violating.items() if why != WORSE}
        return [i for i in range(len(self.rows)) if i not in decided and self.within(i)]

    @cached_property
    def undefined(self) -> dict[int, str]:
        """Measure without a value in a run, for each alternative that was eliminated for this reason."""
        selection, question = self.advice.selection, self.advice.question
        reasons = {}
        for alternative, (_, why) in ({} if selection is None else selection.eliminated).items():
            if why == NO_VALUE:
                reasons[alternative] = question.goal.name
            elif why != WORSE and not math.isfinite(self.means[alternative, 1 + why]):
                reasons[alternative] = question.bounds[why].measure.name
        return reasons

    def difference(self, alternative: int, error: float = 0.05) -> Difference:
        """Compares an alternative with the choice, replication by replication, at confidence 1 - `error`."""
        sign = 1 if self.advice.question.maximise else -1
        count = min(len(self.rows[alternative]), len(self.rows[self.choice or 0]))
        if not self.certified and alternative in self._alive:
            # A budget that ends within a replication leaves more runs of some alternatives than of others.
            count = min(count, self._complete)
        lost = sign * (self.rows[self.choice or 0][:count, 0] - self.rows[alternative][:count, 0])
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
    def certifying(self) -> tuple[float, int | None] | None:
        """The smallest indifference zone, to three digits, with which the same runs complete the selection; its choice.

        It is None if the answer is certified or has too few replications, or if no zone completes the selection because
        a limit is undecided.
        """
        question, zone = self.advice.question, self.advice.zone
        if self.certified or self.advice.selection is None:
            return None

        def rounded(exponent: float) -> float:
            return float(f"{zone * 2**exponent:.2e}")

        def completes(exponent: float) -> bool:
            return replayed(question, self.rows, rounded(exponent)).done

        high = next((float(doublings) for doublings in range(1, _MAX_DOUBLINGS + 1) if completes(doublings)), None)
        if high is None:
            return None
        low = high - 1
        while high - low > _FINEST:
            middle = (low + high) / 2
            low, high = (low, middle) if completes(middle) else (middle, high)
        return rounded(high), replayed(question, self.rows, rounded(high)).choice

    @cached_property
    def runner_up(self) -> Difference | None:
        """The second best alternative within the limits, according to the mean difference."""
        differences = [self.difference(alternative) for alternative in self.allowed() if alternative != self.choice]
        return (
            min(differences, key=lambda difference: difference.mean, default=None) if self.choice is not None else None
        )

    @cached_property
    def equal(self) -> list[Difference]:
        """Other alternatives within the limits that are worse than the choice by less than the indifference zone.

        The 95 % intervals of their differences end below the zone.
        """
        differences = [
            self.difference(alternative)
            for alternative in self.allowed()
            if alternative != self.choice and self.choice is not None
        ]
        return [difference for difference in differences if difference.high < self.advice.zone]

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

    @cached_property
    def effects(self) -> list[Effect]:
        """For each factor, its share of the variation of the objective, and what each of its levels costs."""
        question = self.advice.question
        measured = [i for i in range(len(self.rows)) if math.isfinite(self.means[i, 0])]
        objective = self.means[measured, 0]
        total = float(((objective - objective.mean()) ** 2).sum()) if measured else 0.0
        allowed = self.allowed()
        effects = []
        for index, factor in enumerate(question.factors):
            level_of = {i: question.design.points[i][index] for i in range(len(self.rows))}
            between = 0.0
            best: list[tuple[object, Difference | None]] = []
            for level in factor.levels:
                of_level = [self.means[i, 0] for i in measured if level_of[i] == level]
                if of_level:
                    between += len(of_level) * float((np.mean(of_level) - objective.mean()) ** 2)
                closest = self._closest(i for i in allowed if level_of[i] == level)
                best.append((level, None if closest is None or self.choice is None else self.difference(closest)))
            effects.append(Effect(factor.name, between / total if total else math.nan, tuple(best)))
        return sorted(effects, key=lambda effect: -effect.share if effect.share == effect.share else 0.0)

    @cached_property
    def shifts(self) -> list[Shift]:
        """The choice, according to means, with each limit tightened and loosened by a tenth."""
        bounds = self.advice.question.bounds
        shifts = []
        for index, limit in enumerate(bounds):
            for factor in (1 - SHIFT, 1 + SHIFT):
                shifted = limit.limit * factor
                if is_share(limit.measure) and shifted > 1 >= limit.limit:
                    # A share cannot exceed 1: its distance from 1 changes instead.
                    shifted = 1 - (1 - limit.limit) * (1 - SHIFT)
                if shifted == limit.limit:
                    continue
                other = replace(limit, limit=shifted)
                changed = (*bounds[:index], other, *bounds[index + 1 :])
                choice = self._closest(i for i in range(len(self.rows)) if self.within(i, changed))
                shifts.append(Shift(limit_text(other), choice))
        return shifts

    @cached_property
    def by_situation(self) -> list[tuple[dict[str, object], int | None, float]]:
        """For each situation, the best alternative within the limits, and how much worse the chosen one is.

        Limits are checked with means over the replications of the situation; objectives are compared with that of the
        choice over the replications of both, or by their means if there is no choice.
        """
        question = self.advice.question
        if not question.uncertain:
            return []
        sign = 1 if question.maximise else -1
        situations: list[tuple[dict[str, object], int | None, float]] = []
        for index, fields in enumerate(question.situations):
            means = [
                values[:, index].mean(axis=0) if len(values) else np.full(values.shape[2], math.nan)
                for values in self.advice.values
            ]
            allowed = [
                i
                for i, row in enumerate(means)
                if np.isfinite(row).all()
                and all(limit.margin(value) >= 0 for limit, value in zip(question.bounds, row[1:], strict=True))
            ]
            leads = {
                i: sign * float(means[i][0]) if self.choice is None else self._lead(i, self.choice, index)
                for i in allowed
            }
            best = max(leads, key=leads.__getitem__, default=None)
            situations.append((fields, best, math.nan if best is None or self.choice is None else leads[best]))
        return situations

    def _lead(self, alternative: int, other: int, situation: int) -> float:
        """Returns by how much an alternative is better than another in one situation, over the replications of both."""
        sign = 1 if self.advice.question.maximise else -1
        count = min(len(self.advice.values[alternative]), len(self.advice.values[other]))
        of_choice, of_other = (self.advice.values[i][:count, situation, 0] for i in (alternative, other))
        return sign * float(of_choice.mean() - of_other.mean())

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
        after, why = selection.eliminated[alternative]
        if alternative in self.undefined:
            return f"{self.undefined[alternative]} has no value in run {after + 1}"
        if why == WORSE:
            return f"{self._eliminated(alternative)}, after {after} replications"
        bounds = self.advice.question.bounds
        means = zip(bounds, self.means[alternative][1:], strict=True)
        violated = [limit_text(limit) for limit, mean in means if limit is not bounds[why] and limit.margin(mean) < 0]
        also = f"; its mean also violates {' and '.join(violated)}" if violated else ""
        return f"violates {limit_text(bounds[why])}, after {after} replications{also}"
