"""Quantities on the command line: numbers in the unit that an option states, or numbers with a unit as in scenarios."""

from collections.abc import Callable
from typing import Final

import typer

# Spellings of the units of options whose values are plain numbers.
KILOMETRES: Final = ("km",)
DEGREES: Final = ("degrees", "degree", "deg", "\N{DEGREE SIGN}")
PACKETS: Final = ("packets", "packet")
_PERCENT: Final = "%"


def seconds(text: str) -> float:
    """Returns a time in seconds: "10", "10 s" or "250 ms"."""
    # Imported here so that other commands start faster.
    from longpipe.units import TIME

    if _is_number(text):
        return float(text)
    try:
        return TIME.parse(text) / 1e12
    except ValueError:
        raise typer.BadParameter("needs a number of seconds, or a time with its unit, as in '250 ms'") from None


def number_of_bytes(text: str) -> int:
    """Returns a number of bytes: "1500", "1500 B" or "9 KB"."""
    from longpipe.units import SIZE

    try:
        return SIZE.parse(text if not _is_number(text) else f"{text} B")
    except ValueError:
        raise typer.BadParameter("needs a number of bytes, or a size with its unit, as in '9 KB'") from None


def share(text: str) -> float:
    """Returns a share, which is not negative: "0.05" or "5 %"."""
    number, percent, rest = str(text).partition(_PERCENT)
    if not _is_number(number) or rest.strip() or float(number) < 0:
        raise typer.BadParameter("needs a number of at least 0, or a percentage, as in '5 %'")
    return float(number) / (100 if percent else 1)


def number_of(unit: tuple[str, ...]) -> Callable[[str], float]:
    """Returns a parser of numbers that may be followed by a unit, of which `unit` contains all spellings."""

    def number(text: str) -> float:
        """Returns the number."""
        words = str(text).strip()
        spelling = next((name for name in unit if words.endswith(name)), "")
        if not _is_number(written := words.removesuffix(spelling)):
            raise typer.BadParameter(f"needs a number of {unit[0]}")
        return float(written)

    return number


def whole_number_of(unit: tuple[str, ...]) -> Callable[[str], int]:
    """Returns a parser of whole numbers that may be followed by a unit, of which `unit` contains all spellings."""
    of_unit = number_of(unit)

    def number(text: str) -> int:
        """Returns the whole number."""
        try:
            value = of_unit(text)
        except typer.BadParameter:
            value = 0.5
        if not value.is_integer():
            raise typer.BadParameter(f"needs a whole number of {unit[0]}")
        return int(value)

    return number


def _is_number(text: str) -> bool:
    """Returns whether a text is a finite number."""
    try:
        return abs(float(text)) < float("inf")
    except ValueError:
        return False
