"""Selection of the best of several alternatives under limits: fully sequential, with common random numbers.

The comparison of objectives is procedure KN (Kim and Nelson 2001, ACM TOMACS 11(3)), that of a limited measure with its
limit is procedure F (Batur and Kim 2010, ACM TOMACS 20(3)). Both follow the sum of differences until it leaves a
triangular region. Common random numbers make the differences dependent, so the error allowance is shared by Bonferroni:
the answer is wrong only if the best alternative fails one of its s limits, or if one of the other k - 1 passes the
limit that it violates, or wins against the best. These are s + k - 1 events, each of probability at most
`error` / (s + k - 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

# Minimum number of replications before the first decision, because the variance of fewer replications is not a usable
# estimate.
FEWEST: Final = 3
# Reasons for an elimination other than the index of a limit: another alternative is better, or the objective has no
# value.
WORSE: Final = -1
NO_VALUE: Final = -2


class Elimination(NamedTuple):
    """The number of replications before an elimination, and its reason: the index of a limit, WORSE or NO_VALUE.

    An alternative is also eliminated because of a limit if the limited measure has no value.
    """

    replications: int
    reason: int


@dataclass(frozen=True)
class Allowances:
    """Parameters of a selection.

    `error` is the probability of a wrong selection, `zone` the indifference zone of the objective, `tolerances` those
    of the limited measures, and `first` the number of replications before the first decision.
    """

    error: float
    zone: float
    tolerances: tuple[float, ...] = ()
    first: int = 10


def continuation(alternatives: int, allowances: Allowances) -> float:
    """Returns h² of Kim and Nelson, with the constant c = 1, for the given number of alternatives."""
    events = alternatives - 1 + len(allowances.tolerances)
    freedom = allowances.first - 1
    eta = (math.pow(2 * allowances.error / max(events, 1), -2 / freedom) - 1) / 2
    # The value is negative if the error allowance is above one half; then any choice is acceptable.
    return max(2 * eta * freedom, 0.0)


@dataclass
class Selection:
    """A selection among `count` alternatives, which consumes one replication of each survivor at a time.

    An observation of an alternative is a row: the objective, of which the largest mean is the best, then for each limit
    the margin, which is negative if the replication violates the limit. Replication r of all alternatives has common
    random numbers.
    """

    count: int
    allowances: Allowances
    replications: int = 0
    alive: list[int] = field(init=False)
    eliminated: dict[int, Elimination] = field(default_factory=dict)
    _passed: set[tuple[int, int]] = field(default_factory=set)
    _rows: list[Numbers] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Starts with all alternatives and no replication."""
        if self.allowances.first < FEWEST:
            raise ValueError(f"first: {self.allowances.first}; needs at least {FEWEST}")
        self.alive = list(range(self.count))
        self._h2 = continuation(self.count, self.allowances)
        self._sums = np.zeros((self.count, 1 + len(self.allowances.tolerances)))
        # Whether the first of two alternatives won against the second; decisions are final.
        self._beats = np.zeros((self.count, self.count), dtype=bool)

    @property
    def done(self) -> bool:
        """Whether only one alternative is left and passes all limits, or none is left."""
        return not self.alive or (len(self.alive) == 1 and self._is_feasible(self.alive[0]))

    @property
    def choice(self) -> int | None:
        """The selected alternative; None if no alternative is left, or if the selection is not done."""
        return self.alive[0] if self.done and self.alive else None

    def add(self, rows: Mapping[int, Sequence[float] | Numbers]) -> None:
        """Adds one replication, with a row for each surviving alternative.

        Alternatives without a value are eliminated.
        """
        for alternative in tuple(self.alive):
            missing = [index for index, value in enumerate(rows[alternative]) if not math.isfinite(value)]
            if missing:
                self.alive.remove(alternative)
                reason = missing[0] - 1 if missing[0] else NO_VALUE
                self.eliminated[alternative] = Elimination(self.replications, reason)
        self.replications += 1
        for alternative in self.alive:
            self._sums[alternative] += rows[alternative]
        if self.replications <= self.allowances.first:
            row = np.full_like(self._sums, math.nan)
            for alternative in self.alive:
                row[alternative] = rows[alternative]
            self._rows.append(row)
        if self.replications == self.allowances.first:
            self._estimate()
        if self.replications >= self.allowances.first:
            self._screen()
            self._compare()
            self._eliminate()

    def _estimate(self) -> None:
        """Estimates the variances of margins and of differences of objectives from the first replications."""
        first = np.array(self._rows)
        objective = first[:, :, 0]
        with np.errstate(invalid="ignore"):
            covariance = np.atleast_2d(np.cov(objective, rowvar=False))
            variance = np.diag(covariance)
            # Rounding may leave a difference of equal variances slightly below zero.
            self._of_pairs = np.maximum(variance[:, None] + variance[None, :] - 2 * covariance, 0.0)
            self._of_margins = first[:, :, 1:].var(axis=0, ddof=1)

    def _bound(self, variance: Numbers, zone: float) -> Numbers:
        """Returns the half-width of the triangular continuation region of a sum."""
        return np.maximum(0.0, self._h2 * variance / (2 * zone) - zone * self.replications / 2)

    def _screen(self) -> None:
        """Eliminates alternatives that violate a limit, and records the limits that others certainly satisfy."""
        for alternative in tuple(self.alive):
            for limit, tolerance in enumerate(self.allowances.tolerances):
                if (alternative, limit) in self._passed:
                    continue
                bound = self._bound(self._of_margins[alternative, limit], tolerance)
                margin = self._sums[alternative, 1 + limit]
                if margin >= bound:
                    self._passed.add((alternative, limit))
                elif margin <= -bound:
                    self.alive.remove(alternative)
                    self.eliminated[alternative] = Elimination(self.replications, limit)
                    break

    def _compare(self) -> None:
        """Decides pairs of survivors whose sum of differences left the continuation region."""
        pairs = np.ix_(self.alive, self.alive)
        beats = self._beats[pairs]
        undecided = ~(beats | beats.T)
        objective = self._sums[self.alive, 0]
        lead = objective[:, None] - objective[None, :]
        bound = self._bound(self._of_pairs[pairs], self.allowances.zone)
        # If alternatives are equal, the first one wins.
        first = np.triu(undecided, 1) & (lead >= bound)
        second = np.tril(undecided, -1) & (lead >= bound) & ~first.T
        self._beats[pairs] = beats | first | second

    def _eliminate(self) -> None:
        """Eliminates alternatives that lost against one that passes all limits."""
        winners = [alternative for alternative in self.alive if self._is_feasible(alternative)]
        beaten = [alternative for alternative in self.alive if self._beats[winners, alternative].any()]
        if beaten and len(beaten) == len(self.alive):
            # Decisions at different times can form a cycle; the alternative with the best mean remains.
            beaten.remove(max(winners, key=lambda alternative: float(self._sums[alternative, 0])))
        for alternative in beaten:
            self.alive.remove(alternative)
            self.eliminated[alternative] = Elimination(self.replications, WORSE)

    def outlook(self, errors: float = 0.0) -> int:
        """Returns how many more observations, of all survivors together, the selection needs if means do not change.

        `errors` reduces each mean difference by that number of standard errors, which delays decisions; if it is
        negative, differences are larger. The number is at most that after which the continuation regions end.
        """
        if self.done or self.replications < self.allowances.first:
            return 0
        passing = [
            alternative for alternative in self.alive if self._sums[alternative, 1:].min(initial=0.0) >= 0
        ] or self.alive
        best = max(passing, key=lambda alternative: float(self._sums[alternative, 0]))
        until = {
            alternative: self._compared(best, alternative, errors) for alternative in self.alive if alternative != best
        }
        for alternative in until:
            for limit in range(len(self.allowances.tolerances)):
                if self._sums[alternative, 1 + limit] < 0:
                    until[alternative] = min(until[alternative], self._screened(alternative, limit, errors))
        limits = (limit for limit in range(len(self.allowances.tolerances)) if (best, limit) not in self._passed)
        until[best] = max([*until.values(), *(self._screened(best, limit, errors) for limit in limits)], default=0.0)
        return sum(max(1, math.ceil(last - self.replications)) for last in until.values())

    def _compared(self, best: int, other: int, errors: float) -> float:
        """Returns the replications after which `best` wins against another alternative."""
        return self._crossing(
            self._sums[best, 0] - self._sums[other, 0], self._of_pairs[best, other], self.allowances.zone, errors
        )

    def _screened(self, alternative: int, limit: int, errors: float) -> float:
        """Returns the number of replications after which an alternative passes or violates a limit."""
        return self._crossing(
            abs(self._sums[alternative, 1 + limit]),
            self._of_margins[alternative, limit],
            self.allowances.tolerances[limit],
            errors,
        )

    def _crossing(self, total: float, variance: float, zone: float, errors: float) -> float:
        """Returns the replications after which a sum that keeps its rate of growth leaves its continuation region."""
        drift = total / self.replications - errors * math.sqrt(variance / self.replications)
        return float(self._h2 * variance / (2 * zone) / (max(drift, 0.0) + zone / 2))

    def _is_feasible(self, alternative: int) -> bool:
        limits = range(len(self.allowances.tolerances))
        return self.replications >= self.allowances.first and all(
            (alternative, limit) in self._passed for limit in limits
        )
