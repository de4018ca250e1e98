"""Sensitivity of an answer: effects of the factors, of changed limits, and of uncertain inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.advise.quantities import is_share, limit_text

if TYPE_CHECKING:
    from longpipe.advise.answer import Answer, Difference

# Relative change of a limit, in both directions, that tests whether the limit affects the choice.
SHIFT: Final = 0.1


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


@dataclass(frozen=True)
class Situation:
    """A situation: its fields, the best alternative within the limits, and how much worse the choice is (or nan)."""

    fields: dict[str, object]
    best: int | None
    loss: float


def effects(answer: Answer) -> list[Effect]:
    """Returns, for each factor, its share of the variation of the objective, and what each of its levels costs."""
    question = answer.advice.question
    measured = [i for i in range(len(answer.rows)) if math.isfinite(answer.means[i, 0])]
    objective = answer.means[measured, 0]
    total = float(((objective - objective.mean()) ** 2).sum()) if measured else 0.0
    allowed = answer.allowed()
    factor_effects = []
    for index, factor in enumerate(question.factors):
        level_of = {i: question.design.points[i][index] for i in range(len(answer.rows))}
        between = 0.0
        best: list[tuple[object, Difference | None]] = []
        for level in factor.levels:
            of_level = [answer.means[i, 0] for i in measured if level_of[i] == level]
            if of_level:
                between += len(of_level) * float((np.mean(of_level) - objective.mean()) ** 2)
            closest = answer.closest(i for i in allowed if level_of[i] == level)
            best.append((level, None if closest is None or answer.choice is None else answer.difference(closest)))
        factor_effects.append(Effect(factor.name, between / total if total else math.nan, tuple(best)))
    return sorted(factor_effects, key=lambda effect: 0.0 if math.isnan(effect.share) else -effect.share)


def shifts(answer: Answer) -> list[Shift]:
    """Returns the choice, according to means, with each limit tightened and loosened by a tenth."""
    bounds = answer.advice.question.bounds
    shifted_choices = []
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
            choice = answer.closest(i for i in range(len(answer.rows)) if answer.within(i, changed))
            shifted_choices.append(Shift(limit_text(other), choice))
    return shifted_choices


def compared_situations(answer: Answer) -> list[Situation]:
    """Returns the situations of a question with uncertain inputs, each with its best alternative.

    Limits are checked with means over the replications of the situation; objectives are compared with that of the
    choice over the replications of both, or by their means if there is no choice.
    """
    question = answer.advice.question
    if not question.uncertain:
        return []
    sign = 1 if question.maximise else -1
    compared = []
    for index, fields in enumerate(question.situations):
        means = [
            values[:, index].mean(axis=0) if len(values) else np.full(values.shape[2], math.nan)
            for values in answer.advice.values
        ]
        allowed = [
            i
            for i, row in enumerate(means)
            if np.isfinite(row).all()
            and all(limit.margin(value) >= 0 for limit, value in zip(question.bounds, row[1:], strict=True))
        ]
        leads = {
            i: sign * float(means[i][0]) if answer.choice is None else _lead(answer, i, answer.choice, index)
            for i in allowed
        }
        best = max(leads, key=leads.__getitem__, default=None)
        loss = math.nan if best is None or answer.choice is None else leads[best]
        compared.append(Situation(fields, best, loss))
    return compared


def _lead(answer: Answer, alternative: int, other: int, situation: int) -> float:
    """Returns by how much an alternative is better than another in one situation, over the replications of both."""
    sign = 1 if answer.advice.question.maximise else -1
    count = min(len(answer.advice.values[alternative]), len(answer.advice.values[other]))
    values, other_values = (answer.advice.values[i][:count, situation, 0] for i in (alternative, other))
    return sign * float(values.mean() - other_values.mean())
