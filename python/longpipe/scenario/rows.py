"""Columns of series files: times, and quantities whose unit is in the header or in the cell, or is the default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from longpipe.errors import ScenarioError, nearest, shown
from longpipe.inputs.notes import Notes, keep
from longpipe.inputs.numbers import decimal_comma, exact, parts, scaled
from longpipe.inputs.table import Table, head_parts, read_table, shown_heads
from longpipe.scenario.points import Points
from longpipe.units import SIZE, TIME, Dimension, seconds

PS: Final = 10**12
# Times without a unit that are in 1973 or later are Unix times in seconds or, depending on their magnitude, in ms, us
# or ns.
_UNIX: Final = 10**8
_UNIX_UNITS: Final = ((10**11, "s"), (10**14, "ms"), (10**17, "us"), (10**40, "ns"))
_FARTHEST_PS: Final = 10**11 * PS
# Limits of a file of times and sizes: number of rows, and latest time.
MAX_ROWS: Final = 10_000_000
_LATEST_PS: Final = TIME.parse("2400 h")
# Headers of the time column.
_TIMES: Final = ("time", "timestamp")
# Maximum number of characters of a cell in a message.
_SHOWN: Final = 40


@dataclass
class Column:
    """A column of quantities, with the range read so far.

    A number without a unit in its cell has `unit`, the unit in the header, or `default_unit` if the header has none.
    """

    file: str
    head: str
    dimension: Dimension
    default_unit: str
    # Maximum value [base units].
    max: int
    # Divisor of the values; 2 converts RTTs to delays.
    divisor: int = 1
    unit: str = ""
    # Whether a number had neither a unit in its cell nor one in the header.
    has_default: bool = False
    # Smallest and largest value read [base units].
    low: int | None = None
    high: int | None = None
    _scale: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.unit:
            try:
                count, unit = self.dimension.split(f"1 {self.unit}")
            except ValueError as error:
                raise ScenarioError(f"{self.file}:1: column {shown(self.head)}: {error}") from None
            self._scale = count * self.dimension.units[unit] / self.divisor
        else:
            self._scale = self.dimension.units[self.default_unit] / self.divisor

    def read(self, line: int, cell: str) -> int:
        """Returns a cell in base units, rounded. Raises ScenarioError with the line and column of a problem."""
        value = scaled(cell, self._scale)
        if value is None:
            value = self._with_unit(line, cell)
        elif not self.unit:
            self.has_default = True
        if not 0 <= value <= self.max:
            limit = self.dimension.format(self.max * self.divisor)
            raise ScenarioError(f"{self.file}:{line}: {self.head} {cell[:_SHOWN]}; needs 0 to {limit}")
        if self.low is None or value < self.low:
            self.low = value
        if self.high is None or value > self.high:
            self.high = value
        return value

    def _with_unit(self, line: int, cell: str) -> int:
        try:
            number, unit = self.dimension.split(cell)
        except ValueError:
            raise ScenarioError(
                f"{self.file}:{line}: {self.head} {shown(cell)}{self.dimension.meant(cell)}{decimal_comma(cell)}; "
                f"needs a number, or one with a unit, as in {self.dimension.example!r}"
            ) from None
        return round(number * self.dimension.units[unit] / self.divisor)

    def span(self) -> str:
        """Returns the name and range of the values read, for a note."""
        if self.low is None or self.high is None:
            return f"{self.head} empty"
        low, high = (_short(self.dimension, value) for value in (self.low, self.high))
        remarks = []
        if self.unit:
            remarks.append(f"in {self.unit}")
        elif self.has_default:
            remarks.append(f"read in {self.default_unit}, as no unit is given")
        if self.divisor == 2:
            remarks.append("half of each round trip")
        head = "one-way delay" if self.divisor == 2 else self.head
        suffix = f" ({', '.join(remarks)})" if remarks else ""
        return f"{head} {low if low == high else f'{low} to {high}'}{suffix}"

    def doubt(self, meant: str, low: int | None = None, high: int | None = None) -> Iterator[str]:
        """Yields a warning that suggests the unit `meant` if all values are below `low`, or one reaches `high`.

        Both limits are in base units. There is no warning if all values are 0, or if all cells have units.
        """
        if not self.high or not (self.has_default or self.unit):
            return
        is_low = low is not None and self.high < low
        if is_low or (high is not None and self.high >= high):
            largest = self.dimension.format(self.high * self.divisor)
            problem = (
                f"{self.file}: {self.head} is at most {largest}, which is implausibly {'low' if is_low else 'long'}"
            )
            column = f"'{self.head} [{meant}]'"
            unit = self.unit or f"no unit, so {self.default_unit} was assumed"
            yield f"{problem}: the column names {unit}; if {meant} is meant, name it {column}"


def _short(dimension: Dimension, value: int) -> str:
    """Formats a quantity for a note; times have four significant digits."""
    if dimension is not TIME:
        return dimension.format(value)
    unit = next((unit for unit in ("s", "ms", "us", "ns") if value >= TIME.units[unit]), "ps")
    return f"{float(value / TIME.units[unit]):.4g} {unit}"


@dataclass
class Times:
    """Times of a series [ps], in the order of its rows."""

    file: str
    head: str
    unit: str
    latest: int
    # Whether all times are relative to the first row; otherwise only Unix times are.
    from_first: bool
    # Whether times increase strictly; otherwise equal times are accepted.
    strictly: bool = True
    # Time from which times are counted; None before the first row.
    begin: int | None = None
    last: int = -1
    rows: int = 0
    # Time of the second row if the file has at least three rows and this time is a number of seconds without a unit.
    second: int | None = None
    # Time of the second row, until a third row has been read.
    _second: int | None = None
    # Unit of times without a unit, and whether it is a guess, because the first time is too small for a Unix time.
    _default_unit: str = "s"
    _is_guess: bool = False

    def read(self, line: int, cell: str) -> int:
        """Returns a time; raises ScenarioError unless the time is after the previous one."""
        value = self._value(line, cell)
        if abs(value) > _FARTHEST_PS:
            raise ScenarioError(
                f"{self.file}:{line}: {self.head} {cell[:_SHOWN]}; needs a time within 3000 years of 1970"
            )
        if self.begin is None:
            self.begin = value if self.from_first or value > self.latest else 0
        value -= self.begin
        if value < self.last or (self.strictly and value == self.last):
            needs = "increasing times" if self.strictly else "nondecreasing times"
            before = TIME.format(self.last + self.begin)
            raise ScenarioError(
                f"{self.file}:{line}: {self.head} {TIME.format(value + self.begin)} after {before}; needs {needs}"
            )
        if not 0 <= value <= self.latest:
            raise ScenarioError(
                f"{self.file}:{line}: {self.head} {cell[:_SHOWN]}; needs 0 s to {TIME.format(self.latest)}"
                f"{' from the first row on' if self.begin else ''}"
            )
        self.last = value
        self.rows += 1
        if self.rows == 2 and self._is_guess:
            self._second = value
        elif self.rows == 3:
            self.second = self._second
        return value

    def _value(self, line: int, cell: str) -> int:
        if parts(cell) is not None:
            if self.begin is None and not self.unit:
                number = exact(cell) or 0
                self._default_unit = next((unit for limit, unit in _UNIX_UNITS if number < limit), "s")
                self._is_guess = number < _UNIX
            return scaled(cell, TIME.units[self.unit or self._default_unit]) or 0
        try:
            number, unit = TIME.split(cell)
        except ValueError:
            raise ScenarioError(
                f"{self.file}:{line}: {self.head} {shown(cell)}{decimal_comma(cell)}; needs a number of seconds, "
                f"or one with a unit, as in {TIME.example!r}"
            ) from None
        return round(number * TIME.units[unit])

    def note(self) -> str:
        """Returns the number of rows and the span and origin of the times, for a note."""
        text = f"{self.rows} {'row' if self.rows == 1 else 'rows'} to {seconds(max(0, self.last))}"
        if not self.begin:
            return text
        unix = " (Unix time)" if self.begin >= _UNIX * PS else ""
        return f"{text}, counted from the first row's {_seconds(self.begin)} s{unix}"


@dataclass
class SeriesTable:
    """A table with a column of times and other named columns.

    `columns` maps names to columns; `at` maps names to their indices in a row.
    """

    table: Table
    times: Times
    columns: dict[str, Any] = field(default_factory=dict)
    at: dict[str, int] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yields the line number, the time and the cells of each row."""
        time_index = self.at["time"]
        for line, cells in self.table:
            yield line, self.times.read(line, cells[time_index]), cells
        if not self.times.rows:
            raise ScenarioError(f"{self.table.file}: 0 rows; needs 1 or more")

    def keep_notes(self, doubts: Sequence[str] = (), other_spans: Sequence[str] = ()) -> None:
        """Records notes and warnings about the file, after all rows have been read.

        `other_spans` are ranges of columns that are not quantities.
        """
        spans = [column.span() for column in self.columns.values() if isinstance(column, Column)]
        read = "; ".join([f"{self.table.file}: {self.times.note()}", *spans, *other_spans])
        keep(self.table.file, Notes(read, tuple(doubts), self.times.second))


def series_table(
    table: Table,
    latest: int,
    names: Mapping[str, Dimension | None],
    *,
    from_first: bool = True,
    strictly: bool = True,
    max_rows: int,
) -> tuple[SeriesTable, dict[str, str]]:
    """Returns a table with its times, and the units of the other columns according to their headers.

    A header is one of `names`, with a unit in brackets or after an underscore. Raises ScenarioError for other headers,
    for a table without times or without another column, and for more than `max_rows` rows.
    """
    file = table.file
    at: dict[str, int] = {}
    units: dict[str, str] = {}
    heads: dict[str, str] = {}
    for index, head in enumerate(table.heads):
        name, unit = named(head, names)
        if name not in names:
            raise ScenarioError(f"{file}:1: column {shown(head)}; {nearest(name[:_SHOWN], names)}")
        if name in at:
            raise ScenarioError(f"{file}:1: columns {shown(heads[name])} and {shown(head)}; needs one of them")
        at[name], units[name], heads[name] = index, unit, head
    if "time" not in at or len(at) == 1:
        needed = [name for name in names if name != "time"]
        raise ScenarioError(f"{file}:1: {shown_heads(table.heads)}; needs a header with time and {', '.join(needed)}")
    # The first line is the header.
    if not 1 < len(table.lines) <= max_rows + 1:
        raise ScenarioError(f"{file}: {len(table.lines) - 1} rows; needs 1 to {max_rows}")
    unit = units.pop("time")
    if unit:
        try:
            _, unit = TIME.split(f"1 {unit}")
        except ValueError as error:
            raise ScenarioError(f"{file}:1: column {shown(heads['time'])}: {error}") from None
    times = Times(file, "time", unit, latest, from_first, strictly)
    return SeriesTable(table, times, at=at), units


def times_and_sizes(file: str, max_bytes: int, needs: str) -> Points:
    """Returns the times [ps] and sizes [bytes] of a CSV file; Unix times count from the first row.

    Raises ScenarioError with the line of a time or size outside its range; `needs` describes the accepted sizes if a
    size is 0.
    """
    table = read_table(file, "a CSV file of time and bytes")
    names = {"time": TIME, "bytes": SIZE}
    rows, units = series_table(table, _LATEST_PS, names, from_first=False, strictly=False, max_rows=MAX_ROWS)
    rows.columns["bytes"] = sizes = Column(file, "bytes", SIZE, "B", max_bytes, unit=units["bytes"])
    index = rows.at["bytes"]
    points = Points()
    for line, time, cells in rows:
        size = sizes.read(line, cells[index])
        if size == 0:
            raise ScenarioError(f"{file}:{line}: bytes {cells[index]}; needs {needs}")
        points.append((time, size))
    rows.keep_notes()
    return points


def named(head: str, names: Mapping[str, Dimension | None]) -> tuple[str, str]:
    """Returns the name and unit in a header: "rate [Mbit/s]", "Rate (Mbit/s)", "delay_ms" or "rate_Mbps"."""
    name, unit = head_parts(head)
    begin, underscore, end = name.rpartition("_")
    begin, name = begin.casefold(), name.casefold()
    if underscore and not unit and name not in names and (begin in names or begin in _TIMES):
        dimension = TIME if begin in _TIMES else names[begin]
        if dimension is not None:
            name, unit = begin, end if dimension.knows(end) else end.lower()
    return ("time" if name in _TIMES else name), unit


def _seconds(ps: int) -> str:
    """Formats a time in seconds, with all its decimals."""
    whole, fraction_ps = divmod(ps, PS)
    return f"{whole}.{fraction_ps:012d}".rstrip("0").rstrip(".")
