"""CSV files of the LENS data set on Starlink, and similar ones: `timestamp,rtt,uplink,downlink` or `timestamp,rtt`."""

from __future__ import annotations

from typing import Final

from longpipe.errors import ScenarioError
from longpipe.inputs.lens import is_lens, probes
from longpipe.inputs.table import heads_of, table_of
from longpipe.measured.columns import Columns
from longpipe.measured.content import Content
from longpipe.measured.lines import Texts
from longpipe.measured.one_way import clock_notes
from longpipe.measured.recording import Recording, Series, SeriesKind, Subject, kept, series_of
from longpipe.measured.runs import joined, split_at

NAME: Final = "CSV of timestamp,rtt (LENS)"
# Directions, as a note names them, and the series of their delays.
_DIRECTIONS: Final[dict[str, SeriesKind]] = {"upstream": "delay up", "downstream": "delay down"}
_NEEDS: Final = "rows of timestamp,rtt,uplink,downlink as in the LENS data set"


def recognizes(content: Content) -> bool:
    """Returns whether the first line contains the column headers."""
    return is_lens(heads_of(content.begins.lstrip().partition("\n")[0].rstrip("\r")))


def read(content: Content) -> Recording:
    """Returns the probes of all tables in a file, each of which begins with column headers."""
    parts = split_at(content, _is_head, lambda _: None)
    return joined([(part.lines[0][0], _of_table(part)) for part in parts])


def _is_head(line: str) -> bool:
    return not line[:1].isdigit() and is_lens(heads_of(line))


def _of_table(content: Content) -> Recording:
    """Returns the probes, with losses by direction as far as they are known."""
    begin = latest = None
    quantities: tuple[SeriesKind, ...] = ("rtt", "delay up", "delay down")
    every: dict[SeriesKind, Columns] = {quantity: Columns(2) for quantity in quantities}
    lost = Columns(2)
    directions = {"uplink": 0, "downlink": 0}
    table = table_of(content.file, Texts(content.lines), _NEEDS)
    for probe in probes(table):
        at = probe.time_ns
        if latest is not None and at < latest:
            raise ScenarioError(
                f"{content.file}:{probe.line}: timestamp before the previous one; needs increasing times"
            )
        latest, begin = at, at if begin is None else begin
        since = (at - begin) / 1e9
        if probe.rtt is None:
            lost.append(since, 1.0)
            for name in probe.lost_in:
                directions[name] += 1
            continue
        delays: tuple[tuple[SeriesKind, int | None], ...]
        delays = (("rtt", probe.rtt), ("delay up", probe.uplink), ("delay down", probe.downlink))
        for quantity, delay in delays:
            if delay is not None:
                every[quantity].append(since, delay / 1e12)
    if begin is None or latest is None:
        raise ScenarioError(f"{content.file}:{content.lines[0][0]}: no row; needs {_NEEDS}")
    counters = {
        "sent": (float(len(every["rtt"]) + len(lost)), "packets"),
        "lost": (float(len(lost)), "packets"),
    }
    columns = [head.casefold() for head in table.heads]
    ways = (("lost upstream", "uplink"), ("lost downstream", "downlink"))
    counters |= {name: (float(directions[column]), "packets") for name, column in ways if column in columns}
    series = kept(
        _series("rtt", every["rtt"], "at the timestamp"),
        _series("delay up", every["delay up"], "measured with two clocks"),
        _series("delay down", every["delay down"], "measured with two clocks"),
        _series("losses", lost, "a lost probe"),
    )
    unknown = ("rates: the probes are small", "one-way delays, unless the clocks of both ends are synchronized")
    notes = clock_notes(
        {name: min((row[1] for row in every[direction]), default=None) for name, direction in _DIRECTIONS.items()}
    )
    path = Subject("path", "path", series, counters)
    return Recording(
        content.file, "LENS CSV", "LENS or a similar data set", None, begin, (latest - begin) / 1e9, (path,), unknown,
        tuple(notes),
    )  # fmt: skip


def _series(quantity: SeriesKind, points: Columns, meaning: str) -> Series:
    return series_of(quantity, points.column(0), points.column(1), meaning)
