"""Console output of tables: full width in pipes and files, folded on narrower terminals."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from longpipe.cli.toolkit import safe

# A width larger than that of any table or line.
UNBOUNDED: Final = 100_000


def terminal() -> Console:
    """Returns a console for stdout with the width of the terminal or of COLUMNS.

    Without either, lines are not wrapped.
    """
    has_width = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return safe.Console(highlight=False, width=None if has_width else UNBOUNDED)


def terminal_table(*heads: str, left: int = 1, no_wrap: bool = True, **options: Any) -> Table:  # noqa: ANN401 - as in Rich
    """Returns a table without borders, to which rows can be added.

    The first `left` columns hold texts. All others hold numbers, which are aligned at the right and, with `no_wrap`,
    never wrapped.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", **options)
    for index, head in enumerate(heads):
        numbers = index >= left
        table.add_column(escape(head), justify="right" if numbers else "left", no_wrap=numbers and no_wrap)
    return table


def show_table(console: Console, table: Table, heads: int = 1) -> None:
    """Prints a complete table: columns that do not fit follow in further blocks, each with the first `heads` columns.

    Text is wrapped between words where a column allows it; words, names and numbers are never cut.
    """
    title, caption = table.title, table.caption
    # Rich would wrap them to the width of the table.
    table.title = table.caption = None
    if title:
        console.print(title, style=table.title_style or "table.title", highlight=False)
    for number, block in enumerate(blocks(console, table, heads)):
        if number:
            console.print()
        # A block that is too wide even with wrapped words exceeds the terminal instead of being cut.
        console.print(block, crop=False)
    if caption:
        console.print(caption, style=table.caption_style or "table.caption", highlight=False)


def print_written(console: Console, **files: Path | str | None) -> None:
    """Prints a line for each written file or folder, with its content."""
    for what, file in files.items():
        if file is not None:
            console.print(f"{what}: {file}", markup=False, soft_wrap=True)


def blocks(console: Console, table: Table, heads: int = 1) -> Iterator[Table]:
    """Returns the table if it fits, otherwise several tables with some of its columns, each with the first `heads`."""
    maxima = [_measured(console, table, column).maximum for column in range(len(table.columns))]
    minima = [
        width if column.no_wrap else _measured(console, table, number).minimum
        for number, (column, width) in enumerate(zip(table.columns, maxima, strict=True))
    ]
    if _total(table, maxima) <= console.width:
        yield table
        return
    named, optional = list(range(heads)), list(range(heads, len(maxima)))
    # Names are wrapped only if they leave no space for the widest other column.
    kept = {column: maxima[column] for column in named}
    if optional and _total(table, [*kept.values(), max(minima[column] for column in optional)]) > console.width:
        kept = {column: minima[column] for column in named}
    parts: list[list[int]] = [[]]
    for column in optional:
        column_widths = [*kept.values(), *(minima[name] for name in [*parts[-1], column])]
        if parts[-1] and _total(table, column_widths) > console.width:
            parts.append([])
        parts[-1].append(column)
    for part in parts:
        floor = {**kept, **{column: minima[column] for column in part}}
        widths = _widened(floor, {column: maxima[column] for column in floor}, console.width - _gaps(table, len(floor)))
        yield _part(table, widths, console.width)


def _measured(console: Console, table: Table, number: int) -> Measurement:
    column, options = table.columns[number], console.options.update_width(UNBOUNDED)
    cells = [Measurement.get(console, options, cell) for cell in (column.header, *column.cells) if cell != ""]
    return Measurement(
        max((measurement.minimum for measurement in cells), default=0),
        max((measurement.maximum for measurement in cells), default=0),
    )


def _gaps(table: Table, columns: int) -> int:
    return (columns - 1) * (table.padding[1] + table.padding[3])


def _total(table: Table, widths: list[int]) -> int:
    return sum(widths) + _gaps(table, len(widths))


def _widened(minima: dict[int, int], maxima: dict[int, int], room: int) -> dict[int, int]:
    """Returns column widths: extra space goes to the narrowest column that needs more."""
    widths = dict(minima)
    for _ in range(room - sum(widths.values())):
        wanting = [column for column in widths if widths[column] < maxima[column]]
        if not wanting:
            break
        widths[min(wanting, key=widths.__getitem__)] += 1
    return widths


def _part(table: Table, widths: dict[int, int], room: int) -> Table:
    """Returns a table of the columns with these numbers and widths, in a terminal with `room` columns of characters."""
    part = Table(
        box=table.box, pad_edge=table.pad_edge, padding=table.padding,
        header_style=table.header_style, show_header=table.show_header,
    )  # fmt: skip
    for number, width in widths.items():
        column = table.columns[number]
        part.add_column(
            column.header, justify=column.justify, no_wrap=column.no_wrap, overflow=column.overflow, width=width
        )
    cells = [list(table.columns[number].cells) for number in widths]
    for row, values in zip(table.rows, zip(*cells, strict=True), strict=True):
        part.add_row(*values, style=row.style, end_section=row.end_section)
    total = _total(table, list(widths.values()))
    if total > room:
        part.width = total
    return part
