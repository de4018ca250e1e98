"""Sentences of `longpipe advise`: the choice, its confidence, and what would change it, for terminal and page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from longpipe.advise import sensitivity
from longpipe.advise.certifying import certifying_zone
from longpipe.advise.quantities import limit_text, shown, unit
from longpipe.advise.question import tolerance
from longpipe.advise.theory import rules
from longpipe.cautions.overload import overloads
from longpipe.report.parts import number, with_margin

if TYPE_CHECKING:
    from longpipe.advise.answer import Answer, Difference

# Title of the alternatives that `equal` yields.
EQUAL: Final = (
    "Equal to the choice, or certainly worse by less than the indifference zone (upper 95 % limits of the differences, "
    "not means)"
)


def levels(answer: Answer, alternative: int) -> str:
    """Returns the levels of an alternative: "queue fq-codel, buffer 1 BDP"."""
    levels_by_name = answer.advice.question.levels(alternative)
    return ", ".join(f"{name} {level}" for name, level in levels_by_name.items())


def headline(answer: Answer) -> str:
    """Returns the choice with its measures, or the reason why there is none."""
    question = answer.advice.question
    if answer.choice is None:
        return _no_choice(answer)
    measured = []
    for index, measure in enumerate(question.measures):
        half = answer.half(answer.choice, index)
        mean = with_margin(float(answer.means[answer.choice, index]) / measure.scale, half / measure.scale, 3)
        measured.append(f"{measure.name} {mean} {unit(measure)}".rstrip())
    return f"{levels(answer, answer.choice)}: {', '.join(dict.fromkeys(measured))}"


def _no_choice(answer: Answer) -> str:
    """Returns the reason why there is no choice."""
    if not answer.certified:
        return "No choice: when the selection ended, no alternative had values in all runs and means within the limits."
    limits = " and ".join(map(limit_text, answer.advice.question.bounds))
    count = len(answer.rows)
    if not answer.undefined:
        return f"No alternative satisfies {limits}."
    text = "No choice: " + " and ".join(
        f"{name} has no value in some run of {alternatives} of {count} alternatives"
        for name, alternatives in Counter(answer.undefined.values()).items()
    )
    if len(answer.undefined) < count:
        text += f"; none of the others satisfies {limits}"
    scenarios = answer.advice.question.design.scenarios
    above = next(
        (line for alternative in answer.undefined for line in overloads(scenarios[alternative].resolved)), None
    )
    return f"{text}. {above or 'A longer duration or another measure may have values in all runs'}."


def acceptable(answer: Answer) -> str:
    """Returns the predicate of an alternative that could be chosen, as in "no alternative satisfies the limits"."""
    return "has values in all runs and satisfies the limits" if answer.undefined else "satisfies the limits"


def confidence(answer: Answer, *, stored: bool = True) -> str:
    """Returns the confidence of the choice and its maximum shortfall; `stored` is true if runs are kept."""
    text = _selection(answer, stored=stored)
    if answer.choice is None:
        return text
    if math.isnan(answer.cost):
        return f"{text} The maximum loss is unknown: it needs two replications of each alternative."
    if not answer.is_bounded:
        text += " The runs are too few to bound how much worse than another alternative it is."
        return text if answer.certified else text + _certifying(answer)
    goal = answer.advice.question.goal
    worst = f"{shown(goal, answer.cost)} worse than another" if answer.cost else "no worse than any other"
    text += f" At worst it is {worst} alternative (one-sided, simultaneous {_confidence_level(answer)} limits)."
    return text if answer.certified else text + _evidence(answer)


def _confidence_level(answer: Answer) -> str:
    """Returns the confidence level of the question in percent."""
    return f"{100 * (1 - answer.advice.question.error):g} %"


def _selection(answer: Answer, *, stored: bool) -> str:
    """Returns what the selection has certified, or why it ended before, and how to continue."""
    advice = answer.advice
    if answer.certified:
        return _certified(answer)
    end = f"the budget of {advice.budget} ended" if advice.budget else "the maximum of replications was reached"
    progress = f"after {advice.runs} runs" if answer.choice is None else _progress(answer)
    return f"Not certified: {end} {progress}; {_continuation(answer, stored=stored)}"


def _certified(answer: Answer) -> str:
    """Returns what is certain of the choice, or of all alternatives if none satisfies the limits."""
    question = answer.advice.question
    text = f"With {_confidence_level(answer)} confidence"
    if answer.choice is not None:
        satisfying = " that satisfy the limits" if question.bounds else ""
        zone = shown(question.goal, answer.advice.zone)
        best = f"the best of {len(answer.rows)} alternatives{satisfying}"
        return f"{text}: {best}, or within {zone} of the best (the indifference zone)."
    violating = len(answer.rows) - len(answer.undefined)
    if not violating:
        return "Every alternative was eliminated after its first run without a value, whatever the limits."
    other = "other " if answer.undefined else ""
    which = f"the {other}alternative" if violating == 1 else f"each of {violating} {other}alternatives"
    return f"{text}: {which} violates a limit by more than its tolerance."


def _evidence(answer: Answer) -> str:
    """Returns why limits after a number of runs certify nothing, and the zone with which the runs would suffice."""
    return (
        " These limits certify nothing: the selection compares after each replication and may stop after any, which "
        f"needs more evidence than limits after a fixed number of runs.{_certifying(answer)}"
    )


def _certifying(answer: Answer) -> str:
    """Returns the zone with which the runs would suffice; "" before the first comparison."""
    if answer.advice.selection is None:
        return ""
    certifying = certifying_zone(answer)
    if certifying is None:
        return (
            " No --zone would certify an answer with these runs, because a limit is undecided; a larger --tolerance "
            "decides it sooner."
        )
    zone, choice = certifying
    goal = answer.advice.question.goal
    value = f"{float(f'{zone / goal.scale:.2e}'):g} {unit(goal)}".rstrip()
    which = "no choice" if choice is None else "the same choice" if choice == answer.choice else levels(answer, choice)
    return f" With a zone of {value} (--zone '{value}'), these runs certify {which}."


def _progress(answer: Answer) -> str:
    """Returns how far the selection got."""
    selection, count = answer.advice.selection, len(answer.rows)
    if selection is None:
        first = answer.advice.question.first
        return f"before each of {count} alternatives had the {first} replications after which the comparison begins"
    return f"with {len(selection.alive)} of {count} alternatives left"


def _continuation(answer: Answer, *, stored: bool) -> str:
    """Returns a suggestion of what to do after the budget is spent."""
    if not answer.advice.budget:
        return "a larger --zone needs fewer replications."
    if stored:
        return "the same command with a larger --budget continues from these runs."
    return "--no-store kept none of these runs: repeat the command with a larger --budget, or without --no-store."


def legend(answer: Answer) -> str:
    """Returns an explanation of the columns of the table of alternatives."""
    text = "±: half of the two-sided 95 % interval of this value alone."
    if answer.choice is not None:
        text += (
            " worse by: mean difference from the choice over the seeds of both; means themselves are comparable only "
            "if the numbers of runs are equal."
        )
    states = [answer.state(alternative) for alternative in range(len(answer.rows))]
    if any(state.startswith(("worse, ", "not better, ", "equal, ", "violates ")) for state in states):
        text += " worse, not better, equal, or violates a limit, after n replications: eliminated then."
    if any(state.startswith("not better, ") for state in states):
        text += " not better: the interval of the difference includes 0."
    if any(state.startswith("equal, ") for state in states):
        text += " equal: the same value as the choice in every run."
    if "undecided" in states:
        text += " undecided: not eliminated when the runs ended."
    return text


def runner_up(answer: Answer) -> str:
    """Returns the second best alternative, and the difference by which it is worse."""
    second = answer.runner_up
    if second is None:
        return f"No other alternative {acceptable(answer)}."
    return f"{levels(answer, second.alternative)}: {worse(answer, second)}"


def equal(answer: Answer) -> Iterator[str]:
    """Yields the other alternatives that are certainly worse by less than the zone, with limited measures."""
    question = answer.advice.question
    for other in answer.equal:
        limited = [
            f"{measure.name} {shown(measure, float(answer.means[other.alternative, index]))}"
            for index, measure in enumerate(question.measures)
            if index
        ]
        yield f"{levels(answer, other.alternative)}" + (f": {', '.join(limited)}" if limited else "")


def worse(answer: Answer, difference: Difference) -> str:
    """Returns the difference by which an alternative is worse than the choice, with its interval."""
    goal = answer.advice.question.goal
    mean, low, high = (number(value / goal.scale) for value in (difference.mean, difference.low, difference.high))
    if difference.alternative == answer.choice:
        return "the choice"
    # Differences that round to zero stem from the order of additions.
    if mean == low == high == "0":
        return "equal in every run"
    interval = "" if math.isnan(difference.low) else f" ({low} to {high})"
    unit_text = f" {unit(goal)}" if unit(goal) else ""
    if difference.mean < 0:
        return f"better by {mean[1:]}{interval}{unit_text}, undecided"
    return f"worse by {mean}{interval}{unit_text}" + (", perhaps equal" if difference.low <= 0 else "")


def changes(answer: Answer) -> Iterator[str]:
    """Yields the factors, limits and uncertain inputs that would change the answer."""
    if answer.choice is not None:
        yield from _factors(answer)
        yield from _limits(answer)
        yield from _situations(answer)


def _factors(answer: Answer) -> Iterator[str]:
    """Yields a line per factor of which other levels cost something: its share of the variation, and the costs."""
    for effect in sensitivity.effects(answer):
        costs = []
        for level, best in effect.best:
            if best is None:
                costs.append(f"{level}: none {acceptable(answer)}")
            elif best.alternative != answer.choice:
                costs.append(f"{level}: {worse(answer, best)}")
        share = "" if math.isnan(effect.share) else f" explains {100 * effect.share:.0f} % of the variation"
        if costs:
            yield f"{effect.factor}{share}; the best with {'; '.join(costs)}"


def _limits(answer: Answer) -> Iterator[str]:
    """Yields a line per change of a limit that would change the choice."""
    for shift in sensitivity.shifts(answer):
        if shift.choice != answer.choice:
            other = "no alternative" if shift.choice is None else levels(answer, shift.choice)
            yield f"with {shift.limit}: {other}, according to the means"


def _situations(answer: Answer) -> Iterator[str]:
    """Yields the situations without an acceptable alternative, and the one in which the choice loses most."""
    situations = sensitivity.compared_situations(answer)
    for situation in situations:
        if situation.best is None:
            yield f"at {_fields(situation.fields)} no alternative {acceptable(answer)}"
    losing = [situation for situation in situations if situation.loss > 0]
    if losing:
        worst = max(losing, key=lambda situation: situation.loss)
        loss = shown(answer.advice.question.goal, worst.loss)
        against = "" if worst.best is None else f" against {levels(answer, worst.best)}"
        yield f"the largest loss is at {_fields(worst.fields)}: {loss}{against}"


def _fields(fields: dict[str, object]) -> str:
    """Returns the values of fields as text."""
    return ", ".join(f"{name} {value}" for name, value in fields.items())


def theory(answer: Answer) -> Iterator[str]:
    """Yields the results of closed forms for the choice."""
    if answer.choice is not None:
        yield from rules(answer.advice.question.design.scenarios[answer.choice])


def conditions(answer: Answer) -> Iterator[str]:
    """Yields the assumptions of the question: the grid, the indifference zone, tolerances, situations and seeds."""
    advice = answer.advice
    question = advice.question
    best = "maximise" if question.maximise else "minimise"
    yield f"{best} the mean {question.goal.name}" + (
        f", subject to {' and '.join(f'mean {limit_text(limit)}' for limit in question.bounds)}"
        if question.bounds
        else ""
    )
    for factor in question.factors:
        yield f"{factor.name}: {', '.join(map(str, factor.levels))}"
    if question.uncertain:
        over = {"worst": "the worst", "mean": "the mean"}.get(question.over, f"the value that {question.over} reach")
        yield f"of {len(question.situations)} situations with each seed; {over} is used"
        for uncertain in question.uncertain:
            low, high = (uncertain.range.value(end) for end in (uncertain.range.low, uncertain.range.high))
            yield f"{uncertain.field}: {low} to {high}, uncertain"
    if not math.isnan(advice.zone):
        yield f"indifference zone of {question.goal.name}: {shown(question.goal, advice.zone)}"
    for limit in question.bounds:
        yield f"tolerance of {limit_text(limit)}: {shown(limit.measure, tolerance(limit, question.tolerance))}"
    replications = max(map(len, answer.rows), default=0)
    last = question.first_seed + replications - 1
    yield f"{advice.runs} runs: seeds {question.first_seed} to {last}, the same for all alternatives"
