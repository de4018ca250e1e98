"""Fields of a design's base scenario that have no effect, because a factor, or every group or flow, sets them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longpipe.scenario.overrides import is_within, overridden

if TYPE_CHECKING:
    from longpipe.design.design import Design
    from longpipe.design.factor import Factor


def ineffective(design: Design, field: str) -> str | None:
    """Returns why a field of the base scenario has no effect at any point; None if it has one at some point."""
    for factor in design.factors:
        if _sets(factor, field):
            return f"{field}: no effect, because the factor {factor.name!r} sets it at every level"
    lines = [overridden(scenario, field) for scenario in design.scenarios]
    return lines[0] if all(lines) else None


def _sets(factor: Factor, field: str) -> bool:
    """Returns whether every level of a factor sets a field, or a table that contains the field."""
    return all(any(is_within(field, change) for change in changes) for changes in factor.levels.values())
