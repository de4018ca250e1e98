"""CSV files of the WetLinks data set on Starlink (Laniewski and others, TMA 2024): ping, traceroute, iperf3, dish.

The columns are those that `Raw_Data/*/*.txt` of the data set describe. A row of ping, traceroute or iperf3 is a
measurement from `timestamp_start` to `timestamp_end`; a row of `starlink.csv` is an answer of the dish to get_status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from longpipe.errors import ScenarioError, shown
from longpipe.inputs.table import heads_of, table_of
from longpipe.measured.content import Content
from longpipe.measured.fields import LARGEST
from longpipe.measured.lines import Texts
from longpipe.measured.recording import Moved, Recording, Series, SeriesKind, Subject, kept, rates, series
from longpipe.measured.texts import decimal, unix_ns_of_date

NAME: Final = "CSV of WetLinks"
_NEEDS: Final = "a table of WetLinks with its header"
# Columns that identify a path, as far as a table has them.
_KEYS: Final = ("site_name", "target", "server", "ip_protocol", "transport_protocol", "hop", "hop_id")
# Texts of pandas for an absent value.
_ABSENT: Final = ("", "nan", "None")


class _Row(NamedTuple):
    """A measurement: start and end [s] since the first one, and its numbers by column, None where they are absent."""

    begin: float
    end: float
    of: dict[str, float | None]


class _Kind(NamedTuple):
    """A table: its times, its columns of numbers, the subjects of a path's rows, and what the table lacks."""

    times: tuple[str, ...]
    columns: tuple[str, ...]
    subjects: Callable[[str, list[_Row]], Iterator[Subject]]
    unknown: tuple[str, ...]


def recognizes(content: Content) -> bool:
    """Returns whether the first line contains the column headers of one of the tables."""
    return _kind(heads_of(content.begins.lstrip().partition("\n")[0].rstrip("\r"))) is not None


def _kind(heads: Sequence[str]) -> _Kind | None:
    return next((kind for kind in _KINDS if {*kind.times, *kind.columns} <= set(heads)), None)


def read(content: Content) -> Recording:
    """Returns a path for each site, target and protocol; used rates have a path for each direction."""
    table = table_of(content.file, Texts(content.lines), _NEEDS)
    kind = _kind(table.heads)
    if kind is None:
        raise ScenarioError(f"{content.file}: columns {shown(', '.join(table.heads))}; needs {_NEEDS}")
    times = [table.heads.index(name) for name in kind.times]
    columns = {name: table.heads.index(name) for name in kind.columns}
    keys = [table.heads.index(name) for name in _KEYS if name in table.heads]
    rows_by_path: dict[tuple[str, ...], list[tuple[int, int, dict[str, float | None]]]] = {}
    for line, cells in table:
        begin, end = (_time(f"{content.file}:{line}", table.heads[at], cells[at]) for at in (times[0], times[-1]))
        if end < begin:
            raise ScenarioError(f"{content.file}:{line}: {kind.times[-1]} before {kind.times[0]}; needs a later time")
        numbers = {name: _number(f"{content.file}:{line}", name, cells[at]) for name, at in columns.items()}
        rows_by_path.setdefault(tuple(cells[at] for at in keys), []).append((begin, end, numbers))
    if not rows_by_path:
        raise ScenarioError(f"{content.file}: no row; needs {_NEEDS}")
    first = min(begin for rows in rows_by_path.values() for begin, _, _ in rows)
    last = max(end for rows in rows_by_path.values() for _, end, _ in rows)
    subjects: list[Subject] = []
    for key, rows in rows_by_path.items():
        ordered = sorted(rows, key=lambda row: row[:2])
        since = [_Row((begin - first) / 1e9, (end - first) / 1e9, numbers) for begin, end, numbers in ordered]
        subjects += kind.subjects(" ".join(part for part in key if part) or "path", since)
    length = (last - first) / 1e9
    return Recording(content.file, "WetLinks CSV", "WetLinks", None, first, length, tuple(subjects), kind.unknown)


def _time(location: str, name: str, cell: str) -> int:
    unix_ns = unix_ns_of_date(cell)
    if unix_ns is None:
        raise ScenarioError(f"{location}: {name} {shown(cell)}; needs a date of ISO 8601")
    return unix_ns


def _number(location: str, name: str, cell: str) -> float | None:
    value = None if cell in _ABSENT else decimal(cell)
    if cell not in _ABSENT and (value is None or not 0 <= value <= LARGEST):
        raise ScenarioError(f"{location}: {name} {shown(cell)}; needs a number from 0 on, or nothing")
    return value


def _of_ping(name: str, rows: list[_Row]) -> Iterator[Subject]:
    sent = sum(row.of["packets_send"] or 0.0 for row in rows)
    lost = [(row.end, round((row.of["packets_send"] or 0) * (row.of["packet_loss"] or 0) / 100)) for row in rows]
    counters = {"sent": (sent, "packets"), "lost": (float(sum(count for _, count in lost)), "packets")}
    of_path = kept(
        _values("rtt", rows, "ping_avg", "mean over the measurement that ends at the time"),
        series("losses", [loss for loss in lost if loss[1]], "in the measurement that ends at the time"),
    )
    yield Subject(name, "path", of_path, counters)


def _values(quantity: SeriesKind, rows: list[_Row], column: str, meaning: str, scale: float = 1e-3) -> Series:
    with_value = [(row, value) for row in rows if (value := row.of[column]) is not None]
    spans = [(row.begin, row.end) for row, _ in with_value]
    return series(quantity, ((row.end, value * scale) for row, value in with_value), meaning, intervals=spans)


def _of_iperf(name: str, rows: list[_Row]) -> Iterator[Subject]:
    for direction in ("download", "upload"):
        if series := kept(rates(_moved(rows, direction, 1.0), "mean over the interval that ends at the time")):
            yield Subject(f"{name} {direction}", "path", series)


def _moved(rows: list[_Row], column: str, scale: float, length_s: float | None = None) -> Iterator[Moved]:
    for row in rows:
        rate = row.of[column]
        begin = row.begin if length_s is None else row.end - length_s
        if rate is not None:
            yield begin, row.end, rate * scale * (row.end - begin) / 8


def _of_dish(name: str, rows: list[_Row]) -> Iterator[Subject]:
    # If all pings of a second are lost, the dish repeats the RTT before.
    replied = [row for row in rows if (row.of["ping_drop"] or 0.0) < _ALL and row.of["pop_ping_latency"]]
    drop_rates = [min(drop, _ALL) for row in rows if (drop := row.of["ping_drop"]) is not None]
    counters = {"samples": (float(len(rows)), "samples")}
    if drop_rates:
        counters["lost pings"] = (sum(drop_rates) / len(drop_rates), "%")
    if partial_drops := [drop for drop in drop_rates if drop < _ALL]:
        counters["lost pings with replies"] = (sum(partial_drops) / len(partial_drops), "%")
    points = [(row.end, (row.of["pop_ping_latency"] or 0.0) / 1e3) for row in replied]
    yield Subject(name, "path", kept(series("rtt", points, "pings between dish and point of presence")), counters)
    for direction in ("downlink", "uplink"):
        moved = _moved(rows, direction, _BPS_PER_MBPS, 1.0)
        if with_values := kept(rates(moved, "used, mean over the second that ends at the time")):
            yield Subject(f"{name} {direction}", "path", with_values)


_ALL: Final = 100.0
_BPS_PER_MBPS: Final = 1e6
_SPAN: Final = ("timestamp_start", "timestamp_end")
_PING_UNKNOWN: Final = (
    "rates, and the direction of a delay or loss: ping measures round trips",
    "single packets: a row is the mean of a measurement",
)
_KINDS: Final = (
    _Kind(_SPAN, ("packet_loss", "packets_send", "ping_avg"), _of_ping, _PING_UNKNOWN),
    _Kind(_SPAN, ("download", "upload"), _of_iperf, ("round-trip times, and packets: iperf3 counts payload",)),
    _Kind(
        ("timestamp",), ("uplink", "downlink", "pop_ping_latency", "ping_drop"), _of_dish,
        ("the available rate: the rates are those that were used", "the time between two answers of the dish"),
    ),
)  # fmt: skip
