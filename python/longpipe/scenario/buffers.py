"""Sizes of buffers: cells at an ATM switch, packets or bytes at an IP router."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from longpipe.aal5 import CELL_BITS, CELL_BYTES, ip_packet_cells, packet_cells
from longpipe.errors import ScenarioError
from longpipe.ip import packet_bytes
from longpipe.scenario.base import MOST_CELLS
from longpipe.scenario.datagrams import HEADERS
from longpipe.scenario.tcp import Tcp
from longpipe.units import BUFFER, SIZE, TIME, UNLIMITED

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


@dataclass(frozen=True)
class Pipe:
    """Rate of a port and RTT of a BDP, which convert a buffer in BDP or in time into a size."""

    rate_bps: int
    round_trip_ps: int

    def bits(self, number: Fraction, unit: str) -> Fraction:
        """Converts a buffer in BDP, or in a unit of time, into bits at the port's rate."""
        time_ps = number * (self.round_trip_ps if unit == "BDP" else TIME.units[unit])
        return self.rate_bps * time_ps / 10**12


def buffer(field: str, text: str, framing: Framing, pipe: Pipe, largest: Packet) -> dict[str, Any] | None:
    """Returns the unit and the limit of a buffer; the limit is None if the buffer is unlimited.

    A BDP or a time becomes cells, or packets of full size.

    Raises ScenarioError if the buffer is smaller than the largest packet, or its unit does not fit the framing.
    """
    if text == UNLIMITED:
        return None
    number, unit = BUFFER.split(text)
    if framing == "aal5":
        return _cells(field, text, number, unit, pipe, largest)
    if unit == "cells":
        needs = "needs packets, bytes, BDP or a time, as in '1 BDP'"
        raise ScenarioError(f"{field}: {text}; IP routers do not queue cells, {needs}")
    if unit in SIZE.units:
        limit = int(number * SIZE.units[unit])
        if limit < largest.bytes:
            minimum = f"({largest.bytes} B {largest.payload})"
            raise ScenarioError(f"{field}: {text}; needs at least one full packet {minimum}")
        return {"unit": "bytes", "limit": limit}
    packets = math.floor(number if unit == "packets" else pipe.bits(number, unit) / (8 * largest.bytes))
    if packets < 1:
        raise ScenarioError(f"{field}: {text} ({packets} packets); needs at least one packet")
    return {"unit": "packets", "limit": packets}


def bytes_of(buffer: Mapping[str, Any], packet_bytes: int) -> int:
    """Returns the size [bytes] of a resolved buffer that is filled with packets of this length [bytes]."""
    return int(buffer["limit"]) * {"cells": CELL_BYTES, "packets": packet_bytes, "bytes": 1}[buffer["unit"]]


def _cells(field: str, text: str, number: Fraction, unit: str, pipe: Pipe, largest: Packet) -> dict[str, Any]:
    if unit in SIZE.units:
        raise ScenarioError(f"{field}: {text}; ATM switches count cells, needs cells, packets, BDP or a time")
    counted = {"cells": 1, "packets": largest.cells}.get(unit)
    cells = math.floor(number * counted if counted else pipe.bits(number, unit) / CELL_BITS)
    if cells < largest.cells:
        shown = text if unit == "cells" else f"{text} ({cells} cells)"
        minimum = f"({largest.cells} cells {largest.payload})"
        raise ScenarioError(f"{field}: {shown}; needs at least one full packet {minimum}")
    if cells > MOST_CELLS:
        raise ScenarioError(f"{field}: {text} ({cells} cells); needs at most {MOST_CELLS} cells, or 'unlimited'")
    return {"unit": "cells", "limit": cells}
