"""Finds copies of packets in captures of several interfaces: a router's contains each forwarded packet twice."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from longpipe.measured.headers import Segment
from longpipe.measured.tcp import Direction

# Number of packets among which a copy is searched for, and the maximum time that a packet spends in the host's queues.
_MOST_PACKETS: Final = 65536
_LONGEST_NS: Final = 5_000_000_000
# Factor of an interface's number in the result of `headers.interface_of`.
_DIRECTIONS: Final = 4


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
        found = (
            self._has_passed(interface, segment, sender) if segment.length else self._equals(interface, now, segment)
        )
        self.count += found
        return found

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
        # ECN marks are the only part of these headers that a router changes.
        key = segment._replace(ecn=0)
        seen = self._recent.get(key)
        if seen is not None and seen[0] != interface and 0 <= now - seen[1] <= _LONGEST_NS:
            return True
        self._recent[key] = (interface, now)
        if len(self._recent) > _MOST_PACKETS:
            self._recent.popitem(last=False)
        return False
