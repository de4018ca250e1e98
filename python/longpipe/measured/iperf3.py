"""JSON output of iperf3 (`-J` and `--json-stream`): rates, RTTs, windows and retransmissions per interval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from longpipe.errors import ScenarioError, plain, shortened
from longpipe.measured.content import Content
from longpipe.measured.fields import get, number, optional, rows, text
from longpipe.measured.recording import Recording, Subject, kept, series

NAME: Final = "JSON of iperf3"
# Beginnings of the text of a client and of a server.
_TEXTS: Final = ("Connecting to host ", f"{59 * '-'}\nServer listening on ")
_EVENTS: Final = ("start", "interval", "end", "error", "server_output_json", "server_output_text")
# An interval of a stream, with its place in the file.
Placed = tuple[str, dict[str, Any]]


def recognises(content: Content) -> bool:
    """Returns whether the content is a result of iperf3, or a stream of its events."""
    if not content.is_json:
        return content.begins.startswith(_TEXTS)
    first = content.json_values[0][1]
    is_result = isinstance(get(first, "start"), dict) and get(first, "intervals") is not None
    return is_result or (get(first, "event") in _EVENTS and get(first, "data") is not None)


def read(content: Content) -> Recording:
    """Returns the streams of a test. Raises ScenarioError if the test failed before its first interval."""
    if not content.is_json:
        raise ScenarioError(f"{content.file}: text of iperf3, which lacks most values; needs `iperf3 -J`")
    where, value = content.json_values[0]
    if get(value, "event") is None:
        intervals = [(f"{where}: intervals[{k}]", one) for k, one in enumerate(rows(where, value, "intervals"))]
        start, end, error, name = value.get("start"), value.get("end"), text(value, "error"), "iperf3 JSON"
    else:
        events = [(place, get(one, "event"), get(one, "data")) for place, one in content.json_values]
        intervals = [(place, data) for place, event, data in events if event == "interval"]
        last = {event: data for _, event, data in events if isinstance(event, str)}
        error = last["error"] if isinstance(last.get("error"), str) else None
        start, end, name = last.get("start"), last.get("end"), "iperf3 JSON stream"
    streams = _streams(intervals)
    if not streams:
        reason = f", iperf3 failed: {shortened(plain(error), 100)}" if error else ""
        raise ScenarioError(f"{content.file}: no interval of a stream{reason}; needs a test that sent data")
    udp = get(start, "test_start", "protocol") == "UDP"
    subjects = tuple(_subject(socket, placed, start, end, udp=udp) for socket, placed in streams.items())
    notes = [f"iperf3 reports an error: {shortened(plain(error), 200)}"] if error else []
    if end is None or end == {}:
        notes.append("the test is incomplete: it was interrupted")
    length = max(number(place, one, "end") for placed in streams.values() for place, one in placed)
    version = (text(start, "version") or "").removeprefix("iperf ") or None
    unknown = _unknown(streams, udp=udp)
    return Recording(
        content.file, name, "iperf3", version, _begin(where, start), length, subjects, unknown, tuple(notes)
    )


def _begin(where: str, start: object) -> int | None:
    """Returns the start as Unix time [ns]; versions before 3.20 only state whole seconds."""
    ms = optional(f"{where}: start", start, "timestamp", "timemillisecs")
    if ms is not None:
        return int(ms) * 10**6
    seconds = optional(f"{where}: start", start, "timestamp", "timesecs")
    return None if seconds is None else int(seconds) * 10**9


def _streams(intervals: Iterable[tuple[str, Any]]) -> dict[int, list[Placed]]:
    found: dict[int, list[Placed]] = {}
    for where, interval in intervals:
        for k, one in enumerate(rows(where, interval, "streams")):
            place = f"{where}.streams[{k}]"
            found.setdefault(int(number(place, one, "socket")), []).append((place, one))
    return found


def _points(placed: list[Placed], key: str, scale: float = 1.0) -> Iterator[tuple[float, float]]:
    """Yields the end and value of each interval that has a value; iperf3 writes -1, or 0 for an RTT, for no value."""
    for place, one in placed:
        value = optional(place, one, key)
        if value is not None and value >= 0 and not (key == "rtt" and value == 0):
            yield number(place, one, "end"), value * scale


def _subject(socket: int, placed: list[Placed], start: object, end: object, *, udp: bool) -> Subject:
    sender = get(placed[0][1], "sender")
    moved = "sent" if sender else "received"
    ends = next((one for one in get(start, "connected") or [] if get(one, "socket") == socket), None)
    counters = {"payload": (sum(number(place, one, "bytes") for place, one in placed), "bytes")}
    last = next(
        (
            one
            for one in get(end, "streams") or []
            if socket in (get(one, "udp", "socket"), get(one, "sender", "socket"))
        ),
        None,
    )
    for key, names, unit in (
        ("retransmitted", ("sender", "retransmits"), "packets"),
        ("lost", ("udp", "lost_packets"), "packets"),
        ("packets", ("udp", "packets"), "packets"),
        ("reordered", ("udp", "out_of_order"), "packets"),
    ):
        value = optional("end.streams", last, *names)
        if value is not None and value >= 0:
            counters[key] = (value, unit)
    if not udp:
        counters |= _of_socket(start)
    control = text(end, "sender_tcp_congestion")
    facts = {"protocol": "UDP" if udp else "TCP", "role": "sender" if sender else "receiver"}
    facts |= {} if control is None else {"control": control}
    what = "of the socket at the end of the interval"
    found = kept(
        series(
            "rate",
            _points(placed, "bits_per_second"),
            f"payload {moved}, mean over the interval",
        ),
        series("smoothed rtt", _points(placed, "rtt", 1e-6), f"the kernel's smoothed RTT {what}"),
        series("cwnd", _points(placed, "snd_cwnd"), f"the kernel's window {what}"),
        series("retransmissions", ((at, n) for at, n in _points(placed, "retransmits") if n), "in the interval"),
        series("losses", ((at, n) for at, n in _points(placed, "lost_packets") if n), "datagrams, in the interval"),
    )
    return Subject(_name(socket, ends), "flow", found, counters, facts)


def _of_socket(start: object) -> dict[str, tuple[float, str]]:
    """Returns the lengths [bytes] of a write, of the first send buffer, and of a full segment without its options.

    The maximum segment size is that of the control connection.
    """
    found: dict[str, tuple[float, str]] = {}
    for key, names in (
        ("block", ("test_start", "blksize")),
        ("send buffer", ("sndbuf_actual",)),
        ("mss", ("tcp_mss",)),
        ("mss", ("tcp_mss_default",)),
    ):
        value = optional("start", start, *names)
        if value is not None and value > 0:
            found.setdefault(key, (value, "bytes"))
    return found


def _name(socket: int, ends: object) -> str:
    parts = [get(ends, name) for name in ("local_host", "local_port", "remote_host", "remote_port")]
    return f"stream {socket}" if None in parts else "{}:{} - {}:{}".format(*parts)


def _unknown(streams: dict[int, list[Placed]], *, udp: bool) -> tuple[str, ...]:
    found = ["packets: values cover whole intervals, and rates count payload at the application"]
    if not udp and not any("rtt" in one for placed in streams.values() for _, one in placed):
        found.append("RTTs, windows and retransmissions: only a sender on Linux reports them; run iperf3 without -R")
    return tuple(found)
