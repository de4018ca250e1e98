"""Checked fields of JSON values and numbers in text: errors state the place, the value and what is accepted."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final

from longpipe.errors import ScenarioError, shown
from longpipe.inputs.numbers import scaled

# Largest accepted number: larger ones cannot be times, sizes or rates, and their products could overflow.
LARGEST: Final = 1e20
NS: Final = Fraction(10**9)


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


def rows(location: str, record: object, *names: str) -> list[Any]:
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


def decimal(written: str) -> float | None:
    """Converts text to a decimal number; returns None if it is not a number or the number is out of bounds."""
    value_ns = scaled(written, NS)
    return None if value_ns is None or abs(value_ns) > LARGEST * 1e9 else value_ns / 1e9


def unix_of_date(written: str | None) -> int | None:
    """Returns an ISO 8601 date as Unix time [ns], in UTC if it has no time zone; None if the text is not a date."""
    try:
        date = datetime.fromisoformat(written or "")
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    since = date - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86400 + since.seconds) * 10**6 + since.microseconds) * 1000
