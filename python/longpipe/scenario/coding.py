"""Adaptive coding and modulation: selects a carrier's mode, and with it the rate of the carrier's link, by Es/N0.

Thresholds are integers in billionths of a decibel, times in picoseconds: a mode starts at the first possible
picosecond.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final

from longpipe.errors import ScenarioError, nearest, shown
from longpipe.inputs.notes import Notes, keep
from longpipe.inputs.numbers import decimal_comma, exact
from longpipe.inputs.table import Table, read_table, table_of
from longpipe.scenario.rows import series_table
from longpipe.scenario.variations import MAX_STEPS, Coded
from longpipe.units import SYMBOLS, TIME

PS: Final = 10**12
LATEST_PS: Final = TIME.parse("2400 h")
# Units per decibel.
PARTS: Final = 10**9
MAX_DB: Final = 100
MAX_BITS: Final = 20
MAX_MODCODS: Final = 1000
OF_DVB_S2: Final = "dvb-s2"
COLUMNS: Final = ("modcod", "esn0", "efficiency")
# Mode of a carrier whose Es/N0 is below the lowest threshold.
NONE: Final = "none"


@dataclass(frozen=True)
class Modcod:
    """A mode: required Es/N0 [1e-9 dB], and payload bits per symbol."""

    name: str
    least: int
    efficiency: Fraction


def rates_of(where: str, path: Coded) -> list[tuple[int, int, str]]:
    """Returns the times [ps] of changes with the new rate [bit/s] and mode.

    Raises ScenarioError with the place or line of a problem.
    """
    knots = es_n0(where, path)
    table = modcods(path.modcods)
    baud = SYMBOLS.parse(path.symbol_rate)
    steps = _steps(
        knots, [modcod.least + _parts(path.margin) for modcod in table], _parts(path.hysteresis), path.between
    )
    found = [
        (at, int(baud * table[index].efficiency), table[index].name) if index >= 0 else (at, 0, NONE)
        for at, index in steps
    ]
    if len(found) > MAX_STEPS:
        raise ScenarioError(
            f"{where}: {len(found)} steps of the rate; needs at most {MAX_STEPS}, which more hysteresis gives"
        )
    if not any(rate for _, rate, _ in found):
        best = max(level for _, level in knots) / PARTS
        least = f"{table[0].name}, {table[0].least / PARTS + path.margin:g} dB"
        raise ScenarioError(f"{where}.esn0: at most {best:g} dB; needs the lowest threshold, {least}, at some time")
    return found


def es_n0(where: str, path: Coded) -> list[tuple[int, int]]:
    """Returns the points of a path: times [ps] and Es/N0 [1e-9 dB]."""
    if (path.file is None) == (not path.esn0):
        both = "and a file" if path.esn0 else "none, and no file"
        raise ScenarioError(f"{where}.esn0: {both}; needs one of them")
    if path.file is not None:
        return _of_file(path.file)
    knots = [(TIME.parse(time), _parts(level)) for time, level in path.esn0]
    for (before, _), (after, _), (time, _) in zip(knots, knots[1:], path.esn0[1:], strict=False):
        if after < before:
            raise ScenarioError(f"{where}.esn0: {time} after {TIME.format(before)}; needs increasing times")
    return knots


def modcods(name: str) -> list[Modcod]:
    """Returns the useful modes of a table, ordered by bits per symbol and threshold.

    Raises ScenarioError with the file and line of a problem.
    """
    if name == OF_DVB_S2:
        return list(_dvb_s2())
    found = _of_use(_table(read_table(name, "dvb-s2 or a CSV file with modcod, esn0 and efficiency")))
    if not found:
        raise ScenarioError(f"{name}: 0 rows; needs 1 to {MAX_MODCODS}")
    return found


@lru_cache(maxsize=1)
def _dvb_s2() -> tuple[Modcod, ...]:
    # Imported here because few scenarios need the table, and the import takes a millisecond of each start.
    from importlib import resources

    text = (resources.files("longpipe.scenario") / "modcods.csv").read_text(encoding="utf-8")
    return tuple(_of_use(_table(table_of(OF_DVB_S2, text.splitlines(), "the table of DVB-S2"))))


def _table(table: Table) -> Iterator[Modcod]:
    file = table.file
    for name in table.heads:
        if name not in COLUMNS:
            raise ScenarioError(f"{file}:1: column {shown(name)}; {nearest(name[:40], COLUMNS)}")
    if len(table.heads) < len(COLUMNS):
        raise ScenarioError(f"{file}:1: {', '.join(table.heads)}; needs a header with {' and '.join(COLUMNS)}")
    if len(table.lines) > MAX_MODCODS + 1:
        raise ScenarioError(f"{file}: {len(table.lines) - 1} rows; needs 1 to {MAX_MODCODS}")
    for line, row in table:
        where = f"{file}:{line}"
        cells = dict(zip(table.heads, row, strict=True))
        efficiency = exact(cells["efficiency"])
        if efficiency is None or not 0 < efficiency <= MAX_BITS:
            shortened = cells["efficiency"][:20]
            raise ScenarioError(f"{where}: efficiency {shortened}; needs up to {MAX_BITS} bits per symbol")
        yield Modcod(cells["modcod"], _level(f"{where}: esn0", cells["esn0"]), efficiency)


def _of_use(table: Iterator[Modcod]) -> list[Modcod]:
    useful: list[Modcod] = []
    for modcod in sorted(table, key=lambda modcod: (modcod.least, -modcod.efficiency)):
        if not useful or modcod.efficiency > useful[-1].efficiency:
            useful.append(modcod)
    return useful


def _of_file(file: str) -> list[tuple[int, int]]:
    table = read_table(file, "a CSV file with time and esn0")
    rows, units = series_table(table, LATEST_PS, {"time": TIME, "esn0": None}, max_rows=MAX_STEPS)
    if units["esn0"] not in ("", "dB"):
        raise ScenarioError(f"{file}:1: column esn0 in {shown(units['esn0'])}; accepts dB")
    place = rows.at["esn0"]
    found = [
        (now, _level(f"{file}:{line}: esn0", cells[place]))
        for line, now, cells in rows
        # An empty cell keeps the previous value.
        if cells[place]
    ]
    if not found or found[0][0] != 0:
        raise ScenarioError(f"{file}: esn0: empty in the first row; needs a value")
    low, high = (pick(level for _, level in found) / PARTS for pick in (min, max))
    keep(file, Notes(f"{file}: {rows.times.note()}; esn0 {low:g} to {high:g} dB", second_ps=rows.times.second))
    return found


def _level(where: str, cell: str) -> int:
    level = exact(cell.removesuffix("dB").rstrip())
    if level is None:
        raise ScenarioError(f"{where} {shown(cell)}{decimal_comma(cell)}; needs a number")
    if not -MAX_DB <= level <= MAX_DB:
        raise ScenarioError(f"{where} {cell}; needs -{MAX_DB} to {MAX_DB} dB")
    return round(level * PARTS)


def _parts(decibels: float) -> int:
    return round(Fraction(str(decibels)) * PARTS)


@dataclass
class _Chooser:
    """Selects the mode over time, by its number; -1 means that the level is below the lowest threshold."""

    thresholds: Sequence[int]
    hysteresis: int
    now: int
    # Times of changes, and the modes to which they lead.
    found: list[tuple[int, int]]

    def take(self, at: int, level: int) -> None:
        """Changes to the fastest mode that a level (rounded down) permits.

        For a faster mode than the present one, the level must also exceed the threshold by the hysteresis.
        """
        if self.now >= 0 and level < self.thresholds[self.now]:
            step = bisect_right(self.thresholds, level) - 1
        else:
            step = max(self.now, bisect_right(self.thresholds, level - self.hysteresis) - 1)
        if step != self.now:
            self.now = step
            if self.found[-1][0] == at:
                self.found.pop()
            self.found.append((at, step))

    def pass_line(self, since: int, begin: int, after: int, end: int) -> None:
        """Processes the line between two points, excluding both ends."""
        while True:
            # Distance of the level from the threshold and from the next point, in the direction of change.
            if end < begin and self.now >= 0:
                edge = self.thresholds[self.now]
                gap, whole, below = begin - edge, begin - end, True
            elif end > begin and self.now + 1 < len(self.thresholds):
                edge = self.thresholds[self.now + 1] + self.hysteresis
                gap, whole, below = edge - begin, end - begin, False
            else:
                return
            # The first picosecond at which a falling level is below the threshold, or a rising level is at or above it.
            gap *= after - since
            at = since + (gap // whole + 1 if below else -(-gap // whole))
            if at >= after:
                return
            self.take(at, begin + (end - begin) * (at - since) // (after - since))


def _steps(
    knots: Sequence[tuple[int, int]], thresholds: Sequence[int], hysteresis: int, between: str
) -> list[tuple[int, int]]:
    """Returns the times of changes, the first of which is 0, and the new modes."""
    at_zero = [level for at, level in knots if at == 0] or [knots[0][1]]
    first = bisect_right(thresholds, at_zero[-1]) - 1
    chooser = _Chooser(thresholds, hysteresis, first, [(0, first)])
    for (since, begin), (after, end) in pairwise([*knots, (LATEST_PS, knots[-1][1])]):
        # If several points have the same time, the last one applies.
        if after > since:
            chooser.take(since, begin)
            if between == "linear":
                chooser.pass_line(since, begin, after, end)
    return chooser.found
