"""Tables of an answer: alternatives with their means, and runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from longpipe.advise.quantities import head, unit

if TYPE_CHECKING:
    from longpipe.advise.answer import Answer


def worse_by(answer: Answer) -> str:
    """Returns the name of the column with the differences from the choice."""
    goal_unit = unit(answer.advice.question.goal)
    return f"worse by [{goal_unit}]" if goal_unit else "worse by"


def alternatives(answer: Answer) -> pd.DataFrame:
    """Returns a row per alternative: the choice, the others within the limits, and the rest, each from best to worst.

    Columns: the factors, each measure's mean in its unit with the half-width of its 95 % interval, the mean difference
    by which the objective is worse than that of the choice over the seeds of both, with the half-width of its 95 %
    interval, `runs` (replications), `front` (whether no other alternative is better in all measures) and `result`. The
    means of alternatives with different numbers of replications are not comparable, but their differences from the
    choice are; therefore the order is that of the differences. Without a choice, there are no differences, and the
    order is that of the means.
    """
    question = answer.advice.question
    allowed = set(answer.allowed())
    sign = -1 if question.maximise else 1
    has_choice = answer.choice is not None

    def rank(alternative: int) -> tuple[bool, bool, float]:
        lost = answer.difference(alternative).mean if has_choice else sign * float(answer.means[alternative, 0])
        return alternative != answer.choice, alternative not in allowed, lost if lost == lost else float("inf")

    rows = []
    for alternative in sorted(range(len(answer.rows)), key=rank):
        row: dict[str, Any] = dict(question.levels(alternative))
        for index, measure in enumerate(question.measures):
            if head(measure) in row:
                continue
            row[head(measure)] = float(answer.means[alternative, index]) / measure.scale
            row[f"± {measure.name}"] = answer.half(alternative, index) / measure.scale
            if index == 0 and has_choice:
                difference = answer.difference(alternative)
                row[worse_by(answer)] = math.nan if alternative == answer.choice else difference.mean / measure.scale
                row["± worse by"] = (
                    math.nan if alternative == answer.choice else (difference.high - difference.low) / 2 / measure.scale
                )
        row["runs"] = len(answer.rows[alternative])
        row["front"] = "yes" if alternative in answer.front else ""
        row["result"] = answer.state(alternative)
        rows.append(row)
    return pd.DataFrame(rows)


def runs(answer: Answer) -> pd.DataFrame:
    """Returns a row per run: the factors, uncertain inputs, `seed`, and the measures in their base units."""
    question = answer.advice.question
    rows = []
    for alternative, values in enumerate(answer.advice.values):
        for replication, of_replication in enumerate(values):
            for situation, measured in zip(question.situations, of_replication, strict=True):
                row: dict[str, Any] = {**question.levels(alternative), **situation}
                row["seed"] = question.first_seed + replication
                row |= {measure.name: float(value) for measure, value in zip(question.measures, measured, strict=True)}
                rows.append(row)
    return pd.DataFrame(rows)
