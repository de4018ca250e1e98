"""The outcome of an attack in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from longpipe.advise.quantities import unit
from longpipe.analysis.intervals import estimate
from longpipe.attack.attack import shows
from longpipe.attack.varied import changes
from longpipe.report.parts import number
from longpipe.scenario.short_file import inline_toml

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.attack.attack import Attack
    from longpipe.attack.defect import Defect, Side

# Maximum number of failed runs and invalid candidates that are shown.
MAX_PROBLEMS = 3


def headline(attack: Attack) -> str:
    """Returns whether a scenario with the defect was found, and whether it was confirmed."""
    target = attack.target
    names = f"{target.control.name} compared with the reference {target.reference.name}"
    if not attack.found and attack.unconfirmed:
        ended = "the budget ended" if attack.spent else "it was interrupted"
        defects = " and ".join(defect.text for defect in target.defects)
        return f"Not confirmed, {ended} before: {defects} for {names}, with the seeds of the search."
    if not attack.found:
        return f"No scenario found in which {' and '.join(defect.text for defect in target.defects)}: {names}."
    return f"Found: {' and '.join(defect.text for defect in target.defects)} for {names}."


def fields(attack: Attack) -> Iterator[str]:
    """Yields the fields that differ from the base scenario."""
    changed = changes(attack.target.varied, attack.setting or {})
    if not changed:
        yield f"the base scenario {attack.target.base.name}, unchanged"
    for name, value in changed.items():
        yield f"{name} = {inline_toml(value)}"


def numbers(attack: Attack) -> Iterator[str]:
    """Yields both sides of each comparison with their 95 % intervals over the seeds of the answer."""
    if attack.measured is None:
        return
    for index, defect in enumerate(attack.target.defects):
        values = attack.measured[:, index]
        times = sum(defect.holds(*sides) for sides in values)
        yield f"{defect.text}: {_sides(defect, values)}; in {times} of {len(values)} runs"


def certainty(attack: Attack) -> str:
    """Returns how certain the defect is, judged by the intervals of the differences between both sides."""
    if attack.measured is None:
        return "Interrupted: the numbers of the answer are missing; the same command continues."
    if not attack.found and not attack.unconfirmed:
        return "These are the numbers of the nearest candidate."
    if not shows(attack.target, attack.measured.mean(axis=0)):
        times = sum(shows(attack.target, of_seed) for of_seed in attack.measured)
        return f"By chance: it shows in {times} of {len(attack.measured)} runs, and not on average."
    if len(attack.measured) < 2:
        return "One seed gives no interval; use --seeds 10."
    sure = all(is_certain(defect, attack.measured[:, index]) for index, defect in enumerate(attack.target.defects))
    return (
        "Certain at 95 %, for each comparison."
        if sure
        else "Not certain at 95 %; a larger --seeds narrows the intervals."
    )


def is_certain(defect: Defect, values: NDArray[Any]) -> bool:
    """Returns whether the 95 % interval of the difference between both sides, by seed, satisfies the comparison."""
    difference = estimate(values[:, 0] - values[:, 1])
    return defect.holds(difference.mean_high if defect.sign in ("<", "<=") else difference.mean_low, 0.0)


def effort(attack: Attack) -> Iterator[str]:
    """Yields the extent of the search, and the reason why it ended."""
    runs = attack.trials.runs
    if attack.found:
        why = "the budget ended" if attack.spent else "it was interrupted"
        reduced = "no single field can return to its base value" if attack.reduced else f"not fully reduced, {why}"
        yield f"{attack.candidates} candidates, found after {attack.runs_to_find} of {runs} runs; {reduced}"
    else:
        why = "interrupted" if not attack.ended else "all candidates are known" if not attack.spent else "budget spent"
        yield f"{attack.candidates} candidates, {runs} runs; {why}"
    for what, problems in (("failed run", attack.trials.failures), ("invalid candidate", attack.trials.invalid)):
        unique = list(dict.fromkeys(problems))
        if unique:
            yield f"{len(unique)} {what}{'s' if len(unique) > 1 else ''}: {'; '.join(unique[:MAX_PROBLEMS])}"


def table(attack: Attack) -> pd.DataFrame:
    """Returns a row per seed of the answer with both sides of each comparison, in base units."""
    rows: list[dict[str, Any]] = []
    for seed, values in zip(
        attack.target.answer_seeds, [] if attack.measured is None else attack.measured, strict=False
    ):
        row: dict[str, Any] = {"seed": seed}
        for defect, (left, right) in zip(attack.target.defects, values, strict=True):
            row |= {side.text: value for side, value in ((defect.left, left), (defect.right, right)) if side.measure}
        rows.append(row)
    return pd.DataFrame(rows)


def _sides(defect: Defect, values: NDArray[Any]) -> str:
    sides = [(defect.left, values[:, 0]), (defect.right, values[:, 1])]
    return ", ".join(f"{side.text} {_interval(side, of)}" for side, of in sides if side.measure is not None)


def _interval(side: Side, values: NDArray[Any]) -> str:
    """Returns the mean of a side's values with its 95 % interval and unit; "" if the side has no measure."""
    measure = side.measure
    if measure is None:
        return ""
    scale = measure.scale * measure.factor
    mean_estimate = estimate(values)
    mean, low, high = (
        number(bound / scale) for bound in (mean_estimate.mean, mean_estimate.mean_low, mean_estimate.mean_high)
    )
    unit_text = f" {unit(measure)}" if unit(measure) else ""
    return f"{mean}{unit_text}" if len(values) < 2 else f"{mean} ({low} to {high}){unit_text}"
