"""Warnings about receiver windows and buffers of proxies that cannot fill a path, computed before the run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from longpipe.scenario.buffers import bytes_of
from longpipe.scenario.connections import LARGEST_WINDOW_BYTES
from longpipe.scenario.paths import Path, Resolved, paths, port_name, sustained_bps
from longpipe.scenario.proxies import ProxyBuffer, proxy_buffers
from longpipe.units import SIZE

if TYPE_CHECKING:
    from longpipe.scenario import Scenario


def window_warnings(scenario: Scenario) -> list[str]:
    """Returns a line for each port whose link or buffer cannot be filled by the windows of its flows.

    The window of a flow that a proxy splits is also limited by the buffer of its last proxy.
    """
    resolved = scenario.resolved
    buffers = proxy_buffers(resolved)
    # Proxies whose buffers are smaller than the receiver windows, by flow.
    proxies: dict[str, ProxyBuffer] = {}
    # Paths whose window is that of the receiver, or the part of a smaller proxy's buffer that follows the proxy.
    limited_paths = []
    for path in paths(resolved):
        own_buffers = buffers.get(path.flow, ())
        if any(buffer.after.flow == path.flow and _is_fed_slowly(resolved, buffer) for buffer in own_buffers):
            continue
        for proxy_buffer in own_buffers:
            buffer_bytes = proxy_buffer.size_bytes * proxy_buffer.after_share / path.mss_bytes * path.packet_bytes
            if proxy_buffer.after.flow == path.flow and buffer_bytes < path.window_bytes:
                proxies[path.flow] = proxy_buffer
                path = path._replace(window_bytes=buffer_bytes)
        limited_paths.append(path)
    # All paths through each port that is the bottleneck of a path.
    paths_by_port: dict[int, list[Path]] = {path.bottleneck: [] for path in limited_paths}
    for path in limited_paths:
        for port in set(path.route) & paths_by_port.keys():
            paths_by_port[port].append(path)
    return [line for port, through in paths_by_port.items() for line in _warning(resolved, port, through, proxies)]


def _is_fed_slowly(resolved: Resolved, buffer: ProxyBuffer) -> bool:
    """Returns whether the connection before a proxy is slower than that after it, so that the latter is never full."""
    before_bps, after_bps = (
        sustained_bps(resolved["links"][path.bottleneck]) for path in (buffer.before, buffer.after)
    )
    return before_bps < after_bps


def _warning(
    resolved: Resolved, port: int, through: Sequence[Path], proxies: Mapping[str, ProxyBuffer]
) -> Iterator[str]:
    """Yields a warning about the windows of a port's greedy flows, unless they have another bottleneck."""
    greedy = [path for path in through if path.endless]
    if not greedy or any(path.bottleneck != port for path in greedy):
        return
    only_greedy = len(greedy) == len(through)
    link = resolved["links"][port]
    rate_bps, shortest_s = sustained_bps(link), min(path.round_trip_s for path in greedy)
    windows_bytes = sum(path.window_bytes for path in greedy)
    bdp_bytes = rate_bps * shortest_s / 8
    # Windows cannot fill an unlimited buffer.
    buffer_bytes = bytes_of(link["buffer"], greedy[0].packet_bytes) if link["buffer"] else 0
    # The first proxy, whose buffer is to be larger, if proxies' buffers limit all flows.
    limiting = [proxies[path.flow] for path in greedy if path.flow in proxies]
    proxy = limiting[0] if len(limiting) == len(greedy) else None
    subject = f"{port_name(resolved, port)}: {_limiting(greedy, proxy)}"
    # Share of the rate that one window per round trip uses.
    filled = sum(8 * path.window_bytes / path.round_trip_s for path in greedy) / rate_bps
    queued_bytes = windows_bytes - bdp_bytes
    if filled < 1:
        remedy = _remedy(greedy, proxy, bdp_bytes, buffer_bytes)
        yield f"{subject} can fill {filled:.1%} of it, whatever its buffer; {remedy}"
    elif only_greedy and 0 < queued_bytes < buffer_bytes:
        remedy = _remedy(greedy, proxy, bdp_bytes + buffer_bytes, 0)
        share = queued_bytes / buffer_bytes
        yield f"{subject} can fill {share:.1%} of its buffer, so a larger one has no effect; {remedy}"


def _limiting(greedy: Sequence[Path], proxy: ProxyBuffer | None) -> str:
    """Returns the name of the windows, or of the buffers of proxies, that limit flows."""
    if proxy is not None:
        whose = greedy[0].flow if len(greedy) == 1 else f"each of {len(greedy)} flows"
        return f"the buffer of the proxy at {proxy.at} for {whose}"
    return (
        f"the receiver's window of {greedy[0].flow}"
        if len(greedy) == 1
        else f"the receivers' windows of {len(greedy)} flows"
    )


def _remedy(greedy: Sequence[Path], proxy: ProxyBuffer | None, bdp_bytes: float, buffer_bytes: float) -> str:
    """Returns the larger windows, or the number of flows, that fill a port's BDP and, if possible, its buffer.

    With a proxy, returns the size of its buffer, which also contains the data in flight before the proxy.
    """
    if proxy is not None:
        needed = _rounded_up(greedy[0], (bdp_bytes + buffer_bytes) / len(greedy) / proxy.after_share)
        return f"needs a pep.buffer of {needed} or more at {proxy.at}"
    largest = LARGEST_WINDOW_BYTES / greedy[0].mss_bytes * greedy[0].packet_bytes
    if bdp_bytes + buffer_bytes <= len(greedy) * largest:
        window = _rounded_up(greedy[0], (bdp_bytes + buffer_bytes) / len(greedy))
        return f"needs tcp.receiver_window of {window} or more, or 'auto'"
    flows = math.ceil(bdp_bytes / largest)
    if flows <= len(greedy):
        return f"needs tcp.receiver_window of {_rounded_up(greedy[0], bdp_bytes / len(greedy))} or more"
    limit = SIZE.format(LARGEST_WINDOW_BYTES)
    return f"no window is larger than {limit} (RFC 7323); needs {flows} flows with such windows"


def _rounded_up(path: Path, wire_bytes: float) -> str:
    """Returns, as text, the window for a number of bytes on the wire, rounded up to a tenth of its unit."""
    window = wire_bytes / path.packet_bytes * path.mss_bytes
    unit, scale = next(((unit, scale) for unit, scale in (("MB", 10**6), ("KB", 10**3)) if window >= scale), ("B", 1))
    return SIZE.canonical(f"{math.ceil(10 * window / scale) / 10:g} {unit}")
