"""Samples of a Starlink dish: JSON of `get_history` and `get_status` (grpcurl), and CSV of `bulk_history`.

The dish samples once a second: the share of its pings that were lost, their mean RTT, and the rates that were used. The
JSON of `get_history` is a ring buffer, and `current` counts the samples since the dish started. An answer to
`get_status` is the latest sample, at the dish's uptime. `bulk_history` is a command of starlink-grpc-tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from longpipe.errors import ScenarioError, shown
from longpipe.inputs.table import heads_of, table_of
from longpipe.measured.content import Content
from longpipe.measured.fields import LARGEST, get
from longpipe.measured.lines import Texts
from longpipe.measured.recording import Recording, Subject, kept, rates, series
from longpipe.measured.runs import joined
from longpipe.measured.texts import decimal, unix_ns_of_date

NAME: Final = "get_history or get_status of a Starlink dish"
# The lists of samples, by their names in JSON; those in CSV are in snake case.
_DROP, _RTT, _DOWN, _UP = "popPingDropRate", "popPingLatencyMs", "downlinkThroughputBps", "uplinkThroughputBps"
_LISTS: Final = {
    _DROP: "pop_ping_drop_rate", _RTT: "pop_ping_latency_ms",
    _DOWN: "downlink_throughput_bps", _UP: "uplink_throughput_bps",
}  # fmt: skip
_STATUS: Final = ("dishGetStatus", "dish_get_status")
# Keys of the time since the dish started [s] in an answer to get_status.
_UPTIME: Final = (("deviceState", "uptimeS"), ("device_state", "uptime_s"))
_DATE: Final = "datetimestamp_utc"
_NEEDS: Final = "rows of starlink-grpc-tools' bulk_history with their header"


@dataclass
class _Samples:
    """Samples in the order of their times [s], with None where the file has no number."""

    times_s: list[float] = field(default_factory=list)
    of: dict[str, list[float | None]] = field(default_factory=lambda: {name: [] for name in _LISTS})


def is_whole(value: object) -> bool:
    """Returns whether a JSON value is a dish's answer to get_history, which is a recording of its own."""
    return _history(value) is not None and _status(value) is None


def _status(value: object) -> Any:  # noqa: ANN401 - any value
    """Returns a dish's answer to get_status; None for any other value."""
    return next((status for name in _STATUS if (status := get(value, name)) is not None), None)


def _history(value: object) -> Any:  # noqa: ANN401 - any value
    for candidate in (get(value, "dishGetHistory"), get(value, "dish_get_history"), value):
        if any(get(candidate, name) is not None for name in (_DROP, _LISTS[_DROP])):
            return candidate
    return None


def recognizes(content: Content) -> bool:
    """Returns whether the content is a dish's history in JSON or CSV, or its status in JSON."""
    if content.is_json:
        first = content.json_values[0][1]
        return is_whole(first) or _status(first) is not None
    heads = heads_of(content.begins.partition("\n")[0].rstrip("\r"))
    return heads[:1] == (_DATE,) and _LISTS[_RTT] in heads


def read(content: Content) -> Recording:
    """Returns the pings between dish and point of presence, and the rates used in each direction."""
    if content.is_json and _status(content.json_values[0][1]) is not None:
        runs = list(_of_statuses(content))
        return joined([(line, _recording(content.file, "status", None, samples)) for line, samples in runs])
    if content.is_json:
        location, value = content.json_values[0]
        return _recording(content.file, "history", None, _of_json(location, _history(value)))
    return _recording(content.file, "history", *_of_csv(content))


def _recording(file: str, kind: str, begin: int | None, samples: _Samples) -> Recording:
    if not samples.times_s:
        raise ScenarioError(f"{file}: no sample; needs the history of a dish that has started")
    length = samples.times_s[-1] - samples.times_s[0] + 1
    unknown = (
        "numbers of lost pings: the dish reports shares of each second",
        "the available rate: the rates are those that were used",
        *((f"times: the {kind} counts seconds since the dish started",) if begin is None else ()),
    )
    subjects = tuple(_subjects(samples))
    return Recording(file, f"Starlink dish {kind}", "a Starlink dish", None, begin, length, subjects, unknown)


def _of_statuses(content: Content) -> Iterator[tuple[int, _Samples]]:
    """Yields the first line and the samples of each run of the dish, which a lower uptime begins.

    Answers with the same uptime are one sample. Raises ScenarioError for an answer without its uptime.
    """
    samples, line, first_s, latest_s = _Samples(), 1, 0.0, -1.0
    for location, value in content.json_values:
        if (status := _status(value)) is None:
            continue
        uptime = next((reported_s for names in _UPTIME if (reported_s := get(status, *names)) is not None), None)
        uptime_s = _number(uptime)
        if uptime_s is None or not 0 <= uptime_s <= LARGEST:
            raise ScenarioError(
                f"{location}: deviceState.uptimeS: {shown(uptime)}; needs the time since the dish started"
            )
        if samples.times_s and uptime_s == latest_s:
            continue
        if uptime_s < latest_s:
            yield line, samples
            samples = _Samples()
        if not samples.times_s:
            line, first_s = content.line_of(location), uptime_s
        latest_s = uptime_s
        samples.times_s.append(uptime_s - first_s)
        for name, snake in _LISTS.items():
            number = _number(get(status, name) if get(status, name) is not None else get(status, snake))
            # Protocol buffers in JSON omit zeros.
            samples.of[name].append(0.0 if number is None else number)
    yield line, samples


def _of_json(location: str, history: object) -> _Samples:
    """Returns the samples of a history as JSON, whose lists are ring buffers, from the oldest to the newest one."""
    names = {name: name if get(history, name) is not None else snake for name, snake in _LISTS.items()}
    lists = {name: get(history, key) for name, key in names.items()}
    lists_of_values = {name: values for name, values in lists.items() if isinstance(values, list)}
    size = max(map(len, lists_of_values.values()), default=0)
    current = _number(get(history, "current"))
    if current is None or not 0 <= current <= LARGEST:
        raise ScenarioError(f"{location}: current: {shown(get(history, 'current'))}; needs the number of samples")
    count = int(current)
    order = range(count) if count < size else [*range(count % size, size), *range(count % size)] if size else []
    samples = _Samples([float(k) for k in range(len(order))])
    for name, values in lists_of_values.items():
        samples.of[name] = [_number(values[index]) if index < len(values) else None for index in order]
    return samples


def _of_csv(content: Content) -> tuple[int | None, _Samples]:
    """Returns the Unix time [ns] of the first sample, and the samples of a history as CSV."""
    samples, begin, latest = _Samples(), None, None
    table = table_of(content.file, Texts(content.lines), _NEEDS)
    places = {name: table.heads.index(snake) for name, snake in _LISTS.items() if snake in table.heads}
    for line, cells in table:
        at = unix_ns_of_date(cells[0])
        if at is None or (latest is not None and at < latest):
            raise ScenarioError(f"{content.file}:{line}: {_DATE} {shown(cells[0])}; needs increasing dates of ISO 8601")
        begin, latest = at if begin is None else begin, at
        samples.times_s.append((at - begin) / 1e9)
        for name, index in places.items():
            samples.of[name].append(_number(cells[index]))
    return begin, samples


def _number(value: object) -> float | None:
    """Returns a number, which protocol buffers in JSON write as text if it has 64 bits; None for any other value."""
    if isinstance(value, str):
        return decimal(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and isinstance(value, int | float) and abs(value) <= LARGEST else None


def _subjects(samples: _Samples) -> Iterator[Subject]:
    """Yields the pings and both directions of the rates."""
    drops = samples.of[_DROP]
    # If all pings of a second are lost, the dish repeats the RTT before.
    rtts = [
        (at, rtt / 1e3)
        for at, rtt, drop in zip(
            samples.times_s, samples.of[_RTT], drops or [None] * len(samples.times_s), strict=False
        )
        if rtt is not None and rtt > 0 and (drop is None or drop < 1)
    ]
    reported_drops = [min(max(drop, 0.0), 1.0) for drop in drops if drop is not None]
    counters = {"samples": (float(len(samples.times_s)), "samples")}
    if reported_drops:
        counters["lost pings"] = (100 * sum(reported_drops) / len(reported_drops), "%")
        counters["seconds without replies"] = (float(sum(drop >= 1 for drop in reported_drops)), "seconds")
    if replied := [drop for drop in reported_drops if drop < 1]:
        counters["lost pings with replies"] = (100 * sum(replied) / len(replied), "%")
    meaning = "mean of a second's pings between dish and point of presence"
    yield Subject("path", "path", kept(series("rtt", rtts, meaning)), counters)
    for name, direction in ((_DOWN, "downlink"), (_UP, "uplink")):
        rate = rates(_moved(samples.times_s, samples.of[name]), "used, mean over the second that ends at the time")
        if with_values := kept(rate):
            yield Subject(direction, "path", with_values)


def _moved(times_s: Sequence[float], bps: Sequence[float | None]) -> Iterator[tuple[float, float, float]]:
    for at, rate in zip(times_s, bps, strict=False):
        if rate is not None and rate >= 0:
            yield at, at + 1, rate / 8
