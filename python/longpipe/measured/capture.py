"""Packet captures (pcap, pcapng) made by tcpdump, Wireshark or longpipe: TCP flows by direction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.inputs.capture_magic import is_capture
from longpipe.measured.clocks import Clocks
from longpipe.measured.content import Content
from longpipe.measured.copies import Copies, SenderSide, Traffic
from longpipe.measured.headers import Other, name_of
from longpipe.measured.pcap import CaptureFile
from longpipe.measured.recording import Recording, Series, Subject, binned_rate, kept, series
from longpipe.measured.tcp import Connection, Direction

NAME: Final = "pcap or pcapng"
# Payload of full segments over Ethernet, with and without timestamps, assumed for captures without the handshake.
_DEFAULT_MSS: Final = (1460, 1448)
_MAX_MSS: Final = 9000 - 40
# Counters that only a flow's data show, and those that only its ACKs show.
_DATA_COUNTERS: Final = (
    "retransmitted packets", "retransmitted segments", "retransmitted", "reordered", "lost before the capture",
    "CE marks", "keep-alives",
)  # fmt: skip
_ACK_COUNTERS: Final = (
    "acknowledged", "not captured", "duplicate ACKs", "SACK blocks", "window full", "zero windows",
)  # fmt: skip
# Times and lengths [bytes] of the data that longpipe's path lost, by source and target.
Dropped = dict[tuple[bytes, bytes], list[tuple[int, int]]]
# Maximum distance from an end, as a share of the RTT, at which a capture point counts as located at that end.
_END_SHARE: Final = 0.05


def recognizes(content: Content) -> bool:
    """Returns whether the content is a capture."""
    return is_capture(content.data)


def read(content: Content) -> Recording:
    """Returns the TCP flows of a capture. Raises ScenarioError if there are none."""
    return recording_of(Traffic(CaptureFile(content.file, content.data)))


def recording_of(traffic: Traffic) -> Recording:
    """Returns the TCP flows among the packets of a capture. Raises ScenarioError if there are none."""
    source = traffic.source
    skipped: Counter[str] = Counter()
    clocks = Clocks()
    copies = Copies()
    dropped: Dropped = {}
    connections = _connections(traffic, skipped, clocks, copies, dropped)
    flows = [(connection, side) for connection in connections for side in (0, 1) if _has_content(connection, side)]
    if copies.count:
        flows = _at_senders(traffic, flows)
    if not flows:
        reasons = ", ".join(f"{count} packets {reason}" for reason, count in skipped.most_common(3)) or "no packets"
        cut = ", and the file is truncated" if source.cut else ""
        quic = ", or the qlog of a QUIC connection" if any("UDP" in reason for reason in skipped) else ""
        raise ScenarioError(
            f"{source.file}: no TCP data among {reasons}{cut}; needs a capture of TCP connections{quic}"
        )
    begin, end = clocks.first_ns, clocks.last_ns
    notes = [*_notes(traffic, skipped), *clocks.notes()]
    if copies.lost:
        notes.append(f"{copies.lost} TCP packets were lost on the simulated path")
    if copies.count:
        notes.append(f"{copies.count} packets were captured at several interfaces; each flow is analyzed at its sender")
    subjects = []
    for connection, side in flows:
        direction = connection.directions[side]
        dropped_of_flow = dropped.get((direction.source, direction.target), ())
        subject, notes_on_flow = _flow(connection, side, dropped_of_flow, begin)
        subjects.append(subject)
        notes += notes_on_flow
    subjects.sort(key=lambda flow: -flow.counters["payload"][0])
    tool = source.application or "a capturing program"
    unknown = ("congestion window: a capture shows only the bytes in flight",)
    return Recording(
        source.file, source.format, tool, None, begin, (end - begin) / 1e9, tuple(subjects), unknown, tuple(notes)
    )


def _connections(
    traffic: Traffic, skipped: Counter[str], clocks: Clocks, copies: Copies, dropped: Dropped
) -> list[Connection]:
    """Returns the TCP connections of a capture, in the order of their first packets.

    Adds other packets, times, copies and losses to the given collections.
    """
    latest: dict[frozenset[bytes], Connection] = {}
    connections: list[Connection] = []
    for number, (packet, interface, segment) in enumerate(traffic, 1):
        if packet.time_ns is None:
            raise ScenarioError(
                f"{traffic.source.file}: packet {number} has no time (simple packet block); needs times"
            )
        clocks.add(number, packet.time_ns, interface, segment)
        if isinstance(segment, Other):
            skipped[segment.reason] += 1
            continue
        if packet.is_loss:
            copies.lost += 1
            if segment.length:
                dropped.setdefault((segment.source, segment.target), []).append((packet.time_ns, segment.length))
            continue
        ends = frozenset((segment.source, segment.target))
        connection = latest.get(ends)
        if connection is None or connection.reopens(segment):
            sides = (Direction(segment.source, segment.target), Direction(segment.target, segment.source))
            connection = latest[ends] = Connection(sides)
            connections.append(connection)
        sender = connection.directions[connection.side_of(segment)]
        if not copies.is_copy(interface, packet.time_ns, segment, sender):
            connection.add(packet.time_ns, segment)
    return connections


def _at_senders(traffic: Traffic, flows: list[tuple[Connection, int]]) -> list[tuple[Connection, int]]:
    """Returns the flows as captures at their senders show them.

    A capture of `longpipe live`, or of a router, contains each packet when it enters and when it leaves. A flow whose
    ACKs leave elsewhere is returned unchanged.
    """
    entries = {
        direction.source: SenderSide(direction.source, direction.interface)
        for direction in (connection.directions[side] for connection, side in flows)
        if direction.interface is not None
    }
    latest: dict[tuple[bytes, bytes], Connection] = {}
    by_pair: dict[tuple[bytes, bytes], list[Connection]] = {}
    for packet, interface, segment in traffic:
        if packet.time_ns is None or packet.is_loss or isinstance(segment, Other):
            continue
        for sender, receiver in ((segment.source, segment.target), (segment.target, segment.source)):
            entry = entries.get(sender)
            if entry is None or not entry.shows(interface, segment):
                continue
            connection = latest.get((sender, receiver))
            if connection is None or connection.reopens(segment):
                sides = (Direction(segment.source, segment.target), Direction(segment.target, segment.source))
                connection = latest[sender, receiver] = Connection(sides)
                by_pair.setdefault((sender, receiver), []).append(connection)
            connection.add(packet.time_ns, segment)
    return [_captured_at_sender(connection, side, by_pair) for connection, side in flows]


def _captured_at_sender(
    connection: Connection, side: int, by_pair: dict[tuple[bytes, bytes], list[Connection]]
) -> tuple[Connection, int]:
    """Returns the connection and direction as captured at the sender; unchanged if ACKs were not captured there."""
    direction = connection.directions[side]
    for other in by_pair.get((direction.source, direction.target), ()):
        side_of_other = 0 if other.directions[0].source == direction.source else 1
        if other.initial == connection.initial and other.directions[1 - side_of_other].packets:
            return other, side_of_other
    return connection, side


def sender_side(traffic: Traffic, flow: str) -> SenderSide | None:
    """Returns where a flow's data was first captured; None if all of it was captured at the same interface."""
    side: SenderSide | None = None
    for _, interface, segment in traffic:
        if isinstance(segment, Other) or f"{name_of(segment.source)} > {name_of(segment.target)}" != flow:
            continue
        if side is None:
            side = SenderSide(segment.source, interface)
        elif interface != side.interface:
            return side
    return None


def _has_content(connection: Connection, side: int) -> bool:
    """Returns whether a direction has data, or ACKs for data that was not captured."""
    direction = connection.directions[side]
    return bool(direction.data_packets) or (not direction.packets and bool(direction.delivered))


def _notes(traffic: Traffic, skipped: Counter[str]) -> Iterator[str]:
    """Yields lines about defects of the capture and packets that were not analyzed."""
    source = traffic.source
    yield from source.defects
    if traffic.copies and traffic.copies == traffic.originals:
        yield "every packet was captured twice, as a mirror port does; copies are not counted"
    elif traffic.copies:
        yield f"{traffic.copies} packets were captured again, as a mirror port does; copies are not counted"
    if source.cut:
        yield "the file is truncated within its last packet"
    if source.dropped:
        yield f"the capturing system dropped {source.dropped} packets"
    if skipped:
        yield "not analyzed: " + ", ".join(f"{count} packets {reason}" for reason, count in skipped.most_common(4))


def _mss(connection: Connection, side: int) -> tuple[int, bool]:
    """Returns the largest payload of a packet on the wire, and whether it is only assumed."""
    direction, other = connection.directions[side], connection.directions[1 - side]
    option_bytes = 12 if direction.has_timestamps else 0
    options = [option for option in (direction.mss_option, other.mss_option) if option]
    if options:
        return max(min(options) - option_bytes, 1), False
    if direction.longest <= _MAX_MSS:
        return max(direction.longest, 1), False
    return _DEFAULT_MSS[bool(option_bytes)], True


def _flow(
    connection: Connection, side: int, dropped: Sequence[tuple[int, int]], begin: int
) -> tuple[Subject, list[str]]:
    """Returns a flow and notes on it; `dropped` are the times and lengths of its data that longpipe's path lost."""
    direction, other = connection.directions[side], connection.directions[1 - side]
    name = f"{name_of(direction.source)} > {name_of(direction.target)}"
    mss, assumed = _mss(connection, side)
    notes = []
    if assumed:
        notes.append(
            f"{name}: no handshake and segments of up to {direction.longest} bytes; an MSS of {mss} is assumed"
        )
    if not direction.packets:
        notes.append(f"{name}: its data was not captured, only the ACKs: no RTTs and no retransmissions")
    elif not other.packets:
        notes.append(f"{name}: its ACKs were not captured: no RTTs and no bytes in flight")
    if direction.uncaptured and direction.packets:
        notes.append(
            f"{name}: {direction.uncaptured} bytes were acknowledged but not captured: the capture has gaps, in which "
            "retransmissions are unknown"
        )
    return Subject(
        name,
        "flow",
        _series(direction, mss, dropped, begin),
        _counters(connection, side, mss),
        _facts(connection, side),
    ), notes


def _at(points: Iterable[tuple[int, float]], begin: int, scale: float = 1.0) -> Iterator[tuple[float, float]]:
    """Yields points with times in seconds since `begin` [ns], and values times `scale`."""
    return (((now - begin) / 1e9, value * scale) for now, value in points)


def _series(direction: Direction, mss: int, dropped: Sequence[tuple[int, int]], begin: int) -> tuple[Series, ...]:
    """Returns the series of a direction: rate, RTT, retransmissions, losses and bytes in flight.

    `mss` is in bytes, and `begin` is the capture's first time [ns].
    """
    moved, source = direction.data, "payload captured"
    if direction.delivered:
        moved, source = direction.delivered, "payload acknowledged or SACKed"
    # The rate is that from the first data packet to the last ACK, however long the capture is.
    times = [now for now, _ in (*direction.data[:1], *moved)] or [begin]
    first_s, last_s = ((at - begin) / 1e9 for at in (min(times), max(times)))
    retransmitted = ((now, -(-length // mss)) for now, length in direction.retransmissions)
    lost = ((now, -(-length // mss)) for now, length in dropped or direction.lost)
    missing = "segments missing at the capture point that arrived later, at the time of the gap"
    return kept(
        binned_rate(list(_at(moved, begin)), first_s, last_s, source),
        series("rtt", _at(direction.rtts, begin, 1e-9), "from a data packet to its ACK, both at the capture point"),
        series(
            "retransmissions",
            _at(retransmitted, begin),
            "segments of a packet with data below the highest sequence number",
        ),
        series(
            "losses",
            _at(lost, begin),
            "segments that the simulated path lost" if dropped else missing,
        ),
        series(
            "in flight",
            _at(direction.in_flight if direction.data_packets else (), begin),
            "captured and neither acknowledged nor SACKed, after an ACK",
        ),
    )


def _counters(connection: Connection, side: int, mss: int) -> dict[str, tuple[float, str]]:
    """Returns the counters of a direction with their units, without those that the capture cannot show."""
    direction, other = connection.directions[side], connection.directions[1 - side]
    # With segmentation offload, a captured packet contains several segments.
    segments = sum(-(-length // mss) for _, length in direction.data)
    retransmitted = sum(-(-length // mss) for _, length in direction.retransmissions)
    counters: dict[str, tuple[float, str]] = {
        "packets": (direction.packets, "packets"),
        "data packets": (direction.data_packets, "packets"),
        "segments": (segments, "packets"),
        "payload": (direction.payload, "bytes"),
        "acknowledged": (direction.acknowledged, "bytes"),
        "retransmitted packets": (len(direction.retransmissions), "packets"),
        "retransmitted segments": (retransmitted, "packets"),
        "retransmitted": (direction.retransmitted_bytes, "bytes"),
        "reordered": (direction.reordered, "packets"),
        "lost before the capture": (sum(-(-length // mss) for _, length in direction.lost), "packets"),
        "not captured": (direction.uncaptured, "bytes"),
        "duplicate ACKs": (direction.duplicate_acks, "packets"),
        "SACK blocks": (direction.sack_blocks, "blocks"),
        "CE marks": (direction.ce_marks, "packets"),
        "window full": (direction.window_full, "packets"),
        "zero windows": (direction.zero_windows, "packets"),
        "keep-alives": (direction.keep_alives, "packets"),
        "mss": (mss, "bytes"),
    }
    # A direction that was not captured is unknown, rather than without events.
    for unknown in (() if direction.packets else _DATA_COUNTERS) + (() if other.packets else _ACK_COUNTERS):
        del counters[unknown]
    if connection.handshake_ns is not None:
        counters["handshake"] = (connection.handshake_ns / 1e9, "s")
    sender_side = _sender_side(connection, side)
    if sender_side is not None:
        counters["sender side of the RTT"] = (sender_side / 1e9, "s")
    if other.scale is not None:
        counters["window scale"] = (other.scale, "bits")
    return counters


def _sender_side(connection: Connection, side: int) -> int | None:
    """Returns the part of the RTT [ns] between capture point and sender, from the handshake or else from timestamps."""
    syn, syn_ack, done = connection.syn_ns, connection.syn_ack_ns, connection.established_ns
    if connection.handshake_ns and syn is not None and syn_ack is not None and done is not None:
        return done - syn_ack if side == 0 else syn_ack - syn
    return connection.directions[side].sender_side_ns


def _facts(connection: Connection, side: int) -> dict[str, str]:
    """Returns what a capture shows about a flow: timestamps, SACK, and the capture point."""
    direction, other = connection.directions[side], connection.directions[1 - side]
    facts = {"timestamps": "yes" if direction.has_timestamps else "no"} if direction.packets else {}
    permitted = [end.sack_permitted for end in (direction, other) if end.is_open]
    if not all(permitted):
        facts["SACK"] = "no"
    elif len(permitted) == 2 or direction.sack_blocks or other.sack_blocks:
        facts["SACK"] = "yes"
    sender_side = _sender_side(connection, side)
    if sender_side is not None and direction.rtts:
        receiver_side = min(rtt for _, rtt in direction.rtts)
        share = sender_side / max(sender_side + receiver_side, 1)
        location = "the sender" if share <= _END_SHARE else "the receiver" if share >= 1 - _END_SHARE else "neither end"
        facts["captured at"] = location
    return facts
