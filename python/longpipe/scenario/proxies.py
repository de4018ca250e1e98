"""Buffers of split-TCP proxies as limits of the connections on both sides."""

from __future__ import annotations

from typing import NamedTuple

from longpipe.scenario.paths import Path, Resolved, paths


class ProxyBuffer(NamedTuple):
    """Buffer of a proxy for one flow, with the paths of the connections before and after it.

    The buffer holds all data that are in flight after the proxy, and its free space is the window of the connection
    before it. Together, the data in flight on both connections are therefore at most `size_bytes`.
    """

    at: str
    size_bytes: int
    before: Path
    after: Path

    @property
    def after_share(self) -> float:
        """Share of the buffer for the connection after the proxy, if both have the same rate."""
        return self.after.round_trip_s / (self.before.round_trip_s + self.after.round_trip_s)


def proxy_buffers(resolved: Resolved) -> dict[str, list[ProxyBuffer]]:
    """Returns the buffers of the proxies that each flow passes, by the flow's name."""
    flows = resolved["flows"]
    if not any("onward" in flow for flow in flows):
        return {}
    parts = paths(resolved, parts=True)
    by_flow: dict[str, list[ProxyBuffer]] = {}
    for part, flow in zip(parts, flows, strict=True):
        if "onward" not in flow:
            continue
        next_, size_bytes = flow["onward"]["flow"], flow["onward"]["buffer_bytes"]
        at = resolved["nodes"][resolved["links"][part.route[-1]]["from"]]["name"]
        last = next_
        while "onward" in flows[last]:
            last = flows[last]["onward"]["flow"]
        by_flow.setdefault(flows[last]["name"], []).append(ProxyBuffer(at, size_bytes, part, parts[next_]))
    return by_flow
