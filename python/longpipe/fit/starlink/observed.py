"""Observations of a Starlink site in measured files: rates of tests that may fill the path, round trips, lost probes.

All times are Unix times, because the slots of Starlink are those of UTC. Rates count IP packets. Files of iperf3 are
from the end behind the dish, which receives the downlink.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from longpipe.errors import ScenarioError
from longpipe.measured import read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longpipe.measured.recording import Recording, Series, Subject

    Numbers = NDArray[np.float64]

Direction = Literal["down", "up"]
# Share of an IP packet that is payload, with TCP timestamps, and headers of a UDP datagram [bytes].
_TCP_SHARE: Final = 1448 / 1500
_UDP_HEADERS: Final = 28
_UDP_PAYLOAD: Final = 1460
# Streams of one test begin within this time [s].
_TOGETHER_S: Final = 0.5
# Time from the start of a TCP connection to its full rate [s], which is not counted.
RAMP_S: Final = 2.0
# A test of UDP fills the path if the share of its datagrams that are lost is at least this.
_FILLED: Final = 0.01
# Number of streams of StarNet's iperf3 (`-P 20`).
_STARNET_STREAMS: Final = 20
# Names in which WetLinks' tables have rates of iperf3, and those of used rates.
_WETLINKS: Final[dict[str, Direction]] = {"download": "down", "upload": "up"}
_USED: Final = ("downlink", "uplink")


@dataclass(frozen=True)
class Transport:
    """The TCP connections of a test: congestion control of the sender, and number of streams."""

    control: str
    streams: int


@dataclass(frozen=True, eq=False)
class Test:
    """A transfer in one direction: begins and ends [s] of its intervals, and their mean rates [bit/s].

    `transport` is None if the rates are those of the link. `is_full` is whether the test offered more than the link
    carried, which is unknown for TCP (None).
    """

    file: str
    direction: Direction
    begin_s: Numbers
    end_s: Numbers
    bps: Numbers
    transport: Transport | None
    is_full: bool | None


@dataclass(frozen=True, eq=False)
class Probes:
    """Round trips [s] of probes of one target, by the time [s] of the request, and times of the lost probes [s].

    `spans_s` has a row (begin, end) for each round trip that is a mean over an interval; otherwise it is None. `lost`
    is None if the file does not count single probes.
    """

    file: str
    target: str
    time_s: Numbers
    rtt_s: Numbers
    spans_s: Numbers | None
    lost_s: Numbers | None
    is_to_the_exit: bool


@dataclass
class Observed:
    """The measurements of a site."""

    tests: list[Test] = field(default_factory=list)
    probes: list[Probes] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def begin_s(self) -> float:
        """Returns the time of the first measurement [s]."""
        return min(float(times.min()) for times in self._times())

    @property
    def length_s(self) -> float:
        """Returns the time from the first measurement to the last [s]."""
        return max(float(times.max()) for times in self._times()) - self.begin_s

    def _times(self) -> Iterator[Numbers]:
        yield from (test.begin_s for test in self.tests)
        yield from (probes.time_s for probes in self.probes)

    def of(self, direction: Direction) -> list[Test]:
        """Returns the tests in a direction."""
        return [test for test in self.tests if test.direction == direction]


def observe(files: Sequence[str]) -> Observed:
    """Returns the measurements in some files. Raises ScenarioError for a file without any that determine parameters."""
    observed = Observed()
    for file in files:
        recording = read(file)
        if recording.begin_ns is None:
            raise ScenarioError(
                f"{file}: {recording.format}, without absolute times; needs them, because the slots are those of UTC "
                "(ping -D, iperf3 -J, starlink-grpc-tools' bulk_history)"
            )
        count_before = len(observed.tests) + len(observed.probes)
        observed.tests += _tests(recording, recording.begin_ns / 1e9)
        observed.probes += _probes(recording, recording.begin_ns / 1e9)
        if len(observed.tests) + len(observed.probes) == count_before:
            raise ScenarioError(
                f"{file}: {recording.format}, without transfers or round trips; needs iperf3 -J, ping -D, irtt, or a "
                "file of WetLinks, LENS, StarNet or a dish"
            )
        if any(subject.name.endswith(_USED) for subject in recording.subjects):
            observed.notes.append(f"{file}: the used rates are no rates of the path, and are not counted")
    _check_targets(observed.probes)
    return observed


def _check_targets(probes: Sequence[Probes]) -> None:
    """Raises ScenarioError if the probes have several targets, whose round trips differ."""
    targets = list(dict.fromkeys(series.target for series in probes))
    if len(targets) > 1:
        other = next(series for series in probes if series.target != targets[0])
        raise ScenarioError(
            f"{other.file}: round trips to {other.target} beside those to {targets[0]}; needs one target, and one site"
        )


def _tests(recording: Recording, begin_s: float) -> Iterator[Test]:
    if recording.format.startswith("iperf3"):
        flows = [subject for subject in recording.subjects if subject.rates is not None and "role" in subject.facts]
        yield from (_of_streams(recording, begin_s, streams) for streams in _together(flows))
        return
    for subject in recording.subjects:
        series = subject.rates
        if series is None or not len(series.numbers):
            continue
        if recording.format == "WetLinks CSV" and subject.name.endswith(tuple(_WETLINKS)):
            direction = _WETLINKS[subject.name.rpartition(" ")[2]]
            spans = _spans(series)
            yield from (
                Test(recording.file, direction, begin_s + row[:1], begin_s + row[1:], np.array([bps]), None, None)
                for row, bps in zip(spans, series.numbers / _TCP_SHARE, strict=True)
            )
        elif recording.format == "StarNet log":
            begin, end = begin_s + _spans(series).T
            transport = Transport("cubic", _STARNET_STREAMS)
            yield Test(recording.file, "down", begin, end, series.numbers / _TCP_SHARE, transport, None)


def _spans(series: Series) -> Numbers:
    """Returns the start and end of each value [s]."""
    if series.intervals_s is not None:
        return series.intervals_s
    return np.column_stack([series.time_s, series.time_s])


def _together(flows: Sequence[Subject]) -> Iterator[list[Subject]]:
    """Yields the streams of each test in each direction."""

    def begin(flow: Subject) -> float:
        series = flow.rates
        return 0.0 if series is None else float(_spans(series)[0, 0])

    for role in ("receiver", "sender"):
        group: list[Subject] = []
        for flow in sorted((flow for flow in flows if flow.facts["role"] == role), key=begin):
            if group and begin(flow) - begin(group[0]) > _TOGETHER_S:
                yield group
                group = []
            group.append(flow)
        if group:
            yield group


def _of_streams(recording: Recording, begin_s: float, streams: Sequence[Subject]) -> Test:
    """Returns a test of iperf3: the sums over its streams, of the intervals that all of them have."""
    series = [stream.rates for stream in streams if stream.rates is not None]
    count = min(len(stream_series.numbers) for stream_series in series)
    spans = begin_s + _spans(series[0])[:count]
    bps = np.sum([stream_series.numbers[:count] for stream_series in series], axis=0)
    is_sent = streams[0].facts["role"] == "sender"
    direction: Direction = "up" if is_sent else "down"
    if streams[0].facts.get("protocol") != "UDP":
        late = spans[:, 0] - spans[0, 0] >= RAMP_S
        late = late if late.any() else np.ones(count, dtype=bool)
        transport = Transport(streams[0].facts.get("control", ""), len(streams))
        begin, end = spans[late].T
        return Test(recording.file, direction, begin, end, bps[late] / _TCP_SHARE, transport, None)
    payload = streams[0].counters.get("block", (_UDP_PAYLOAD, ""))[0]
    bps = bps * (payload + _UDP_HEADERS) / payload
    counts = [
        sum(stream_series.counters.get(name, (0.0, ""))[0] for stream_series in streams) for name in ("lost", "packets")
    ]
    # The summary of a test in reverse may be that of the sender, without losses, which the intervals then have.
    in_intervals = sum(
        float(losses.numbers.sum()) for stream_series in streams if (losses := stream_series.of("losses")) is not None
    )
    lost = max(counts[0], in_intervals) / counts[1] if counts[1] else 0.0
    if is_sent:
        # The intervals of a sender count what was offered, and only the summary has the share that arrived.
        lengths = spans[:, 1] - spans[:, 0]
        spans = np.array([[spans[0, 0], spans[-1, 1]]])
        bps = np.array([float(np.average(bps, weights=lengths)) * (1 - lost)])
    return Test(recording.file, direction, spans[:, 0], spans[:, 1], bps, None, lost >= _FILLED)


def _probes(recording: Recording, begin_s: float) -> Iterator[Probes]:
    for subject in recording.subjects:
        rtt = subject.of("rtt")
        if subject.kind != "path" or rtt is None:
            continue
        # A dish reports shares of lost pings, and WetLinks numbers of a measurement.
        is_single = not recording.format.startswith(("Starlink dish", "WetLinks", "StarNet"))
        losses = subject.of("losses")
        lost = np.zeros(0) if losses is None else begin_s + losses.time_s
        is_exit = recording.format.startswith("Starlink dish") or _FIRST_HOP in subject.name
        spans = None if rtt.intervals_s is None else begin_s + rtt.intervals_s
        yield Probes(
            recording.file, "the dish's point of presence" if recording.format.startswith("Starlink dish") else
            subject.name, begin_s + rtt.time_s, rtt.numbers, spans, lost if is_single else None, is_exit,
        )  # fmt: skip


# Address of the gateway at Starlink's point of presence (Michel et al., IMC '22).
_FIRST_HOP: Final = "100.64.0.1"
