"""Parses calendar dates and times, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from longpipe.errors import ScenarioError, shown

# Epoch of shells, at which the first satellite of the first orbit is at its ascending node.
EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_PS_PER_US: Final = 10**6


def utc(location: str, text: str) -> datetime:
    """Returns the time, in UTC, that an ISO 8601 text states; a text without a time zone is in UTC.

    For any other text, raises a ScenarioError that names `where`.
    """
    try:
        return _parsed(text)
    except (ValueError, OverflowError):
        raise ScenarioError(f"{location}: {shown(text)}; needs a date and time, as in 2026-11-22T12:00") from None


def instant_of_shell(text: str) -> datetime:
    """Returns the time, in UTC, that an ISO 8601 text states; a text without a time zone is in UTC.

    For any other text, raises a ValueError that names both ways to state a time over a shell.
    """
    try:
        return _parsed(text)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{shown(text)}; needs a time after the shell's epoch, {EPOCH:%Y-%m-%dT%H:%M:%S}, as in '60 s', or a date "
            "and time in UTC, as in 2000-01-01T00:01"
        ) from None


def after_epoch_ps(instant: datetime) -> int:
    """Returns a time as the time [ps] after the epoch of shells; negative if it is earlier."""
    return (instant - EPOCH) // timedelta(microseconds=1) * _PS_PER_US


def in_utc(instant: datetime) -> datetime:
    """Returns a time in UTC; a time without a time zone is in UTC."""
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


def _parsed(text: str) -> datetime:
    return in_utc(datetime.fromisoformat(text))
