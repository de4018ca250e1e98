"""Sizes of TCP segments carried by ATM cells (LLC/SNAP over AAL5, RFC 1483)."""

import math
from typing import Final

from longpipe.ip import packet_bytes

CELL_BYTES: Final = 53
CELL_BITS: Final = 8 * CELL_BYTES
CELL_PAYLOAD_BYTES: Final = 48
# LLC/SNAP header (8) and AAL5 trailer (8).
OVERHEAD_BYTES: Final = 16


def packet_cells(payload_bytes: int, timestamps: bool = False) -> int:
    """Returns the number of cells that carry a segment with this payload [bytes], its headers and the AAL5 trailer."""
    return ip_packet_cells(packet_bytes(payload_bytes, timestamps))


def ip_packet_cells(size_bytes: int) -> int:
    """Returns the number of cells that carry an IP packet of this length [bytes] and the AAL5 trailer."""
    return math.ceil((size_bytes + OVERHEAD_BYTES) / CELL_PAYLOAD_BYTES)


def cell_tax(mss_bytes: int) -> float:
    """Returns the maximum share of the cell rate that the application gets: 0.8050 for 512 bytes, 0.8974 for 9180."""
    return mss_bytes / (CELL_BYTES * packet_cells(mss_bytes))
