"""Results of ndt7 (M-Lab): archived tests, or a client's or server's messages, one JSON object per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.measured.content import Content
from longpipe.measured.fields import get, items, optional, text
from longpipe.measured.json_text import Placed
from longpipe.measured.recording import Recording, Subject, kept, rates, series
from longpipe.measured.snapshots import is_reset, steps
from longpipe.measured.texts import unix_ns_of_date

NAME: Final = "ndt7 of M-Lab"
_TESTS: Final = ("Download", "Upload")
_PARTS: Final = ("TCPInfo", "AppInfo", "BBRInfo")
# Events of ndt7-client (-format=json); the values of measurements are messages.
_EVENTS: Final = ("starting", "connected", "measurement", "complete", "error")
# Values that only increase during a test.
_COUNTED: Final = {
    "TCPInfo": ("ElapsedTime", "BytesAcked", "BytesReceived", "BytesRetrans"),
    "AppInfo": ("ElapsedTime", "NumBytes"),
    "BBRInfo": ("ElapsedTime",),
}


def recognizes(content: Content) -> bool:
    """Returns whether the content is an archived test or a message of ndt7."""
    if not content.is_json:
        return False
    value = content.json_values[0][1]
    is_message = any(isinstance(get(value, part), dict) for part in _PARTS)
    return is_whole(value) or is_message or (get(value, "Key") in _EVENTS and isinstance(get(value, "Value"), dict))


def is_whole(value: object) -> bool:
    """Returns whether a JSON value is an archived test."""
    return any(get(value, test, "ServerMeasurements") is not None for test in _TESTS)


def read(content: Content) -> Recording:
    """Returns a flow for each test. The rate is computed from bytes acknowledged (download) or received (upload)."""
    document, value = content.json_values[0]
    if is_whole(value):
        return _of_archive(content.file, document, value)
    # Messages of client and server have different clocks and counters.
    groups: dict[tuple[str | None, str | None], Placed] = {}
    for location, message in _messages(content):
        groups.setdefault((text(message, "Test"), text(message, "Origin")), []).append((location, message))
    subjects: list[Subject] = []
    for (test, origin), placed in groups.items():
        name = f"{test or 'test'} ({origin})" if origin and len(groups) > 1 else test or "test"
        subjects += _subjects(name, placed, None if test is None else test == "download")
    return _recording(content.file, (document, value), subjects, None)


def _messages(content: Content) -> Placed:
    """Returns the messages, which are values of events in the output of ndt7-client."""
    messages: Placed = []
    for location, value in content.json_values:
        if get(value, "Key") == "measurement":
            messages.append((f"{location}.Value", get(value, "Value")))
        elif any(get(value, part) is not None for part in _PARTS):
            messages.append((location, value))
    return messages


def _of_archive(file: str, location: str, value: object) -> Recording:
    """Returns the tests of a result that a server of ndt7 archived."""
    subjects: list[Subject] = []
    begin = None
    for test in _TESTS:
        of_test = get(value, test)
        if isinstance(of_test, dict):
            begin = begin or unix_ns_of_date(text(of_test, "StartTime"))
            measured = items(f"{location}: {test}", of_test, "ServerMeasurements")
            placed = [(f"{location}: {test}.ServerMeasurements[{k}]", message) for k, message in enumerate(measured)]
            subjects += _subjects(test.lower(), placed, test == "Download")
    return _recording(file, (location, value), subjects, begin)


def _recording(file: str, first: tuple[str, object], subjects: list[Subject], begin: int | None) -> Recording:
    """Returns the recording with these subjects; `first` is the place and value of the first message."""
    location, value = first
    if not subjects:
        raise ScenarioError(f"{location}: no measurement with TCPInfo or AppInfo; needs a test of ndt7 that sent data")
    length = max((float(series.time_s.max()) for subject in subjects for series in subject.series), default=0.0)
    unknown = ["RTTs and losses of single packets: TCPInfo contains the kernel's state about every 250 ms"]
    if any(subject.name.startswith("test") for subject in subjects):
        unknown.append("whether the test was a download or an upload: the messages lack `Test`")
    tool = "ndt7-client" if get(value, "Key") in _EVENTS else "ndt-server"
    return Recording(file, "ndt7", tool, text(value, "Version"), begin, length, tuple(subjects), tuple(unknown))


def _subjects(name: str, placed: Placed, download: bool | None) -> Iterator[Subject]:
    """Yields the flows of a test: another one begins when the time or a counter starts again.

    `download` is None if the file does not tell; then the larger counter is that of the test's data.
    """
    runs: list[Placed] = []
    latest: dict[str, float] = {}
    for location, message in placed:
        now = _counted(location, message)
        if not runs or is_reset(latest, now):
            runs.append([])
            latest = {}
        runs[-1].append((location, message))
        latest |= now
    for run in runs:
        yield from _subject(name, run, download)


def _counted(location: str, message: object) -> dict[str, float]:
    counts = {
        f"{part}.{key}": optional(location, message, part, key) for part, keys in _COUNTED.items() for key in keys
    }
    return {key: value for key, value in counts.items() if value is not None and value >= 0}


def _subject(name: str, placed: Placed, download: bool | None) -> Iterator[Subject]:
    """Yields a flow, or nothing if it has no measurements. Times in TCPInfo are in us."""

    def points(part: str, key: str, scale: float = 1.0) -> Iterator[tuple[float, float]]:
        for location, message in placed:
            at, value = optional(location, message, part, "ElapsedTime"), optional(location, message, part, key)
            if at is not None and value is not None and value >= 0:
                yield at / 1e6, value * scale

    acked, received = list(points("TCPInfo", "BytesAcked")), list(points("TCPInfo", "BytesReceived"))
    if download is None:
        download = max((size for _, size in acked), default=0) >= max((size for _, size in received), default=0)
    counted = (acked if download else received) or list(points("AppInfo", "NumBytes"))
    retransmitted = list(points("TCPInfo", "BytesRetrans"))
    of_flow = kept(
        rates(steps(counted), "since the previous measurement"),
        series("smoothed rtt", points("TCPInfo", "RTT", 1e-6), "the kernel's smoothed RTT"),
        series("delivery rate", points("BBRInfo", "BW", 8.0), "BBR's bandwidth estimate (bytes/s in the file)"),
        series(
            "retransmissions",
            ((at, n) for _, at, n in steps(retransmitted) if n),
            "since the previous measurement",
            "bytes",
        ),
    )
    last = {
        key: samples[-1][1]
        for key in ("MinRTT", "BytesRetrans", "BusyTime", "RWndLimited")
        if (samples := list(points("TCPInfo", key)))
    }
    counters = {key: (value, "bytes") if key == "BytesRetrans" else (value / 1e6, "s") for key, value in last.items()}
    if of_flow or counters:
        yield Subject(name, "flow", of_flow, counters)
