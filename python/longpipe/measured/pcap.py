"""Packets of pcap and pcapng files: time, interface, captured bytes and length on the wire.

The formats are those of draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from longpipe.errors import ScenarioError
from longpipe.inputs.capture_magic import PCAP_MAGIC, PCAPNG_MAGIC

_NEEDS: Final = "a capture of tcpdump, Wireshark or longpipe"
_INTERFACE, _OBSOLETE, _SIMPLE, _STATISTICS, _ENHANCED = 1, 2, 3, 5, 6
_TIME_RESOLUTION, _TIME_OFFSET, _APPLICATION, _INTERFACE_DROPS, _SYSTEM_DROPS = 9, 14, 4, 5, 7
# Packet options: a comment, and flags whose two lowest bits are the packet's direction.
_COMMENT, _FLAGS = 1, 2
_LOST: Final = b"lost at "
# Maximum length of a packet. MAXIMUM_SNAPLEN of libpcap is 256 KiB, and 128 MiB for USB; IP packets are at most 64 KiB
# long.
_LARGEST: Final = 1 << 20
_MAX_INTERFACES: Final = 10_000
# Largest exponent of a time resolution that gives a non-zero number of ns in 64 bits.
_FINEST: Final = 63
# Latest time [ns], which fits in 64 bits: in the year 2262.
_LATEST_NS: Final = 2**63 - 1
# Share of the packets that may have impossible times; such packets are omitted.
_WRONG_SHARE: Final = 0.1
# Number of packets, and of seconds, in which a file of nanoseconds has fractions of at least a microsecond's 10^6.
_MIN_PACKETS, _MIN_SECONDS = 100, 3
# Unix time [s] of the year 2100, and the years 2000 to 2060, in which times of a wrong unit are expected.
_YEAR_2100: Final = 4_102_444_800
_EXPECTED_S: Final = (946_684_800, 2_840_140_800)


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
    # Divisor of the times that makes the first one plausible; None before the first packet.
    divisor: int | None = None


@dataclass
class CaptureFile:
    """A capture: its packets and, after they have been read, the defects of the file."""

    file: str
    data: bytes
    application: str | None = None
    # Number of packets that the capturing system dropped, as the file states.
    dropped: int = 0
    cut: bool = False
    # Lines about times of a wrong unit, and about damaged packets.
    defects: list[str] = field(default_factory=list)
    # Number of packets with impossible times, and a description of the first.
    _wrong: int = 0
    _first_wrong: str = ""
    _interfaces: list[Interface] = field(default_factory=list)

    @property
    def format(self) -> str:
        """Name of the file's format."""
        return "pcapng" if self.data.startswith(PCAPNG_MAGIC) else "pcap"

    def packets(self) -> Iterator[Packet]:
        """Yields the packets in the order of the file, up to the first damaged one.

        Raises ScenarioError if the first packet is damaged, or more than a few have impossible times.
        """
        self.dropped, self.cut, self._wrong = 0, False, 0
        self.defects.clear()
        number = 0
        try:
            for packet in self._pcapng() if self.format == "pcapng" else self._pcap():
                number += 1
                if packet is not None:
                    yield packet
        except _DamagedError as error:
            if not number:
                raise ScenarioError(f"{self.file}: {error}; damaged, needs {_NEEDS}") from None
            self.defects.append(f"the file is damaged and read up to packet {number}: {error}")
        if self._wrong > _WRONG_SHARE * number:
            raise ScenarioError(f"{self.file}: {self._first_wrong}; needs times from 1970 to 2262")
        if self._wrong:
            packets = "a packet is" if self._wrong == 1 else f"{self._wrong} packets are"
            self.defects.append(f"{packets} omitted because of impossible times: {self._first_wrong}")

    def _timed(self, number: int, packet: Packet, defect: str | None = None) -> Packet | None:
        """Returns a packet; None if its time is impossible, or has a defect."""
        if packet.time_ns is not None and not 0 <= packet.time_ns <= _LATEST_NS:
            defect = f"time {packet.time_ns / 1e9:.4g} s after 1970"
        if defect is None:
            return packet
        self._wrong += 1
        if self._wrong == 1:
            self._first_wrong = f"packet {number}: {defect}"
        return None

    def _pcap(self) -> Iterator[Packet | None]:
        """Yields the packets of a pcap file."""
        data = self.data
        order, ticks, size = PCAP_MAGIC[data[:4]]
        if len(data) < 24:
            raise ScenarioError(f"{self.file}: ends within the header of pcap; needs {_NEEDS}")
        link_type = struct.unpack_from(f"{order}I", data, 20)[0] & 0xFFFF
        actual = self._actual_ticks(order, ticks, size)
        if actual != ticks:
            units = {10**6: "microseconds", 10**9: "nanoseconds"}
            self.defects.append(
                f"fractions of a second are {'above' if actual > ticks else 'below'} 10^6: they are read as "
                f"{units[actual]}, although the file's header says {units[ticks]}"
            )
        scale = 10**9 // actual
        for number, (at, seconds, fraction, captured, length) in enumerate(self._records(order, size), 1):
            packet = Packet(seconds * 10**9 + fraction * scale, link_type, data[at : at + captured], length)
            yield self._timed(number, packet, f"fraction of a second {fraction}" if fraction >= actual else None)

    def _records(self, order: str, size: int) -> Iterator[tuple[int, int, int, int, int]]:
        """Yields place of the data, seconds, fraction of a second, captured length and length of each record."""
        head = struct.Struct(f"{order}4I")
        at, number, end = 24, 0, len(self.data)
        while at < end:
            number += 1
            if at + size > end:
                self.cut = True
                return
            seconds, fraction, captured, length = head.unpack_from(self.data, at)
            _check(number, captured)
            if at + size + captured > end:
                self.cut = True
                return
            yield at + size, seconds, fraction, captured, length
            at += size + captured

    def _actual_ticks(self, order: str, ticks: int, size: int) -> int:
        """Returns the ticks per second that the fractions of a second show; some programs write the wrong header."""
        count = larger = largest = 0
        seconds: set[int] = set()
        try:
            for _, second, fraction, _, _ in self._records(order, size):
                count += 1
                larger += 10**6 <= fraction < 10**9
                largest = max(largest, fraction)
                if len(seconds) < _MIN_SECONDS:
                    seconds.add(second)
        except _DamagedError:
            pass
        if ticks == 10**6:
            return 10**9 if larger > _WRONG_SHARE * count else ticks
        is_long = count >= _MIN_PACKETS and len(seconds) >= _MIN_SECONDS
        return 10**6 if is_long and 10**6 * (1 - _WRONG_SHARE) <= largest < 10**6 else ticks

    def _pcapng(self) -> Iterator[Packet | None]:
        """Yields the packets of a pcapng file; None for a packet with an impossible time."""
        data, at, number, order, end = self.data, 0, 0, "<", len(self.data)
        while at < end:
            if at + 12 > end:
                self.cut = True
                return
            if data[at : at + 4] == PCAPNG_MAGIC:
                order = self._order(at)
                self._interfaces = []
            kind, size = struct.unpack_from(f"{order}II", data, at)
            if size < 12 or size % 4 or size > _LARGEST + 65536:
                raise _DamagedError(f"block of {size} bytes at byte {at}")
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
            elif data[at : at + 4] == PCAPNG_MAGIC:
                options = dict(_options(order, body[16:]))
                self.application = options.get(_APPLICATION, b"").decode("utf-8", "replace") or self.application
            at += size

    def _order(self, at: int) -> str:
        magic = self.data[at + 8 : at + 12]
        if magic == b"\x4d\x3c\x2b\x1a":
            return "<"
        if magic == b"\x1a\x2b\x3c\x4d":
            return ">"
        raise _DamagedError(f"no byte-order mark of pcapng at byte {at + 8}")

    def _add_interface(self, order: str, body: bytes, at: int) -> None:
        """Adds the interface of an interface description block, with the resolution of its times."""
        if len(body) < 8 or len(self._interfaces) >= _MAX_INTERFACES:
            raise _DamagedError(f"interface block at byte {at}")
        interface = Interface(struct.unpack_from(f"{order}H", body)[0])
        for code, value in _options(order, body[8:]):
            if code == _TIME_RESOLUTION and value:
                power = value[0] & 0x7F
                if power > _FINEST:
                    raise _DamagedError(f"time resolution {value[0]} at byte {at}, above {_FINEST}")
                interface.ticks = 2**power if value[0] & 0x80 else 10**power
            elif code == _TIME_OFFSET and len(value) == 8:
                interface.offset_s = struct.unpack(f"{order}q", value)[0]
        self._interfaces.append(interface)

    def _add_drops(self, order: str, body: bytes) -> None:
        for code, value in _options(order, body[12:]):
            if code in (_INTERFACE_DROPS, _SYSTEM_DROPS) and len(value) == 8:
                self.dropped += struct.unpack(f"{order}Q", value)[0]

    def _packet(self, kind: int, order: str, body: bytes, number: int) -> Packet | None:
        """Returns the packet of a block of this kind."""
        size = {_ENHANCED: 20, _OBSOLETE: 20, _SIMPLE: 4}[kind]
        if len(body) < size:
            raise _DamagedError(f"packet {number} has a block of {len(body)} bytes")
        if kind == _SIMPLE:
            (length,) = struct.unpack_from(f"{order}I", body)
            interface, high, low, captured = 0, None, 0, min(length, len(body) - 4)
        else:
            layout = "5I" if kind == _ENHANCED else "2H4I"
            interface, *rest = struct.unpack_from(f"{order}{layout}", body)
            high, low, captured, length = rest[-4:]
        _check(number, captured)
        if interface >= len(self._interfaces) or size + captured > len(body):
            raise _DamagedError(f"packet {number}: {captured} bytes of interface {interface}")
        described = self._interfaces[interface]
        time_ns = None
        if high is not None:
            time_ns = described.offset_s * 10**9 + ((high << 32) + low) * 10**9 // described.ticks
            if described.divisor is None:
                described.divisor = self._divisor(time_ns)
            time_ns //= described.divisor
        place, is_loss = 4 * interface, False
        if kind == _ENHANCED and len(body) >= (end := size + (captured + 3) // 4 * 4) + 8:
            options = dict(_options(order, body[end:]))
            flags = options.get(_FLAGS, b"")
            is_loss = (self.application or "").startswith("longpipe") and options.get(_COMMENT, b"").startswith(_LOST)
            place += struct.unpack(f"{order}I", flags)[0] & 3 if len(flags) == 4 else 0
        packet = Packet(time_ns, described.link_type, body[size : size + captured], length, place, is_loss)
        return self._timed(number, packet)

    def _divisor(self, time_ns: int) -> int:
        """Returns the divisor that makes an interface's first time plausible, if it is after the year 2100."""
        earliest, latest = _EXPECTED_S
        for divisor in (10**3, 10**6):
            if time_ns > _YEAR_2100 * 10**9 and earliest <= time_ns // divisor // 10**9 <= latest:
                note = f"times are after the year 2100: they are read with a {divisor} times finer resolution"
                if note not in self.defects:
                    self.defects.append(note)
                return divisor
        return 1


class _DamagedError(Exception):
    """A damaged record, behind which no other can be found."""


def _check(number: int, captured: int) -> None:
    if captured > _LARGEST:
        raise _DamagedError(f"packet {number} has {captured} captured bytes, above {_LARGEST}")


def _options(order: str, data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        code, size = struct.unpack_from(f"{order}HH", data, at)
        if code == 0:
            return
        yield code, data[at + 4 : at + 4 + size]
        at += 4 + (size + 3) // 4 * 4
