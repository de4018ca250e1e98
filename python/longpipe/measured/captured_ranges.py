"""Captured ranges of sequence numbers that are not acknowledged yet, with the time of capture and SACK state."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Final, NamedTuple

# Acknowledged ranges are removed from the front of the lists in blocks of this size.
_BLOCK: Final = 4096
# Bits of the state of a range: it was retransmitted, so that its RTT is ambiguous, and it was SACKed.
_RETRANSMITTED, _SACKED = 1, 2


class Removed(NamedTuple):
    """Ranges that an ACK removed: capture time of the last byte, None if ambiguous, and bytes SACKed earlier."""

    captured_ns: int | None
    sacked: int


class Sacked(NamedTuple):
    """Ranges in a SACK block: capture time of the last one, None if ambiguous, and bytes that are newly SACKed."""

    captured_ns: int | None
    new_bytes: int


@dataclass
class CapturedRanges:
    """Ranges in the order of sequence numbers, as parallel lists; those before `_head` are acknowledged."""

    _starts: list[int] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)
    _times: list[int] = field(default_factory=list)
    # State of each range, in the bits above.
    _marks: bytearray = field(default_factory=bytearray)
    _head: int = 0

    def append(self, begin: int, end: int, now: int) -> None:
        """Adds a range with the highest sequence numbers."""
        self._starts.append(begin)
        self._ends.append(end)
        self._times.append(now)
        self._marks.append(0)

    def insert(self, begin: int, end: int, now: int, *, is_retransmitted: bool) -> None:
        """Inserts a range that fills a hole, up to the next captured range."""
        index = bisect_left(self._starts, begin, self._head)
        if index < len(self._starts) and self._starts[index] < end:
            end = self._starts[index]
        if begin < end:
            self._starts.insert(index, begin)
            self._ends.insert(index, end)
            self._times.insert(index, now)
            self._marks.insert(index, _RETRANSMITTED if is_retransmitted else 0)

    def retransmit(self, begin: int, end: int) -> None:
        """Marks the ranges that a retransmission overlaps."""
        index = max(bisect_right(self._starts, begin, self._head) - 1, self._head)
        while index < len(self._starts) and self._starts[index] < end:
            if self._ends[index] > begin:
                self._marks[index] |= _RETRANSMITTED
            index += 1

    def acknowledge(self, ack: int) -> Removed:
        """Removes acknowledged ranges.

        The sample is ambiguous if an acknowledged range was retransmitted (Karn's rule), or the last one was SACKed
        earlier.
        """
        captured_ns, sacked, is_ambiguous, index = None, 0, False, self._head
        while index < len(self._starts) and self._starts[index] < ack:
            is_ambiguous |= bool(self._marks[index] & _RETRANSMITTED)
            was_sacked = self._marks[index] & _SACKED
            if was_sacked:
                sacked += min(self._ends[index], ack) - self._starts[index]
            captured_ns = self._times[index] if self._ends[index] >= ack and not was_sacked else None
            if self._ends[index] > ack:
                self._starts[index] = ack
                break
            index += 1
        self._head = index
        if index > _BLOCK:
            for ranges in (self._starts, self._ends, self._times, self._marks):
                del ranges[:index]
            self._head = 0
        return Removed(None if is_ambiguous else captured_ns, sacked)

    def sack(self, begin: int, end: int) -> Sacked:
        """Marks the ranges between two sequence numbers as SACKed."""
        index, captured_ns, new_bytes = bisect_left(self._starts, begin, self._head), None, 0
        while index < len(self._starts) and self._ends[index] <= end:
            captured_ns = self._times[index] if not self._marks[index] and self._ends[index] == end else None
            new_bytes += 0 if self._marks[index] & _SACKED else self._ends[index] - self._starts[index]
            self._marks[index] |= _SACKED
            index += 1
        return Sacked(captured_ns, new_bytes)
