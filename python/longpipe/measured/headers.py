"""Link, IP and TCP headers of captured packets, including packets truncated by a snap length."""

from __future__ import annotations

import ipaddress
import struct
from functools import lru_cache
from typing import Final, NamedTuple

from longpipe.measured.pcap import Packet

# Link types, from https://www.tcpdump.org/linktypes.html.
_NULL, _ETHERNET, _PPP, _PPP_HDLC, _PPPOE, _CISCO_HDLC, _LOOP = 0, 1, 9, 50, 51, 104, 108
_COOKED, _SUNATM, _MPLS, _PKTAP, _COOKED_2 = 113, 123, 219, 258, 276
_RAW: Final = (12, 14, 101, 228, 229)
# Place of the type of the content and of the content behind it, by link type.
_TYPED: Final = {_ETHERNET: (12, 14), _CISCO_HDLC: (2, 4), _COOKED: (14, 16), _COOKED_2: (0, 20)}
# Offset of the packet type in a Linux cooked header of version 2, and its value for outgoing packets.
_COOKED_2_TYPE, _OUTGOING = 10, 4
_INBOUND, _OUTBOUND = 1, 2
# Link types that are not analyzed.
_OTHER_LINKS: Final = {
    6: "Token Ring", 10: "FDDI", 105: "IEEE 802.11", 107: "Frame Relay", 117: "pflog", 119: "Prism and IEEE 802.11",
    127: "radiotap and IEEE 802.11", 147: "a user-defined protocol", 187: "Bluetooth", 189: "USB", 192: "PPI",
    195: "IEEE 802.15.4", 201: "Bluetooth", 220: "USB", 239: "NFLOG", 249: "USB", 251: "Bluetooth", 253: "netlink",
}  # fmt: skip
# Types of the content of Ethernet frames (EtherType), from the IEEE's registry. Values up to 1500 are lengths.
_IPV4, _IPV6, _PPPOE_SESSION = 0x0800, 0x86DD, 0x8864
_VLANS: Final = (0x8100, 0x88A8, 0x9100, 0x9200)
_MPLS_TYPES: Final = (0x8847, 0x8848)
_LONGEST_LENGTH: Final = 1500
_OTHER_TYPES: Final = {
    0x0806: "ARP", 0x0842: "wake-on-LAN", 0x8035: "RARP", 0x8137: "IPX", 0x8808: "Ethernet flow control",
    0x8809: "LACP", 0x8863: "PPPoE discovery", 0x888E: "IEEE 802.1X", 0x8899: "Realtek loop detection",
    0x88CC: "LLDP", 0x88E5: "MACsec", 0x88E7: "provider backbone bridging", 0x88F7: "PTP", 0x893A: "IEEE 1905.1",
}  # fmt: skip
# Protocols of PPP: IPv4 and IPv6, also as a compressed field of one byte.
_PPP_IP: Final = (0x0021, 0x0057)
_MPLS_OF_PPP: Final = (0x0281, 0x0283)
_MAX_HEADERS: Final = 16
# Maximum length of a TCP packet, with segmentation offload (GSO_MAX_SIZE of Linux is 512 KiB) [bytes].
_LONGEST: Final = 1 << 20
_SNAP: Final = b"\xaa\xaa\x03\x00\x00\x00"
_TCP: Final = 6
# Extension headers of IPv6 with the usual length field: hop-by-hop options, routing, destination options.
_EXTENSIONS: Final = (0, 43, 60)
_FRAGMENT: Final = 44
_MAX_EXTENSIONS: Final = 8
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
    # Identification of the IPv4 packet; 0 if the sender leaves it at 0, and for IPv6.
    ident: int = 0


class Other(NamedTuple):
    """Reason why a packet cannot be analyzed as a TCP segment, such as "UDP" or "too short"."""

    reason: str


_PROTOCOLS: Final = {
    1: "ICMP", 2: "IGMP", 4: "IP in IP", 17: "UDP", 41: "IPv6 in IPv4", 47: "GRE", 50: "ESP", 51: "AH", 58: "ICMPv6",
    89: "OSPF", 103: "PIM", 112: "VRRP", 132: "SCTP",
}  # fmt: skip
_SHORT: Final = Other("truncated by the snap length before the end of the TCP header")
_NO_IP: Final = Other("not IP")


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
    network = _network(link_type, data)
    if isinstance(network, Other):
        return network
    if len(data) <= network:
        return _SHORT
    version = data[network] >> 4
    if version == 4:
        return _of_ipv4(data, network, length)
    return _of_ipv6(data, network, length) if version == 6 else _NO_IP


def _network(link_type: int, data: bytes) -> int | Other:
    """Returns the offset of the IP header, or the reason why the packet has none."""
    if link_type in _RAW:
        return 0
    if link_type in (_NULL, _LOOP):
        return 4
    if link_type in (_PPP, _PPP_HDLC):
        # Address and control fields of HDLC may precede the protocol.
        return _of_ppp(data, 2 if data[:2] == b"\xff\x03" else 0)
    if link_type == _PPPOE:
        return _of_ppp(data, 6)
    if link_type == _SUNATM:
        return 12 if data[4:10] == _SNAP and data[10:12] in (b"\x08\x00", b"\x86\xdd") else _NO_IP
    if link_type == _MPLS:
        return _of_labels(data, 0)
    if link_type == _PKTAP and len(data) >= 12:
        # Apple's header begins with its length, and contains the link type of the packet behind it.
        size, inner = int.from_bytes(data[:4], "little"), int.from_bytes(data[8:12], "little")
        inner_offset = _NO_IP if inner == _PKTAP else _network(inner, data[size:])
        return inner_offset if isinstance(inner_offset, Other) else size + inner_offset
    if link_type not in _TYPED:
        name = _OTHER_LINKS.get(link_type)
        return Other(f"of link type {link_type}{f' ({name})' if name else ''}")
    at, end = _TYPED[link_type]
    return _of_type(data, int.from_bytes(data[at : at + 2], "big"), end)


def _of_type(data: bytes, content: int, end: int) -> int | Other:
    """Returns the offset of the IP header in a frame with content of this type from `end` on."""
    for _ in range(_MAX_HEADERS):
        if content in (_IPV4, _IPV6):
            return end
        if content in _VLANS:
            content, end = int.from_bytes(data[end + 2 : end + 4], "big"), end + 4
        elif content == _PPPOE_SESSION:
            return _of_ppp(data, end + 6)
        elif content in _MPLS_TYPES:
            return _of_labels(data, end)
        elif content <= _LONGEST_LENGTH and data[end : end + 3] == _SNAP[:3]:
            content, end = int.from_bytes(data[end + 6 : end + 8], "big"), end + 8
        elif end >= len(data):
            return _SHORT
        else:
            break
    if content <= _LONGEST_LENGTH:
        return Other("of IEEE 802.2 LLC, such as spanning tree")
    name = _OTHER_TYPES.get(content)
    return Other(f"not IP, but {name}") if name else Other(f"not IP, but EtherType 0x{content:04x}")


def _of_ppp(data: bytes, at: int) -> int | Other:
    """Returns the offset of the IP header behind the protocol field of PPP at `at`."""
    if at + 2 > len(data):
        return _SHORT
    if data[at] in _PPP_IP:
        return at + 1
    protocol = int.from_bytes(data[at : at + 2], "big")
    if protocol in _MPLS_OF_PPP:
        return _of_labels(data, at + 2)
    return at + 2 if protocol in _PPP_IP else Other(f"not IP, but PPP protocol 0x{protocol:04x}")


def _of_labels(data: bytes, at: int) -> int | Other:
    """Returns the offset of the IP header behind a stack of MPLS labels at `at` (RFC 3032), also in a pseudowire."""
    while at + 4 < len(data):
        is_last = data[at + 2] & 1
        at += 4
        if is_last:
            version = data[at] >> 4
            if version in (4, 6):
                return at
            # A pseudowire of Ethernet (RFC 4448), whose control word begins with 0.
            at += 4 if version == 0 else 0
            inner = int.from_bytes(data[at + 12 : at + 14], "big")
            return _of_type(data, inner, at + 14) if inner in (_IPV4, _IPV6, *_VLANS) else Other("of MPLS without IP")
    return _SHORT


def _of_ipv4(data: bytes, at: int, length: int) -> Segment | Other:
    """Parses an IPv4 packet at byte `at`; `length` is that of the captured data."""
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
    ident = int.from_bytes(data[at + 4 : at + 6], "big")
    return _of_tcp(data, at + header, size, (data[at + 12 : at + 16], data[at + 16 : at + 20]), data[at + 1] & 3, ident)


def _of_ipv6(data: bytes, at: int, length: int) -> Segment | Other:
    """Parses an IPv6 packet at byte `at`, skipping extension headers."""
    if at + 40 > len(data):
        return _SHORT
    ecn = int.from_bytes(data[at : at + 4], "big") >> 20 & 3
    size = int.from_bytes(data[at + 4 : at + 6], "big") or length - at - 40
    protocol, end = data[at + 6], at + 40
    for _ in range(_MAX_EXTENSIONS):
        if protocol not in _EXTENSIONS or end + 2 > len(data):
            break
        extension = 8 * (data[end + 1] + 1)
        protocol, end, size = data[end], end + extension, size - extension
    if protocol == _FRAGMENT:
        return Other("fragments of IP")
    if protocol != _TCP:
        return Other(_PROTOCOLS.get(protocol, "of another protocol"))
    return _of_tcp(data, end, size, (data[at + 8 : at + 24], data[at + 24 : at + 40]), ecn, 0)


_HEAD: Final = struct.Struct(">HHIIBBH")


def _of_tcp(data: bytes, at: int, size: int, hosts: tuple[bytes, bytes], ecn: int, ident: int) -> Segment | Other:
    """Parses a TCP segment at byte `at`; `size` is its length with headers, and `hosts` are both addresses."""
    source, target = hosts
    if at + 20 > len(data):
        return _SHORT
    _, _, seq, ack, offset, flags, window = _HEAD.unpack_from(data, at)
    header = (offset >> 4) * 4
    if header < 20 or not header <= size <= _LONGEST:
        return Other("damaged TCP headers")
    mss = scale = stamps = None
    permitted = False
    sack: tuple[tuple[int, int], ...] = ()
    if header > 20:
        mss, scale, permitted, sack, stamps = _options(data[at + 20 : at + header])
    return Segment(
        source + data[at : at + 2], target + data[at + 2 : at + 4], seq, ack, flags, window, size - header, ecn,
        mss, scale, permitted, sack, stamps, ident,
    )  # fmt: skip


_Options = tuple[int | None, int | None, bool, tuple[tuple[int, int], ...], tuple[int, int] | None]


def _options(data: bytes) -> _Options:
    """Parses the options of a TCP header: MSS, window scale, SACK permitted, SACK blocks and timestamps."""
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
