"""JSON output of iperf3 (`-J` and `--json-stream`): rates, RTTs, windows and retransmissions per interval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from longpipe.errors import ScenarioError, plain, shortened
from longpipe.measured.content import Content
from longpipe.measured.fields import get, items, number, optional, text
from longpipe.measured.json_text import Placed
from longpipe.measured.recording import Moved, Recording, Subject, kept, rates, series
from longpipe.measured.runs import joined

NAME: Final = "JSON of iperf3"
_EVENTS: Final = ("start", "interval", "end", "error", "server_output_json", "server_output_text")


@dataclass(frozen=True)
class _Interval:
    """An interval of a stream: its place in the file, its fields, its times [s], and whether iperf3 omits it (-O).

    `omitted` is None if the file does not tell.
    """

    location: str
    fields: dict[str, Any]
    begin: float
    end: float
    omitted: bool | None

    @property
    def moved(self) -> float | None:
        """Bytes that were sent or received; None if the file does not contain them."""
        size = optional(self.location, self.fields, "bytes")
        if size is not None:
            return size
        bps = optional(self.location, self.fields, "bits_per_second")
        return None if bps is None else bps * (self.end - self.begin) / 8

    def is_after(self, other: _Interval) -> bool:
        """Returns whether the clock ran on from another interval; iperf3 resets it when the omitted time is over."""
        return self.end >= other.end and self.begin >= (other.begin + other.end) / 2


def is_whole(value: object) -> bool:
    """Returns whether a JSON value is a result of iperf3, not an event of its stream."""
    return isinstance(get(value, "start"), dict) and get(value, "intervals") is not None


def recognizes(content: Content) -> bool:
    """Returns whether the content is a result of iperf3, or a stream of its events."""
    if not content.is_json:
        return False
    first = content.json_values[0][1]
    return is_whole(first) or (get(first, "event") in _EVENTS and get(first, "data") is not None)


def read(content: Content) -> Recording:
    """Returns the streams of each test. Raises ScenarioError if a test failed before its first interval."""
    return joined([(content.line_of(test[0][0]), _of_test(content.file, test)) for test in _tests(content.json_values)])


def _tests(values: Placed) -> Iterator[Placed]:
    """Yields the values of each test: an object, or the events of a stream from its start on."""
    test: Placed = []
    for location, value in values:
        is_event = get(value, "event") is not None
        if not is_event and get(value, "intervals") is None:
            # Another tool wrote this value.
            continue
        if test and (not is_event or get(value, "event") == "start" or get(test[-1][1], "event") is None):
            yield test
            test = []
        test.append((location, value))
    yield test


def _of_test(file: str, values: Placed) -> Recording:
    """Returns one test, from an object or from the events of a stream."""
    document, value = values[0]
    if get(value, "event") is None:
        intervals = [
            (f"{document}: intervals[{k}]", interval) for k, interval in enumerate(items(document, value, "intervals"))
        ]
        start, end, error, name = get(value, "start"), get(value, "end"), text(value, "error"), "iperf3 JSON"
    else:
        events = [(location, get(event, "event"), get(event, "data")) for location, event in values]
        intervals = [(location, data) for location, event, data in events if event == "interval"]
        last = {event: data for _, event, data in events if isinstance(event, str)}
        error = last["error"] if isinstance(last.get("error"), str) else None
        start, end, name = last.get("start"), last.get("end"), "iperf3 JSON stream"
    all_intervals = _streams(intervals)
    streams = {socket: counted for socket, intervals in all_intervals.items() if (counted := _counted(intervals))}
    if not streams:
        reason = f", iperf3 failed: {shortened(plain(error), 100)}" if error else ""
        reason = ", all intervals were omitted (-O)" if all_intervals else reason
        raise ScenarioError(f"{document}: no interval of a stream{reason}; needs a test that sent data")
    subjects = tuple(_subject(socket, stream_intervals, start, end) for socket, stream_intervals in streams.items())
    notes = [f"iperf3 reports an error: {shortened(plain(error), 200)}"] if error else []
    omitted_s = max(_length(all_intervals[socket]) - _length(counted) for socket, counted in streams.items())
    if omitted_s > 0:
        notes.append(f"the first {omitted_s:.4g} s were omitted (-O) and are not counted")
    if end is None or end == {}:
        notes.append("the test is incomplete: it was interrupted")
    length = max(interval.end for stream_intervals in streams.values() for interval in stream_intervals)
    version = (text(start, "version") or "").removeprefix("iperf ") or None
    begin = _begin(document, start)
    return Recording(
        file, name, "iperf3", version, None if begin is None else begin + round(omitted_s * 1e9), length,
        subjects, _unknown(streams, subjects), tuple(notes),
    )  # fmt: skip


def _begin(location: str, start: object) -> int | None:
    """Returns the start as Unix time [ns]; versions before 3.20 only state whole seconds."""
    ms = optional(f"{location}: start", start, "timestamp", "timemillisecs")
    if ms is not None:
        return int(ms) * 10**6
    seconds = optional(f"{location}: start", start, "timestamp", "timesecs")
    return None if seconds is None else int(seconds) * 10**9


def _streams(intervals: Iterable[tuple[str, Any]]) -> dict[int, list[_Interval]]:
    """Returns the intervals of each stream, by the number of its socket."""
    of_sockets: dict[int, list[_Interval]] = {}
    for interval_location, interval in intervals:
        for k, stream in enumerate(items(interval_location, interval, "streams")):
            location = f"{interval_location}.streams[{k}]"
            of_socket = of_sockets.setdefault(int(number(location, stream, "socket")), [])
            of_socket.append(_interval(location, stream, of_socket[-1].end if of_socket else 0.0))
    return of_sockets


def _interval(location: str, fields: dict[str, Any], previous_end: float) -> _Interval:
    """Returns an interval of a stream; versions of iperf3 omit different ones of its start, end and length."""
    begin, end, length = (optional(location, fields, name) for name in ("start", "end", "seconds"))
    if end is None:
        end = number(location, fields, "end") if begin is None or length is None else begin + length
    if begin is None:
        begin = previous_end if length is None else end - length
    omitted = get(fields, "omitted")
    return _Interval(location, fields, begin, end, omitted if isinstance(omitted, bool) else None)


def _length(intervals: Sequence[_Interval]) -> float:
    """Returns the total length [s] of intervals."""
    return sum(interval.end - interval.begin for interval in intervals)


def _counted(intervals: Sequence[_Interval]) -> list[_Interval]:
    """Returns the intervals that count: those that iperf3 does not omit. Versions differ in whether they mark these."""
    counted: list[_Interval] = []
    for interval in intervals:
        if counted and not interval.is_after(counted[-1]):
            if not all(earlier.omitted is None for earlier in counted):
                raise ScenarioError(
                    f"{interval.location}.start: {interval.begin:g} s after an interval until {counted[-1].end:g} s; "
                    "needs increasing times"
                )
            counted.clear()
        if not interval.omitted:
            counted.append(interval)
    return counted


def _points(stream_intervals: list[_Interval], key: str, scale: float = 1.0) -> Iterator[tuple[float, float]]:
    """Yields the end and value of each interval that has a value; iperf3 writes -1, or 0 for an RTT, for no value."""
    for interval in stream_intervals:
        value = optional(interval.location, interval.fields, key)
        if value is not None and value >= 0 and not (key == "rtt" and value == 0):
            yield interval.end, value * scale


def _moved(stream_intervals: list[_Interval]) -> Iterator[Moved]:
    """Yields begin, end and bytes of each interval that has them."""
    for interval in stream_intervals:
        if interval.moved is not None:
            yield interval.begin, interval.end, interval.moved


def _is_sender(socket: int, stream_intervals: list[_Interval], start: object, summary: object) -> bool | None:
    """Returns whether the side that wrote the file sent the stream; None if the file does not tell.

    Versions up to 3.6 do not mark the intervals of a sender. A client sends unless the test is reversed.
    """
    marks = [get(interval.fields, "sender") for interval in stream_intervals]
    marks += [get(summary, end, "sender") for end in ("sender", "receiver", "udp")]
    stated = next((mark for mark in marks if isinstance(mark, bool)), None)
    if stated is not None:
        return stated
    is_client = None
    if get(start, "connecting_to") is not None or get(start, "accepted_connection") is not None:
        is_client = get(start, "connecting_to") is not None
    is_reverse = get(start, "test_start", "reverse")
    if is_client is None or not isinstance(is_reverse, int) or get(start, "test_start", "bidir"):
        return None
    return is_client != bool(is_reverse)


def _subject(socket: int, stream_intervals: list[_Interval], start: object, end: object) -> Subject:
    """Returns a stream as a flow. `start` and `end` are the parts of the file with the settings and the summary."""
    protocol = text(start, "test_start", "protocol")
    ends = next(
        (connection for connection in get(start, "connected") or [] if get(connection, "socket") == socket), None
    )
    summary = next(
        (
            stream
            for stream in get(end, "streams") or []
            if socket in [get(stream, part, "socket") for part in ("udp", "sender", "receiver")]
        ),
        None,
    )
    is_sender = _is_sender(socket, stream_intervals, start, summary)
    verb = {True: "sent", False: "received", None: "sent or received"}[is_sender]
    moved = [interval.moved for interval in stream_intervals]
    counters = {}
    if None not in moved:
        counters["payload"] = (float(sum(size for size in moved if size is not None)), "bytes")
    for key, names, unit in (
        ("retransmitted", ("sender", "retransmits"), "packets"),
        ("lost", ("udp", "lost_packets"), "packets"),
        ("packets", ("udp", "packets"), "packets"),
        ("reordered", ("udp", "out_of_order"), "packets"),
    ):
        value = optional("end.streams", summary, *names)
        if value is not None and value >= 0:
            counters[key] = (value, unit)
    counters |= _of_socket(start)
    roles = {True: "sender", False: "receiver", None: None}
    facts = {"protocol": protocol, "role": roles[is_sender], "control": text(end, "sender_tcp_congestion")}
    what = "of the socket at the end of the interval"
    measured = kept(
        rates(_moved(stream_intervals), f"payload {verb}, mean over the interval"),
        series("smoothed rtt", _points(stream_intervals, "rtt", 1e-6), f"the kernel's smoothed RTT {what}"),
        series("cwnd", _points(stream_intervals, "snd_cwnd"), f"the kernel's window {what}"),
        series(
            "retransmissions",
            ((at, n) for at, n in _points(stream_intervals, "retransmits") if n),
            "in the interval",
        ),
        series(
            "losses",
            ((at, n) for at, n in _points(stream_intervals, "lost_packets") if n),
            "datagrams, in the interval",
        ),
    )
    return Subject(_name(socket, ends), "flow", measured, counters, {key: fact for key, fact in facts.items() if fact})


def _of_socket(start: object) -> dict[str, tuple[float, str]]:
    """Returns the lengths [bytes] of a write, of the first send buffer, and of a full segment without its options.

    The maximum segment size is that of the control connection.
    """
    lengths: dict[str, tuple[float, str]] = {}
    for key, names in (
        ("block", ("test_start", "blksize")),
        ("send buffer", ("sndbuf_actual",)),
        ("mss", ("tcp_mss",)),
        ("mss", ("tcp_mss_default",)),
    ):
        value = optional("start", start, *names)
        if value is not None and value > 0:
            lengths.setdefault(key, (value, "bytes"))
    return lengths


def _name(socket: int, ends: object) -> str:
    parts = [get(ends, name) for name in ("local_host", "local_port", "remote_host", "remote_port")]
    return f"stream {socket}" if None in parts else "{}:{} - {}:{}".format(*parts)


def _unknown(streams: dict[int, list[_Interval]], subjects: Iterable[Subject]) -> tuple[str, ...]:
    """Returns what the file does not contain."""
    unknown = ["packets: values cover whole intervals, and rates count payload at the application"]
    if any("role" not in subject.facts for subject in subjects):
        unknown.append("whether the payload was sent or received: the file lacks `sender`, as before iperf3 3.7")
    has_rtts = any("rtt" in interval.fields for stream_intervals in streams.values() for interval in stream_intervals)
    if not has_rtts and any(subject.facts.get("protocol") != "UDP" for subject in subjects):
        unknown.append("RTTs, windows and retransmissions: only a sender on Linux reports them; run iperf3 without -R")
    return tuple(unknown)
