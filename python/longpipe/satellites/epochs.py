"""Parses calendar dates and times, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

from longpipe.errors import ScenarioError, shown


def utc(where: str, text: str) -> datetime:
    """Returns the time, in UTC, that an ISO 8601 text states; a text without a time zone is in UTC.

    For any other text, raises a ScenarioError that names `where`.
    """
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ScenarioError(f"{where}: {shown(text)}; needs a date and time, as in 2026-11-22T12:00") from None
