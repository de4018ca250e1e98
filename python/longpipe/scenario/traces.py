"""CSV files of a path over time: rate, delay or RTT, and loss; and RTT files of satellites and of LENS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from longpipe.errors import ScenarioError, shown
from longpipe.inputs.lens import is_lens, probes
from longpipe.inputs.notes import Notes, keep
from longpipe.inputs.numbers import exact
from longpipe.inputs.table import Table, read_table
from longpipe.scenario.points import Points
from longpipe.scenario.rows import Column, SeriesTable, Times, named, series_table
from longpipe.scenario.variations import MAX_STEPS
from longpipe.units import RATE, TIME, Dimension

COLUMNS: Final[dict[str, Dimension | None]] = {"time": TIME, "rate": RATE, "delay": TIME, "rtt": TIME, "loss": None}
# Columns of `longpipe satellites -o`.
ROUND_TRIPS: Final = ("time_s", "from", "to", "rtt_ns", "links")
# Bounds outside of which numbers without a unit cause a warning: a rate of 152 is probably meant in Mbit/s instead of
# bit/s, and a delay of 20 in ms instead of s.
_SLOW_BPS: Final = RATE.parse("100 kbit/s")
_LONG_PS: Final = TIME.parse("2 s")
# Bound of the delay below which RTTs in ms cause a warning.
_SHORT_PS: Final = TIME.parse("50 us")
_NEEDS: Final = "a CSV file of time and rate, delay, rtt or loss"


@dataclass
class Trace:
    """Content of a file: rate steps, delay points, loss steps and outages, each with its time [ps]."""

    rate: Points = field(default_factory=Points)
    delay: Points = field(default_factory=Points)
    loss: Points = field(default_factory=lambda: Points(second="d"))
    outages: Points = field(default_factory=Points)


def read(file: str, latest_ps: int, longest_ps: int, fastest_bps: int) -> Trace:
    """Reads a CSV file; times are relative to the first row.

    `latest_ps` is the latest time, `longest_ps` the largest delay, and `fastest_bps` the largest rate. Raises
    ScenarioError with the line and column of a problem.
    """
    table = read_table(file, _NEEDS)
    if is_lens(table.heads):
        return _of_lens(table, latest_ps, longest_ps)
    if table.heads[: len(ROUND_TRIPS)] == ROUND_TRIPS:
        return _of_round_trips(table, latest_ps, longest_ps, fastest_bps)
    rows, units = series_table(table, latest_ps, COLUMNS, max_rows=MAX_STEPS)
    if "rtt" in units and "delay" in units:
        raise ScenarioError(f"{file}:1: columns rtt and delay; needs one of them, because the delay is half of the RTT")
    columns = _quantity_columns(file, units, longest_ps, fastest_bps)
    percent = _is_percent(file, units["loss"]) if "loss" in units else False
    rows.columns.update(columns)
    trace = Trace()
    series_of = {"rate": trace.rate, "delay": trace.delay, "rtt": trace.delay}
    readers = [(rows.at[name], column.read, series_of[name]) for name, column in columns.items()]
    for line, now, cells in rows:
        for place, read_cell, series in readers:
            # An empty cell keeps the previous value.
            if cell := cells[place]:
                series.append([now, read_cell(line, cell)])
        if "loss" in units and (cell := cells[rows.at["loss"]]):
            trace.loss.append([now, _share(f"{file}:{line}: loss", cell, percent=percent)])
    rows.keep_notes([*_doubts(columns), *_of_loss(file, trace)], list(_span_of_loss(trace)))
    return trace


def _quantity_columns(file: str, units: Mapping[str, str], longest_ps: int, fastest_bps: int) -> dict[str, Column]:
    """Returns the columns of rates and delays by name; `units` are those in the header, or empty."""
    columns = {
        "rate": Column(file, "rate", RATE, RATE.base, fastest_bps),
        "delay": Column(file, "delay", TIME, "s", longest_ps),
        "rtt": Column(file, "rtt", TIME, "s", longest_ps, divisor=2),
    }
    return {name: replace(columns[name], unit=unit) for name, unit in units.items() if name in columns}


def _doubts(columns: dict[str, Column]) -> Iterator[str]:
    """Yields warnings about numbers without a unit that another unit would explain better."""
    for name, column in columns.items():
        if name == "rate":
            yield from column.doubt("Mbit/s", low=_SLOW_BPS)
        else:
            yield from column.doubt("ms", high=_LONG_PS)


def _of_loss(file: str, found: Trace) -> Iterator[str]:
    """Yields a warning if all packets are lost."""
    if found.loss and min(share for _, share in found.loss) == 1:
        yield f"{file}: loss is 1 in all rows, so nothing arrives; if percent is meant, name the column 'loss [%]'"


def _span_of_loss(found: Trace) -> Iterator[str]:
    """Yields the range of a column of losses, for a note."""
    shares = [share for _, share in found.loss]
    if shares:
        low, high = (f"{share:.6g}" for share in (min(shares), max(shares)))
        yield f"loss {low if low == high else f'{low} to {high}'}"


def _is_percent(file: str, unit: str) -> bool:
    if unit not in ("", "%", "1"):
        raise ScenarioError(f"{file}:1: column loss in {shown(unit)}; accepts % or no unit, a probability of 0 to 1")
    return unit == "%"


def _share(where: str, cell: str, *, percent: bool) -> float:
    value = exact(cell.removesuffix("%").rstrip())
    if value is not None and (percent or cell.endswith("%")):
        value /= 100
    if value is None or not 0 <= value <= 1:
        raise ScenarioError(f"{where} {shown(cell)}; needs a probability of 0 to 1")
    return float(value)


def _of_round_trips(table: Table, latest_ps: int, longest_ps: int, fastest_bps: int) -> Trace:
    """Returns half of each RTT of a pair of stations, with outages where there is no route.

    A column of rates may follow those of `longpipe satellites`.
    """
    file = table.file
    times = Times(file, "time_s", "s", latest_ps, from_first=True)
    rtts = Column(file, "rtt_ns", TIME, "ns", longest_ps, 2)
    rows = SeriesTable(table, times, {"rtt_ns": rtts}, {"time": 0})
    added = table.heads[len(ROUND_TRIPS) :]
    if len(added) > 1:
        raise ScenarioError(f"{file}:1: {len(added)} columns after links; needs at most one, of rates")
    rates = {"rate": _added_rate(file, added[0], fastest_bps)} if added else {}
    rows.columns.update(rates)
    trace = Trace()
    no_route_since: int | None = None
    pair: list[str] = []
    for line, cells in table:
        pair = pair or cells[1:3]
        if pair != cells[1:3]:
            first, second = (" - ".join(names)[:60] for names in (pair, cells[1:3]))
            raise ScenarioError(f"{file}:{line}: {second} after {first}; needs round trips of one pair")
        now = times.read(line, cells[0])
        if rates and (cell := cells[-1]):
            trace.rate.append([now, rates["rate"].read(line, cell)])
        if cells[3]:
            trace.delay.append([now, rtts.read(line, cells[3])])
            if no_route_since is not None:
                trace.outages.append([no_route_since, now])
            no_route_since = None
        elif no_route_since is None:
            no_route_since = now
    if not trace.delay:
        raise ScenarioError(f"{file}: no route at any instant; needs a round trip in at least one row")
    if no_route_since is not None:
        # A series stays as its last row states.
        trace.outages.append([no_route_since, latest_ps])
    rows.keep_notes([*_doubts(rates)])
    return trace


def _added_rate(file: str, head: str, fastest_bps: int) -> Column:
    name, unit = named(head, COLUMNS)
    if name != "rate":
        raise ScenarioError(f"{file}:1: column {shown(head)} after links; needs rate, as in 'rate [Mbit/s]', or none")
    return Column(file, name, RATE, RATE.base, fastest_bps, unit=unit)


def _of_lens(table: Table, latest_ps: int, longest_ps: int) -> Trace:
    """Returns half of each RTT; a lost probe keeps the previous value."""
    file = table.file
    times = Times(file, "timestamp", "ns", latest_ps, from_first=True)
    rtts = Column(file, "rtt", TIME, "ms", longest_ps, 2, "ms")
    found, lost = Trace(), 0
    for probe in probes(table):
        now = times.read(probe.line, str(probe.time_ns))
        if probe.rtt is None:
            lost += 1
        else:
            # The first RTT also applies before its time.
            found.delay.append([now if found.delay else 0, rtts.read(probe.line, f"{probe.rtt} ps")])
    if not found.delay:
        none = f"all {lost} round trips were lost" if lost else "0 rows"
        raise ScenarioError(f"{file}: {none}; needs at least one that was not lost")
    note = f"{file}: {times.note()}; {rtts.span()}; lost round trips, which keep the previous delay: {lost}"
    keep(file, Notes(note, tuple(rtts.doubt("s", low=_SHORT_PS))))
    return found
