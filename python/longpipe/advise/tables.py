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
    of = unit(answer.advice.question.goal)
    return f"worse by [{of}]" if of else "worse by"


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

    def rank(one: int) -> tuple[bool, bool, float]:
        lost = answer.difference(one).mean if has_choice else sign * float(answer.means[one, 0])
        return one != answer.choice, one not in allowed, lost if lost == lost else float("inf")

    rows = []
    for one in sorted(range(len(answer.rows)), key=rank):
        row: dict[str, Any] = dict(question.levels(one))
        for place, measure in enumerate(question.measures):
            if head(measure) in row:
                continue
            row[head(measure)] = float(answer.means[one, place]) / measure.scale
            row[f"± {measure.name}"] = answer.half(one, place) / measure.scale
            if place == 0 and has_choice:
                difference = answer.difference(one)
                row[worse_by(answer)] = math.nan if one == answer.choice else difference.mean / measure.scale
                row["± worse by"] = (
                    math.nan if one == answer.choice else (difference.high - difference.low) / 2 / measure.scale
                )
        row["runs"] = len(answer.rows[one])
        row["front"] = "yes" if one in answer.front else ""
        row["result"] = answer.state(one)
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
                row |= {one.name: float(value) for one, value in zip(question.measures, measured, strict=True)}
                rows.append(row)
    return pd.DataFrame(rows)
