"""Parses numbers in text files, exactly and in bounded time: 5000 digits or an exponent of 99999999 are rejected."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

# Sign, digits before and after the point, and exponent.
_NUMBER: Final = re.compile(r"([+-]?)([0-9]{0,40})(?:\.([0-9]{0,40}))?(?:[eE]([+-]?[0-9]{1,3}))?")

_WHOLE: Final = re.compile("[0-9]{1,40}")
_UNIX_TIME: Final = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?")
_COMMA: Final = re.compile(r"[+-]?[0-9]{1,40},[0-9]{1,40}(?![0-9.,])")


def parts(text: str) -> tuple[int, int] | None:
    """Returns a decimal number as an integer and a decimal exponent; None for any other text."""
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return None
    digits, decimals = match[2], match[3] or ""
    integer = int(digits + decimals)
    return -integer if match[1] == "-" else integer, int(match[4] or 0) - len(decimals)


def whole_number(text: str) -> int | None:
    """Returns a whole number without a sign; None for any other text."""
    return int(text) if _WHOLE.fullmatch(text) else None


def decimal_comma(text: str) -> str:
    """Returns a clause about the comma of a rejected number such as "1,5" or "1,5 Mbit/s", or ""."""
    return ", whose decimals need a point instead of a comma" if _COMMA.match(text.strip()) else ""


def exact(text: str) -> Fraction | None:
    """Returns a decimal number as an exact fraction; None for any other text."""
    decimal_parts = parts(text)
    if decimal_parts is None:
        return None
    integer, exponent = decimal_parts
    return Fraction(integer * 10**exponent) if exponent >= 0 else Fraction(integer, 10**-exponent)


def is_time(ns: int) -> bool:
    """Returns whether a time [ns] fits into 64 bits: it is at most 292 years from 1970."""
    return abs(ns) < 1 << 63


def unix_ns(text: str) -> int | None:
    """Converts a Unix time to ns from s, ms, us or ns, which are distinguished by magnitude.

    Returns None if the text is not a number.
    """
    if not _UNIX_TIME.fullmatch(text):
        return None
    # The present time has 10 digits in s, 13 in ms, 16 in us and 19 in ns.
    digits = len(text.partition(".")[0])
    power = 9 if digits <= 11 else 6 if digits <= 14 else 3 if digits <= 17 else 0
    return scaled(text, Fraction(10**power))


def scaled(text: str, scale: Fraction) -> int | None:
    """Returns a decimal number times `scale`, rounded half to even as `round` does; None for any other text.

    The result equals `round(exact(text) * scale)` and takes a third of the time, which matters for files with a million
    rows.
    """
    decimal_parts = parts(text)
    if decimal_parts is None:
        return None
    integer, exponent = decimal_parts
    numerator, denominator = integer * scale.numerator, scale.denominator
    if exponent >= 0:
        numerator *= 10**exponent
    else:
        denominator *= 10**-exponent
    quotient, remainder = divmod(numerator, denominator)
    return quotient + (2 * remainder > denominator or (2 * remainder == denominator and quotient % 2 == 1))
