"""Tables in text files: CSV with commas, semicolons or tabs, and unique column names."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from longpipe.errors import ScenarioError, shown
from longpipe.inputs.text import read_lines

MAX_COLUMNS: Final = 10_000
_LONGEST_HEAD: Final = 200
# A number with a decimal comma, which is read in tables whose cells are not separated by commas.
_DECIMAL_COMMA: Final = re.compile(
    r"([+-]?[0-9]{1,40}),([0-9]{1,40}(?:[eE][+-]?[0-9]{1,3})?(?:\s*[A-Za-z%\u00b5][A-Za-z/%]{0,10})?)"
)
_HEAD: Final = re.compile(r"([^\[(]*[^\[(\s])\s*[\[(]\s*([^\])]*?)\s*[\])]")


class TextLines(Protocol):
    """Lines that can be counted, and iterated over several times: a list, or lines that are decoded on demand."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...


def head_parts(head: str) -> tuple[str, str]:
    """Returns the name and unit in a column's header: "rate" and "Mbit/s" for "rate [Mbit/s]"; the unit may be ""."""
    match = _HEAD.fullmatch(head) if len(head) <= _LONGEST_HEAD else None
    return (match[1], match[2]) if match else (head, "")


@dataclass(frozen=True)
class Table:
    """The column headers and rows of a table; rows are parsed on demand."""

    file: str
    heads: tuple[str, ...]
    lines: TextLines
    delimiter: str
    needs: str

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Yields the line number and the cells of each row that is not blank.

        Raises ScenarioError for a row with more or fewer cells than columns.
        """
        rows = _parsed(self.file, self.lines, self.delimiter, self.needs)
        next(rows)
        columns = len(self.heads)
        for line, row in rows:
            if len(row) == columns:
                yield line, row
            elif any(row):
                raise ScenarioError(f"{self.file}:{line}: {len(row)} cells; needs {columns}: {shown_heads(self.heads)}")


def heads_of(line: str) -> tuple[str, ...]:
    """Returns the column headers in the first line of a table; empty if the line is not CSV."""
    try:
        row = next(csv.reader([line], delimiter=_delimiter(line), skipinitialspace=True), [])
    except csv.Error:
        return ()
    return tuple(cell.strip() for cell in row)


def _delimiter(line: str) -> str:
    return next((character for character in ",\t;" if character in line), ",")


def read_table(file: str | Path, needs: str) -> Table:
    """Returns the table of a file; `needs` is the expected content in an error, as in "a CSV file of time and rate"."""
    return table_of(str(file), read_lines(file, needs, legacy=True), needs)


def table_of(file: str, lines: TextLines, needs: str) -> Table:
    """Returns the table in the given lines of a file. Raises ScenarioError if two columns have the same name."""
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise ScenarioError(f"{file}: empty; needs {needs}")
    delimiter = _delimiter(first)
    _, heads = next(_parsed(file, lines, delimiter, needs), (0, []))
    if not heads:
        raise ScenarioError(f"{file}: no column headers; needs {needs}")
    if len(heads) > MAX_COLUMNS:
        raise ScenarioError(f"{file}:1: {len(heads)} columns; needs {needs} of at most {MAX_COLUMNS}")
    for head, count in Counter(heads).items():
        if head and count > 1:
            raise ScenarioError(f"{file}:1: column {shown(head)} occurs twice; needs each once")
    return Table(file, tuple(heads), lines, delimiter, needs)


def shown_heads(heads: Sequence[str]) -> str:
    """Formats the names of columns, at most eight, for a message."""
    more = f" and {len(heads) - 8} more" if len(heads) > 8 else ""
    return ", ".join(shown(head)[1:-1] for head in heads[:8]) + more


def _with_point(cell: str) -> str:
    match = _DECIMAL_COMMA.fullmatch(cell)
    return cell if match is None else f"{match[1]}.{match[2]}"


def _parsed(file: str, lines: TextLines, delimiter: str, needs: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if delimiter != ",":
                cells = [_with_point(cell) if "," in cell else cell for cell in cells]
            if any(cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise ScenarioError(f"{file}:{reader.line_num}: not CSV, {error}; needs {needs}") from None
