"""Sizes of TCP segments carried by IP packets, without cells."""

from typing import Final

# TCP 20, IP 20.
HEADER_BYTES: Final = 40
# RFC 7323, padded as its appendix A recommends.
TIMESTAMP_BYTES: Final = 12


def packet_bytes(payload_bytes: int, timestamps: bool = False) -> int:
    """Returns the IP packet length of a segment with this payload [bytes]."""
    return payload_bytes + HEADER_BYTES + (TIMESTAMP_BYTES if timestamps else 0)
