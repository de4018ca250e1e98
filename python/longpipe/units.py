"""Quantities as text ("155.52 Mbit/s", "5 ms", "64 KiB") and as integers in base units, as the core uses them.

A quantity is a number and a unit. A number without a unit is rejected, because 1000 may be cells or bytes. Arithmetic
is exact: a quantity that is not an integer number of base units, apart from the error of a float, is also rejected.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Final

from longpipe.errors import shown

UNLIMITED: Final = "unlimited"

# Relative error of a float that is the result of an operation with rounding.
_FLOAT_ERROR: Final = Fraction(1, 2**51)

# Maximum number of digits before, and after, the decimal point. All lengths are bounded, so that parsing is fast.
_MAX_DIGITS: Final = 24
_QUANTITY: Final = re.compile(
    rf"([+-]?(?:\d{{1,{_MAX_DIGITS}}}(?:\.\d{{1,{_MAX_DIGITS}}})?|\.\d{{1,{_MAX_DIGITS}}})(?:[eE][+-]?\d{{1,2}})?)"
    r"\s*([^\d\s.+-].{0,23})?"
)


@dataclass(frozen=True, eq=False)
class Dimension:
    """A kind of quantity: its units, each in base units, and the bounds of the resulting integer."""

    name: str
    base: str
    # Suffix of the name of a field in base units.
    suffix: str
    units: Mapping[str, Fraction]
    example: str
    aliases: Mapping[str, str] = field(default_factory=dict)
    singular: Mapping[str, str] = field(default_factory=dict)
    unlimited: bool = False
    # Units that are accepted but never written, each as a multiple of a unit: 1 MB/s is 8 Mbit/s.
    multiples: Mapping[str, tuple[Fraction, str]] = field(default_factory=dict)
    # Explanations for units that are rejected because they belong to another dimension or are ambiguous.
    other: Mapping[str, str] = field(default_factory=dict)

    def split(self, text: str) -> tuple[Fraction, str]:
        """Returns the number and the canonical unit. Raises ValueError with the value and the accepted units."""
        return _split(self, text)

    def parse(self, text: str) -> int:
        """Returns the quantity in base units.

        Raises ValueError, which names the value and the accepted units, if the text is no such quantity.
        """
        return _parse(self, text)

    def canonical(self, text: str) -> str:
        """Returns the quantity in its unit, in this package's spelling."""
        return self._write(*self.split(text))

    def format(self, value: int) -> str:
        """Formats a number of base units exactly, in the unit with the shortest result."""
        candidates = [(Fraction(value) / scale, unit) for unit, scale in reversed(list(self.units.items()))]
        texts = [self._write(n, unit) for n, unit in candidates if abs(n) >= 1 and (n * 10**6).denominator == 1]
        return min(texts, key=len, default=self._write(Fraction(value), self.base))

    def accepts(self) -> str:
        """Returns the clause of an error message with the accepted units."""
        return (
            f"accepts {', '.join(self.units)}, as in {self.example!r}{f', or {UNLIMITED!r}' if self.unlimited else ''}"
        )

    def knows(self, unit: str) -> bool:
        """Returns whether a unit is accepted."""
        return unit in self.units or unit in self.multiples or unit in self.aliases

    def meant(self, text: str) -> str:
        """Returns a clause with the probable meaning of a rejected quantity's unit, or ""."""
        match = _QUANTITY.fullmatch(text.strip())
        return _meant(self, match[2]) if match is not None and match[2] else ""

    def _write(self, number: Fraction, unit: str) -> str:
        return f"{decimal(number)} {self.singular.get(unit, unit) if number == 1 else unit}"


# The result is cached, because large networks repeat a few quantities.
@lru_cache(maxsize=4096)
def _split(dimension: Dimension, text: str) -> tuple[Fraction, str]:
    """Splits a quantity into its number and the name of its unit. Raises ValueError for an unknown form."""
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{shown(text)}; {dimension.accepts()}")
    written = match[2]
    if not written:
        raise ValueError(f"{shown(text)} has no unit; {dimension.accepts()}")
    unit = written
    if written not in dimension.units:
        plurals = {singular: plural for plural, singular in dimension.singular.items()}
        unit = dimension.aliases.get(written, plurals.get(written, written))
    # Fractions of integers are much faster than those of text, and most numbers are integers without an exponent.
    number = Fraction(int(match[1]) if match[1].isdecimal() else match[1])
    if unit in dimension.multiples:
        count, unit = dimension.multiples[unit]
        number *= count
    if 10**_MAX_DIGITS % number.denominator:
        # Written without an exponent, the number could not be read again.
        raise ValueError(f"{shown(text)}; needs a number of at most {_MAX_DIGITS} decimals")
    if unit not in dimension.units:
        raise ValueError(f"{shown(text)} is not a {dimension.name}{_meant(dimension, written)}; {dimension.accepts()}")
    return _without_float_error(number, dimension.units[unit]), unit


def _without_float_error(number: Fraction, scale: Fraction) -> Fraction:
    """Returns a number whose value in base units is an integer, if only the last digits of a float differ from it.

    For example, f"{12.36 - 0.00112} ms" is 12.358880000000001 ms, which is 12.35888 ms.
    """
    if number.denominator == 1:
        return number
    value = number * scale
    nearest = round(value)
    if value.denominator == 1 or abs(value - nearest) > abs(value) * _FLOAT_ERROR:
        return number
    rounded = Fraction(nearest) / scale
    # A third of a minute has no decimal form.
    return number if 10**_MAX_DIGITS % rounded.denominator else rounded


@lru_cache(maxsize=4096)
def _parse(dimension: Dimension, text: str) -> int:
    """Returns a quantity as a whole number of base units. Raises ValueError unless it is one."""
    number, unit = dimension.split(text)
    scale = dimension.units[unit]
    if number.denominator == scale.denominator == 1:
        # A product of integers is four times as fast as one of fractions.
        return number.numerator * scale.numerator
    value = number * scale
    if value.denominator != 1:
        raise ValueError(f"{shown(text)}; needs a whole number of {dimension.base}")
    return int(value)


def _meant(dimension: Dimension, written: str) -> str:
    """Returns the probable meaning of a unit with wrong capitalization, or of a unit of another quantity."""
    if written in dimension.other:
        return dimension.other[written]
    names = {**{name: name for name in (*dimension.units, *dimension.multiples)}, **dimension.aliases}
    units = sorted({unit for name, unit in names.items() if name.lower() == written.lower()})
    if len(units) > 1:
        return f", it may be {' or '.join(map(repr, units))}"
    return f", it is {units[0]!r} here" if units else ""


def decimal(number: Fraction) -> str:
    """Formats a fraction whose denominator divides a power of ten, with all digits."""
    if number.denominator == 1:
        return str(number.numerator)
    digits = 1
    while (number * 10**digits).denominator != 1:
        digits += 1
    whole, rest = divmod(abs(int(number * 10**digits)), 10**digits)
    return f"{'-' if number < 0 else ''}{whole}.{rest:0{digits}d}"


def seconds(time_ps: int) -> str:
    """Formats a time in seconds with six significant digits, for messages about times that longpipe computed."""
    return f"{time_ps / 1e12:.6g} s"


TIME: Final = Dimension(
    name="time",
    base="ps",
    suffix="ps",
    units={
        "ps": Fraction(1),
        "ns": Fraction(10**3),
        "us": Fraction(10**6),
        "ms": Fraction(10**9),
        "s": Fraction(10**12),
        "min": Fraction(60 * 10**12),
        "h": Fraction(3600 * 10**12),
    },
    example="5 ms",
    aliases={
        "\N{MICRO SIGN}s": "us",
        "\N{GREEK SMALL LETTER MU}s": "us",
        **{f"{prefix}{name}": f"{prefix}s" for prefix in ("", "m", "u") for name in ("sec", "secs")},
        **dict.fromkeys(("second", "seconds"), "s"),
        **dict.fromkeys(("minute", "minutes"), "min"),
        **dict.fromkeys(("hour", "hours"), "h"),
    },
    multiples=dict.fromkeys(("d", "day", "days"), (Fraction(24), "h")),
)

# Binary prefixes, each as a multiple of the decimal prefix with its letter.
_BINARY: Final = {
    f"{letter}i": Fraction(2 ** (10 * power), 10 ** (3 * power)) for power, letter in enumerate("KMGT", 1)
}

# Other spellings of bit/s, and of a byte.
_BITS: Final = ("bps", "b/s", "bit", "bits/s", "bit/sec", "bits/sec")
_BYTES: Final = ("byte", "Byte", "bytes", "Bytes")

RATE: Final = Dimension(
    name="bit rate",
    base="bit/s",
    suffix="bps",
    units={
        "bit/s": Fraction(1),
        "kbit/s": Fraction(10**3),
        "Mbit/s": Fraction(10**6),
        "Gbit/s": Fraction(10**9),
        "Tbit/s": Fraction(10**12),
    },
    example="155.52 Mbit/s",
    # Other spellings of rates: lower case as in tc(8), except its "mbps" (megabytes per second); ns-3's DataRate; a
    # bare prefix and "/sec" as in iperf.
    aliases={
        **dict.fromkeys(_BITS, "bit/s"),
        **{f"{prefix}{bits}": f"{prefix}bit/s" for prefix in "kMGT" for bits in (*_BITS, "")},
        **{f"K{bits}": "kbit/s" for bits in (*_BITS, "bit/s", "")},
        **{f"{prefix.lower()}bit": f"{prefix}bit/s" for prefix in "MGT"},
        **{f"{prefix}{bits}": f"{prefix}bit/s" for prefix in _BINARY for bits in ("b/s", "bit")},
        **{f"{prefix.lower()}bit": f"{prefix}bit/s" for prefix in _BINARY},
        **{
            f"{prefix}{name}": f"{prefix}B/s"
            for prefix in ("", *"kMGT", *_BINARY)
            for name in ("Bps", *(f"{bytes_}/{per}" for bytes_ in _BYTES for per in ("s", "sec")))
        },
        **{f"K{bytes_}/{per}": "kB/s" for bytes_ in ("B", *_BYTES) for per in ("s", "sec")},
        "KBps": "kB/s",
    },
    multiples={
        **{f"{prefix}B/s": (Fraction(8), f"{prefix}bit/s") for prefix in ("", *"kMGT")},
        **{f"{prefix}bit/s": (_BINARY[prefix], f"{prefix[0].replace('K', 'k')}bit/s") for prefix in _BINARY},
        **{f"{prefix}B/s": (8 * _BINARY[prefix], f"{prefix[0].replace('K', 'k')}bit/s") for prefix in _BINARY},
    },
)

SYMBOLS: Final = Dimension(
    name="symbol rate",
    base="baud",
    suffix="baud",
    units={"baud": Fraction(1), "kbaud": Fraction(10**3), "Mbaud": Fraction(10**6), "Gbaud": Fraction(10**9)},
    example="30 Mbaud",
    aliases={
        "Bd": "baud",
        "sym/s": "baud",
        **{f"{prefix}{symbols}": f"{prefix}baud" for prefix in "kMG" for symbols in ("Bd", "sym/s", "S/s")},
    },
)

SIZE: Final = Dimension(
    name="number of bytes",
    base="B",
    suffix="bytes",
    units={
        "B": Fraction(1),
        "KB": Fraction(10**3),
        "KiB": Fraction(2**10),
        "MB": Fraction(10**6),
        "MiB": Fraction(2**20),
        "GB": Fraction(10**9),
        "GiB": Fraction(2**30),
    },
    example="64 KiB",
    aliases={
        "byte": "B",
        "bytes": "B",
        "kB": "KB",
        **{f"{prefix.lower()}bit": f"{prefix}bit" for prefix in "MG"},
    },
    multiples={
        **{f"{prefix}bit": (Fraction(1, 8), f"{prefix.replace('k', 'K')}B") for prefix in ("", *"kMG")},
    },
    # A lower-case b may be bits or bytes.
    other={
        "b": ", it may be 'B' or 'bit'",
        **{
            name: f", it may be '{letter}{binary}B' or '{letter.replace('K', 'k')}bit'"
            for letter in "KMG"
            for binary in ("", "i")
            for name in (f"{letter}{binary}b", f"{letter}{binary}b".lower())
        },
    },
)

SEGMENTS: Final = Dimension(
    name="number of segments",
    base="segments",
    suffix="segments",
    units={"segments": Fraction(1)},
    example="1 segment",
    singular={"segments": "segment"},
)

TICKS: Final = Dimension(
    name="number of ticks",
    base="ticks",
    suffix="ticks",
    units={"ticks": Fraction(1)},
    example="2 ticks",
    singular={"ticks": "tick"},
)

# A buffer given in packets, BDP or time has a size that depends on the rest of the scenario, so use only `split` and
# `canonical`.
BUFFER: Final = Dimension(
    name="buffer size",
    base="cells",
    suffix="",
    units={"cells": Fraction(1), "packets": Fraction(1), "BDP": Fraction(1), **SIZE.units, **TIME.units},
    example="1000 cells",
    aliases={**SIZE.aliases, **TIME.aliases},
    multiples=SIZE.multiples,
    unlimited=True,
    singular={"cells": "cell", "packets": "packet"},
    other=SIZE.other,
)
