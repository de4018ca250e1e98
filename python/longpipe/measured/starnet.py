"""Logs of StarNet's tool on Starlink (Ren and others, CoNEXT '25): `network_measurements.log`, and its data as CSV.

`starnet_tool/tp_lt.py` logs the sum of 20 connections of `iperf3 -R` each second, as in `2024-05-01 12:00:13.4 TP: 181
Mbits/sec`, and the RTT of each reply of ping, as in `2024-05-01 12:00:13.7 Lt: 41.2 ms`. Times are those of the local
clock, without a time zone. The data set is tables with the columns timestamp, throughput and latency, once a second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from longpipe.errors import ScenarioError, shown
from longpipe.inputs.table import heads_of, table_of
from longpipe.measured.columns import Columns
from longpipe.measured.content import Content
from longpipe.measured.fields import LARGEST
from longpipe.measured.lines import Texts
from longpipe.measured.recording import Recording, Subject, kept, rates, series_of
from longpipe.measured.texts import decimal, unix_ns_of_date

NAME: Final = "log of StarNet"
_LINE: Final = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?) (?P<kind>TP|Lt): (?P<value>\d{1,9}(?:\.\d{1,9})?) ?"
    r"(?P<unit>Mbits/sec|ms)"
)
_UNITS: Final = {"TP": "Mbits/sec", "Lt": "ms"}
_HEADS: Final = ("timestamp", "throughput", "latency")
_NEEDS: Final = "lines of StarNet's tp_lt.py, as in 2024-05-01 12:00:13.4 TP: 181 Mbits/sec"
_LOCAL: Final = "the time zone: times count as UTC, and StarNet's tool writes those of the local clock"
# A value, with its kind and its Unix time [ns].
_Value = tuple[int, int, str, float]
# Names of pandas for an absent value.
_ABSENT: Final = ("", "nan", "NaN", "None")


def recognizes(content: Content) -> bool:
    """Returns whether the first line is one of the log, or has the columns of the data set."""
    first = content.begins.lstrip().partition("\n")[0].rstrip("\r")
    return _LINE.fullmatch(first) is not None or {*_HEADS} <= {*heads_of(first)}


def read(content: Content) -> Recording:
    """Returns one path with the rates of the transfers and the RTTs of the pings."""
    is_table = {*_HEADS} <= {*heads_of(content.begins.lstrip().partition("\n")[0].rstrip("\r"))}
    begin: int | None = None
    latest = {"TP": 0, "Lt": 0}
    points = {"TP": Columns(2), "Lt": Columns(2)}
    for line, at, kind, value in _of_table(content) if is_table else _of_log(content):
        if at < latest[kind]:
            raise ScenarioError(f"{content.file}:{line}: time before the previous one; needs times in order")
        latest[kind] = at
        begin = at if begin is None else begin
        points[kind].append((at - begin) / 1e9, value)
    if begin is None:
        raise ScenarioError(f"{content.file}: no value; needs {_NEEDS}")
    moved = ((at - 1, at, value * 1e6 / 8) for at, value in points["TP"])
    rtt = points["Lt"]
    series = kept(
        rates(moved, "payload of all connections, mean over the second that ends at the time"),
        series_of("rtt", rtt.column(0), rtt.column(1) / 1e3, "at the time of the reply"),
    )
    length = (max(latest.values()) - begin) / 1e9
    unknown = (_LOCAL, "lost pings: the log has only replies", "the congestion control of the server")
    return Recording(
        content.file, "StarNet log", "StarNet", None, begin, length, (Subject("path", "path", series),), unknown
    )


def _of_log(content: Content) -> Iterator[_Value]:
    for line, text in content.lines:
        if not text.strip():
            continue
        match = _LINE.fullmatch(text.strip())
        at = None if match is None else unix_ns_of_date(match["at"])
        value = None if match is None else decimal(match["value"])
        if match is None or at is None or value is None or match["unit"] != _UNITS[match["kind"]]:
            raise ScenarioError(f"{content.file}:{line}: {shown(text)}; needs {_NEEDS}")
        yield line, at, match["kind"], value


def _of_table(content: Content) -> Iterator[_Value]:
    table = table_of(content.file, Texts(content.lines), f"a table of StarNet with the columns {', '.join(_HEADS)}")
    time, *places = (table.heads.index(name) for name in _HEADS)
    for line, cells in table:
        at = unix_ns_of_date(cells[time])
        if at is None:
            raise ScenarioError(f"{content.file}:{line}: timestamp {shown(cells[time])}; needs a date of ISO 8601")
        for name, place, kind in zip(_HEADS[1:], places, _UNITS, strict=True):
            value = None if cells[place] in _ABSENT else decimal(cells[place])
            if value is not None and 0 <= value <= LARGEST:
                yield line, at, kind, value
            elif cells[place] not in _ABSENT:
                raise ScenarioError(f"{content.file}:{line}: {name} {shown(cells[place])}; needs a number from 0 on")
