"""Fields that an attack may change: levels, ranges of numbers, and tables with ranges in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from longpipe.design.ranges import Range

# Part of the unit interval in which a coordinate leaves its field at the value of the base scenario. At one half, the
# first candidates change half of the fields, and few of them are bad for the reference, too: with the default ranges,
# BBR's defect is found after 110 to 580 runs (3 searches), but after 1396 at one fifth.
UNCHANGED: Final = 0.5

# Values of the fields that a candidate changes: the number of the level, or a number for each range.
Setting = Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Varied:
    """A field with the values that it may have in addition to its present one.

    It has either `levels`, each with the fields that it sets, or a `value`: a Range, or tables and lists that contain
    ranges.
    """

    field: str
    value: Any = None
    levels: tuple[Mapping[str, object], ...] = ()

    @classmethod
    def table(cls, field: str, value: object, option: str) -> Varied:
        """Returns a field whose value is a table or a list, in which texts such as "1..50 ms" become ranges."""
        return cls(field, _with_ranges(value, option))

    @cached_property
    def ranges(self) -> tuple[Range, ...]:
        """The ranges of the value, in their order."""
        return tuple(_ranges_in(self.value))

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return max(1, len(self.ranges))

    def numbers(self, places: Sequence[float]) -> tuple[float, ...] | None:
        """Returns the numbers at positions from 0 to 1; None if the field is unchanged."""
        # The first coordinate also decides whether the field changes; the part above UNCHANGED is mapped to 0 to 1.
        first = (places[0] - UNCHANGED) / (1 - UNCHANGED)
        if first < 0:
            return None
        if self.levels:
            return (min(int(first * len(self.levels)), len(self.levels) - 1),)
        return tuple(span.at(place) for span, place in zip(self.ranges, (first, *places[1:]), strict=False))

    def changes(self, numbers: Sequence[float], digits: int = 3) -> dict[str, object]:
        """Returns the fields with their values, rounded to significant digits."""
        if self.levels:
            return dict(self.levels[int(numbers[0])])
        return {self.field: _with_numbers(self.value, iter(numbers), digits)}

    def rounded(self, numbers: Sequence[float], digits: int) -> tuple[float, ...]:
        """Returns the numbers with fewer significant digits, except those that would leave their range."""
        if self.levels:
            return tuple(numbers)
        shortened = [float(f"{number:.{digits}g}") for number in numbers]
        return tuple(
            short if span.low <= short <= span.high else number
            for short, number, span in zip(shortened, numbers, self.ranges, strict=True)
        )


def setting(varied: Sequence[Varied], places: Sequence[float]) -> Setting:
    """Returns the numbers of the fields that change, given a position from 0 to 1 for each coordinate."""
    numbers_by_field: dict[str, tuple[float, ...]] = {}
    at = 0
    for varied_field in varied:
        numbers = varied_field.numbers(places[at : at + varied_field.size])
        at += varied_field.size
        if numbers is not None:
            numbers_by_field[varied_field.field] = numbers
    return numbers_by_field


def changes(varied: Sequence[Varied], setting: Setting) -> dict[str, object]:
    """Returns the fields that a setting changes, with their values."""
    return {
        name: value
        for varied_field in varied
        if varied_field.field in setting
        for name, value in varied_field.changes(setting[varied_field.field]).items()
    }


def _with_ranges(value: Any, option: str) -> Any:  # noqa: ANN401 - a TOML value
    """Returns a value in which texts such as "1..50 ms", at any depth, are ranges."""
    if isinstance(value, str):
        return Range.parse(value, option) or value
    if isinstance(value, dict):
        return {name: _with_ranges(part, option) for name, part in value.items()}
    return [_with_ranges(part, option) for part in value] if isinstance(value, list) else value


def _ranges_in(value: object) -> Iterator[Range]:
    if isinstance(value, Range):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _ranges_in(part)


def _with_numbers(value: Any, numbers: Iterator[float], digits: int) -> Any:  # noqa: ANN401 - a TOML value
    """Returns a value in which the next number replaces each range, in the order of `_ranges_in`."""
    if isinstance(value, Range):
        return value.value(next(numbers), digits)
    if isinstance(value, dict):
        return {name: _with_numbers(part, numbers, digits) for name, part in value.items()}
    return [_with_numbers(part, numbers, digits) for part in value] if isinstance(value, list) else value
