"""Tables of an answer: alternatives with their means, and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from longpipe.advise.quantities import head

if TYPE_CHECKING:
    from longpipe.advise.answer import Answer


def alternatives(answer: Answer) -> pd.DataFrame:
    """Returns a row per alternative: the choice, the others within the limits, and the rest, each sorted by the mean.

    Columns: the factors, each measure's mean in its unit with the half-width of its 95 % interval, `runs`
    (replications), `front` (whether no other alternative is better in all measures) and `result`.
    """
    question = answer.advice.question
    allowed = set(answer.allowed())
    sign = -1 if question.maximise else 1
    order = sorted(
        range(len(answer.rows)),
        key=lambda i: (
            i != answer.choice,
            i not in allowed,
            sign * float(answer.means[i, 0]) if answer.means[i, 0] == answer.means[i, 0] else float("inf"),
        ),
    )
    rows = []
    for one in order:
        row: dict[str, Any] = dict(question.levels(one))
        for place, measure in enumerate(question.measures):
            if head(measure) in row:
                continue
            row[head(measure)] = float(answer.means[one, place]) / measure.scale
            row[f"± {measure.name}"] = answer.half(one, place) / measure.scale
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
