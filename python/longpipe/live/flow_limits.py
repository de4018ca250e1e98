"""What limited the TCP connections of real programs, determined from their kernels' counters."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from longpipe.live.hosts import Plan
from longpipe.scenario.paths import sustained_bps
from longpipe.units import RATE, SIZE
from longpipe.verdicts.limits import MEANINGS
from longpipe.verdicts.limits.causes import Limit as LimitOfRun
from longpipe.verdicts.limits.ports import PortCounters
from longpipe.verdicts.limits.thresholds import BUSY, SLOW_START_ROUND_TRIPS

# Limits of `longpipe run`, and the send buffer of a real host.
Limit = LimitOfRun | Literal["send buffer"]
# States of a sender whose times the kernel counts; "path" is the time in which congestion control held data back.
State = Literal["application", "window", "send buffer", "path"]

# Factor by which a larger buffer or window must raise the rate of a connection in order to limit it.
RISES: Final = 1.05
# Size of the initial window of Linux [segments], in full segments of Ethernet [bytes].
_INITIAL_BYTES: Final = 10 * 1448
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
    def shares(self) -> dict[State, float]:
        """Returns the share of the connection's duration in each state of the sender."""
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
            "window": window_s / whole_s,
            "send buffer": buffer_s / whole_s,
            "application": max(0.0, 1 - self.busy_s / whole_s),
        }

    @property
    def rate_bps(self) -> float:
        """Returns the mean rate of acknowledged data [bit/s]."""
        return 8 * self.acked_bytes / max(self.lasted_s, self.busy_s, 1e-9)

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
        growing = min(
            math.log2(max(1.0, pipe_bytes / _INITIAL_BYTES)),
            math.ceil(math.log2(1 + self.acked_bytes / _INITIAL_BYTES)),
        )
        rest_bytes = max(0.0, self.acked_bytes - _INITIAL_BYTES * (2**growing - 1))
        last_bytes = rest_bytes + _INITIAL_BYTES * 2 ** (growing - 1)
        return 8 * self.acked_bytes / ((growing + 1) * self.rtt_s + 8 * last_bytes / self.path_bps)

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
        if largest != "path" and self.possible_bps >= RISES * self.rate_bps:
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
    flows_by_data = []
    for host, connections in hosts.items():
        for connection in connections:
            fields = {name: connection[name] for name in RealFlow.__dataclass_fields__ if name in connection}
            flow = RealFlow(**{**fields, "host": host, "peer": names.get(connection["peer"], connection["peer"])})
            if counts := counted.get((host, flow.port, flow.peer, flow.peer_port)):
                acked_bytes, lasted_s, retransmitted = counts
                lasted_s = max(flow.lasted_s, lasted_s)
                flow = replace(flow, acked_bytes=acked_bytes, lasted_s=lasted_s, retransmitted=retransmitted)
            flows_by_data.append(flow)
    return tuple(sorted(flows_by_data, key=lambda flow: -flow.acked_bytes))


def with_path(
    flows: Iterable[RealFlow], plan: Plan, ports: Mapping[str, Any], elapsed_s: float
) -> tuple[RealFlow, ...]:
    """Returns the connections with the rate and the limit of their paths, from the counters of a run's ports."""
    resolved = plan.scenario.resolved
    counted, names = PortCounters(resolved, ports, elapsed_s), [node["name"] for node in resolved["nodes"]]
    routes: dict[tuple[str, str], list[int]] = {}
    for flow in resolved["flows"]:
        for route in (flow["route"], flow["return_route"]):
            ends = resolved["links"][route[0]]["from"], resolved["links"][route[-1]]["to"]
            routes.setdefault((names[ends[0]], names[ends[1]]), route)
    limited = []
    for flow in flows:
        route = routes.get((flow.host, flow.peer), [])
        if route:
            slowest = min(route, key=lambda link: sustained_bps(resolved["links"][link]))
            limit = _of_ports(counted, route, slowest, is_reduced=flow.retransmitted > 0)
            flow = replace(flow, path_bps=sustained_bps(resolved["links"][slowest]), path_limit=limit)
        limited.append(flow)
    return tuple(limited)


def _of_ports(ports: PortCounters, route: list[int], slowest: int, *, is_reduced: bool) -> LimitOfRun:
    """Returns the limit that the ports of a route show: the slowest link if busy, or the cause of most losses."""
    if ports.used[slowest] >= BUSY:
        return "shaper" if ports.is_shaped(slowest) else "link"
    losses = ports.losses_by_limit(route, "buffer" if ports.all_sized_by_buffer(route) else "AQM")
    return max(losses, key=lambda limit: losses[limit]) if is_reduced and losses else "congestion"


def lines(flows: Iterable[RealFlow]) -> Iterator[str]:
    """Yields a line for each of the connections that sent the most data."""
    shown = [flow for flow in flows if flow.acked_bytes >= MIN_BYTES]
    yield from map(str, shown[:MAX_SHOWN])
    if len(shown) > MAX_SHOWN:
        yield f"{len(shown) - MAX_SHOWN} more connections: --json FILE contains them"
