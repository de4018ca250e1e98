"""CSV files of the LENS data set on Starlink, and similar ones: `timestamp,rtt,uplink,downlink` or `timestamp,rtt`."""

from __future__ import annotations

from typing import Final

from longpipe.errors import ScenarioError, shown
from longpipe.inputs.table import table_of
from longpipe.measured.content import Content
from longpipe.measured.fields import decimal, unix_ns
from longpipe.measured.recording import Recording, Subject, kept, series

NAME: Final = "CSV of timestamp,rtt (LENS)"
_HEADS: Final = (("timestamp", "rtt", "uplink", "downlink"), ("timestamp", "rtt"))
_NEEDS: Final = "rows of timestamp,rtt,uplink,downlink as in the LENS data set"


def _heads(content: Content) -> tuple[str, ...]:
    return tuple(head.strip().strip('"') for head in content.begins.partition("\n")[0].split(","))


def recognises(content: Content) -> bool:
    """Returns whether the first line contains the column headers."""
    return _heads(content) in _HEADS


def read(content: Content) -> Recording:
    """Returns the probes; -1 means lost: as uplink or downlink in that direction, as rtt in an unknown direction."""
    begin = latest = None
    every: dict[str, list[tuple[float, float]]] = {"rtt": [], "uplink": [], "downlink": []}
    lost: list[tuple[float, float]] = []
    directions = {"uplink": 0, "downlink": 0}
    for line, cells in table_of(content.file, [line for _, line in content.lines], _NEEDS):
        row = dict(zip(_heads(content), cells, strict=True))
        at = unix_ns(row["timestamp"])
        if at is None:
            raise ScenarioError(
                f"{content.file}:{line}: timestamp {shown(row['timestamp'])}; needs Unix time in s or ns"
            )
        if latest is not None and at < latest:
            raise ScenarioError(f"{content.file}:{line}: timestamp before the previous one; needs increasing times")
        latest, begin = at, at if begin is None else begin
        values = {name: decimal(cell) for name, cell in row.items() if name != "timestamp"}
        for name, value in values.items():
            if value is None or (value < 0 and value != -1):
                raise ScenarioError(
                    f"{content.file}:{line}: {name} {shown(row[name])}; needs milliseconds, or -1 if lost"
                )
        since = (at - begin) / 1e9
        missing = [name for name, value in values.items() if value == -1]
        if missing:
            lost.append((since, 1.0))
            for name in directions:
                directions[name] += name in missing
            continue
        for name, value in values.items():
            every[name].append((since, (value or 0.0) / 1e3))
    if begin is None or latest is None:
        raise ScenarioError(f"{content.file}: no row; needs {_NEEDS}")
    counters = {
        "sent": (float(len(every["rtt"]) + len(lost)), "packets"),
        "lost": (float(len(lost)), "packets"),
        "lost upstream": (float(directions["uplink"]), "packets"),
        "lost downstream": (float(directions["downlink"]), "packets"),
    }
    found = kept(
        series("rtt", every["rtt"], "at the timestamp"),
        series("delay up", every["uplink"], "measured with two clocks"),
        series("delay down", every["downlink"], "measured with two clocks"),
        series("losses", lost, "a lost probe"),
    )
    unknown = ("rates: the probes are small", "one-way delays, unless the clocks of both ends are synchronized")
    path = Subject("path", "path", found, counters)
    return Recording(
        content.file, "LENS CSV", "LENS or a similar data set", None, begin, (latest - begin) / 1e9, (path,), unknown
    )
