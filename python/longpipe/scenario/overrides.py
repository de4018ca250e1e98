"""Fields of a scenario that have no effect because every group or flow sets its own value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from longpipe.scenario import Scenario

# Parts of a scenario that groups and flows replace as a whole; of `tcp` they replace single fields.
_REPLACED: Final = ("traffic", "start", "stop")


def overridden_fields(scenario: Scenario, fields: Iterable[str]) -> list[str]:
    """Returns a line, as `overridden` does, for each of the fields that has no effect; duplicates count once."""
    return [line for field in dict.fromkeys(fields) if (line := overridden(scenario, field)) is not None]


def overridden(scenario: Scenario, field: str) -> str | None:
    """Returns why a field has no effect, with the fields to use instead; None if a group or flow uses the field."""
    first, *rest = field.split(".")
    if first in _REPLACED:
        names = [first]
    elif first == "tcp" and rest:
        names = [first, rest[0]]
    else:
        return None
    network = scenario.network.model_dump(by_alias=True, exclude_none=True)
    what, key = ("group", "group") if network["kind"] == "dumbbell" else ("flow", "flows")
    owners = network.get(key) or ()
    if not owners or not all(_has(owner, names) for owner in owners):
        return None
    paths = [f"network.{key}.{i}.{field}" for i in range(min(len(owners), 2))]
    more = ", ..." if len(owners) > len(paths) else ""
    return f"{field}: no effect, because every {what} sets its own; use {', '.join(paths)}{more}"


def is_within(field: str, part: str) -> bool:
    """Returns whether a field is `part` itself, or a field in this part of a scenario; both are dotted."""
    return f"{field}.".startswith(f"{part}.")


def _has(owner: Any, names: list[str]) -> bool:  # noqa: ANN401 - a table of fields
    for name in names:
        if not isinstance(owner, dict) or name not in owner:
            return False
        owner = owner[name]
    return True
