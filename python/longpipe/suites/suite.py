"""What a suite consists of: parts, each a scenario with factors and what is measured of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longpipe.design import Design, Factor
from longpipe.errors import ScenarioError, nearest
from longpipe.scenario import Scenario

if TYPE_CHECKING:
    from longpipe.design.factor import Changes, Level

    Levels = Mapping[Level, Changes]


@dataclass(frozen=True)
class SuitePart:
    """A section of the document: number and title, fields of its scenario, factors with levels, measures by name."""

    id: str
    title: str
    base: Mapping[str, Any]
    factors: Mapping[str, Levels]
    measures: tuple[str, ...]
    # Where the document leaves something open, or longpipe has something else.
    note: str = ""

    def design(self, seeds: int, changes: Mapping[str, Any]) -> Design:
        """Every combination of levels with this many seeds, and with these fields changed in all of them."""
        factors = [Factor(name, levels) for name, levels in self.factors.items()]
        base = Scenario.model_validate(self.base).with_(**changes)
        return Design.full_factorial(base, factors, replications=seeds, measures=self.measures)


@dataclass(frozen=True)
class Suite:
    """A document's scenarios: what holds for all parts, and which of them longpipe can't have, and why."""

    id: str
    title: str
    conditions: str
    parts: tuple[SuitePart, ...]
    left_out: tuple[str, ...]
    seeds: int = 3

    def only(self, ids: list[str]) -> tuple[SuitePart, ...]:
        """The parts of these sections, all without any; ScenarioError for one that there is not."""
        known = {part.id: part for part in self.parts}
        for one in ids:
            if one not in known:
                raise ScenarioError(f"PART: {one!r}; {nearest(one, known)}")
        return tuple(known[one] for one in dict.fromkeys(ids)) or self.parts


def over(field: str, levels: Mapping[str, object]) -> Levels:
    """Levels of one field by name."""
    return {level: {field: value} for level, value in levels.items()}
