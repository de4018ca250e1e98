"""Output of iperf 2, as text (also with -e) and as CSV (-y C): rates, and RTTs and windows of senders on Linux."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.measured.content import Content
from longpipe.measured.recording import Moved, Recording, Subject, kept, rates, series
from longpipe.measured.runs import joined, split_at

NAME: Final = "iperf 2"
_NUMBER: Final = r"\d{1,12}(?:[.,]\d{1,9})?"
_HEADS: Final = re.compile(
    r"Client connecting to \S+, (?:TCP|UDP) port \d+.*|Server listening on (?:TCP|UDP) port \d+.*"
)
# Lines of the client's header with -e and -Z, and the MSS behind the addresses of a stream.
_WRITE: Final = re.compile(r"Write buffer size: +(\d{1,12}) Byte.*")
_CONTROL: Final = re.compile(r"TCP congestion control set to (\w{1,16})\b.*")
_MSS: Final = re.compile(r".*\(icwnd/mss/irtt=\d+/(\d{1,5})/.*")
_STREAM: Final = re.compile(r"\[ *(\d{1,6})\] local (\S+) port (\d+) connected with (\S+) port (\d+).*")
_INTERVAL: Final = re.compile(
    rf"\[ *(?P<id>\d{{1,6}})\] +(?P<begin>{_NUMBER})- *(?P<end>{_NUMBER}) +sec +(?P<size>{_NUMBER}) +[KMGT]?Bytes? +"
    rf"(?P<rate>{_NUMBER}) +(?P<prefix>[KMGT]?)(?P<unit>bits|Bytes?)/sec(?P<rest>.*)"
)
# Columns of -e on the sender's side: writes and errors, retransmissions, window and RTT.
_SENDER: Final = re.compile(
    r" +\d+/\d+ +(?P<again>\d{1,9})(?: +(?:(?P<cwnd>\d{1,12})K|NA)/(?P<rtt>\d{1,12})(?:\(\d+\))? us)?.*"
)
# Columns of UDP on the receiver's side: jitter, and lost and all datagrams.
_RECEIVER: Final = re.compile(rf" +{_NUMBER} ms +(?P<lost>\d{{1,9}})/ *(?P<all>\d{{1,9}}) \(.*")
_CSV: Final = re.compile(
    rf"\d{{14}}(?:\.\d+)?(?:[+-]\d+:\d+)?,(?P<source>[^,\s]*),(?P<from>\d+),(?P<target>[^,\s]*),(?P<to>\d+),(?P<id>-?\d+),"
    rf"(?P<begin>{_NUMBER})-(?P<end>{_NUMBER}),(?P<size>\d{{1,18}}),(?P<rate>-?\d{{1,18}}(?:\.\d+)?)(?:,.*)?"
)
# iperf counts bytes in units of 1024 and bits in units of 1000.
_POWERS: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_LONGEST: Final = 400
# Times are printed with at least two digits after the point, or with one in older versions.
_ROUNDING_S: Final = 0.05


@dataclass
class _Stream:
    """Intervals of a stream as (begin [s], end [s], bytes), and values at their ends."""

    name: str
    is_udp: bool
    # Facts and numbers of its header.
    facts: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    moved: list[Moved] = field(default_factory=list)
    rtts: list[tuple[float, float]] = field(default_factory=list)
    windows: list[tuple[float, float]] = field(default_factory=list)
    again: list[tuple[float, float]] = field(default_factory=list)
    lost: list[tuple[float, float]] = field(default_factory=list)
    datagrams: float = 0.0
    # Greatest error of a rate by the digits that iperf prints [bit/s].
    rounding_bps: float = 0.0

    def is_before(self, interval: re.Match[str]) -> bool:
        """Returns whether an interval begins before the end of the latest one, and is not the total of all."""
        begin, end = _float(interval["begin"]), _float(interval["end"])
        if not self.moved or begin >= self.moved[-1][1] - _ROUNDING_S:
            return False
        return end < self.moved[-1][1] - _ROUNDING_S or begin > self.moved[0][0] + _ROUNDING_S


def recognizes(content: Content) -> bool:
    """Returns whether the text has a header, an interval or a row of iperf 2."""
    lines = [line for line in content.begins.splitlines()[:100] if len(line) <= _LONGEST]
    return any(_HEADS.fullmatch(line) or _CSV.fullmatch(line) for line in lines) or (
        any(_STREAM.fullmatch(line) for line in lines) and any(_INTERVAL.fullmatch(line) for line in lines)
    )


def read(content: Content) -> Recording:
    """Returns a flow for each stream of a test. Raises ScenarioError if none has an interval."""
    runs = split_at(content, lambda line: len(line) <= _LONGEST and bool(_HEADS.fullmatch(line)), lambda _: None)
    placed_runs = [(part.lines[0][0], run) for part in runs if (run := _run(content.file, part)) is not None]
    if not placed_runs:
        raise ScenarioError(f"{content.file}: no interval of a stream; needs the output of iperf 2 with intervals (-i)")
    return joined(placed_runs)


def _run(file: str, content: Content) -> Recording | None:
    """Returns the streams of one run of iperf 2; None if it has none."""
    streams = [stream for stream in _streams(content) if stream.moved]
    if not streams:
        return None
    subjects = tuple(_subject(stream) for stream in streams)
    length = max(end for stream in streams for _, end, _ in stream.moved)
    unknown = (
        "packets: values cover whole intervals, and rates count payload at the application",
        "the beginning: iperf 2 counts from the start of the test",
    )
    return Recording(file, "iperf 2", "iperf 2", None, None, length, subjects, unknown)


@dataclass
class _Header:
    """What the lines before a stream state about all streams of a test."""

    is_udp: bool = False
    facts: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)

    def add(self, line: str) -> bool:
        """Adds a line to the header; returns whether it belongs to the header."""
        if write := _WRITE.fullmatch(line):
            self.sizes["block"] = float(write[1])
        elif control := _CONTROL.fullmatch(line):
            self.facts["control"] = control[1]
        return bool(write or control)

    def stream(self, name: str, line: str = "") -> _Stream:
        """Returns a stream without intervals; `line` is the one with its addresses."""
        mss = _MSS.fullmatch(line)
        max_segment = {} if mss is None else {"mss": float(mss[1])}
        return _Stream(name, self.is_udp, dict(self.facts), self.sizes | max_segment)


def _streams(content: Content) -> list[_Stream]:
    """Returns the streams of all tests in the output, with their intervals."""
    streams: list[_Stream] = []
    current: dict[str, _Stream] = {}
    header = _Header()
    # Longer lines are of no known form.
    for line in (line for _, line in content.lines if len(line) <= _LONGEST):
        if _HEADS.fullmatch(line):
            header = _Header(" UDP port " in line)
        elif header.add(line):
            continue
        elif head := _STREAM.fullmatch(line):
            current[head[1]] = header.stream(_name(head), line)
            streams.append(current[head[1]])
        elif row := _CSV.fullmatch(line):
            key = row["id"] + row["from"] + row["to"]
            if int(row["id"]) >= 0:
                if key not in current:
                    ends = (row["source"], row["from"], row["target"], row["to"])
                    current[key] = header.stream("{}:{} - {}:{}".format(*ends))
                    streams.append(current[key])
                _add(current[key], row, float(row["rate"]))
        elif interval := _INTERVAL.fullmatch(line):
            stream = current.get(interval["id"])
            # Times that start again are those of another run.
            if stream is None or stream.is_before(interval):
                name = f"stream {interval['id']}" if stream is None else stream.name
                stream = current[interval["id"]] = header.stream(name)
                streams.append(stream)
            _add_interval(stream, interval)
    return streams


def _add_interval(stream: _Stream, interval: re.Match[str]) -> None:
    """Adds an interval with all its columns, and notes the rounding of its rate."""
    base, factor = (1000, 1) if interval["unit"] == "bits" else (1024, 8)
    scale_bps = base ** _POWERS[interval["prefix"]] * factor
    if _add(stream, interval, _float(interval["rate"]) * scale_bps):
        decimals = len(interval["rate"].replace(",", ".").partition(".")[2])
        stream.rounding_bps = max(stream.rounding_bps, 0.5 * 10**-decimals * scale_bps)
        _more(stream, interval)


def _name(head: re.Match[str]) -> str:
    return f"{head[2]}:{head[3]} - {head[4]}:{head[5]}"


def _float(text: str) -> float:
    return float(text.replace(",", "."))


def _add(stream: _Stream, interval: re.Match[str], bps: float) -> bool:
    """Adds an interval; returns whether it is one, and not the total of the intervals before it."""
    begin, end = _float(interval["begin"]), _float(interval["end"])
    if end <= begin or bps < 0 or (stream.moved and begin < stream.moved[-1][1] - _ROUNDING_S):
        return False
    stream.moved.append((begin, end, bps * (end - begin) / 8))
    return True


def _more(stream: _Stream, interval: re.Match[str]) -> None:
    """Adds what an interval's line contains besides its rate: the sender's TCP state, or the receiver's losses."""
    end = stream.moved[-1][1]
    if sender := _SENDER.fullmatch(interval["rest"]):
        stream.again.append((end, float(sender["again"])))
        if sender["cwnd"]:
            stream.windows.append((end, 1024 * float(sender["cwnd"])))
        if sender["rtt"] and int(sender["rtt"]):
            stream.rtts.append((end, float(sender["rtt"]) / 1e6))
    elif receiver := _RECEIVER.fullmatch(interval["rest"]):
        stream.lost.append((end, float(receiver["lost"])))
        stream.datagrams += float(receiver["all"])


def _counters(stream: _Stream) -> Iterator[tuple[str, tuple[float, str]]]:
    """Yields the counters of a stream with their units."""
    yield "payload", (round(sum(size for _, _, size in stream.moved)), "bytes")
    if stream.rounding_bps:
        yield "rounding of rates", (stream.rounding_bps, "bit/s")
    for name, size in stream.sizes.items():
        yield name, (size, "bytes")
    if stream.again:
        yield "retransmitted", (sum(count for _, count in stream.again), "packets")
    if stream.datagrams:
        yield "lost", (sum(count for _, count in stream.lost), "packets")
        yield "packets", (stream.datagrams, "packets")


def _subject(stream: _Stream) -> Subject:
    """Returns a stream as a flow."""
    of_flow = kept(
        rates(stream.moved, "payload, mean over the interval, with the digits that iperf prints"),
        series("smoothed rtt", stream.rtts, "the kernel's smoothed RTT at the end of the interval"),
        series("cwnd", stream.windows, "the kernel's window at the end of the interval", "bytes"),
        series("retransmissions", [interval for interval in stream.again if interval[1]], "in the interval"),
        series("losses", [interval for interval in stream.lost if interval[1]], "datagrams, in the interval"),
    )
    facts = {"protocol": "UDP" if stream.is_udp else "TCP", **stream.facts}
    return Subject(stream.name, "flow", of_flow, dict(_counters(stream)), facts)
