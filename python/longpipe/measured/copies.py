"""Finds copies of packets: at several interfaces of a router, which forwards them, and of a switch's mirror port.

A mirror port copies the packets that enter the switch and those that leave it, so that each is captured twice there.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from longpipe.measured.headers import Other, Segment, interface_of, segment_of
from longpipe.measured.pcap import CaptureFile, Packet
from longpipe.measured.tcp import Direction

# Number of packets among which a copy is searched for, and the maximum time that a packet spends in the host's queues.
_MAX_PACKETS: Final = 65536
_LONGEST_NS: Final = 5_000_000_000
# Factor of an interface's number in the result of `headers.interface_of`.
_DIRECTIONS: Final = 4
# Maximum time between a packet and its copy at the same interface, by identification, and without identification.
_LONGEST_TWIN_NS: Final = 1_000_000_000
_LONGEST_BLIND_NS: Final = 2_000_000
# Number of packets at the beginning, and the share of them that have a copy, from which on packets without
# identification are compared; a packet must be followed by its copy within this number of packets.
_EXAMINED: Final = 10_000
_COPIED_SHARE: Final = 0.25
_MIN_COPIES: Final = 3
_NEAR: Final = 8
# Maximum number of packets whose headers are kept, about 20 MB, instead of being parsed again for each iteration.
_MAX_KEPT: Final = 30_000

_Captured = tuple[Packet, int, Segment | Other]


@dataclass(frozen=True)
class SenderSide:
    """A sender, and the interface (`headers.interface_of`) at which its data enters a router or path."""

    sender: bytes
    interface: int

    def shows(self, interface: int, segment: Segment) -> bool:
        """Returns whether a capture at the sender would contain a packet of its connections, captured at `interface`.

        The sender's data enters, and its ACKs leave, at the same interface.
        """
        if interface // _DIRECTIONS != self.interface // _DIRECTIONS:
            return False
        has_direction = interface % _DIRECTIONS > 0
        return not has_direction or (segment.source == self.sender) == (interface == self.interface)


@dataclass
class Copies:
    """Recent packets without data, each with the interface at which it was first captured."""

    count: int = 0
    # Number of records of packets that longpipe lost; such a record repeats the packet.
    lost: int = 0
    _recent: OrderedDict[Segment, tuple[int, int]] = field(default_factory=OrderedDict)

    def is_copy(self, interface: int, now: int, segment: Segment, sender: Direction) -> bool:
        """Returns whether the packet was captured earlier at another interface.

        A retransmission passes the first interface again, so it is not a copy.
        """
        is_repeated = (
            self._has_passed(interface, segment, sender) if segment.length else self._equals(interface, now, segment)
        )
        self.count += is_repeated
        return is_repeated

    def _has_passed(self, interface: int, segment: Segment, sender: Direction) -> bool:
        """Compares sequence numbers, because a router may split packets that segmentation offload joined.

        If new data is first seen at another interface, its route has changed.
        """
        is_elsewhere = sender.interface not in (None, interface)
        if is_elsewhere and sender.next is not None and sender.unwrapped(segment.seq) + segment.length <= sender.next:
            return True
        sender.interface = interface
        return False

    def _equals(self, interface: int, now: int, segment: Segment) -> bool:
        """Returns whether a packet with equal headers was captured at another interface a short time before."""
        # ECN marks are the only part of these headers that a router changes.
        key = segment._replace(ecn=0)
        latest = self._recent.get(key)
        if latest is not None and latest[0] != interface and 0 <= now - latest[1] <= _LONGEST_NS:
            return True
        self._recent[key] = (interface, now)
        if len(self._recent) > _MAX_PACKETS:
            self._recent.popitem(last=False)
        return False


class Traffic:
    """The packets of a capture, without the copies that a mirror port adds, each with its interface and TCP headers.

    An IPv4 packet with an identification is a copy if all headers equal those of an earlier packet: a sender gives a
    retransmission another identification. Packets without one (identification 0, IPv6) are compared only if many of
    them are followed at once by an equal packet, and then each has one copy.
    """

    def __init__(self, source: CaptureFile) -> None:
        self.source = source
        # Numbers of copies and of other TCP packets, after an iteration.
        self.copies = self.originals = 0
        self._kept: list[_Captured] | None = None
        self._is_doubled = self._examined()

    def __iter__(self) -> Iterator[_Captured]:
        """Yields packet without its content, interface (`headers.interface_of`) and headers."""
        self.copies = self.originals = 0
        recent: OrderedDict[tuple[int, Segment], int] = OrderedDict()
        for packet, interface, segment in self._all():
            if isinstance(segment, Segment) and not packet.is_loss and packet.time_ns is not None:
                if self._is_copy(recent, interface, segment, packet.time_ns):
                    self.copies += 1
                    continue
                self.originals += 1
            yield packet, interface, segment

    def _all(self) -> Iterator[_Captured]:
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[_Captured] = []
        count = 0
        for count, packet in enumerate(self.source.packets(), 1):
            segment = segment_of(packet.link_type, packet.data, packet.length)
            captured = packet._replace(data=b""), interface_of(packet), segment
            if count <= _MAX_KEPT:
                kept.append(captured)
            elif kept:
                kept = []
            yield captured
        if count <= _MAX_KEPT:
            self._kept = kept

    def _is_copy(
        self, recent: OrderedDict[tuple[int, Segment], int], interface: int, segment: Segment, now: int
    ) -> bool:
        """Returns whether an equal packet was captured at this interface a short time before."""
        if not segment.ident and not self._is_doubled:
            return False
        # A switch may change the ECN field, as the only part of these headers.
        key = (interface, segment._replace(ecn=0))
        latest = recent.get(key)
        if latest is not None and 0 <= now - latest <= (_LONGEST_TWIN_NS if segment.ident else _LONGEST_BLIND_NS):
            if not segment.ident:
                del recent[key]
            return True
        recent[key] = now
        recent.move_to_end(key)
        if len(recent) > _MAX_PACKETS:
            recent.popitem(last=False)
        return False

    def _examined(self) -> bool:
        """Returns whether many of the first data packets without identification are followed by an equal packet."""
        recent: list[tuple[int, Segment, int]] = []
        counts: Counter[bool] = Counter()
        for packet, interface, segment in islice(self._all(), _EXAMINED):
            if isinstance(segment, Other) or packet.time_ns is None or packet.is_loss:
                continue
            if segment.length and not segment.ident:
                now = packet.time_ns
                is_copy = any(
                    (interface, segment) == earlier[:2] and 0 <= now - earlier[2] <= _LONGEST_BLIND_NS
                    for earlier in recent
                )
                counts[is_copy] += 1
                recent = [*recent[1 - _NEAR :], (interface, segment, now)]
        return counts[True] >= max(_MIN_COPIES, _COPIED_SHARE * counts.total())
