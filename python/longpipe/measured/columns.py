"""Compact containers for the numbers in up to ten million lines, for which lists and dictionaries take gigabytes."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from longpipe.errors import ScenarioError
from longpipe.inputs.numbers import is_time

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_REQUESTS: Final = 10_000_000
# Stands for an unknown time.
_UNKNOWN: Final = -(1 << 63)


class Columns:
    """Rows of numbers, stored by column."""

    def __init__(self, count: int) -> None:
        self._columns = [array("d") for _ in range(count)]

    def append(self, *row: float) -> None:
        """Appends a row."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)

    def column(self, place: int) -> NDArray[np.float64]:
        """Returns a column; no row can be appended afterwards."""
        import numpy as np

        return np.frombuffer(self._columns[place]) if self._columns[place] else np.zeros(0)

    def __len__(self) -> int:
        return len(self._columns[0])

    def __iter__(self) -> Iterator[tuple[float, ...]]:
        """Yields the rows."""
        return zip(*self._columns, strict=True)

    def __getitem__(self, place: int) -> tuple[float, ...]:
        """Returns a row."""
        return tuple(column[place] for column in self._columns)


class Replies:
    """Replies to numbered requests: the time of arrival [ns] and the RTT [s] of each, None where it is unknown."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._first = 0
        self._at = array("q")
        # A number without a reply has an infinite RTT.
        self._rtt = array("d")
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, number: int) -> bool:
        return 0 <= number - self._first < len(self._rtt) and self._rtt[number - self._first] != math.inf

    def __getitem__(self, number: int) -> tuple[int | None, float | None]:
        """Returns arrival and RTT of a reply that exists."""
        at, rtt = self._at[number - self._first], self._rtt[number - self._first]
        return None if at == _UNKNOWN else at, None if math.isnan(rtt) else rtt

    def add(self, number: int, at: int | None, rtt: float | None) -> None:
        """Adds a reply; replaces one with the same number.

        Raises ScenarioError for too many requests, and for a time beyond 2262.
        """
        if at is not None and not is_time(at):
            raise ScenarioError(f"{self._file}: time {at / 1e9:.4g} s after 1970; needs times from 1970 to 2262")
        if not self._rtt:
            self._first = number
        count = max(self._first + len(self._rtt), number + 1) - min(self._first, number)
        if count > MAX_REQUESTS:
            raise ScenarioError(f"{self._file}: {count} requests; needs at most {MAX_REQUESTS}")
        if number < self._first:
            missing = self._first - number
            self._at = array("q", [_UNKNOWN]) * missing + self._at
            self._rtt = array("d", [math.inf]) * missing + self._rtt
            self._first = number
        missing = number + 1 - self._first - len(self._rtt)
        if missing > 0:
            self._at.extend(array("q", [_UNKNOWN]) * missing)
            self._rtt.extend(array("d", [math.inf]) * missing)
        self._count += number not in self
        self._at[number - self._first] = _UNKNOWN if at is None else at
        self._rtt[number - self._first] = math.nan if rtt is None else rtt

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
        """Returns numbers in ascending order, arrivals [ns], RTTs [s], and which arrivals are known.

        An unknown RTT is nan; an unknown arrival has an arbitrary value.
        """
        import numpy as np

        rtt = np.frombuffer(self._rtt) if self._rtt else np.zeros(0)
        every = np.frombuffer(self._at, dtype=np.int64) if self._at else np.zeros(0, dtype=np.int64)
        places = np.flatnonzero(rtt != math.inf)
        at, rtt = every[places], rtt[places]
        places += self._first
        return places, at, rtt, at != _UNKNOWN


class Named:
    """Rows of numbers by name, stored by column; a number that a row lacks is nan."""

    def __init__(self) -> None:
        self._columns: dict[str, array[float]] = {}
        self._count = 0

    def append(self, row: Mapping[str, float]) -> None:
        """Appends a row."""
        for name in row.keys() - self._columns.keys():
            self._columns[name] = array("d", [math.nan]) * self._count
        for name, column in self._columns.items():
            column.append(row.get(name, math.nan))
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def column(self, name: str) -> Sequence[float]:
        """Returns a column that each row has."""
        return self._columns[name]

    def lacking(self, name: str, beside: str) -> list[float]:
        """Returns the numbers of the column `beside` in rows that lack the column `name`."""
        column = self._columns.get(name)
        return [
            value for index, value in enumerate(self._columns[beside]) if column is None or math.isnan(column[index])
        ]

    def points(self, name: str, *beside: str) -> Iterator[tuple[float, ...]]:
        """Yields the numbers of the columns `beside` with those of the column `name`, where the latter are known."""
        names = (*beside, name) if name in self._columns else ()
        for row in zip(*(self._columns[name] for name in names), strict=True):
            if not math.isnan(row[-1]):
                yield row
