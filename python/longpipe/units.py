"""Quantities as text ("155.52 Mbit/s", "5 ms", "64 KiB") and as integers in base units, as the core uses them.

A quantity is a number and a unit. A number without a unit is rejected, because 1000 may be cells or bytes. Arithmetic
is exact: a quantity that is not an integer number of base units, apart from the error of a float, is also rejected. The
core reads and writes quantities (`crates/units`).
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Final

from longpipe import _core

UNLIMITED: Final = "unlimited"


class Dimension(_core.Dimension):
    """A kind of quantity: its units, each in base units, and the conversion of texts from and to integers."""

    @cached_property
    def units(self) -> Mapping[str, Fraction]:
        """Units in which longpipe writes quantities, each with its number of base units."""
        return {unit: Fraction(scale) for unit, scale in self.scales()}

    def split(self, text: str) -> tuple[Fraction, str]:
        """Returns the number and the canonical unit. Raises ValueError with the value and the accepted units."""
        number, unit = self.number_and_unit(text)
        return Fraction(number), unit


def seconds(time_ps: int) -> str:
    """Formats a time in seconds with six significant digits, for messages about times that longpipe computed."""
    return f"{time_ps / 1e12:.6g} s"


TIME: Final = Dimension("time")
RATE: Final = Dimension("rate")
SYMBOLS: Final = Dimension("symbols")
SIZE: Final = Dimension("size")
SEGMENTS: Final = Dimension("segments")
TICKS: Final = Dimension("ticks")
# A buffer given in packets, BDP or time has a size that depends on the rest of the scenario.
BUFFER: Final = Dimension("buffer")
