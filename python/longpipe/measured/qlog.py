"""qlog of QUIC stacks (`.qlog` and `.sqlog`): windows, RTTs, losses and acknowledged packets.

Current names (draft-ietf-quic-qlog-quic-events-12, "quic:packet_sent") and names before draft -09
("transport:packet_sent", "recovery:metrics_updated") are equivalent. In drafts 00 and 01, which picoquic writes, events
are lists of fields, numbers may be text, and times have the unit of the trace's configuration.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median, median_low
from typing import Any, Final

from longpipe.errors import ScenarioError, shown
from longpipe.ip import HEADER_BYTES
from longpipe.measured.content import Content
from longpipe.measured.fields import LARGEST, get, items, number, optional, text
from longpipe.measured.json_text import Placed
from longpipe.measured.recording import Recording, Series, Subject, binned_rate, kept, series
from longpipe.measured.runs import joined
from longpipe.measured.texts import decimal

NAME: Final = "qlog"
_METRICS: Final = ("recovery_metrics_updated", "metrics_updated")
_PARAMETERS: Final = ("recovery_parameters_set", "parameters_set")
# Maximum length of the headers of TCP and IPv6 [bytes].
_MAX_HEADERS: Final = 100
# Names of the fields of events in drafts 00 and 01, in lower case, and their present names.
_FIELDS: Final = {
    "time": "time", "relative_time": "time", "delta_time": "time", "category": "category", "event": "event",
    "event_type": "event", "data": "data",
}  # fmt: skip
# Milliseconds in the time units of drafts 00 and 01.
_TIME_UNITS: Final = {"ms": 1.0, "us": 1e-3, "\N{MICRO SIGN}s": 1e-3}
# Latest time [ms], in the year 2262, and share of events that may have later ones; such events are omitted.
_LATEST_MS: Final = 9.2e12
_WRONG_SHARE: Final = 0.1
# Latest relative time [s].
_LATEST_RELATIVE_S: Final = 1e8
# Unix time [ms] of the year 2100, and the years 2000 to 2060, in which times of a wrong unit are expected.
_YEAR_2100_MS: Final = 4_102_444_800_000
_EXPECTED_MS: Final = (946_684_800_000, 2_840_140_800_000)
# A second in ms.
_SECONDS_MS: Final = 1e3
# Initial RTT of RFC 9002, which stacks report before the first sample, in s and ms.
_INITIAL_RTTS: Final = (0.333, 333.0)
# Factor by which another unit of RTTs must fit better than milliseconds, and the tolerance of a bound.
_MIN_BETTER_FACTOR: Final = 10.0
_TOLERANCE: Final = 1.1
# Number of reports of the data in flight that their mean needs.
_MIN_FLIGHTS: Final = 10
# An event with its place in the file, its time [s] and its name without the namespace.
Event = tuple[str, float, str, dict[str, Any]]
# Earliest Unix time [s] of absolute times.
_EARLIEST_S: Final = 1e9
# Packets: the time [s] since the first event, and the length [bytes], if it is known.
Packets = list[tuple[float, float | None]]
# Metrics, each with its place and its time [s] since the first event.
Metrics = list[tuple[str, float, dict[str, Any]]]


def recognizes(content: Content) -> bool:
    """Returns whether the content has the header of qlog."""
    if not content.is_json:
        return False
    return _is_header(content.json_values[0][1])


def _is_header(value: object) -> bool:
    """Returns whether a JSON value begins a file of qlog."""
    schema = text(value, "file_schema") or ""
    return get(value, "qlog_version") is not None or schema.startswith("urn:ietf:params:qlog:")


def is_whole(value: object) -> bool:
    """Returns whether a JSON value is a whole file of qlog, not the header of a sequence."""
    return isinstance(get(value, "traces"), list)


@dataclass
class _Trace:
    """A trace: its place, its description, its events, and lines about its defects."""

    location: str
    about: Any
    events: list[tuple[str, Any]]
    defects: list[str] = field(default_factory=list)


def read(content: Content) -> Recording:
    """Returns a flow for each trace that has events of a QUIC sender."""
    # A header begins a file, also within a sequence to which another one was appended.
    files: list[Placed] = []
    for json_value in content.json_values:
        if _is_header(json_value[1]) or not files:
            files.append([])
        files[-1].append(json_value)
    return joined([(content.line_of(values[0][0]), _of_file(content.file, values)) for values in files])


def _of_file(file: str, values: Placed) -> Recording:
    """Returns the flows of one file of qlog. Raises ScenarioError if it has no packets or metrics."""
    document, value = values[0]
    traces = _traces(values)
    subjects: list[Subject] = []
    lengths = [0.0]
    connections = [(trace, connection) for trace in traces for connection in _connections(trace)]
    begins = [min(at for _, at, _, _ in events) for _, events in connections]
    # Times in 1970 and the following years are relative.
    is_absolute = bool(begins) and min(begins) > _EARLIEST_S
    for (trace, events), begin_s in zip(connections, begins, strict=True):
        first = min(begins) if is_absolute else begin_s
        lengths.append(max(at for _, at, _, _ in events) - first)
        headers, unit = _tcp_headers(trace.location, trace.about), _unit(trace.about)
        name = f"{_vantage(trace.about)} {len(subjects) + 1}"
        subjects += _subject(name, events, first, headers, trace.defects, unit)
    if not subjects:
        raise ScenarioError(f"{document}: no packets or metrics among its events; needs the qlog of a QUIC end")
    vantage = text(traces[0].about, "vantage_point", "name")
    version = text(value, "qlog_version") or ""
    begin = min(begins) if is_absolute else None
    unknown = ("delays of single packets: the RTTs are those reported by the stack",)
    notes = tuple(dict.fromkeys(line for trace in traces for line in trace.defects))
    return Recording(
        file, "qlog", vantage or "a QUIC stack", version, None if begin is None else int(begin * 1e9),
        max(lengths), tuple(subjects), unknown, notes,
    )  # fmt: skip


def _traces(values: Placed) -> list[_Trace]:
    """Returns the traces in a contained file or in a sequence."""
    document, value = values[0]
    if get(value, "traces") is None:
        return [_Trace(document, get(value, "trace"), values[1:])]
    traces = []
    for k, about in enumerate(items(document, value, "traces")):
        location = f"{document}: traces[{k}]"
        events = get(about, "events")
        placed = [
            (f"{location}.events[{j}]", event) for j, event in enumerate(events if isinstance(events, list) else [])
        ]
        names = get(about, "event_fields")
        traces.append(_Trace(location, about, placed if names is None else list(_named(location, names, placed))))
    return traces or [_Trace(document, None, [])]


def _named(location: str, names: object, events: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yields the events of drafts 00 and 01, which are lists of fields, as objects."""
    listed = names if isinstance(names, list) else []
    field_names = [_FIELDS.get(str(name).lower(), "") for name in listed]
    if not {"time", "event", "data"} <= set(field_names):
        raise ScenarioError(f"{location}.event_fields: {shown(names)}; needs a time, event and data")
    for event_location, fields in events:
        if not isinstance(fields, list) or len(fields) != len(field_names):
            raise ScenarioError(f"{event_location}: {shown(fields)}; needs a list of {len(field_names)} fields")
        event = dict(zip(field_names, fields, strict=True))
        yield event_location, {"time": event["time"], "name": str(event["event"]), "data": event["data"]}


def _vantage(trace: object) -> str:
    """Returns the end that wrote a trace: client, server or network."""
    return text(trace, "vantage_point", "type") or "connection"


def _tcp_headers(location: str, trace: object) -> float | None:
    """Returns the length of the headers of a TCP flow's packets, which longpipe's files contain; None for QUIC."""
    header_bytes = optional(location, trace, "custom_fields", "header_bytes")
    if header_bytes is not None and not HEADER_BYTES <= header_bytes <= _MAX_HEADERS:
        raise ScenarioError(f"{location}: header_bytes: {header_bytes:g}; needs {HEADER_BYTES} to {_MAX_HEADERS}")
    return header_bytes


def _connections(trace: _Trace) -> list[list[Event]]:
    """Returns the events of each connection, which `group_id` identifies in a trace of several connections."""
    common = get(trace.about, "common_fields", "group_id")
    groups = {location: json.dumps(get(event_fields, "group_id") or common) for location, event_fields in trace.events}
    by_group: dict[str, list[Event]] = {}
    for event in _events(trace):
        by_group.setdefault(groups[event[0]], []).append(event)
    return list(by_group.values())


def _events(trace: _Trace) -> list[Event]:
    """Returns the events with their times in s: absolute, relative to a reference time, or to the previous event.

    Raises ScenarioError if more than a few times are impossible.
    """
    common = text(trace.about, "common_fields", "time_format") or "relative_to_epoch"
    reference = _decimal(get(trace.about, "common_fields", "reference_time"))
    unit = _unit(trace.about)
    names = get(trace.about, "event_fields")
    first_fields = [str(name).lower() for name in names] if isinstance(names, list) else []
    if "delta_time" in first_fields:
        common = "delta"
    elif "relative_time" in first_fields:
        common = "relative"
    base = reference * unit if reference is not None and common == "relative" else 0.0
    previous = 0.0
    placed: list[tuple[str, float, dict[str, Any]]] = []
    for location, fields in trace.events:
        if not isinstance(fields, dict):
            raise ScenarioError(f"{location}: {shown(fields)}; needs an event")
        written = _decimal(fields.get("time"))
        at = (number(location, fields, "time") if written is None else written) * unit
        if (text(fields, "time_format") or common) in ("delta", "relative_to_previous_event"):
            at += previous
        previous = at if abs(at) <= _LATEST_MS else previous
        placed.append((location, base + at, fields))
    divisor = _divisor([at for _, at, _ in placed])
    if divisor > 1:
        trace.defects.append(f"times are after the year 2100: they are read with a {divisor:g} times finer resolution")
    wrong = [
        f"{location}.time: {shown(fields.get('time'))}"
        for location, at, fields in placed
        if abs(at / divisor) > _LATEST_MS
    ]
    if len(wrong) > _WRONG_SHARE * len(placed):
        raise ScenarioError(f"{wrong[0]}; needs milliseconds up to the year 2262")
    if wrong:
        count = "an event is" if len(wrong) == 1 else f"{len(wrong)} events are"
        trace.defects.append(f"{count} omitted because of impossible times, the first at {wrong[0]}")
    return [
        _event(location, at / divisor / 1e3, fields)
        for location, at, fields in placed
        if abs(at / divisor) <= _LATEST_MS
    ]


def _event(location: str, at: float, fields: dict[str, Any]) -> Event:
    """Returns an event at a time [s], without the namespace of its name."""
    data = fields.get("data")
    return location, at, (text(fields, "name") or "").rpartition(":")[2], data if isinstance(data, dict) else {}


def _divisor(times: list[float]) -> float:
    """Returns the divisor that makes absolute times [ms] after the year 2100 plausible; 1 if there is none."""
    typical = median_low(times) if times else 0.0
    earliest, latest = _EXPECTED_MS
    is_late = typical > _YEAR_2100_MS
    return next((divisor for divisor in (1e3, 1e6) if is_late and earliest <= typical / divisor <= latest), 1.0)


def _unit(about: object) -> float:
    """Returns the unit of times and RTTs in ms, which drafts 00 and 01 configure."""
    return _TIME_UNITS.get(text(about, "configuration", "time_units") or "ms", 1.0)


def _decimal(value: object) -> float | None:
    """Returns a number, which drafts 00 and 01 write as text; None for any other value."""
    if isinstance(value, str):
        return decimal(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
    return float(value) if is_number and isinstance(value, int | float) else None


def _rtt_unit(metrics: Metrics, sent: list[tuple[float, float]], begin: float) -> float:
    """Returns the unit of the RTTs in ms, given the time [s] at which the connection began before the first event.

    The drafts require milliseconds, but quinn wrote seconds until May 2026 (its pull request 2631). An RTT is at most
    the time since the connection began, and the mean data in flight are those sent in an RTT (Little's law). Without
    these numbers, the first RTT is compared with the time until it was reported.
    """
    samples = [
        (begin + at, rtt)
        for _, at, data in metrics
        if (rtt := _decimal(data.get("latest_rtt"))) is not None and rtt > 0 and rtt not in _INITIAL_RTTS
    ]
    if not samples:
        return 1.0
    expected = 1e3 * (_rtt_in_flight(metrics, sent) or samples[0][0])
    # A tenth of the samples may be earlier than the first measured one.
    possible = sum(rtt * _SECONDS_MS <= _TOLERANCE * 1e3 * at for at, rtt in samples)
    if expected <= 0 or possible < (1 - _WRONG_SHARE) * len(samples):
        return 1.0
    typical = median(rtt for _, rtt in samples)

    def distance(unit: float) -> float:
        return max(typical * unit / expected, expected / (typical * unit))

    return _SECONDS_MS if distance(1.0) >= _MIN_BETTER_FACTOR * distance(_SECONDS_MS) else 1.0


def _rtt_in_flight(metrics: Metrics, sent: list[tuple[float, float]]) -> float | None:
    """Returns the RTT [s] that the data in flight and the rate of sent packets show; None if one is unknown or 0."""
    flights = [(at, size) for _, at, data in metrics if (size := _decimal(data.get("bytes_in_flight"))) is not None]
    total = sum(size for _, size in sent)
    if len(flights) < _MIN_FLIGHTS or total <= 0:
        return None
    return sum(size * max(0.0, until - at) for (at, size), (until, _) in pairwise(flights)) / total or None


def _subject(
    name: str, events: list[Event], first: float, headers: float | None, defects: list[str], unit: float
) -> Iterator[Subject]:
    metrics = [(location, at - first, data) for location, at, event, data in events if event in _METRICS]

    def points(scale: float, *keys: str) -> Iterator[tuple[float, float]]:
        for location, at, data in metrics:
            value = next((metric for key in keys if (metric := _metric(location, data, key)) is not None), None)
            if value is not None:
                yield at, value * scale

    sent, acked = _packets(events, first)
    with_size = [(at, size) for at, size in sent if size is not None]
    # Relative times are those since the connection began.
    rtt_unit = unit if unit != 1.0 else _rtt_unit(metrics, with_size, first if 0 <= first < _LATEST_RELATIVE_S else 0.0)
    if rtt_unit != unit:
        defects.append("RTTs are read as seconds, because milliseconds contradict the times of the events")
    rtt_s = rtt_unit / 1e3
    lost = [(at - first, 1.0) for _, at, event, _ in events if event == "packet_lost"]
    of_flow = kept(
        *_rate(sent, acked, defects),
        series("rtt", points(rtt_s, "latest_rtt"), "latest RTT sample"),
        series("smoothed rtt", points(rtt_s, "smoothed_rtt"), "smoothed RTT"),
        # Before draft -02, and in aioquic, the window has a short name.
        series("cwnd", points(1.0, "congestion_window", "cwnd"), "congestion window"),
        series("in flight", points(1.0, "bytes_in_flight"), "bytes in flight"),
        series("pacing rate", points(1.0, "pacing_rate"), "pacing rate"),
        series("losses", lost, "a packet that the sender declared lost"),
    )
    min_rtts = list(points(rtt_s, "min_rtt"))
    # Without a list, the packets, their types, numbers or ACKs are not in the file.
    counts = (("packets", sent, sent), ("acknowledged", acked, acked), ("lost", lost, sent or lost))
    counters = {key: (float(len(metric)), "packets") for key, metric, shown_by in counts if shown_by}
    counters |= {"min_rtt": (min_rtts[-1][1], "s")} if min_rtts else {}
    if headers is not None:
        counters["header"] = (headers, "bytes")
        sizes = (
            optional(location, data, "max_datagram_size") for location, _, event, data in events if event in _PARAMETERS
        )
        if (mss := next((size for size in sizes if size is not None), None)) is not None:
            counters["mss"] = (mss, "bytes")
    if of_flow:
        yield Subject(name, "flow", of_flow, counters)


def _rate(sent: Packets, acked: Packets, defects: list[str]) -> Iterator[Series]:
    """Yields the rate of acknowledged packets, or else that of sent ones; nothing if some lengths are unknown.

    quinn, for example, does not write the frames of packets, so that its files contain no ACKs.
    """
    events = [(at, size) for at, size in acked or sent if size is not None]
    if len(events) < len(acked or sent):
        defects.append(f"{len(acked or sent) - len(events)} packets have no length, so the rate is unknown")
    elif events:
        begin, end = min(at for at, _ in sent), max(at for at, _ in events)
        if acked:
            yield binned_rate(events, begin, end, "bytes of 1-RTT packets acknowledged")
        else:
            yield binned_rate(events, begin, end, "bytes of 1-RTT packets sent, including lost ones", "sent rate")


def _metric(location: str, data: dict[str, Any], key: str) -> float | None:
    value = data.get(key)
    return decimal(value) if isinstance(value, str) else optional(location, data, key)


def _packets(events: list[Event], first: float) -> tuple[Packets, Packets]:
    """Returns the 1-RTT packets that were sent, and those that were acknowledged; packets without type are omitted."""
    sent: Packets = []
    waiting: dict[int, float | None] = {}
    acked: Packets = []
    for location, at, event, data in events:
        if event not in ("packet_sent", "packet_received"):
            continue
        header = get(data, "header")
        # Drafts 00 and 01 have the type next to the header.
        kind = text(header, "packet_type") or text(data, "packet_type")
        if kind is None or kind.upper() != "1RTT":
            continue
        if event == "packet_sent":
            length = optional(location, data, "raw", "length")
            size = _decimal(get(header, "packet_size")) if length is None else length
            packet_number = _decimal(get(header, "packet_number"))
            sent.append((at - first, size))
            if packet_number is not None:
                waiting[int(packet_number)] = size
            continue
        for low, high in _acked_ranges(data):
            numbers = range(low, high + 1) if high - low < len(waiting) else [n for n in waiting if low <= n <= high]
            acked += [(at - first, waiting.pop(n)) for n in numbers if n in waiting]
    return sent, acked


def _acked_ranges(data: dict[str, Any]) -> Iterator[tuple[int, int]]:
    frames = data.get("frames")
    for frame in frames if isinstance(frames, list) else []:
        ranges = get(frame, "acked_ranges")
        for bounds in ranges if isinstance(ranges, list) else []:
            numbers = [_decimal(n) for n in bounds] if isinstance(bounds, list) else []
            if numbers and None not in numbers:
                yield int(numbers[0] or 0), int(numbers[-1] or 0)
