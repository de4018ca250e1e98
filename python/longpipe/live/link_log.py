"""Logs in the format of mm-link (`--uplink-log`), created from a run's capture after the run.

A line contains the time [ms] and an event: `+ BYTES`, the arrival of a packet; `- BYTES DELAY`, the departure of a
packet DELAY ms after its arrival; `d 1 BYTES`, a drop; or `# BYTES`, a delivery opportunity of the schedule.
mm-throughput-graph and mm-delay-graph read this format.
"""

import math
import struct
from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from longpipe.system.files import write_text

# Number of bytes that a schedule's opportunity can deliver.
_OPPORTUNITY: Final = 1504
_PACKET_BLOCK, _COMMENT, _FLAGS, _DIRECTION, _OUTBOUND = 6, 1, 2, 3, 2


class Entry(NamedTuple):
    """A captured packet: interface number, direction, time [ms], length, content, and comment."""

    interface: int
    # Whether the interface's host sent the packet.
    sent: bool
    at_ms: float
    length: int
    content: bytes
    comment: str


def entries(capture: Path) -> Iterator[Entry]:
    """Yields the packets of a capture of a live run."""
    with capture.open("rb") as opened:
        while len(head := opened.read(8)) == 8:
            kind, length = struct.unpack("<II", head)
            block = opened.read(length - 8)
            if kind != _PACKET_BLOCK:
                continue
            interface, high, low, captured, whole = struct.unpack_from("<IIIII", block)
            options, comment, flags = 20 + (captured + 3 & ~3), "", 0
            while options + 4 <= len(block) - 4:
                code, size = struct.unpack_from("<HH", block, options)
                if code == 0:
                    break
                value = block[options + 4 : options + 4 + size]
                if code == _COMMENT:
                    comment = value.decode()
                elif code == _FLAGS:
                    flags = int.from_bytes(value, "little")
                options += 4 + (size + 3 & ~3)
            at_ms, sent = ((high << 32) + low) / 1e6, flags & _DIRECTION == _OUTBOUND
            yield Entry(interface, sent, at_ms, whole, block[20 : 20 + captured], comment)


def write_log(capture: Path, sender: int, before_ms: float, after_ms: float, schedule: Path | None, log: Path) -> None:
    """Writes a link's log from a capture; `sender` is the sender's interface number, and the other host receives.

    `before_ms` and `after_ms` are the constant delays of the path before and after the link.
    """
    lines: list[tuple[float, str]] = []
    waiting: dict[bytes, deque[float]] = defaultdict(deque)
    for entry in entries(capture):
        key = _unmarked(entry.content)
        if entry.interface == sender and entry.sent:
            at_ms = entry.at_ms + before_ms
            waiting[key].append(at_ms)
            lines.append((at_ms, f"+ {entry.length}"))
        elif entry.interface != sender and not entry.sent and waiting.get(key):
            came_ms = waiting[key].popleft()
            if entry.comment.startswith("lost"):
                lines.append((entry.at_ms, f"d 1 {entry.length}"))
            else:
                left_ms = entry.at_ms - after_ms
                lines.append((left_ms, f"- {entry.length} {round(left_ms - came_ms)}"))
    last_ms = max((at_ms for at_ms, _ in lines), default=0.0)
    if schedule is not None:
        lines += [(float(at_ms), f"# {_OPPORTUNITY}") for at_ms in _opportunities(schedule, last_ms)]
    lines.sort(key=lambda line: line[0])
    head = [f"# mahimahi mm-link [{schedule or 'constant rate'}] > {log}", "# base timestamp: 0"]
    write_text(log, "\n".join([*head, *(f"{math.floor(at_ms)} {what}" for at_ms, what in lines)]) + "\n")


def _unmarked(packet: bytes) -> bytes:
    """Returns the bytes that identify a packet: all but ECN and checksum of the IP header, which a mark changes."""
    if packet[:1] and packet[0] >> 4 == 4:
        return packet[2:10] + packet[12:]
    return packet[4:]


def _opportunities(schedule: Path, last_ms: float) -> Iterator[int]:
    instants = [int(line) for line in schedule.read_text(encoding="ascii").split()]
    begin = 0
    while instants and instants[-1] > 0 and begin <= last_ms:
        yield from (begin + at for at in instants if begin + at <= last_ms)
        begin += instants[-1]
