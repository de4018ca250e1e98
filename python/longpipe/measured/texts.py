"""Numbers and dates in text."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Final

from longpipe.inputs.numbers import scaled
from longpipe.measured.fields import LARGEST

NS_PER_SECOND: Final = Fraction(10**9)


def decimal(written: str) -> float | None:
    """Converts text to a decimal number; returns None if it is not a number or the number is out of bounds."""
    value_ns = scaled(written, NS_PER_SECOND)
    return None if value_ns is None or abs(value_ns) > LARGEST * NS_PER_SECOND else value_ns / 1e9


def unix_ns_of_date(written: str | None) -> int | None:
    """Returns an ISO 8601 date as Unix time [ns], in UTC if it has no time zone; None if the text is not a date."""
    try:
        date = datetime.fromisoformat(written or "")
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    since = date - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86400 + since.seconds) * 10**6 + since.microseconds) * 1000
