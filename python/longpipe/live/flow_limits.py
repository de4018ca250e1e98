"""What limited a TCP connection of a real program, determined from its kernel's counters."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from longpipe.units import RATE, SIZE
from longpipe.verdicts.limits import MEANINGS
from longpipe.verdicts.limits.causes import Limit as LimitOfRun
from longpipe.verdicts.limits.thresholds import SLOW_START_ROUND_TRIPS

# Limits of `longpipe run`, and the send buffer of a real host.
Limit = LimitOfRun | Literal["send buffer"]
# States of a sender whose times the kernel counts; "path" is the time in which congestion control held data back.
State = Literal["application", "window", "send buffer", "path"]

# Factor by which a larger buffer or window must raise the rate of a connection in order to limit it.
MIN_GAIN: Final = 1.05
# Initial window of Linux [bytes]: 10 segments of 1448 bytes, which fill Ethernet packets that have timestamps.
_INITIAL_WINDOW_BYTES: Final = 10 * 1448
# Maximum number of connections in the report, and minimum amount of data [bytes] that a reported connection has sent.
MAX_SHOWN: Final = 5
MIN_BYTES: Final = 10_000


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
    # Rate of the slowest link of the path, and the limit that the counters of the path's ports show.
    path_bps: float = math.inf
    path_limit: LimitOfRun = "congestion"

    @property
    def duration_s(self) -> float:
        """Returns the duration of the connection [s], which is above 0."""
        return max(self.lasted_s, self.busy_s, 1e-9)

    @property
    def shares(self) -> dict[State, float]:
        """Returns the share of the connection's duration in each state of the sender."""
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
            "path": path_s / self.duration_s,
            "window": window_s / self.duration_s,
            "send buffer": buffer_s / self.duration_s,
            "application": max(0.0, 1 - self.busy_s / self.duration_s),
        }

    @property
    def rate_bps(self) -> float:
        """Returns the mean rate of acknowledged data [bit/s]."""
        return 8 * self.acked_bytes / self.duration_s

    @property
    def possible_bps(self) -> float:
        """Returns the mean rate [bit/s] of the same amount of data with large buffers and windows.

        A slow start doubles the window in each RTT until it fills the path, or until all data are sent. The slowest
        link then sends the last window of the slow start and the rest, and one more RTT passes until all data are
        acknowledged.
        """
        pipe_bytes = self.path_bps * self.rtt_s / 8
        if not math.isfinite(pipe_bytes) or not self.lasted_s or not self.acked_bytes:
            return math.inf
        doublings = min(
            math.log2(max(1.0, pipe_bytes / _INITIAL_WINDOW_BYTES)),
            math.ceil(math.log2(1 + self.acked_bytes / _INITIAL_WINDOW_BYTES)),
        )
        rest_bytes = max(0.0, self.acked_bytes - _INITIAL_WINDOW_BYTES * (2**doublings - 1))
        last_bytes = rest_bytes + _INITIAL_WINDOW_BYTES * 2 ** (doublings - 1)
        return 8 * self.acked_bytes / ((doublings + 1) * self.rtt_s + 8 * last_bytes / self.path_bps)

    @property
    def limited_by(self) -> Limit:
        """Returns the limit of the connection, by the names of `longpipe run`, and "send buffer".

        It is that of the state in which the sender spent the largest part of the time. A window or a buffer limits only
        if a larger one would raise the rate; otherwise the path or its slow start does.
        """
        shares = self.shares
        largest = max(shares, key=lambda state: shares[state])
        if largest == "application":
            return largest
        if largest != "path" and self.possible_bps >= MIN_GAIN * self.rate_bps:
            return largest
        rounds = self.lasted_s / self.rtt_s if self.rtt_s else math.inf
        is_growing = not self.retransmitted and (largest != "path" or rounds < SLOW_START_ROUND_TRIPS)
        return "slow start" if is_growing and self.path_limit == "congestion" else self.path_limit

    @property
    def advice(self) -> str:
        """Returns a description of the limit, and the setting that changes it."""
        limit = self.limited_by
        if limit == "window":
            size = "" if self.peer_window_bytes is None else f" ({SIZE.format(self.peer_window_bytes)} at the end)"
            return f"{size}; raise the third value of net.ipv4.tcp_rmem, or SO_RCVBUF, at {self.peer}"
        if limit == "send buffer":
            size = SIZE.format(self.send_buffer_bytes)
            return f" ({size} at the end); raise the third value of net.ipv4.tcp_wmem, or SO_SNDBUF, at {self.host}"
        if limit == "application":
            return "; the program had nothing to send"
        return f"; {MEANINGS[limit]}, {self.retransmitted} segments retransmitted"

    def __str__(self) -> str:
        """Returns a line with both ends, the rate, the limit and advice."""
        rate = RATE.format(round(self.rate_bps / 1e4) * 10_000)
        limit, shares = self.limited_by, self.shares
        share = f" {shares[limit]:.0%} of" if limit in shares else " in"
        return (
            f"{self.host}:{self.port} -> {self.peer}:{self.peer_port}: {rate}, limited by {limit}{share} "
            f"{self.lasted_s:.1f} s{self.advice}"
        )


def lines(flows: Iterable[RealFlow]) -> Iterator[str]:
    """Yields a line for each of the connections that sent the most data."""
    shown = [flow for flow in flows if flow.acked_bytes >= MIN_BYTES]
    yield from map(str, shown[:MAX_SHOWN])
    if len(shown) > MAX_SHOWN:
        yield f"{len(shown) - MAX_SHOWN} more connections: --json FILE contains them"
