"""Observation of one TCP flow in a capture taken at the sender: its transmissions, deliveries and RTT samples."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from longpipe.errors import ScenarioError
from longpipe.fit.report import check_base
from longpipe.inputs.capture_magic import is_capture
from longpipe.ip import IPV6_BYTES, packet_bytes
from longpipe.measured import capture
from longpipe.measured.content import Content
from longpipe.measured.copies import Traffic
from longpipe.measured.headers import CWR, RST, SYN, Other, Segment, name_of
from longpipe.measured.pcap import CaptureFile

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from longpipe.measured.recording import Recording, Subject

    Numbers = NDArray[np.float64]
    Counts = NDArray[np.int64]
    Flags = NDArray[np.bool_]

# Length [bytes] of an endpoint that consists of an IPv4 address and a port.
_V4_ENDPOINT: Final = 6
# Minimum number of RTT samples and of full segments for a fit.
MIN_SAMPLES: Final = 200
# Maximum number of segments, each of which takes about 300 bytes of memory.
_MAX_SEGMENTS: Final = 5_000_000
# Initial window [segments] (RFC 6928), and longest flight that counts as a message before the transfer.
INITIAL_WINDOW: Final = 10
# A retransmission is considered unnecessary if it was acknowledged within less than this share of the minimum RTT.
_MIN_ACK_SHARE: Final = 0.9
# Minimum RTT of a handshake as a share of the minimum RTT of full segments, which take longer to transmit.
_MIN_HANDSHAKE_SHARE: Final = 0.2


@dataclass(frozen=True, eq=False)
class ObservedFlow:
    """One flow. All arrays of transmissions have the same length n, and all arrays of ACKs the same length m.

    Times are seconds of the capture's clock since the transfer's first data packet. The transfer begins after the
    messages that the application exchanged before it, such as iperf3's cookie, a request or a TLS handshake.
    """

    file: str
    flow: str
    # Payload of a full segment, and IP and TCP headers of each segment [bytes].
    mss: int
    headers: int
    timestamps: bool
    duration_s: float
    # Transmissions of segments, in order: time [s], first byte from 0, payload [bytes], and whether the network lost
    # it.
    sent_s: Numbers
    sent_byte: Counts
    sent_bytes: Counts
    sent_lost: Flags
    # Time [s] at which the ACK or SACK of a transmission arrived; NaN if lost or not acknowledged.
    sent_acked_s: Numbers
    # Whether a SACK block reported it first; Linux holds SACKs back for up to a millisecond (tcp_comp_sack_delay_ns).
    sent_sacked: Flags
    # ACKs that report new data: time [s], and total payload [bytes] acknowledged or SACKed so far.
    ack_s: Numbers
    ack_delivered: Counts
    # RTT samples of segments that were sent only once: time of the ACK [s], and RTT [s] of the last segment that the
    # ACK reports, which the receiver did not delay.
    rtt_at_s: Numbers
    rtt: Numbers
    # RTT samples of the first segment that each ACK reports, as a sender measures RTTs: time of the ACK, and RTT [s].
    sender_rtt_at_s: Numbers
    sender_rtt: Numbers
    # RTT of the handshake [s], None if it was not captured or a SYN was repeated; and time from its end to the first
    # data packet [s].
    handshake_s: float | None
    idle_s: float
    # Largest advertised window [bytes] (None if its scale is unknown), and share of ACKs after which the window was
    # full.
    window: int | None
    window_full: float
    # Whether the packets are ECN-capable, and times of reductions due to marks (CWR) [s].
    ecn: bool
    reduced_s: Numbers
    # Whether the advertised window grew to at least twice its first value.
    window_grows: bool
    # Payload of the messages before the transfer [bytes].
    message_bytes: int
    # Other flows from the sender's host, whose packets share its path; times are those of this flow.
    shared: tuple[ObservedFlow, ...]
    # Number of other connections in the capture that are not among these.
    others: int
    notes: tuple[str, ...]

    @property
    def packet_bytes(self) -> int:
        """Length of a full segment's IP packet [bytes]."""
        return self.mss + self.headers


def observe(file: str | Path, flow: int = 0) -> ObservedFlow:
    """Returns one flow of a capture; `flow` is its number, from 0, in descending order of payload.

    Raises a one-line ScenarioError if the file is not a capture or lacks data that a fit needs.
    """
    content = Content.of(file)
    if not is_capture(content.data):
        raise ScenarioError(f"{file}: not pcap or pcapng; a fit needs a capture of TCP connections at the sender")
    traffic = Traffic(CaptureFile(content.file, content.data))
    recording = capture.recording_of(traffic)
    subject = _subject(recording, flow)
    side = capture.sender_side(traffic, subject.name)
    scoreboard = _Scoreboard(int(subject.counters["mss"][0]))
    shared = {
        other.name: _Scoreboard(int(other.counters["mss"][0]))
        for other in recording.subjects
        if _shares(other, subject)
    }
    for packet, interface, segment in traffic:
        if packet.time_ns is None or isinstance(segment, Other) or packet.is_loss:
            continue
        if side is not None and not side.shows(interface, segment):
            continue
        source, target = name_of(segment.source), name_of(segment.target)
        forward, backward = f"{source} > {target}", f"{target} > {source}"
        if forward == subject.name:
            scoreboard.send(packet.time_ns, segment)
        elif backward == subject.name:
            scoreboard.on_ack(packet.time_ns, segment)
        elif forward in shared and not shared[forward].is_over:
            shared[forward].send(packet.time_ns, segment)
        elif backward in shared and not shared[backward].is_over:
            shared[backward].on_ack(packet.time_ns, segment)
        if scoreboard.is_over:
            break
    observation = scoreboard.observation(recording, subject)
    observed_flows = [
        shared[other.name].observation(recording, other, scoreboard.begin_ns)
        for other in recording.subjects
        if other.name in shared and shared[other.name].is_measured
    ]
    simultaneous = tuple(
        observed_flow
        for observed_flow in observed_flows
        if observed_flow.sent_s[0] < observation.duration_s and observed_flow.sent_s[-1] > 0
    )
    return replace(observation, shared=simultaneous, others=observation.others - len(simultaneous))


def _shares(other: Subject, subject: Subject) -> bool:
    """Returns whether another flow was sent by a flow's host, so that its packets share the flow's path."""
    sender = subject.name.split(" > ")[0].rpartition(":")[0]
    return (
        other.name != subject.name
        and other.name.split(" > ")[0].rpartition(":")[0] == sender
        and bool(other.counters["data packets"][0])
    )


def _subject(recording: Recording, flow: int) -> Subject:
    """Returns flow number `flow` of a capture. Raises ScenarioError if the capture lacks data that a fit needs."""
    flows = recording.subjects
    if not 0 <= flow < len(flows):
        raise ScenarioError(f"--flow: {flow}; {recording.file} has {len(flows)} flows; needs 0 to {len(flows) - 1}")
    subject = flows[flow]
    capture_point = subject.facts.get("captured at")
    problem = None
    if not subject.counters["data packets"][0]:
        problem = "has only the ACKs of this flow; needs its data, captured at the sender"
    elif not (subject.of("rtt") or ()):
        problem = "has no ACKs of this flow; needs both directions"
    elif subject.counters["not captured"][0]:
        missing = subject.counters["not captured"][0]
        problem = f"lacks {missing:.0f} bytes that were acknowledged; needs a capture without gaps"
    elif subject.counters["segments"][0] > _MAX_SEGMENTS:
        problem = f"has {subject.counters['segments'][0]:.0f} segments; a fit needs at most {_MAX_SEGMENTS}"
    elif capture_point not in (None, "the sender"):
        problem = f"was captured at {capture_point}; needs a capture at the sender"
    if problem is not None:
        raise ScenarioError(f"{recording.file}: {subject.name}: {problem}")
    return subject


@dataclass(frozen=True, eq=False)
class _Fates:
    """Fate of each transmission: time at which its ACK arrived [s], whether it was SACKed first, whether it was lost.

    The time is NaN without an ACK.
    """

    acked_s: Numbers
    sacked: Flags
    lost: Flags


class _Scoreboard:
    """Scoreboard of a flow's segments, from which each transmission's fate is inferred."""

    def __init__(self, mss: int) -> None:
        self.mss = mss
        self.is_over = False
        self._next: int | None = None
        # Window scale of the receiver; None if the handshake was not captured.
        self._scale: int | None = None
        # Segments in the order of sequence numbers: first byte, end, time of delivery [ns] (-1 before it), and indices
        # of their transmissions in `_sent`.
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._acked: list[int] = []
        self._sacked: list[bool] = []
        self._transmissions: list[list[int]] = []
        self._una = 0
        self._message_bytes = 0
        # Time [ns] of the first message; None if the flow begins with the transfer.
        self._first_message: int | None = None
        # Whether the sender has only sent messages, which precede the transfer.
        self._is_message = True
        self._blocks: dict[int, int] = {}
        # Segments that the current ACK reports for the first time.
        self._reported: list[int] = []
        # Transmissions: time [ns], index of the segment, payload.
        self._sent: list[tuple[int, int, int]] = []
        self._acks: list[tuple[int, int]] = []
        self._delivered = 0
        self._samples: list[tuple[int, int]] = []
        self._measured: list[tuple[int, int]] = []
        # Times [ns] of the sender's first SYN and of the packet that completed the handshake, and number of SYNs.
        self._opened: int | None = None
        self._established: int | None = None
        self._syns = 0
        self._window = 0
        self._first_window = 0
        self._window_full_acks = 0
        self._ecn = False
        self._reduced: list[int] = []
        self._has_timestamps = False
        self._is_v6 = False

    @property
    def begin_ns(self) -> int:
        """Time of the first data packet of the transfer [ns]."""
        return self._sent[0][0]

    @property
    def is_measured(self) -> bool:
        """Whether data was sent, and its ACKs gave at least one RTT."""
        return bool(self._sent and self._acks and self._samples)

    def _unwrapped(self, seq: int) -> int:
        """Converts a 32-bit sequence number to one that does not wrap around, near the highest number so far."""
        near = self._next or 0
        return near + (seq - near + (1 << 31)) % (1 << 32) - (1 << 31)

    def send(self, now: int, segment: Segment) -> None:
        """Processes a packet that the sender sent."""
        if segment.flags & SYN:
            if self._sent:
                self.is_over = True
            elif self._opened is None:
                self._opened = now
            self._syns += not self._sent
            self._next = segment.seq + 1 + (1 << 32)
            return
        self._is_v6 = len(segment.source) > _V4_ENDPOINT
        self._has_timestamps |= segment.timestamps is not None
        self._ecn |= segment.ecn != 0
        if segment.flags & CWR:
            self._reduced.append(now)
        if segment.flags & RST or not segment.length:
            return
        if self._next is None:
            self._next = segment.seq + (1 << 32)
        begin = self._unwrapped(segment.seq)
        left, end = begin, begin + segment.length
        while left < end:
            right = min(left + self.mss, end)
            self._transmit(now, left, right)
            left = right

    def _transmit(self, now: int, begin: int, end: int) -> None:
        """Records a transmission of the bytes `begin..end`: a new segment, or an earlier one again."""
        assert self._next is not None  # noqa: S101 - set by the first packet
        if begin >= self._next:
            if self._is_message:
                self._end_message()
            self._starts.append(begin)
            self._ends.append(end)
            self._acked.append(-1)
            self._sacked.append(False)
            self._transmissions.append([len(self._sent)])
            self._sent.append((now, len(self._starts) - 1, end - begin))
            self._next = end
            return
        index = bisect_left(self._starts, begin)
        if index < len(self._starts) and self._starts[index] < end:
            self._transmissions[index].append(len(self._sent))
            self._sent.append((now, index, end - begin))

    def _end_message(self) -> None:
        """Omits a message that preceded the transfer, when the next new data is sent.

        A message is a flight of at most `INITIAL_WINDOW` segments that is acknowledged before more is sent, and whose
        last segment is short: the application, not the window, ended it.
        """
        if len(self._starts) > INITIAL_WINDOW:
            self._is_message = False
        elif self._starts and self._una == len(self._starts) and self._ends[-1] - self._starts[-1] < self.mss:
            self._message_bytes += self._delivered
            if self._first_message is None:
                self._first_message = self._sent[0][0]
            for records in (
                self._starts,
                self._ends,
                self._acked,
                self._sacked,
                self._transmissions,
                self._sent,
                self._acks,
            ):
                records.clear()
            self._samples.clear()
            self._measured.clear()
            self._una = self._delivered = self._window_full_acks = 0

    def on_ack(self, now: int, segment: Segment) -> None:
        """Processes a packet that the receiver sent."""
        if self._opened is not None and self._established is None:
            self._established = now
        if segment.flags & SYN:
            self._scale = segment.scale or 0
            return
        if self._next is None or segment.flags & RST:
            return
        ack = self._unwrapped(segment.ack)
        window = segment.window << (self._scale or 0)
        self._window = max(self._window, window)
        self._first_window = self._first_window or window
        reported = self._report(now, ack, segment.sack)
        if reported:
            self._acks.append((now, self._delivered))
            self._window_full_acks += self._scale is not None and self._next - ack + self.mss > window
            # Segments that were sent more than once give no samples (Karn's rule).
            for index, samples in ((max(reported), self._samples), (min(reported), self._measured)):
                if len(self._transmissions[index]) == 1:
                    samples.append((now, now - self._sent[self._transmissions[index][0]][0]))

    def _report(self, now: int, ack: int, sack: tuple[tuple[int, int], ...]) -> list[int]:
        """Records the segments that an ACK reports. Returns those that it is the first to report."""
        while self._una < len(self._starts) and self._ends[self._una] <= ack:
            self._deliver(self._una, now, sacked=False)
            self._una += 1
        for left, right in sack:
            begin, end = self._unwrapped(left), self._unwrapped(right)
            if end <= ack or end > (self._next or 0):
                continue
            # A SACK block only grows, so its earlier part need not be examined again.
            index = bisect_left(self._starts, max(self._blocks.get(begin, begin), ack))
            while index < len(self._starts) and self._ends[index] <= end:
                self._deliver(index, now, sacked=True)
                index += 1
            self._blocks[begin] = end
        if not sack:
            self._blocks.clear()
        reported, self._reported = self._reported, []
        return reported

    def _deliver(self, index: int, now: int, *, sacked: bool) -> None:
        """Records that a segment was delivered, unless that is known already."""
        if self._acked[index] < 0:
            self._acked[index] = now
            self._sacked[index] = sacked
            self._delivered += self._ends[index] - self._starts[index]
            self._reported.append(index)

    def _handshake(self, begin_ns: int, min_rtt_ns: int) -> tuple[float | None, float]:
        """Returns the handshake's RTT [s], if known, and the time [s] from its end to the first data at `begin_ns`.

        longpipe's captures contain a handshake that takes no time. `min_rtt_ns` is the minimum RTT of data.
        """
        if self._opened is None or self._established is None or not self._opened < self._established <= begin_ns:
            return None, 0.0
        handshake_ns = self._established - self._opened
        is_known = self._syns == 1 and handshake_ns >= _MIN_HANDSHAKE_SHARE * min_rtt_ns
        return (handshake_ns / 1e9 if is_known else None), (begin_ns - self._established) / 1e9

    def _fates(self, begin_ns: int, min_ack_ns: float) -> _Fates:
        """Returns the fate of each transmission, with times since `begin_ns`.

        Of the transmissions of a segment, the last one that was sent at least `min_ack_ns` before the ACK arrived, and
        those before it were lost. Later transmissions were unnecessary, and it is unknown whether they arrived.
        """
        import numpy as np

        count = len(self._sent)
        fates = _Fates(np.full(count, np.nan), np.zeros(count, bool), np.zeros(count, bool))
        for segment, transmissions in enumerate(self._transmissions):
            acked_ns = self._acked[segment]
            if acked_ns < 0:
                fates.lost[transmissions[:-1]] = True
                continue
            in_time = [number for number in transmissions if acked_ns - self._sent[number][0] >= min_ack_ns]
            arrived = max(in_time, default=transmissions[0])
            fates.acked_s[arrived] = (acked_ns - begin_ns) / 1e9
            fates.sacked[arrived] = self._sacked[segment]
            fates.lost[[number for number in transmissions if number < arrived]] = True
        return fates

    def observation(self, recording: Recording, subject: Subject, begin_ns: int | None = None) -> ObservedFlow:
        """Returns the flow, with times since its first data packet, or since `begin_ns` for a flow beside another one.

        Raises ScenarioError if it is too short, unless it is beside another one.
        """
        import numpy as np

        if begin_ns is None and len(self._samples) < MIN_SAMPLES:
            raise ScenarioError(
                f"{recording.file}: {subject.name}: {len(self._samples)} RTT samples; a fit needs {MIN_SAMPLES}: "
                "capture a longer transfer"
            )
        begin = self.begin_ns if begin_ns is None else begin_ns
        min_rtt_ns = min(rtt for _, rtt in self._samples)
        check_base(f"{recording.file}: {subject.name}", min_rtt_ns / 1e9)
        first_data_ns = self.begin_ns if self._first_message is None else self._first_message
        handshake_s, idle_s = self._handshake(first_data_ns, min_rtt_ns)
        fates = self._fates(begin, _MIN_ACK_SHARE * min_rtt_ns)
        times = np.array([now for now, _, _ in self._sent], dtype=float)
        starts = np.array(self._starts, dtype=np.int64)
        samples, measured = np.array(self._samples, dtype=float), np.array(self._measured, dtype=float).reshape(-1, 2)
        acks = np.array(self._acks, dtype=np.int64)
        end = max(self._sent[-1][0], self._acks[-1][0])
        return ObservedFlow(
            file=recording.file,
            flow=subject.name,
            mss=self.mss,
            headers=packet_bytes(0, timestamps=self._has_timestamps) + (IPV6_BYTES if self._is_v6 else 0),
            timestamps=self._has_timestamps,
            duration_s=(end - begin) / 1e9,
            sent_s=(times - begin) / 1e9,
            sent_byte=starts[[index for _, index, _ in self._sent]] - self._starts[0],
            sent_bytes=np.array([length for _, _, length in self._sent], dtype=np.int64),
            sent_lost=fates.lost,
            sent_acked_s=fates.acked_s,
            sent_sacked=fates.sacked,
            ack_s=(acks[:, 0] - begin) / 1e9,
            ack_delivered=acks[:, 1],
            rtt_at_s=(samples[:, 0] - begin) / 1e9,
            rtt=samples[:, 1] / 1e9,
            sender_rtt_at_s=(measured[:, 0] - begin) / 1e9,
            sender_rtt=measured[:, 1] / 1e9,
            handshake_s=handshake_s,
            idle_s=idle_s,
            window=None if self._scale is None else self._window,
            window_full=self._window_full_acks / len(self._acks),
            ecn=self._ecn,
            reduced_s=(np.array(self._reduced, dtype=float) - begin) / 1e9,
            window_grows=self._window >= 2 * self._first_window,
            message_bytes=self._message_bytes,
            shared=(),
            others=len({frozenset(subject.name.split(" > ")) for subject in recording.subjects}) - 1,
            notes=recording.notes,
        )
