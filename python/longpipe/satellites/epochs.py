"""Times of a calendar, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

from longpipe.errors import ScenarioError, shown


def utc(where: str, text: str) -> datetime:
    """Returns the time of an ISO 8601 text, in UTC unless it names another zone.

    Raises ScenarioError, naming `where`, for another text.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ScenarioError(f"{where}: {shown(text)}; needs a date and time, as in 2026-11-22T12:00") from None
    return found.replace(tzinfo=found.tzinfo or UTC)
