"""The kernel's counters of a namespace's TCP sockets (sock_diag), sampled during a live run."""

import socket
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

# Time between two samples [s].
APART_S: Final = 0.2
# Maximum number of connections that a host reports; those that sent the most data are reported.
MOST: Final = 50
# From <linux/netlink.h>, <linux/sock_diag.h> and <linux/inet_diag.h>.
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _REQUEST_AND_DUMP, _ERROR, _DONE = 4, 20, 0x301, 2, 3
_INFO, _MEMORY = 2, 7
# Mask of the established and closing states: all except LISTEN, CLOSE, SYN_SENT, SYN_RECV and TIME_WAIT.
_STATES: Final = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11
_HEADER: Final = struct.Struct("=IHHII")
_FAMILIES: Final = (socket.AF_INET, socket.AF_INET6)
# Offsets within struct tcp_info; Linux adds new fields only at the end.
_MSS, _RTT, _CWND, _RETRANSMITTED, _ACKED = 16, 68, 80, 100, 120
_BUSY, _WINDOW, _BUFFER, _PEER_WINDOW = 168, 176, 184, 228
# Index of sk_sndbuf in SK_MEMINFO.
_SEND_BUFFER: Final = 3


class Sampler:
    """Context manager with a netlink socket to the kernel; `sample` reads the TCP sockets of this namespace.

    It is called while this process waits for the command, because a process that has created a PID namespace cannot
    start threads.
    """

    def __init__(self) -> None:
        self._found: dict[bytes, dict[str, Any]] = {}
        self._asked: socket.socket | None = None

    def __enter__(self) -> "Sampler":
        # If the kernel lacks sock_diag (INET_DIAG), nothing is reported.
        with suppress(OSError):
            self._asked = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)
            self._asked.settimeout(1.0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._asked is not None:
            self._asked.close()

    def sample(self) -> None:
        """Reads the counters of all connections."""
        if self._asked is not None:
            with suppress(OSError):
                for family in _FAMILIES:
                    self._query(self._asked, family)

    def connections(self) -> list[dict[str, Any]]:
        """Returns the connections that sent data, in descending order of the amount of data; times are in seconds."""
        sent = [counts for counts in self._found.values() if counts["acked_bytes"] > 0]
        return sorted(sent, key=lambda counts: -counts["acked_bytes"])[:MOST]

    def _query(self, netlink: socket.socket, family: int) -> None:
        """Requests the state of all TCP sockets of an address family from the kernel (sock_diag), and records it."""
        extensions = 1 << (_INFO - 1) | 1 << (_MEMORY - 1)
        wanted = struct.pack("=BBBBI48x", family, socket.IPPROTO_TCP, extensions, 0, _STATES)
        netlink.send(_HEADER.pack(_HEADER.size + len(wanted), _SOCK_DIAG_BY_FAMILY, _REQUEST_AND_DUMP, 0, 0) + wanted)
        now_s = time.monotonic()
        while True:
            message, place = netlink.recv(1 << 20), 0
            while place + _HEADER.size <= len(message):
                length, kind, *_ = _HEADER.unpack_from(message, place)
                if kind in (_DONE, _ERROR):
                    return
                self._put(message[place + _HEADER.size : place + length], now_s)
                place += (length + 3) & ~3

    def _put(self, content: bytes, now_s: float) -> None:
        packet = parsed(content)
        if packet is None:
            return
        # The cookie identifies a socket uniquely.
        before = self._found.setdefault(content[44:52], {**packet, "began_s": now_s - packet["busy_s"]})
        before.update({**packet, "lasted_s": now_s - before["began_s"]})


def parsed(content: bytes) -> dict[str, Any] | None:
    """Returns a socket's counters from an `inet_diag_msg` with its attributes; None if they are incomplete."""
    attributes, place = {}, 72
    while place + 4 <= len(content):
        length, kind = struct.unpack_from("=HH", content, place)
        if length < 4:
            break
        attributes[kind] = content[place + 4 : place + length]
        place += (length + 3) & ~3
    info, memory = attributes.get(_INFO, b""), attributes.get(_MEMORY, b"")
    if len(info) < _BUFFER + 8 or len(memory) < 4 * (_SEND_BUFFER + 1):
        return None
    family = content[0]
    size = 4 if family == socket.AF_INET else 16
    ports = struct.unpack_from("!HH", content, 4)

    def word(offset: int) -> int:
        return int(struct.unpack_from("=I", info, offset)[0])

    def long(offset: int) -> int:
        return int(struct.unpack_from("=Q", info, offset)[0])

    return {
        "port": ports[0],
        "peer": socket.inet_ntop(family, content[24 : 24 + size]),
        "peer_port": ports[1],
        "acked_bytes": long(_ACKED),
        "retransmitted": word(_RETRANSMITTED),
        "rtt_s": word(_RTT) / 1e6,
        "cwnd_bytes": word(_CWND) * word(_MSS),
        "peer_window_bytes": word(_PEER_WINDOW) if len(info) >= _PEER_WINDOW + 4 else None,
        "send_buffer_bytes": int(struct.unpack_from("=I", memory, 4 * _SEND_BUFFER)[0]),
        # Time in which there was data to send; and the parts of it in which the receiver's window or the send buffer
        # was the limit.
        "busy_s": long(_BUSY) / 1e6,
        "window_s": long(_WINDOW) / 1e6,
        "buffer_s": long(_BUFFER) / 1e6,
    }


def listens(process: int, port: int) -> bool:
    """Returns whether a program in a process's network namespace listens on a TCP port, or has bound a UDP port."""
    for name, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        with suppress(OSError):
            rows = [line.split() for line in Path(f"/proc/{process}/net/{name}").read_text("ascii").splitlines()]
            if any(row[1].endswith(f":{port:04X}") and row[3] == state for row in rows):
                return True
    return False
