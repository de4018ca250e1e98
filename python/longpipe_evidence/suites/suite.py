"""Data types of a suite and of its parts, which have a scenario, factors and measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longpipe.design import Design, Factor
from longpipe.errors import ScenarioError, nearest
from longpipe.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

    from longpipe.design.factor import Changes, Level

    Levels = Mapping[Level, Changes]


@dataclass(frozen=True)
class Criterion:
    """A proposed condition: the margin of each run, computed from a control's runs and CUBIC's, must not be negative.

    The rows of both frames correspond: they have the same point and the same seed. If there are no runs of CUBIC, both
    frames hold runs of the control.
    """

    section: str
    text: str
    margin: Callable[[pd.DataFrame, pd.DataFrame], pd.Series]


@dataclass(frozen=True)
class SuitePart:
    """A section of the document: number, title, scenario fields, factors with levels, and measures by name."""

    id: str
    title: str
    base: Mapping[str, Any]
    factors: Mapping[str, Levels]
    measures: tuple[str, ...]
    # Note on choices that the document leaves open, and on deviations.
    note: str = ""
    # Proposed conditions, if the part judges a congestion control.
    criteria: tuple[Criterion, ...] = ()
    # Whether the page shows rates, delays and losses over time.
    over_time: bool = False

    def design(self, seeds: int, changes: Mapping[str, Any]) -> Design:
        """Returns the full factorial design with `seeds` seeds, and with `changes` in every run."""
        factors = [Factor(name, levels) for name, levels in self.factors.items()]
        base = Scenario.model_validate(self.base).with_(**changes)
        return Design.full_factorial(base, factors, replications=seeds, measures=self.measures)


@dataclass(frozen=True)
class Suite:
    """The suite of a document: common settings, parts, and sections that longpipe cannot run, with reasons."""

    id: str
    title: str
    conditions: str
    parts: tuple[SuitePart, ...]
    left_out: tuple[str, ...]
    seeds: int = 3
    # Explanation of the conditions, if there are any, and of how they are judged.
    judgement: str = ""
    # Function that returns the suite for another congestion control, given by name or file; None if the suite does not
    # judge one.
    of_control: Callable[[str], Suite] | None = None

    def only(self, ids: list[str]) -> tuple[SuitePart, ...]:
        """Returns the parts for these sections (all if none is given); raises ScenarioError for an unknown section."""
        parts_by_id = {part.id: part for part in self.parts}
        for part_id in ids:
            if part_id not in parts_by_id:
                raise ScenarioError(f"PART: {part_id!r}; {nearest(part_id, parts_by_id)}")
        return tuple(parts_by_id[part] for part in dict.fromkeys(ids)) or self.parts


def over(field: str, levels: Mapping[str, object]) -> Levels:
    """Returns named levels of a single field."""
    return {level: {field: value} for level, value in levels.items()}
