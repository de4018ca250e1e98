"""Link, IP and TCP headers of captured packets, including packets truncated by a snap length."""

from __future__ import annotations

import ipaddress
import struct
from functools import lru_cache
from typing import Final, NamedTuple

from longpipe.errors import ScenarioError
from longpipe.measured.pcap import Packet

# Link types, from https://www.tcpdump.org/linktypes.html.
_NULL, _ETHERNET, _PPP, _LOOP, _COOKED, _SUNATM, _COOKED_2 = 0, 1, 9, 108, 113, 123, 276
_RAW: Final = (12, 14, 101, 228, 229)
# Offset of the packet type in a Linux cooked header of version 2, and its value for outgoing packets.
_COOKED_2_TYPE, _OUTGOING = 10, 4
_INBOUND, _OUTBOUND = 1, 2
_LINKS: Final = {*_RAW, _NULL, _ETHERNET, _PPP, _LOOP, _COOKED, _SUNATM, _COOKED_2}
_IPV4, _IPV6 = 0x0800, 0x86DD
_VLANS: Final = (0x8100, 0x88A8, 0x9100)
_SNAP: Final = b"\xaa\xaa\x03\x00\x00\x00"
_TCP: Final = 6
# Extension headers of IPv6 with the usual length field: hop-by-hop options, routing, destination options.
_EXTENSIONS: Final = (0, 43, 60)
_FRAGMENT: Final = 44
_MOST_EXTENSIONS: Final = 8
FIN, SYN, RST, ACK, ECE, CWR, CE = 1, 2, 4, 16, 64, 128, 3
_END, _NO_OPERATION, _MSS, _WINDOW_SCALE, _SACK_PERMITTED, _SACK, _TIMESTAMPS = 0, 1, 2, 3, 4, 5, 8


class Segment(NamedTuple):
    """Headers of a TCP packet. `length` is the payload on the wire; options are None if absent or not captured."""

    source: bytes
    target: bytes
    seq: int
    ack: int
    flags: int
    window: int
    length: int
    ecn: int
    mss: int | None
    scale: int | None
    sack_permitted: bool
    sack: tuple[tuple[int, int], ...]
    timestamps: tuple[int, int] | None


class Other(NamedTuple):
    """Reason why a packet cannot be analysed as a TCP segment, such as "UDP" or "too short"."""

    reason: str


_PROTOCOLS: Final = {1: "ICMP", 17: "UDP", 47: "GRE", 50: "ESP", 58: "ICMPv6", 132: "SCTP"}
_SHORT: Final = Other("truncated by the snap length before the end of the TCP header")
_NO_IP: Final = Other("not IP")


def check_link(file: str, link_type: int) -> None:
    """Raises ScenarioError for a link type that this module cannot read."""
    if link_type not in _LINKS:
        raise ScenarioError(
            f"{file}: link type {link_type}; needs Ethernet, raw IP, Linux cooked, loopback, PPP or SunATM"
        )


def interface_of(packet: Packet) -> int:
    """Returns 4 times the number of a packet's interface, plus 1 if it is inbound and 2 if it is outbound.

    Linux cooked headers of version 2 contain number and direction; with other link types, `packet.interface` does.
    """
    data = packet.data
    if packet.link_type != _COOKED_2 or len(data) <= _COOKED_2_TYPE:
        return packet.interface
    return 4 * int.from_bytes(data[4:8], "big") + (_OUTBOUND if data[_COOKED_2_TYPE] == _OUTGOING else _INBOUND)


@lru_cache(maxsize=4096)
def name_of(endpoint: bytes) -> str:
    """Formats an endpoint (an address and port) as "10.0.0.1:80" or "[fd00::1]:80"."""
    address, port = ipaddress.ip_address(endpoint[:-2]), int.from_bytes(endpoint[-2:], "big")
    return f"{address}:{port}" if address.version == 4 else f"[{address}]:{port}"


def segment_of(link_type: int, data: bytes, length: int) -> Segment | Other:
    """Returns the TCP headers of a packet, or the reason why it has none."""
    found = _network(link_type, data)
    if found is None:
        return _NO_IP
    if len(data) <= found:
        return _SHORT
    version = data[found] >> 4
    if version == 4:
        return _of_ipv4(data, found, length)
    return _of_ipv6(data, found, length) if version == 6 else _NO_IP


def _network(link_type: int, data: bytes) -> int | None:
    """Returns the offset of the IP header; None if the packet has none."""
    if link_type in _RAW:
        return 0
    if link_type in (_NULL, _LOOP):
        return 4
    if link_type == _PPP:
        at = 2 if data[:2] == b"\xff\x03" else 0
        return at + 2 if data[at : at + 2] in (b"\x00\x21", b"\x00\x57") else None
    if link_type == _SUNATM:
        return 12 if data[4:10] == _SNAP and data[10:12] in (b"\x08\x00", b"\x86\xdd") else None
    at = {_ETHERNET: 12, _COOKED: 14, _COOKED_2: 0}[link_type]
    protocol = int.from_bytes(data[at : at + 2], "big")
    end = at + 2 if link_type != _COOKED_2 else 20
    while protocol in _VLANS and end + 4 <= len(data):
        protocol = int.from_bytes(data[end + 2 : end + 4], "big")
        end += 4
    return end if protocol in (_IPV4, _IPV6) else None


def _of_ipv4(data: bytes, at: int, length: int) -> Segment | Other:
    if at + 20 > len(data):
        return _SHORT
    header = (data[at] & 15) * 4
    if int.from_bytes(data[at + 6 : at + 8], "big") & 0x1FFF:
        return Other("fragments of IP")
    if data[at + 9] != _TCP:
        return Other(_PROTOCOLS.get(data[at + 9], "of another protocol"))
    total = int.from_bytes(data[at + 2 : at + 4], "big")
    # With segmentation offload, the IP header's length is 0 for packets of 64 KiB or more.
    size = (total or length - at) - header
    return _of_tcp(data, at + header, size, data[at + 12 : at + 16], data[at + 16 : at + 20], data[at + 1] & 3)


def _of_ipv6(data: bytes, at: int, length: int) -> Segment | Other:
    if at + 40 > len(data):
        return _SHORT
    ecn = int.from_bytes(data[at : at + 4], "big") >> 20 & 3
    size = int.from_bytes(data[at + 4 : at + 6], "big") or length - at - 40
    protocol, end = data[at + 6], at + 40
    for _ in range(_MOST_EXTENSIONS):
        if protocol not in _EXTENSIONS or end + 2 > len(data):
            break
        extension = 8 * (data[end + 1] + 1)
        protocol, end, size = data[end], end + extension, size - extension
    if protocol == _FRAGMENT:
        return Other("fragments of IP")
    if protocol != _TCP:
        return Other(_PROTOCOLS.get(protocol, "of another protocol"))
    return _of_tcp(data, end, size, data[at + 8 : at + 24], data[at + 24 : at + 40], ecn)


_HEAD: Final = struct.Struct(">HHIIBBH")


def _of_tcp(data: bytes, at: int, size: int, source: bytes, target: bytes, ecn: int) -> Segment | Other:
    if at + 20 > len(data):
        return _SHORT
    _, _, seq, ack, offset, flags, window = _HEAD.unpack_from(data, at)
    header = (offset >> 4) * 4
    if header < 20 or size < header:
        return Other("damaged TCP headers")
    mss = scale = stamps = None
    permitted = False
    sack: tuple[tuple[int, int], ...] = ()
    if header > 20:
        mss, scale, permitted, sack, stamps = _options(data[at + 20 : at + header])
    return Segment(
        source + data[at : at + 2], target + data[at + 2 : at + 4], seq, ack, flags, window, size - header, ecn,
        mss, scale, permitted, sack, stamps,
    )  # fmt: skip


_Options = tuple[int | None, int | None, bool, tuple[tuple[int, int], ...], tuple[int, int] | None]


def _options(data: bytes) -> _Options:
    mss = scale = stamps = None
    permitted, at = False, 0
    sack: tuple[tuple[int, int], ...] = ()
    while at < len(data):
        kind = data[at]
        if kind == _END:
            break
        if kind == _NO_OPERATION:
            at += 1
            continue
        size = data[at + 1] if at + 1 < len(data) else 0
        value = data[at + 2 : at + size]
        # The rest was not captured, or is damaged. The captured SACK blocks are used nevertheless.
        if size < 2 or (len(value) < size - 2 and kind != _SACK):
            break
        if kind == _TIMESTAMPS and size == 10:
            stamps = struct.unpack(">II", value)
        elif kind == _SACK:
            sack = tuple(struct.iter_unpack(">II", value[: len(value) // 8 * 8]))
        elif kind == _MSS and size == 4:
            mss = int.from_bytes(value, "big")
        elif kind == _WINDOW_SCALE and size == 3:
            # RFC 7323 section 2.3: a shift of more than 14 is used as 14.
            scale = min(value[0], 14)
        elif kind == _SACK_PERMITTED:
            permitted = True
        at += size
    return mss, scale, permitted, sack, stamps
