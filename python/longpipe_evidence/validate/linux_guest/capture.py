"""Captures packets in the guest with AF_PACKET, as a pcap file in nanoseconds; time 0 is the start of the flows."""

import socket
import struct
from pathlib import Path
from typing import Final

ETH_P_ALL: Final = 3
SO_RCVBUFFORCE: Final = 33
SO_TIMESTAMPNS: Final = 35
BUFFER_BYTES: Final = 1 << 28
MAGIC_NS, ETHERNET = 0xA1B23C4D, 1
# Headers only: Ethernet, IPv4 and TCP with all its options.
SNAP: Final = 14 + 20 + 60


class DeviceCapture:
    """Captures the packets that pass a device in both directions, with their times."""

    def __init__(self, device: str, file: Path) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.bind((device, 0))
        self._socket.setblocking(False)
        self._begin = 0
        self._file = file.open("wb")
        self._file.write(struct.pack("=IHHiIII", MAGIC_NS, 2, 4, 0, 0, SNAP, ETHERNET))

    def begin(self, now: float) -> None:
        """Discards packets captured so far, which belong to the setup of connections."""
        while self._next():
            pass
        self._begin = round(now * 1e9)

    def drain(self) -> None:
        """Writes the packets captured so far."""
        while packet := self._next():
            at, length, head = packet
            self._file.write(struct.pack("=IIII", *divmod(at - self._begin, 10**9), len(head), length) + head)

    def close(self) -> None:
        """Writes the remaining packets, and closes the file."""
        self.drain()
        self._file.close()

    def _next(self) -> tuple[int, int, bytes] | None:
        """Returns the time [ns], the length on the wire [bytes] and the headers of the next packet."""
        try:
            packet, ancillary, _, _ = self._socket.recvmsg(1 << 16, 64)
        except BlockingIOError:
            return None
        seconds, nanoseconds = struct.unpack("=qq", ancillary[0][2])
        return seconds * 10**9 + nanoseconds, len(packet), packet[:SNAP]
