"""Network device of a host: TUN if permitted, otherwise a veth pair with a packet socket at its far end.

Constants have the names of Linux (if_tun.h, if_packet.h, sockios.h, ethtool.h).
"""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from longpipe.live import calls

if TYPE_CHECKING:
    from pyroute2 import IPRoute

# File with the counters of all devices in the namespace of the process that opens it.
COUNTERS: Final = "/proc/self/net/dev"
NAME: Final = "eth0"
WIRE: Final = "wire0"
TUN: Final = "/dev/net/tun"
# Minimum MTU for IPv6 (RFC 8200 section 5).
MIN_MTU_6: Final = 1280
# Queue length of the device [packets].
LONGEST_QUEUE: Final = 10_000
_TUNSETIFF: Final = 0x400454CA
_TUNSETOFFLOAD: Final = 0x400454D0
_IFF_TUN: Final = 0x0001
_IFF_NO_PI: Final = 0x1000
# A struct virtio_net_hdr precedes each packet.
_IFF_VNET_HDR: Final = 0x4000
# Sets of offload flags, tried in this order: TUN_F_CSUM, _TSO4, _TSO6, _USO4 and _USO6, of which the last two need
# Linux 6.2; and the first three alone.
_OFFLOAD_FLAGS: Final = (0x67, 0x07)
_ETH_P_ALL: Final = 0x0003
_SOL_PACKET: Final = 263
_PACKET_STATISTICS: Final = 6
_PACKET_IGNORE_OUTGOING: Final = 23
_SO_RCVBUFFORCE: Final = 33
# Size of the receive buffer of a packet socket [byte].
_RECEIVE_BUFFER: Final = 1 << 25
_SIOCETHTOOL: Final = 0x8946
# Disables duplicate address detection (RFC 4862 section 5.4), because no other host can have the address.
_IFA_F_NODAD: Final = 0x02
# Commands that disable offloads with ethtool: ETHTOOL_STXCSUM, _SSG, _STSO, _SGSO, _SGRO.
_ETHTOOL_COMMANDS: Final = (0x17, 0x19, 0x1F, 0x24, 0x2C)


@dataclass(frozen=True)
class Device:
    """A device: its kind, its descriptor, and the Ethernet address of the kernel's end if the device carries frames."""

    kind: str
    descriptor: int
    ethernet: str | None


def open_device(kind: str, mtu: int) -> Device:
    """Opens a device in this process's network namespace; with AF_PACKET, the process moves to a new namespace.

    `kind` is "tun", "packet", or "any" for the first that works. Raises OSError if none works.
    """
    if kind in ("tun", "any"):
        try:
            return Device("tun", _open_tun(), None)
        except OSError:
            if kind == "tun":
                raise
    return _open_veth(mtu)


def _open_tun() -> int:
    """Creates a TUN device and returns its descriptor."""
    descriptor = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        flags = _IFF_TUN | _IFF_NO_PI | _IFF_VNET_HDR
        fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", NAME.encode(), flags))
        # With offloads, the carrier splits long packets and computes checksums; without them, the kernel does.
        for offloads in _OFFLOAD_FLAGS:
            with contextlib.suppress(OSError):
                fcntl.ioctl(descriptor, _TUNSETOFFLOAD, offloads)
                break
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _open_veth(mtu: int) -> Device:
    """Creates a veth pair: one end in a new namespace, which this process enters, the other in the present one."""
    outer = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    calls.unshare(calls.NEW_NETWORK)
    inner = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    calls.enter(outer, calls.NEW_NETWORK)
    with _route() as route:
        route.link("add", ifname=WIRE, kind="veth", peer={"ifname": NAME, "net_ns_fd": inner})
        _disable_autoconfiguration(WIRE)
        (wire,) = route.link_lookup(ifname=WIRE)
        route.link("set", index=wire, mtu=mtu, state="up")
    packets = open_packet_socket(WIRE)
    # Only the packet socket keeps the outer namespace alive.
    calls.enter(inner, calls.NEW_NETWORK)
    os.close(outer)
    os.close(inner)
    without_offloads(NAME)
    with _route() as route:
        (index,) = route.link_lookup(ifname=NAME)
        (link,) = route.get_links(index)
        ethernet = link.get_attr("IFLA_ADDRESS")
    return Device("packet", packets.detach(), ethernet)


def open_packet_socket(interface: str) -> socket.socket:
    """Opens a packet socket for packets that arrive at an interface, but not for those that it sends.

    Raises OSError.
    """
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(_ETH_P_ALL))
    try:
        packets.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        try:
            packets.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER)
        except OSError:
            packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        packets.bind((interface, _ETH_P_ALL))
    except OSError:
        packets.close()
        raise
    return packets


def drops_of_socket(packets: socket.socket) -> int:
    """Returns the number of packets that a packet socket has dropped since the last call."""
    _, count = struct.unpack("II", packets.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
    return int(count)


def configure(mtu: int, address: str, address_6: str | None, outside: str | None, addresses: list[str]) -> None:
    """Brings up the device and the loopback, and sets addresses and the routes to the other hosts of the path.

    `outside` is "here" if the default route uses another interface of this host, "there" if it leads over the path, and
    None without a default route. `addresses` are those of the other hosts.
    """
    _disable_autoconfiguration(NAME)
    with _route() as route:
        (loopback,) = route.link_lookup(ifname="lo")
        (index,) = route.link_lookup(ifname=NAME)
        route.link("set", index=loopback, state="up")
        route.link("set", index=index, mtu=mtu, arp=False, txqlen=LONGEST_QUEUE, state="up")
        route.addr("add", index=index, address=address, prefixlen=32 if outside == "here" else 8)
        if outside == "here":
            for other in addresses:
                route.route("add", dst=f"{other}/32", oif=index, scope="link")
            Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        if outside == "there":
            route.route("add", dst="0.0.0.0/0", oif=index, scope="link")
        if address_6 is not None:
            route.addr("add", index=index, address=address_6, prefixlen=64, flags=_IFA_F_NODAD)


def _route() -> "IPRoute":
    from pyroute2 import IPRoute

    return IPRoute()


def _disable_autoconfiguration(name: str) -> None:
    """Disables automatic addresses and router solicitations on an interface."""
    for key, value in (("addr_gen_mode", "1"), ("router_solicitations", "0"), ("accept_dad", "0")):
        with contextlib.suppress(OSError):
            Path(f"/proc/sys/net/ipv6/conf/{name}/{key}").write_text(value)


def without_offloads(interface: str) -> None:
    """Disables the offloads of an interface, so that the kernel itself computes checksums and splits segments."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in _ETHTOOL_COMMANDS:
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(value))
            with contextlib.suppress(OSError):
                fcntl.ioctl(control, _SIOCETHTOOL, request)


def drops_of_queue(counters: TextIO) -> int:
    """Returns the number of packets that the device dropped because of a full queue, from the open file `COUNTERS`."""
    counters.seek(0)
    for line in counters:
        name, _, counts = line.partition(":")
        if name.strip() == NAME:
            return int(counts.split()[11])
    return 0
