"""Packets of pcap and pcapng files: time, interface, captured bytes and length on the wire.

The formats are those of draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from longpipe.errors import ScenarioError

_NEEDS: Final = "a capture of tcpdump, Wireshark or longpipe"
# Byte order and ticks per second of a pcap file, by its first four bytes.
_MAGICS: Final = {
    b"\xd4\xc3\xb2\xa1": ("<", 10**6),
    b"\xa1\xb2\xc3\xd4": (">", 10**6),
    b"\x4d\x3c\xb2\xa1": ("<", 10**9),
    b"\xa1\xb2\x3c\x4d": (">", 10**9),
}
_SECTION: Final = b"\x0a\x0d\x0d\x0a"
_INTERFACE, _OBSOLETE, _SIMPLE, _STATISTICS, _ENHANCED = 1, 2, 3, 5, 6
_TIME_RESOLUTION, _TIME_OFFSET, _APPLICATION, _INTERFACE_DROPS, _SYSTEM_DROPS = 9, 14, 4, 5, 7
# Packet options: a comment, and flags whose two lowest bits are the packet's direction.
_COMMENT, _FLAGS = 1, 2
_LOST: Final = b"lost at "
# Maximum length of a packet. MAXIMUM_SNAPLEN of libpcap is 256 KiB, and 128 MiB for USB; IP packets are at most 64 KiB
# long.
_LARGEST: Final = 1 << 20
_MOST_INTERFACES: Final = 10_000
# Largest exponent of a time resolution that gives a non-zero number of ns in 64 bits.
_FINEST: Final = 63


class Packet(NamedTuple):
    """A captured packet. `time_ns` is its Unix time, or None for a simple packet block.

    `interface` is 4 times the interface's number, plus 1 for inbound and 2 for outbound packets if pcapng contains the
    direction. `is_loss` marks the record that longpipe adds when the simulated path loses a packet.
    """

    time_ns: int | None
    link_type: int
    data: bytes
    length: int
    interface: int = 0
    is_loss: bool = False


@dataclass
class Interface:
    """An interface of a pcapng section: its link type and the units of its timestamps."""

    link_type: int
    ticks: int = 10**6
    offset_s: int = 0


@dataclass
class CaptureFile:
    """A capture: its packets and, after they have been read, the defects of the file."""

    file: str
    data: bytes
    application: str | None = None
    # Number of packets that the capturing system dropped, as the file states.
    dropped: int = 0
    cut: bool = False
    _interfaces: list[Interface] = field(default_factory=list)

    @property
    def format(self) -> str:
        """Name of the file's format."""
        return "pcapng" if self.data.startswith(_SECTION) else "pcap"

    def packets(self) -> Iterator[Packet]:
        """Yields the packets in the order of the file."""
        return self._pcapng() if self.format == "pcapng" else self._pcap()

    def _pcap(self) -> Iterator[Packet]:
        data = self.data
        order, ticks = _MAGICS[data[:4]]
        if len(data) < 24:
            raise ScenarioError(f"{self.file}: ends within the header of pcap; needs {_NEEDS}")
        link_type = struct.unpack_from(f"{order}I", data, 20)[0] & 0xFFFF
        head = struct.Struct(f"{order}4I")
        scale = 10**9 // ticks
        at, number, end = 24, 0, len(data)
        while at < end:
            number += 1
            if at + 16 > end:
                self.cut = True
                return
            seconds, fraction, captured, length = head.unpack_from(data, at)
            self._check(number, captured)
            if at + 16 + captured > end:
                self.cut = True
                return
            at += 16
            yield Packet(seconds * 10**9 + fraction * scale, link_type, data[at : at + captured], length)
            at += captured

    def _pcapng(self) -> Iterator[Packet]:
        data, at, number, order, end = self.data, 0, 0, "<", len(self.data)
        while at < end:
            if at + 12 > end:
                self.cut = True
                return
            if data[at : at + 4] == _SECTION:
                order = self._order(at)
                self._interfaces = []
            kind, size = struct.unpack_from(f"{order}II", data, at)
            if size < 12 or size % 4 or size > _LARGEST + 65536:
                raise ScenarioError(f"{self.file}: block of {size} bytes at byte {at}; damaged, needs {_NEEDS}")
            if at + size > end:
                self.cut = True
                return
            body = data[at + 8 : at + size - 4]
            if kind == _INTERFACE:
                self._add_interface(order, body, at)
            elif kind == _STATISTICS:
                self._add_drops(order, body)
            elif kind in (_ENHANCED, _OBSOLETE, _SIMPLE):
                number += 1
                yield self._packet(kind, order, body, number)
            elif data[at : at + 4] == _SECTION:
                options = dict(_options(order, body[16:]))
                self.application = options.get(_APPLICATION, b"").decode("utf-8", "replace") or self.application
            at += size

    def _order(self, at: int) -> str:
        magic = self.data[at + 8 : at + 12]
        if magic == b"\x4d\x3c\x2b\x1a":
            return "<"
        if magic == b"\x1a\x2b\x3c\x4d":
            return ">"
        raise ScenarioError(f"{self.file}: no byte-order mark of pcapng at byte {at + 8}; needs {_NEEDS}")

    def _add_interface(self, order: str, body: bytes, at: int) -> None:
        if len(body) < 8 or len(self._interfaces) >= _MOST_INTERFACES:
            raise ScenarioError(f"{self.file}: interface block at byte {at} is damaged; needs {_NEEDS}")
        found = Interface(struct.unpack_from(f"{order}H", body)[0])
        for code, value in _options(order, body[8:]):
            if code == _TIME_RESOLUTION and value:
                power = value[0] & 0x7F
                if power > _FINEST:
                    raise ScenarioError(
                        f"{self.file}: time resolution {value[0]} at byte {at}; needs at most {_FINEST}"
                    )
                found.ticks = 2**power if value[0] & 0x80 else 10**power
            elif code == _TIME_OFFSET and len(value) == 8:
                found.offset_s = struct.unpack(f"{order}q", value)[0]
        self._interfaces.append(found)

    def _add_drops(self, order: str, body: bytes) -> None:
        for code, value in _options(order, body[12:]):
            if code in (_INTERFACE_DROPS, _SYSTEM_DROPS) and len(value) == 8:
                self.dropped += struct.unpack(f"{order}Q", value)[0]

    def _packet(self, kind: int, order: str, body: bytes, number: int) -> Packet:
        size = {_ENHANCED: 20, _OBSOLETE: 20, _SIMPLE: 4}[kind]
        if len(body) < size:
            raise ScenarioError(
                f"{self.file}: packet {number} has a block of {len(body)} bytes; damaged, needs {_NEEDS}"
            )
        if kind == _SIMPLE:
            (length,) = struct.unpack_from(f"{order}I", body)
            interface, high, low, captured = 0, None, 0, min(length, len(body) - 4)
        else:
            layout = "5I" if kind == _ENHANCED else "2H4I"
            interface, *rest = struct.unpack_from(f"{order}{layout}", body)
            high, low, captured, length = rest[-4:]
        self._check(number, captured)
        if interface >= len(self._interfaces) or size + captured > len(body):
            raise ScenarioError(
                f"{self.file}: packet {number}: {captured} bytes of interface {interface}; damaged, needs {_NEEDS}"
            )
        found = self._interfaces[interface]
        time_ns = None
        if high is not None:
            time_ns = found.offset_s * 10**9 + ((high << 32) + low) * 10**9 // found.ticks
        place, is_loss = 4 * interface, False
        if kind == _ENHANCED and len(body) >= (end := size + (captured + 3) // 4 * 4) + 8:
            options = dict(_options(order, body[end:]))
            flags = options.get(_FLAGS, b"")
            is_loss = (self.application or "").startswith("longpipe") and options.get(_COMMENT, b"").startswith(_LOST)
            place += struct.unpack(f"{order}I", flags)[0] & 3 if len(flags) == 4 else 0
        return Packet(time_ns, found.link_type, body[size : size + captured], length, place, is_loss)

    def _check(self, number: int, captured: int) -> None:
        if captured > _LARGEST:
            raise ScenarioError(
                f"{self.file}: packet {number} has {captured} captured bytes; damaged, needs at most {_LARGEST}"
            )


def is_capture(data: bytes) -> bool:
    """Returns whether the content begins like a pcap or pcapng file."""
    return data[:4] in _MAGICS or (data.startswith(_SECTION) and len(data) >= 12)


def _options(order: str, data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        code, size = struct.unpack_from(f"{order}HH", data, at)
        if code == 0:
            return
        yield code, data[at + 4 : at + 4 + size]
        at += 4 + (size + 3) // 4 * 4
