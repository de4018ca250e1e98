"""CSV files of series: their rows, and quantities in them; each error names the file and the line."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from longpipe.errors import ScenarioError, nearest
from longpipe.scenario.motion import MOST_STEPS
from longpipe.units import Dimension


def heads(file: str, rows: Sequence[Sequence[str]], names: Sequence[str], *, others: int = 1) -> list[str]:
    """Names of the columns: the first of `names`, and `others` or more of the rest."""
    found = [name.strip() for name in rows[0]] if rows else []
    if names[0] not in found or len(found) <= others:
        raise ScenarioError(
            f"{file}:1: {', '.join(found) or 'empty'}; needs a head with {names[0]} and {', '.join(names[1:])}"
        )
    for name in found:
        if name not in names:
            raise ScenarioError(f"{file}:1: column {name!r}; {nearest(name, names)}")
    if not 1 < len(rows) <= MOST_STEPS:
        raise ScenarioError(f"{file}: {len(rows) - 1} rows; needs 1 to {MOST_STEPS}")
    return found


def check_cells(where: str, row: Sequence[str], names: Sequence[str]) -> None:
    """ScenarioError unless there are as many as columns."""
    if len(row) != len(names):
        raise ScenarioError(f"{where}: {len(row)} cells; needs {len(names)}: {', '.join(names)}")


def quantity(where: str, cell: str, dimension: Dimension, base: int, most: int) -> int:
    """A number of seconds or bit/s, or text with a unit; in the core's whole units, rounded."""
    try:
        value = round(Fraction(cell) * base) if cell[-1:].isdigit() and len(cell) < 40 else dimension.parse(cell)
    except ValueError:
        raise ScenarioError(
            f"{where} {cell!r}; needs a number, or one with a unit, as in {dimension.example!r}"
        ) from None
    if not 0 <= value <= most:
        raise ScenarioError(f"{where} {cell}; needs 0 to {dimension.format(most)}")
    return value
