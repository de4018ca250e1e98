"""What limited the TCP connections of real programs, determined from their kernels' counters."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from longpipe.units import RATE, SIZE

Limit = Literal["application", "receiver's window", "send buffer", "path"]

# Maximum number of connections in the report, and minimum amount of data [bytes] that a reported connection has sent.
MOST_SHOWN: Final = 5
LEAST_BYTES: Final = 10_000


@dataclass(frozen=True)
class RealFlow:
    """A TCP connection of a real program, as seen by the side that sent data; times are in seconds.

    Three values are counted from the packets that entered the path by the end of the run: `acked_bytes`, from the ACKs;
    `lasted_s`, the time until the latest ACK of new data, or until the connection was last read; and `retransmitted`,
    the segments that begin below the highest sequence number sent before. The other values were read from the kernel,
    up to a fifth of a second before the end of the connection.
    `busy_s` is the time in which there was data to send. In a part of it, `window_s`, the receiver's window was the
    limit, and in another part, `buffer_s`, the send buffer was (Linux: `tcpi_busy_time`, `tcpi_rwnd_limited`,
    `tcpi_sndbuf_limited`).
    """

    host: str
    port: int
    peer: str
    peer_port: int
    acked_bytes: int
    lasted_s: float
    busy_s: float
    window_s: float
    buffer_s: float
    retransmitted: int
    rtt_s: float
    cwnd_bytes: int
    peer_window_bytes: int | None
    send_buffer_bytes: int

    @property
    def shares(self) -> dict[Limit, float]:
        """Returns, for each limit, the share of the connection's duration in which it was the limit."""
        whole_s = max(self.lasted_s, self.busy_s, 1e-9)
        path_s = max(0.0, self.busy_s - self.window_s - self.buffer_s)
        window_s, buffer_s = self.window_s, self.buffer_s
        # The kernel counts only the time in which it notices a limit, and it does not notice a full send buffer of a
        # program that waits for room between its writes. A congestion window that is larger than another limit does not
        # limit.
        if self.cwnd_bytes > self.send_buffer_bytes:
            buffer_s, path_s = buffer_s + path_s, 0.0
        elif window_s > 0 and self.peer_window_bytes is not None and self.cwnd_bytes > self.peer_window_bytes:
            window_s, path_s = window_s + path_s, 0.0
        return {
            "path": path_s / whole_s,
            "receiver's window": window_s / whole_s,
            "send buffer": buffer_s / whole_s,
            "application": max(0.0, 1 - self.busy_s / whole_s),
        }

    @property
    def limited_by(self) -> Limit:
        """Returns the limit that applied for the largest part of the connection's duration."""
        shares = self.shares
        return max(shares, key=lambda limit: shares[limit])

    @property
    def advice(self) -> str:
        """Returns a description of the limit, and the setting that changes it."""
        match self.limited_by:
            case "receiver's window":
                size = "" if self.peer_window_bytes is None else f" ({SIZE.format(self.peer_window_bytes)} at the end)"
                return f"{size}; raise the third value of net.ipv4.tcp_rmem, or SO_RCVBUF, at {self.peer}"
            case "send buffer":
                size = SIZE.format(self.send_buffer_bytes)
                return f" ({size} at the end); raise the third value of net.ipv4.tcp_wmem, or SO_SNDBUF, at {self.host}"
            case "application":
                return "; the program had nothing to send"
            case "path":
                return f"; the congestion control held data back, {self.retransmitted} segments retransmitted"

    def __str__(self) -> str:
        """Returns a line with both ends, the rate, the limit and advice."""
        rate = RATE.format(round(8 * self.acked_bytes / max(self.lasted_s, self.busy_s, 1e-9) / 1e4) * 10_000)
        share = self.shares[self.limited_by]
        return (
            f"{self.host}:{self.port} -> {self.peer}:{self.peer_port}: {rate}, limited by the {self.limited_by} "
            f"{share:.0%} of {self.lasted_s:.1f} s{self.advice}"
        )


# Sender's address and port, receiver's address and port, acknowledged bytes, time of the latest ACK of new data [s]
# since the connection was established, and number of retransmitted segments.
PathCounts = tuple[str, int, str, int, int, float, int]


def real_flows(
    hosts: Mapping[str, Iterable[Mapping[str, Any]]], names: Mapping[str, str], on_path: Iterable[PathCounts]
) -> tuple[RealFlow, ...]:
    """Returns the connections that hosts report, by descending amount of data; `names` maps addresses to hosts.

    The counts of `on_path` replace those of the kernel. The path counts at most 4096 connections.
    """
    counted = {
        (names.get(host, host), port, names.get(peer, peer), peer_port): (acked_bytes, lasted_s, retransmitted)
        for host, port, peer, peer_port, acked_bytes, lasted_s, retransmitted in on_path
    }
    found = []
    for host, connections in hosts.items():
        for one in connections:
            fields = {name: one[name] for name in RealFlow.__dataclass_fields__ if name in one}
            flow = RealFlow(**{**fields, "host": host, "peer": names.get(one["peer"], one["peer"])})
            if counts := counted.get((host, flow.port, flow.peer, flow.peer_port)):
                acked_bytes, lasted_s, retransmitted = counts
                lasted_s = max(flow.lasted_s, lasted_s)
                flow = replace(flow, acked_bytes=acked_bytes, lasted_s=lasted_s, retransmitted=retransmitted)
            found.append(flow)
    return tuple(sorted(found, key=lambda flow: -flow.acked_bytes))


def lines(flows: Iterable[RealFlow]) -> Iterator[str]:
    """Yields a line for each of the connections that sent the most data."""
    shown = [flow for flow in flows if flow.acked_bytes >= LEAST_BYTES]
    yield from map(str, shown[:MOST_SHOWN])
    if len(shown) > MOST_SHOWN:
        yield f"{len(shown) - MOST_SHOWN} more connections: --json FILE contains them"
