"""Fields of TCP_INFO of Linux 6.1: `struct tcp_info` of include/uapi/linux/tcp.h."""

import socket
import struct
from typing import Final

TCP_INFO: Final = 11
BYTES: Final = 232
LAYOUT: Final = struct.Struct("=8B24I4Q6I4Q2I2Q4I")
# Index of each field among the values of LAYOUT; times are in microseconds, windows and counters in segments.
PLACES: Final = {
    "ca_state": 1,
    "unacked": 12,
    "sacked": 13,
    "lost": 14,
    "srtt_us": 23,
    "rttvar_us": 24,
    "ssthresh": 25,
    "cwnd": 26,
    "retransmits": 31,
    "pacing_rate": 32,
    "bytes_acked": 34,
    "min_rtt_us": 39,
    "busy_us": 43,
    "receiver_limited_us": 44,
    "buffer_limited_us": 45,
    "delivered": 46,
}
# Columns of the series, in this order, after time and flow.
COLUMNS: Final = (
    "cwnd",
    "ssthresh",
    "srtt_us",
    "rttvar_us",
    "min_rtt_us",
    "ca_state",
    "unacked",
    "bytes_acked",
    "delivered",
    "retransmits",
)


def read(connection: socket.socket) -> dict[str, int]:
    """Returns the current PLACES fields of a TCP socket."""
    values = LAYOUT.unpack(connection.getsockopt(socket.IPPROTO_TCP, TCP_INFO, BYTES))
    return {name: values[place] for name, place in PLACES.items()}
