"""Times of a calendar, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

from longpipe.errors import ScenarioError, shown


def utc(where: str, text: str) -> datetime:
    """Returns the time of an ISO 8601 text in UTC, which is also the default for a text without a time zone.

    For any other text, raises ScenarioError that names `where`.
    """
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ScenarioError(f"{where}: {shown(text)}; needs a date and time, as in 2026-11-22T12:00") from None
