"""Sends datagrams through a device of the guest whose queueing disciplines and filters are under test.

sender, t0 --- t1, receiver in the namespace t

The sender sends at given instants and writes each datagram's number into it. The receiver's socket timestamps arrivals
after the filters of t1.
"""

import ctypes
import os
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import Any, Final

ADDRESSES: Final = {"t0": "10.0.9.1", "t1": "10.0.9.2"}
PORT: Final = 5002
HEADERS_BYTES: Final = 28
SO_RCVBUFFORCE: Final = 33
SO_TIMESTAMPNS: Final = 35
BUFFER_BYTES: Final = 1 << 28
CLONE_NEWNET: Final = 0x40000000
MODULES: Final = ("veth", "sch_netem", "sch_tbf", "sch_cake", "sch_ingress", "cls_matchall", "act_police")
NUMBER: Final = struct.Struct("=I")


def build() -> None:
    """Creates the two devices; neighbor entries are set, so that no datagram waits for address resolution."""
    _lines("ip", "", ["netns add t", "link add t0 type veth peer t1 netns t"])
    for space, device, other in (("", "t0", "t1"), ("t", "t1", "t0")):
        mac = f"02:00:00:00:09:0{other[1]}"
        _lines(
            "ip",
            space,
            [
                f"link set {device} address 02:00:00:00:09:0{device[1]}",
                f"addr add {ADDRESSES[device]}/24 dev {device}",
                f"link set {device} up txqueuelen 0",
                f"neigh replace {ADDRESSES[other]} lladdr {mac} dev {device} nud permanent",
            ],
        )


def run(case: dict[str, Any], share: Path) -> dict[str, Any]:
    """Sends `datagrams` (time from the start [ns], IP length [bytes]); records numbers and times [ns] of arrivals."""
    for space, commands in case["commands"].items():
        _lines("tc", space, commands)
    receiving = _socket_in("t")
    receiving.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    receiving.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    receiving.bind((ADDRESSES["t1"], PORT))
    receiving.setblocking(False)
    sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sending.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
    sending.connect((ADDRESSES["t1"], PORT))
    rows: list[str] = []
    sent: list[int] = []
    # Wait until token buckets are full.
    time.sleep(1)
    begin = time.clock_gettime_ns(time.CLOCK_REALTIME)
    for number, (at, length) in enumerate(case["datagrams"]):
        time.sleep(max(0, begin + at - time.clock_gettime_ns(time.CLOCK_REALTIME)) / 1e9)
        sent.append(time.clock_gettime_ns(time.CLOCK_REALTIME) - begin)
        sending.send(NUMBER.pack(number).ljust(length - HEADERS_BYTES, b"\0"))
        _receive(receiving, begin, rows)
    time.sleep(case["rest_s"])
    _receive(receiving, begin, rows)
    (share / "sent.csv").write_text("sent_ns\n" + "".join(f"{at}\n" for at in sent))
    (share / "arrivals.csv").write_text("number,arrived_ns\n" + "".join(rows))
    receiving.close()
    sending.close()
    for space, commands in case["undo"].items():
        _lines("tc", space, commands)
    return {}


def _receive(receiving: socket.socket, begin: int, rows: list[str]) -> None:
    while True:
        try:
            data, ancillary, _, _ = receiving.recvmsg(1 << 16, 64)
        except BlockingIOError:
            return
        seconds, nanoseconds = struct.unpack("=qq", ancillary[0][2])
        (number,) = NUMBER.unpack_from(data)
        rows.append(f"{number},{seconds * 10**9 + nanoseconds - begin}\n")


def _socket_in(space: str) -> socket.socket:
    """Creates a socket for datagrams in a namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    own_space, guest_space = (os.open(name, os.O_RDONLY) for name in ("/proc/self/ns/net", f"/var/run/netns/{space}"))
    try:
        for namespace in (guest_space, own_space):
            if libc.setns(namespace, CLONE_NEWNET) < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            if namespace == guest_space:
                opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    finally:
        os.close(own_space)
        os.close(guest_space)
    return opened


def _lines(program: str, space: str, lines: list[str]) -> None:
    command = [program, *(["-n", space] if space else []), "-batch", "-"]
    subprocess.run(command, input="\n".join(lines).encode() + b"\n", check=True)  # noqa: S603 - runs in the guest
