"""Sizes of TCP segments carried by IP packets, without cells, and the links of a path with one bottleneck."""

from typing import Final

# Lengths of headers [bytes]: TCP 20, IP 20.
HEADER_BYTES: Final = 40
# Length by which an IPv6 header exceeds an IPv4 header [bytes].
IPV6_BYTES: Final = 20
# Length of the timestamp option [bytes], padded as appendix A of RFC 7323 recommends.
TIMESTAMP_BYTES: Final = 12
# Rate of the links next to a bottleneck, as a multiple of the bottleneck's.
SPEED_UP: Final = 1000


def packet_bytes(payload_bytes: int, timestamps: bool = False) -> int:
    """Returns the length [bytes] of the IP packet that carries a segment with this payload."""
    return payload_bytes + HEADER_BYTES + (TIMESTAMP_BYTES if timestamps else 0)


def transmission_ps(size_bytes: int, rate_bps: int) -> int:
    """Returns the transmission time [ps] of a packet, rounded down."""
    return size_bytes * 8 * 10**12 // rate_bps


def bottleneck(rate_bps: int, packet: int, ack: int, round_trip_ps: int) -> dict[str, str]:
    """Returns the links of a dumbbell with one bottleneck, over which packets of `packet` bytes have this minimum RTT.

    The other links are SPEED_UP times as fast. A packet crosses two of them, its ACK of `ack` bytes three; their
    transmission times and the bottleneck's are part of the RTT.
    """
    fast_bps, half_ps = SPEED_UP * rate_bps, round_trip_ps // 2
    beside_ps = 2 * transmission_ps(packet, fast_bps) + 3 * transmission_ps(ack, fast_bps)
    return {
        "access_rate": f"{fast_bps} bit/s",
        "trunk_rate": f"{rate_bps} bit/s",
        "return_rate": f"{fast_bps} bit/s",
        "access_delay": "0 s",
        "exit_delay": "0 s",
        "trunk_delay": f"{max(0, half_ps - transmission_ps(packet, rate_bps))} ps",
        "return_delay": f"{max(0, half_ps - beside_ps)} ps",
    }
