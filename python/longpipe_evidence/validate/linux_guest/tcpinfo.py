"""Fields of TCP_INFO of Linux 6.1: `struct tcp_info` of include/uapi/linux/tcp.h."""

import socket
import struct
from typing import Final

TCP_INFO: Final = 11
TCP_CC_INFO: Final = 26
# struct tcp_bbr_info: bandwidth (low and high word), minimum RTT, gains of pacing and window.
BBR_INFO: Final = struct.Struct("=5I")
BYTES: Final = 232
LAYOUT: Final = struct.Struct("=8B24I4Q6I4Q2I2Q4I")
# Index of each field in LAYOUT's values; times are in microseconds, windows and counters in segments.
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
# Columns of the series in order; `time_s` and `flow` precede them.
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
    "bbr_bw",
    "bbr_pacing_gain",
)


def read(connection: socket.socket, *, bbr: bool) -> dict[str, int]:
    """Returns the current values of the PLACES fields of a TCP socket, and BBR's estimates if it uses BBR."""
    values = LAYOUT.unpack(connection.getsockopt(socket.IPPROTO_TCP, TCP_INFO, BYTES))
    low = high = gain = 0
    if bbr:
        low, high, _, gain, _ = BBR_INFO.unpack(connection.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, BBR_INFO.size))
    return {
        **{name: values[place] for name, place in PLACES.items()},
        "bbr_bw": high << 32 | low,
        "bbr_pacing_gain": gain,
    }
