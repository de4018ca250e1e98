"""qlog of QUIC stacks (`.qlog` and `.sqlog`): windows, RTTs, losses and acknowledged packets.

Current names (draft-ietf-quic-qlog-quic-events-12, "quic:packet_sent") and names before draft -09
("transport:packet_sent", "recovery:metrics_updated") are equivalent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from longpipe.errors import ScenarioError, shown
from longpipe.ip import HEADER_BYTES
from longpipe.measured.content import Content
from longpipe.measured.fields import get, number, optional, rows, text
from longpipe.measured.recording import Recording, Subject, binned_rate, kept, series

NAME: Final = "qlog"
_METRICS: Final = ("recovery_metrics_updated", "metrics_updated")
_PARAMETERS: Final = ("recovery_parameters_set", "parameters_set")
# Maximum length of the headers of TCP and IPv6 [bytes].
_MOST_HEADERS: Final = 100
# Maximum number of packets in one range of an ACK frame.
_MOST_ACKED: Final = 1_000_000
# An event with its place in the file, its time [s] and its name without the namespace.
Event = tuple[str, float, str, dict[str, Any]]


def recognises(content: Content) -> bool:
    """Returns whether the content has the header of qlog."""
    if not content.is_json:
        return False
    value = content.json_values[0][1]
    schema = text(value, "file_schema") or ""
    return get(value, "qlog_version") is not None or schema.startswith("urn:ietf:params:qlog:")


def read(content: Content) -> Recording:
    """Returns a flow for each trace that has events of a QUIC sender."""
    where, value = content.json_values[0]
    traces = _traces(content)
    subjects: list[Subject] = []
    lengths = [0.0]
    begins = []
    for place, trace, events in traces:
        found = list(_events(place, trace, events))
        if not found:
            continue
        first = min(at for _, at, _, _ in found)
        lengths.append(max(at for _, at, _, _ in found) - first)
        begins.append(first)
        subjects += _subject(f"{_vantage(trace)} {len(subjects) + 1}", found, first, _tcp_headers(place, trace))
    if not subjects:
        raise ScenarioError(f"{where}: no packets or metrics among its events; needs the qlog of a QUIC end")
    vantage = text(traces[0][1], "vantage_point", "name")
    version = text(value, "qlog_version") or ""
    # Times in 1970 and the following years are relative.
    begin = min(begins) if begins and min(begins) > 1e9 else None
    unknown = ("delays of single packets: the RTTs are those reported by the stack",)
    return Recording(
        content.file, "qlog", vantage or "a QUIC stack", version, None if begin is None else int(begin * 1e9),
        max(lengths), tuple(subjects), unknown,
    )  # fmt: skip


def _traces(content: Content) -> list[tuple[str, Any, list[tuple[str, Any]]]]:
    """Yields place, description and events of each trace in a contained file or in a sequence."""
    where, value = content.json_values[0]
    if get(value, "traces") is None:
        return [(where, get(value, "trace"), content.json_values[1:])]
    traces = []
    for k, trace in enumerate(rows(where, value, "traces")):
        place = f"{where}: traces[{k}]"
        if get(trace, "event_fields") is not None:
            raise ScenarioError(f"{place}.event_fields: qlog of draft 01 or before; needs draft 02 or later")
        events = get(trace, "events")
        placed = [(f"{place}.events[{j}]", one) for j, one in enumerate(events if isinstance(events, list) else [])]
        traces.append((place, trace, placed))
    return traces or [(where, None, [])]


def _vantage(trace: object) -> str:
    return text(trace, "vantage_point", "type") or "connection"


def _tcp_headers(place: str, trace: object) -> float | None:
    """Returns the length of the headers of a TCP flow's packets, which longpipe's files contain; None for QUIC."""
    found = optional(place, trace, "custom_fields", "header_bytes")
    if found is not None and not HEADER_BYTES <= found <= _MOST_HEADERS:
        raise ScenarioError(f"{place}: header_bytes: {found:g}; needs {HEADER_BYTES} to {_MOST_HEADERS}")
    return found


def _events(where: str, trace: object, events: list[tuple[str, Any]]) -> Iterator[Event]:
    """Yields the events with their times in s: absolute, relative to a reference time, or to the previous event."""
    common = text(trace, "common_fields", "time_format") or "relative_to_epoch"
    reference = get(trace, "common_fields", "reference_time")
    base = float(reference) if isinstance(reference, int | float) and common == "relative" else 0.0
    base = base if abs(base) < 1e20 else 0.0
    previous = 0.0
    for place, one in events:
        if not isinstance(one, dict):
            raise ScenarioError(f"{place}: {shown(one)}; needs an event")
        at = number(place, one, "time")
        form = text(one, "time_format") or common
        if form in ("delta", "relative_to_previous_event"):
            at += previous
        previous = at
        name = (text(one, "name") or "").rpartition(":")[2]
        data = one.get("data")
        yield place, (base + at) / 1e3, name, data if isinstance(data, dict) else {}


def _subject(name: str, events: list[Event], first: float, headers: float | None) -> Iterator[Subject]:
    metrics = [(place, at - first, data) for place, at, event, data in events if event in _METRICS]

    def points(scale: float, *keys: str) -> Iterator[tuple[float, float]]:
        for place, at, data in metrics:
            value = next((found for key in keys if (found := optional(place, data, key)) is not None), None)
            if value is not None:
                yield at, value * scale

    sent, acked = _packets(events, first)
    lost = [(at - first, 1.0) for _, at, event, _ in events if event == "packet_lost"]
    begin = min((at for at, _ in sent), default=0.0)
    end = max((at for at, _ in acked or sent), default=begin)
    # quinn, for example, does not write the frames of packets, so that its files contain no ACKs.
    rate = (
        binned_rate(acked, begin, end, "bytes of 1-RTT packets acknowledged")
        if acked
        else binned_rate(sent, begin, end, "bytes of 1-RTT packets sent, including lost ones", "sent rate")
    )
    of_flow = kept(
        rate,
        series("rtt", points(1e-3, "latest_rtt"), "latest RTT sample"),
        series("smoothed rtt", points(1e-3, "smoothed_rtt"), "smoothed RTT"),
        # Before draft -02, and in aioquic, the window has a short name.
        series("cwnd", points(1.0, "congestion_window", "cwnd"), "congestion window"),
        series("in flight", points(1.0, "bytes_in_flight"), "bytes in flight"),
        series("pacing rate", points(1.0, "pacing_rate"), "pacing rate"),
        series("losses", lost, "a packet that the sender declared lost"),
    )
    min_rtts = list(points(1e-3, "min_rtt"))
    counters = {
        "packets": (float(len(sent)), "packets"),
        "acknowledged": (float(len(acked)), "packets"),
        "lost": (float(len(lost)), "packets"),
    }
    counters |= {"min_rtt": (min_rtts[-1][1], "s")} if min_rtts else {}
    if headers is not None:
        counters["header"] = (headers, "bytes")
        sizes = (optional(place, data, "max_datagram_size") for place, _, event, data in events if event in _PARAMETERS)
        if (mss := next((size for size in sizes if size is not None), None)) is not None:
            counters["mss"] = (mss, "bytes")
    if of_flow:
        yield Subject(name, "flow", of_flow, counters)


def _packets(events: list[Event], first: float) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Returns (time, bytes) of the 1-RTT packets that were sent, and of those that were acknowledged."""
    sent: list[tuple[float, float]] = []
    waiting: dict[int, float] = {}
    acked: list[tuple[float, float]] = []
    for place, at, event, data in events:
        header = get(data, "header")
        if event not in ("packet_sent", "packet_received") or text(header, "packet_type") not in ("1RTT", None):
            continue
        if event == "packet_sent":
            size = optional(place, data, "raw", "length") or optional(place, data, "header", "packet_size") or 0.0
            packet_number = optional(place, data, "header", "packet_number")
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
        for one in ranges if isinstance(ranges, list) else []:
            if isinstance(one, list) and one and all(isinstance(n, int) for n in one):
                yield one[0], one[-1]
