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
_SHOWN: Final = 40


@dataclass
class Column:
    """A column of quantities, with the range read so far.

    A bare number has the unit in the header, or `bare` by default.
    """

    file: str
    head: str
    dimension: Dimension
    bare: str
    most: int
    # Divisor of the values; 2 converts RTTs to delays.
    divisor: int = 1
    unit: str = ""
    is_bare: bool = False
    least_read: int | None = None
    most_read: int | None = None
    _scale: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.unit:
            try:
                count, unit = self.dimension.split(f"1 {self.unit}")
            except ValueError as error:
                raise ScenarioError(f"{self.file}:1: column {shown(self.head)}: {error}") from None
            self._scale = count * self.dimension.units[unit] / self.divisor
        else:
            self._scale = self.dimension.units[self.bare] / self.divisor

    def read(self, line: int, cell: str) -> int:
        """Returns a cell in base units, rounded. Raises ScenarioError with the line and column of a problem."""
        value = scaled(cell, self._scale)
        if value is None:
            value = self._with_unit(line, cell)
        elif not self.unit:
            self.is_bare = True
        if not 0 <= value <= self.most:
            high = self.dimension.format(self.most * self.divisor)
            raise ScenarioError(f"{self.file}:{line}: {self.head} {cell[:_SHOWN]}; needs 0 to {high}")
        if self.least_read is None or value < self.least_read:
            self.least_read = value
        if self.most_read is None or value > self.most_read:
            self.most_read = value
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
        if self.least_read is None or self.most_read is None:
            return f"{self.head} empty"
        low, high = (_short(self.dimension, value) for value in (self.least_read, self.most_read))
        said = [f"in {self.unit}" if self.unit else f"read in {self.bare}, as no unit is given" if self.is_bare else ""]
        said += ["half of each round trip"] if self.divisor == 2 else []
        how = ", ".join(filter(None, said))
        head = "one-way delay" if self.divisor == 2 else self.head
        return f"{head} {low if low == high else f'{low} to {high}'}{f' ({how})' if how else ''}"

    def doubt(self, meant: str, low: int | None = None, high: int | None = None) -> Iterator[str]:
        """Yields a warning that suggests the unit `meant`.

        It is given if all values are below `low` or one reaches `high` [base units].
        """
        if not self.most_read or not (self.is_bare or self.unit):
            return
        is_low = low is not None and self.most_read < low
        if is_low or (high is not None and self.most_read >= high):
            most = self.dimension.format(self.most_read * self.divisor)
            found = f"{self.file}: {self.head} is at most {most}, which is implausibly {'low' if is_low else 'long'}"
            column = f"'{self.head} [{meant}]'"
            named = self.unit or f"no unit, so {self.bare} was assumed"
            yield f"{found}: the column names {named}; if {meant} is meant, name it {column}"


def _short(dimension: Dimension, value: int) -> str:
    """Formats a quantity for a note; times have four significant digits."""
    if dimension is not TIME:
        return dimension.format(value)
    unit = next((unit for unit in ("s", "ms", "us", "ns") if value >= TIME.units[unit]), "ps")
    return f"{float(value / TIME.units[unit]):.4g} {unit}"


@dataclass
class Times:
    """Times of a series [ps], relative to the first row; for datagrams this applies only to Unix times."""

    file: str
    head: str
    unit: str
    latest: int
    # Whether all times are relative to the first row; otherwise only Unix times are.
    from_first: bool
    strictly: bool = True
    begin: int | None = None
    last: int = -1
    rows: int = 0
    # Time of the second row if the file has at least three rows and this time is a number of seconds without a unit.
    second: int | None = None
    _second: int | None = None
    _bare: str = "s"
    _is_bare: bool = False

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
        if self.rows == 2 and self._is_bare:
            self._second = value
        elif self.rows == 3:
            self.second = self._second
        return value

    def _value(self, line: int, cell: str) -> int:
        found = parts(cell)
        if found is not None:
            if self.begin is None and not self.unit:
                number = exact(cell) or 0
                self._bare = next((unit for below, unit in _UNIX_UNITS if number < below), "s")
                self._is_bare = number < _UNIX
            return scaled(cell, TIME.units[self.unit or self._bare]) or 0
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

    `columns` maps names to columns; `at` maps names to indices in a row.
    """

    table: Table
    times: Times
    columns: dict[str, Any] = field(default_factory=dict)
    at: dict[str, int] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yields the line number, the time and the cells of each row."""
        place = self.at["time"]
        for line, cells in self.table:
            yield line, self.times.read(line, cells[place]), cells
        if not self.times.rows:
            raise ScenarioError(f"{self.table.file}: 0 rows; needs 1 or more")

    def keep_notes(self, doubts: Sequence[str] = (), others: Sequence[str] = ()) -> None:
        """Records notes and warnings about the file, after all rows have been read.

        `others` are ranges of columns that are not quantities.
        """
        spans = [one.span() for one in self.columns.values() if isinstance(one, Column)]
        read = "; ".join([f"{self.table.file}: {self.times.note()}", *spans, *others])
        keep(self.table.file, Notes(read, tuple(doubts), self.times.second))


def series_table(
    table: Table,
    latest: int,
    names: Mapping[str, Dimension | None],
    *,
    from_first: bool = True,
    strictly: bool = True,
    least_others: int = 1,
    most_rows: int,
) -> tuple[SeriesTable, dict[str, str]]:
    """Returns a table with its times, and the units of the other columns according to their headers.

    A header is one of `names`, with a unit in brackets or after an underscore. Raises ScenarioError for other headers.
    """
    file = table.file
    at: dict[str, int] = {}
    units: dict[str, str] = {}
    heads: dict[str, str] = {}
    for place, head in enumerate(table.heads):
        name, unit = named(head, names)
        if name not in names:
            raise ScenarioError(f"{file}:1: column {shown(head)}; {nearest(name[:_SHOWN], names)}")
        if name in at:
            raise ScenarioError(f"{file}:1: columns {shown(heads[name])} and {shown(head)}; needs one of them")
        at[name], units[name], heads[name] = place, unit, head
    if "time" not in at or len(at) <= least_others:
        needed = [name for name in names if name != "time"]
        raise ScenarioError(f"{file}:1: {shown_heads(table.heads)}; needs a header with time and {', '.join(needed)}")
    if not 1 < len(table.lines) <= most_rows + 1:
        raise ScenarioError(f"{file}: {len(table.lines) - 1} rows; needs 1 to {most_rows}")
    unit = units.pop("time")
    if unit:
        try:
            _, unit = TIME.split(f"1 {unit}")
        except ValueError as error:
            raise ScenarioError(f"{file}:1: column {shown(heads['time'])}: {error}") from None
    times = Times(file, "time", unit, latest, from_first, strictly)
    return SeriesTable(table, times, at=at), units


def times_and_sizes(file: str, largest: int, needs: str) -> Points:
    """Returns the times [ps] and sizes [bytes] of a CSV file; Unix times count from the first row.

    Raises ScenarioError with the line of a time or size outside its range; `needs` describes the accepted sizes if a
    size is 0.
    """
    table = read_table(file, "a CSV file of time and bytes")
    names = {"time": TIME, "bytes": SIZE}
    rows, units = series_table(table, _LATEST_PS, names, from_first=False, strictly=False, most_rows=MAX_ROWS)
    rows.columns["bytes"] = sizes = Column(file, "bytes", SIZE, "B", largest, unit=units["bytes"])
    place = rows.at["bytes"]
    found = Points()
    for line, at, cells in rows:
        size = sizes.read(line, cells[place])
        if size == 0:
            raise ScenarioError(f"{file}:{line}: bytes {cells[place]}; needs {needs}")
        found.append((at, size))
    rows.keep_notes()
    return found


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
    whole, rest = divmod(ps, PS)
    return f"{whole}.{rest:012d}".rstrip("0").rstrip(".")
