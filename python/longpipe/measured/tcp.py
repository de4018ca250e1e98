"""TCP analysis of a captured connection: retransmissions, RTT samples, gaps and reordering in each direction.

Each direction keeps the sequence ranges that were captured and not yet acknowledged. docs/read.md states the rules
for each count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from longpipe.measured.captured_ranges import CapturedRanges
from longpipe.measured.headers import ACK, CE, FIN, RST, SYN, Segment

# Reordering window used before a connection has an RTT; tshark's out-of-order analysis uses the same value.
_REORDERING_NS: Final = 3_000_000
# Half and the whole of the space of sequence numbers.
_HALF, _WHOLE = 1 << 31, 1 << 32


class _Hole(NamedTuple):
    """A range below the highest sequence number that was not captured, and the time at which it appeared."""

    begin: int
    end: int
    since_ns: int


@dataclass
class Direction:
    """Data from one end of a connection, and the other end's ACKs for it. Times are in ns."""

    source: bytes
    target: bytes
    # Interface at which this end's data was first captured.
    interface: int | None = None
    # Whether this end's SYN was captured. If it was not, data before the first captured packet is not considered
    # missing.
    is_open: bool = False
    mss_option: int | None = None
    scale: int | None = None
    sack_permitted: bool = False
    has_timestamps: bool = False
    begin_ns: int | None = None
    end_ns: int = 0
    packets: int = 0
    data_packets: int = 0
    payload: int = 0
    longest: int = 0
    ce_marks: int = 0
    zero_windows: int = 0
    keep_alives: int = 0
    duplicate_acks: int = 0
    sack_blocks: int = 0
    window_full: int = 0
    # Data packets that begin below the highest sequence number, as (time, bytes), excluding those that were only
    # reordered.
    retransmissions: list[tuple[int, int]] = field(default_factory=list)
    reordered: int = 0
    retransmitted_bytes: int = 0
    # Bytes that were acknowledged although they never passed the capture point.
    uncaptured: int = 0
    acknowledged: int = 0
    # Payload newly acknowledged or SACKed by an ACK, as (time, bytes).
    delivered: list[tuple[int, int]] = field(default_factory=list)
    data: list[tuple[int, int]] = field(default_factory=list)
    rtts: list[tuple[int, int]] = field(default_factory=list)
    # Bytes that were sent and that no ACK or SACK block has reported, as (time of an ACK, bytes).
    in_flight: list[tuple[int, int]] = field(default_factory=list)
    # Holes that were filled too late for reordering, so that their data was lost before the capture point, as (time of
    # detection, bytes).
    lost: list[tuple[int, int]] = field(default_factory=list)
    # Time from an ACK to the data that echoes its timestamp: this is the part of the RTT between capture point and
    # sender.
    sender_side_ns: int | None = None
    # Highest sequence number sent, plus 1; highest cumulative ACK; and right edge of the advertised window.
    next: int | None = None
    una: int | None = None
    edge: int | None = None
    # Sequence number of the FIN, which occupies one but is not payload.
    fin: int | None = None
    _holes: list[_Hole] = field(default_factory=list)
    _ranges: CapturedRanges = field(default_factory=CapturedRanges)
    # Bytes above the cumulative ACK that are SACKed.
    _sacked: int = 0
    # SACK blocks of the latest ACK that had any: the end of each block by its beginning.
    _blocks: dict[int, int] = field(default_factory=dict)
    _window: int = -1
    # Latest timestamp value of an ACK, and the time of the first ACK that had it.
    _stamp: tuple[int, int] | None = None
    # Whether this direction has a packet before the current one.
    _has_sent: bool = False

    def unwrapped(self, seq: int) -> int:
        """Converts a 32-bit sequence number to one that does not wrap around, near the highest number so far."""
        near = self.next if self.next is not None else self.una
        if near is None:
            return seq + _WHOLE
        return near + (seq - near + _HALF) % _WHOLE - _HALF

    def send(self, now: int, segment: Segment, reordering_ns: int) -> None:
        """Processes a packet of this direction."""
        self._has_sent = self.packets > 0
        self.packets += 1
        self.begin_ns = now if self.begin_ns is None else self.begin_ns
        self.end_ns = max(self.end_ns, now)
        self.ce_marks += segment.ecn == CE
        if segment.timestamps:
            self._echo(now, segment)
        begin = self.unwrapped(segment.seq)
        if segment.flags & SYN:
            begin += 1
            self.is_open = True
        if segment.length:
            self._data(now, begin, segment.length, reordering_ns)
        elif self.next is None or begin > self.next:
            if self.next is not None and not segment.flags & RST:
                self._miss(self.next, begin, now)
            if not segment.flags & RST:
                self.next = begin
        if segment.flags & FIN and self.next == begin + segment.length:
            self.fin = self.next
            self.next += 1

    def _echo(self, now: int, segment: Segment) -> None:
        """Updates the part of the RTT at the sender's side, if a data packet echoes the latest timestamp of an ACK."""
        self.has_timestamps = True
        if segment.length and self._stamp and segment.timestamps and segment.timestamps[1] == self._stamp[0]:
            delay_ns = now - self._stamp[1]
            self.sender_side_ns = delay_ns if self.sender_side_ns is None else min(self.sender_side_ns, delay_ns)

    def _data(self, now: int, begin: int, length: int, reordering_ns: int) -> None:
        """Processes the payload of a packet: new data, a retransmission, a reordered packet or a keep-alive."""
        end = begin + length
        if self.next is not None and length == 1 and begin == self.next - 1 and (self.una or 0) >= self.next:
            self.keep_alives += 1
            return
        self.data_packets += 1
        self.payload += length
        self.longest = max(self.longest, length)
        self.data.append((now, length))
        if self.edge is not None and end == self.edge:
            self.window_full += 1
        if self.next is None or begin >= self.next:
            if self.next is not None and begin > self.next:
                self._miss(self.next, begin, now)
            self._ranges.append(begin, end, now)
        else:
            self._old_data(now, begin, min(end, self.next), length, reordering_ns)
            if end > self.next:
                self._ranges.append(self.next, end, now)
        self.next = end if self.next is None else max(self.next, end)

    def _miss(self, begin: int, end: int, now: int) -> None:
        """Records a hole, unless its bytes were in flight when the capture began."""
        if self.is_open or self._has_sent:
            self._holes.append(_Hole(begin, end, now))

    def _old_data(self, now: int, begin: int, end: int, length: int, reordering_ns: int) -> None:
        """Processes a packet with data below the highest sequence number: a retransmission, or a reordered packet."""
        # Time at which the oldest hole appeared that the packet fills, and the number of bytes that it fills.
        missing_since, filled = now, 0
        holes: list[_Hole] = []
        for hole in self._holes:
            low, high = max(hole.begin, begin), min(hole.end, end)
            if low >= high:
                holes.append(hole)
                continue
            missing_since, filled = min(missing_since, hole.since_ns), filled + high - low
            remaining = ((hole.begin, low), (high, hole.end))
            holes += [_Hole(first, last, hole.since_ns) for first, last in remaining if first < last]
        is_late = now - missing_since > reordering_ns
        if filled:
            self._holes = holes
            self._ranges.insert(begin, end, now, is_retransmitted=is_late)
        if filled == end - begin and not is_late:
            self.reordered += 1
            return
        if filled and is_late:
            self.lost.append((missing_since, filled))
        self.retransmissions.append((now, length))
        self.retransmitted_bytes += end - begin
        self._ranges.retransmit(begin, end)

    def on_ack(self, now: int, segment: Segment, scale: int) -> None:
        """Processes an ACK from the other end for this direction's data; `scale` is the other end's window scale."""
        ack = self.unwrapped(segment.ack)
        window = segment.window << (0 if segment.flags & SYN else scale)
        if segment.timestamps and (self._stamp is None or segment.timestamps[0] != self._stamp[0]):
            self._stamp = (segment.timestamps[0], now)
        if not segment.flags & (SYN | RST):
            self.zero_windows += window == 0
        if self.una is None:
            self.una = ack
            self.next = ack if self.next is None else self.next
        elif ack > self.una:
            self._acknowledge(now, ack)
        elif ack == self.una and window == self._window and (self.next or 0) > ack:
            self.duplicate_acks += not segment.length and not segment.flags & (SYN | FIN | RST)
        self._window = window
        self.edge = max(self.edge or 0, ack + window)
        self.sack_blocks += len(segment.sack)
        if segment.sack:
            self._select(now, segment.sack)
        if self.next is not None:
            self.in_flight.append((now, max(0, self.next - max(ack, self.una) - self._sacked)))

    def _acknowledge(self, now: int, ack: int) -> None:
        """Processes an ACK that advances SND.UNA."""
        una = self.una or ack
        # End of the acknowledged payload, which excludes the FIN.
        last = ack if self.fin is None else min(ack, self.fin)
        self.una = ack
        if self.next is None or ack > self.next:
            if self.packets:
                self.uncaptured += ack - (una if self.next is None else max(una, self.next))
            self.next = ack
        if self._holes:
            # These bytes were acknowledged without having passed the capture point, so the capture is incomplete.
            self.uncaptured += sum(max(0, min(hole.end, ack) - hole.begin) for hole in self._holes)
            self._holes = [hole._replace(begin=max(hole.begin, ack)) for hole in self._holes if hole.end > ack]
        captured_ns, sacked = self._ranges.acknowledge(ack)
        self._sacked -= sacked
        if last > una:
            self.acknowledged += last - una
        if last - una > sacked:
            self.delivered.append((now, last - una - sacked))
        if captured_ns is not None and now >= captured_ns:
            self.rtts.append((now, now - captured_ns))

    def _select(self, now: int, sack: tuple[tuple[int, int], ...]) -> None:
        """Marks the ranges of SACK blocks, and samples the RTT of the highest range of the most recent block."""
        blocks: dict[int, int] = {}
        for index, (left, right) in enumerate(sack):
            begin, end = self.unwrapped(left), self.unwrapped(right)
            if self.una is None or begin < self.una or end <= begin or end > (self.next or 0):
                continue
            blocks[begin] = end
            # A block only grows, so its earlier part need not be examined again.
            previous_end = self._blocks.get(begin, begin)
            captured_ns, new_bytes = self._ranges.sack(previous_end if previous_end <= end else begin, end)
            self._sacked += new_bytes
            if new_bytes:
                self.delivered.append((now, new_bytes))
            if index == 0 and captured_ns is not None and now >= captured_ns:
                self.rtts.append((now, now - captured_ns))
        self._blocks = blocks


@dataclass
class Connection:
    """A TCP connection: its handshake and both directions, beginning with that of the first captured packet."""

    directions: tuple[Direction, Direction]
    syn_ns: int | None = None
    syn_ack_ns: int | None = None
    established_ns: int | None = None
    initial: int | None = None

    @property
    def reordering_ns(self) -> int:
        """Maximum delay of a reordered packet: a quarter of the handshake's RTT as in RACK, otherwise 3 ms."""
        rtt_ns = self.handshake_ns
        return _REORDERING_NS if rtt_ns is None else rtt_ns // 4

    @property
    def handshake_ns(self) -> int | None:
        """Duration of the three-way handshake.

        It is None if the handshake was not captured, or was inserted by longpipe without a duration.
        """
        if self.syn_ns is None or self.syn_ack_ns is None or self.established_ns is None:
            return None
        return self.established_ns - self.syn_ns or None

    def side_of(self, segment: Segment) -> int:
        """Returns the index of a packet's direction."""
        return 0 if segment.source == self.directions[0].source else 1

    def add(self, now: int, segment: Segment) -> None:
        """Processes a packet of the connection."""
        side = self.side_of(segment)
        sender, receiver = self.directions[side], self.directions[1 - side]
        if segment.flags & SYN:
            self._handshake(now, segment, sender)
        elif self.syn_ack_ns is not None and self.established_ns is None and side == 0 and segment.flags & ACK:
            self.established_ns = now
        sender.send(now, segment, self.reordering_ns)
        if segment.flags & ACK:
            # Windows are scaled only if both SYNs contain the option (RFC 7323 section 2.2).
            scaled = sender.scale is not None and receiver.scale is not None
            receiver.on_ack(now, segment, (sender.scale or 0) if scaled else 0)

    def _handshake(self, now: int, segment: Segment, sender: Direction) -> None:
        """Records the options and the time of a SYN or SYN-ACK."""
        sender.mss_option, sender.scale = segment.mss, segment.scale
        sender.sack_permitted = segment.sack_permitted
        if segment.flags & ACK:
            self.syn_ack_ns = self.syn_ack_ns or now
        else:
            self.syn_ns = self.syn_ns or now
            self.initial = segment.seq

    def reopens(self, segment: Segment) -> bool:
        """Returns whether a packet opens a new connection between the same ports."""
        is_new = bool(segment.flags & SYN) and not segment.flags & ACK
        return (
            is_new and self.initial != segment.seq and any(direction.next is not None for direction in self.directions)
        )
