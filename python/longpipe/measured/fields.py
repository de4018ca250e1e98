"""Checked fields of JSON values: errors state the place, the value and what is accepted."""

from __future__ import annotations

from typing import Any, Final

from longpipe.errors import ScenarioError, shown

# Largest accepted number: larger ones cannot be times, sizes or rates, and their products could overflow.
LARGEST: Final = 1e20


def get(record: object, *names: str) -> Any:  # noqa: ANN401 - any value
    """Returns the value at a path of nested fields; None if one of them is absent."""
    value: Any = record
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def optional(location: str, record: object, *names: str) -> float | None:
    """Returns the number at a path of nested fields; None if it is absent or null.

    Raises ScenarioError for anything else.
    """
    value = get(record, *names)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise ScenarioError(f"{location}.{'.'.join(names)}: {shown(value)}; needs a number")
    return float(value)


def number(location: str, record: object, *names: str) -> float:
    """Returns the number at a path of nested fields. Raises ScenarioError if it is absent or not a number."""
    value = optional(location, record, *names)
    if value is None:
        raise ScenarioError(f"{location}.{'.'.join(names)}: missing; needs a number")
    return value


def items(location: str, record: object, *names: str) -> list[Any]:
    """Returns the list at a path of nested fields. Raises ScenarioError if it is absent or not a list."""
    value = get(record, *names)
    if not isinstance(value, list):
        description = "missing" if value is None else shown(value)
        raise ScenarioError(f"{location}.{'.'.join(names)}: {description}; needs a list")
    return value


def text(record: object, *names: str) -> str | None:
    """Returns the text at a path of nested fields; None if it is absent or not a text."""
    value = get(record, *names)
    return value if isinstance(value, str) else None
