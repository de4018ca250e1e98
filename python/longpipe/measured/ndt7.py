"""Results of ndt7 (M-Lab): archived tests, or a client's or server's messages, one JSON object per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.measured.content import Content
from longpipe.measured.fields import get, optional, rows, text, unix_of_date
from longpipe.measured.recording import Recording, Subject, kept, rates, series
from longpipe.measured.snapshots import steps

NAME: Final = "ndt7 of M-Lab"
_TESTS: Final = ("Download", "Upload")
_PARTS: Final = ("TCPInfo", "AppInfo", "BBRInfo")
# A message with its place in the file.
Placed = list[tuple[str, Any]]


def recognises(content: Content) -> bool:
    """Returns whether the content is an archived test or a message of ndt7."""
    if not content.is_json:
        return False
    value = content.json_values[0][1]
    archived = any(get(value, test, "ServerMeasurements") is not None for test in _TESTS)
    return archived or any(isinstance(get(value, part), dict) for part in _PARTS)


def read(content: Content) -> Recording:
    """Returns a flow for each test. The rate is computed from bytes acknowledged (download) or received (upload)."""
    where, value = content.json_values[0]
    subjects: list[Subject] = []
    begin = None
    for test in _TESTS:
        found = get(value, test)
        if isinstance(found, dict):
            begin = begin or unix_of_date(text(found, "StartTime"))
            measured = rows(f"{where}: {test}", found, "ServerMeasurements")
            placed = [(f"{where}: {test}.ServerMeasurements[{k}]", one) for k, one in enumerate(measured)]
            subjects += _subject(test.lower(), placed, test == "Download")
    if not subjects:
        tests = sorted({text(one, "Test") or "download" for _, one in content.json_values})
        for test in tests:
            placed = [(place, one) for place, one in content.json_values if (text(one, "Test") or "download") == test]
            subjects += _subject(test, placed, test == "download")
    if not subjects:
        raise ScenarioError(f"{where}: no measurement with TCPInfo or AppInfo; needs a test of ndt7 that sent data")
    length = max((float(one.time_s.max()) for subject in subjects for one in subject.series), default=0.0)
    unknown = ("RTTs and losses of single packets: TCPInfo contains the kernel's state about every 250 ms",)
    return Recording(
        content.file, "ndt7", "ndt-server", text(value, "Version"), begin, length, tuple(subjects), unknown
    )


def _subject(name: str, placed: Placed, download: bool) -> Iterator[Subject]:
    """Yields the flow of a test, or nothing if it has no measurements. Times in TCPInfo are in us."""

    def points(part: str, key: str, scale: float = 1.0) -> Iterator[tuple[float, float]]:
        for where, one in placed:
            at, value = optional(where, one, part, "ElapsedTime"), optional(where, one, part, key)
            if at is not None and value is not None and value >= 0:
                yield at / 1e6, value * scale

    counted = list(points("TCPInfo", "BytesAcked" if download else "BytesReceived")) or list(
        points("AppInfo", "NumBytes")
    )
    again = list(points("TCPInfo", "BytesRetrans"))
    of_flow = kept(
        rates(steps(counted), "since the previous measurement"),
        series("smoothed rtt", points("TCPInfo", "RTT", 1e-6), "the kernel's smoothed RTT"),
        series("delivery rate", points("BBRInfo", "BW", 8.0), "BBR's bandwidth estimate (bytes/s in the file)"),
        series(
            "retransmissions", ((at, n) for _, at, n in steps(again) if n), "since the previous measurement", "bytes"
        ),
    )
    last = {
        key: found[-1][1]
        for key in ("MinRTT", "BytesRetrans", "BusyTime", "RWndLimited")
        if (found := list(points("TCPInfo", key)))
    }
    counters = {key: (value, "bytes") if key == "BytesRetrans" else (value / 1e6, "s") for key, value in last.items()}
    if of_flow or counters:
        yield Subject(name, "flow", of_flow, counters)
