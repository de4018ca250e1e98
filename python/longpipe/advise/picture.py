"""Picture of an `Advice`'s alternatives: the objective against each limited measure, with the Pareto front."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from longpipe.advise.quantities import head
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.style import BLUE, GREY, VERMILION, figure_of, legend, plain, title_of

if TYPE_CHECKING:
    from longpipe.advise.answer import Answer


@with_literal_texts
def front(answer: Answer) -> Figure:
    """Draws each alternative's objective with its interval, over each limited measure, or by rank if there are none."""
    question = answer.advice.question
    limits = question.bounds
    figure = figure_of(3.6, 8)
    axes = figure.subplots(1, max(1, len(limits)), sharey=True, squeeze=False)[0]
    goal = question.goal
    y = answer.means[:, 0] / goal.scale
    half = np.array([answer.half(i, 0) for i in range(len(y))]) / goal.scale
    is_measured = np.isfinite(answer.means).all(axis=1)
    of_front = np.array([i in answer.front for i in range(len(y))])
    order = np.argsort(np.argsort(-y if question.maximise else y))
    for index, panel in enumerate(axes):
        plain(panel)
        measure = question.measures[1 + index] if limits else None
        x = order + 1.0 if measure is None else answer.means[:, 1 + index] / measure.scale
        for chosen, color, label in (
            (is_measured & ~of_front, GREY, "others"),
            (is_measured & of_front, BLUE, "Pareto front"),
        ):
            if chosen.any():
                panel.errorbar(
                    x[chosen],
                    y[chosen],
                    yerr=np.nan_to_num(half[chosen]),
                    fmt="o",
                    ms=4,
                    lw=1,
                    color=color,
                    label=label,
                )
        if answer.choice is not None:
            at = (x[answer.choice], y[answer.choice])
            panel.plot(*at, "D", ms=9, mfc="none", mec=VERMILION, mew=1.8, label="choice", ls="")
        if measure is None:
            panel.set_xlabel("rank")
        else:
            panel.axvline(limits[index].limit / measure.scale, color=VERMILION, lw=1, ls="--", label="limit")
            panel.set_xlabel(head(measure))
    axes[0].set_ylabel(head(goal))
    legend(figure, axes[:1])
    title_of(figure, f"{question.base.name}: alternatives")
    return figure
