"""A run as a Perfetto trace: counters of windows, RTTs and queues, and the states of senders as slices.

The file is a sequence of packets of Perfetto's protobuf schema, which https://ui.perfetto.dev reads. Field numbers are
those of protos/perfetto/trace.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError
from longpipe.qlog import rows_of
from longpipe.system.files import check_file, write_bytes

if TYPE_CHECKING:
    import pandas as pd

    from longpipe.result import Result

# Traces that a Perfetto file shows; all but the first may be missing.
TRACES: Final = ("cwnd", "rtt", "queue", "events")
# Trace.packet; TracePacket: timestamp, trusted_packet_sequence_id, track_event, track_descriptor.
_PACKET, _TIMESTAMP, _SEQUENCE, _EVENT, _DESCRIPTOR = 1, 8, 10, 11, 60
# TrackDescriptor: uuid, name, parent_uuid, counter; CounterDescriptor: unit, unit_name.
_UUID, _NAME, _PARENT, _COUNTER, _UNIT, _UNIT_NAME = 1, 2, 5, 8, 3, 6
# TrackEvent: type, track_uuid, name, double_counter_value; its types.
_TYPE, _TRACK, _EVENT_NAME, _DOUBLE = 9, 11, 23, 44
_BEGIN, _END, _INSTANT, _COUNT = 1, 2, 3, 4
# Units of counters: time in ns, a number, bytes.
_TIME_NS, _NUMBER, _BYTES = 1, 2, 3
# Columns of traces that become counters, each with its name, unit and factor.
_COUNTERS: Final = {
    "cwnd": (("cwnd_bytes", "cwnd", _BYTES, 1.0), ("ssthresh_bytes", "ssthresh", _BYTES, 1.0)),
    "rtt": (("rtt_s", "RTT", _TIME_NS, 1e9), ("srtt_s", "smoothed RTT", _TIME_NS, 1e9)),
}
_NS: Final = 1e9


def write(result: Result, path: Path) -> None:
    """Writes a run to a file. Raises ScenarioError if the run has no suitable trace, or the file cannot be written."""
    if not any(name in result.traces for name in TRACES):
        raise ScenarioError(f"perfetto: the run has no traces; needs one of {', '.join(TRACES)}")
    check_file("--perfetto", path)
    write_bytes(path, b"".join(_field(_PACKET, packet) for packet in _packets(result)))


def _packets(result: Result) -> Iterator[bytes]:
    """Yields the packets of a run: tracks before their events."""
    tracks = _Tracks()
    traces = result.traces
    for name, columns in _COUNTERS.items():
        if name in traces:
            for flow, rows in _parts(traces[name], "flow"):
                yield from tracks.named(flow)
                for column, label, unit, factor in columns:
                    yield from tracks.counter(flow, label, unit)
                    yield from _counts(tracks.of(flow, label), rows.time_s, rows[column] * factor)
    for name in ("queue_packets", "queue_cells"):
        if "queue" in traces and name in traces["queue"]:
            for port, rows in _parts(traces["queue"], "port"):
                yield from tracks.named(port)
                yield from tracks.counter(port, "queue", _NUMBER)
                yield from _counts(tracks.of(port, "queue"), rows.time_s, rows[name])
    if "events" in traces:
        for flow, rows in _parts(traces["events"], "flow"):
            yield from tracks.named(flow)
            yield from _slices(tracks.of(flow), rows_of(rows), result)


def _parts(trace: pd.DataFrame, column: str) -> Iterator[tuple[str, pd.DataFrame]]:
    for name, rows in trace.groupby(column, observed=True, sort=False):
        yield str(name), rows


def _counts(track: int, times_s: Iterable[float], values: Iterable[float]) -> Iterator[bytes]:
    """Yields the changes of a counter, which keeps its value between two of them."""
    latest = math.nan
    for time_s, value in zip(times_s, values, strict=True):
        if math.isfinite(value) and value != latest:
            latest = value
            yield _event(time_s, _COUNT, track, value=value)


def _slices(track: int, rows: Iterable[dict[str, Any]], result: Result) -> Iterator[bytes]:
    """Yields the states of a sender other than open as slices, and its other events as instants."""
    inside = False
    for row in rows:
        kind, cause, time_s = str(row["kind"]), str(row["event_cause"]), row["time_s"]
        if kind != "state":
            why = str(row["drop_cause"]) if kind == "dropped" else cause
            yield _event(time_s, _INSTANT, track, f"{kind}: {why}" if why != "none" else kind)
            continue
        if inside:
            yield _event(time_s, _END, track)
        inside = cause != "open"
        if inside:
            yield _event(time_s, _BEGIN, track, cause)
    if inside:
        from longpipe.result import duration_s

        yield _event(duration_s(result.scenario), _END, track)


class _Tracks:
    """Tracks by name: one per flow and port, with its counters below it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], int] = {}

    def of(self, parent: str, name: str = "") -> int:
        """Returns the number of a track; 0 is never used."""
        return self._known.setdefault((parent, name), len(self._known) + 1)

    def named(self, name: str) -> Iterator[bytes]:
        """Yields the descriptor of a flow or port, once."""
        if (name, "") not in self._known:
            yield _descriptor(_number(_UUID, self.of(name)) + _text(_NAME, name))

    def counter(self, parent: str, name: str, unit: int) -> Iterator[bytes]:
        """Yields the descriptor of a counter, once."""
        if (parent, name) not in self._known:
            counter = _field(_COUNTER, _number(_UNIT, unit) if unit != _NUMBER else _text(_UNIT_NAME, "packets"))
            parts = (_number(_UUID, self.of(parent, name)), _text(_NAME, f"{parent} {name}"))
            yield _descriptor(b"".join(parts) + _number(_PARENT, self.of(parent)) + counter)


def _descriptor(track: bytes) -> bytes:
    return _number(_SEQUENCE, 1) + _field(_DESCRIPTOR, track)


def _event(time_s: float, kind: int, track: int, name: str = "", value: float | None = None) -> bytes:
    event = _number(_TYPE, kind) + _number(_TRACK, track)
    if name:
        event += _text(_EVENT_NAME, name)
    if value is not None:
        event += _varint(_DOUBLE << 3 | 1) + struct.pack("<d", value)
    return _number(_TIMESTAMP, round(time_s * _NS)) + _number(_SEQUENCE, 1) + _field(_EVENT, event)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _text(field: int, text: str) -> bytes:
    return _field(field, text.encode())
