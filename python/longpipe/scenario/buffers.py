"""Sizes of buffers: cells at an ATM switch, packets or bytes at an IP router."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from longpipe.aal5 import CELL_BYTES, ip_packet_cells, packet_cells
from longpipe.ip import packet_bytes
from longpipe.scenario.datagrams import HEADERS
from longpipe.scenario.tcp import Tcp
from longpipe.units import SIZE

Framing = Literal["aal5", "ip"]
BufferUnit = Literal["cells", "packets", "bytes"]


@dataclass(frozen=True)
class Packet:
    """Length of a full-sized packet in each unit of buffers; `payload` describes its payload in messages."""

    payload: str
    cells: int
    bytes: int

    @classmethod
    def of(cls, tcp: Tcp) -> "Packet":
        """Returns the length of a full segment of this TCP."""
        mss, timestamps = SIZE.parse(tcp.mss), tcp.timestamps
        return cls(f"at MSS {mss}", packet_cells(mss, timestamps), packet_bytes(mss, timestamps))

    @classmethod
    def of_datagram(cls, size_bytes: int) -> "Packet":
        """Returns the length of a datagram whose IP packet has this length [bytes]."""
        return cls(f"with a payload of {size_bytes - HEADERS} B", ip_packet_cells(size_bytes), size_bytes)


def bytes_of(buffer: Mapping[str, Any], packet_bytes: int) -> int:
    """Returns the size [bytes] of a resolved buffer that is filled with packets of this length [bytes]."""
    return int(buffer["limit"]) * {"cells": CELL_BYTES, "packets": packet_bytes, "bytes": 1}[buffer["unit"]]
