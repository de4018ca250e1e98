"""Buffers of proxies in use, and demands of applications that were served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from longpipe.scenario.proxies import proxy_buffers
from longpipe.verdicts.demands import written_bytes

if TYPE_CHECKING:
    from longpipe.scenario import Scenario
    from longpipe.scenario.paths import Path, Resolved
    from longpipe.verdicts.limits.ports import PortCounters

    Columns = Mapping[str, Mapping[str, Any]]

# Share of the written data that arrives: below it, the application was faster than the network. Also the share of time
# in which a player waits for chunks, above which the network is slower than the player.
SERVED: Final = 0.95


class Proxies:
    """Shares of the proxies' buffers that the data in flight of the connections on both sides take."""

    def __init__(self, resolved: Resolved, columns: Columns, ports: PortCounters) -> None:
        self._ports, self._buffers = ports, proxy_buffers(resolved)
        flows, relays = columns["flows"], columns.get("relays", {})
        self._sent_bytes: dict[str, int] = dict(zip(flows["flow"], flows["sent_bytes"], strict=True))
        self._sent_bytes |= zip(relays.get("connection", ()), relays.get("sent_bytes", ()), strict=True)

    def used(self, flow: str, active_s: float) -> tuple[str, float]:
        """Returns the proxy of the flow whose buffer is used most, and the mean share of its buffer in flight."""
        if flow not in self._buffers:
            return "", 0.0
        used = [
            (
                (self._in_flight(proxy.before, active_s) + self._in_flight(proxy.after, active_s)) / proxy.size_bytes,
                proxy.at,
            )
            for proxy in self._buffers[flow]
        ]
        share, at = max(used, default=(0.0, ""))
        return at, min(1.0, share)

    def _in_flight(self, part: Path, active_s: float) -> float:
        """Returns the mean payload in flight [bytes] of a connection."""
        round_trip_s = part.round_trip_s + self._ports.delay_s((*part.route, *part.return_route))
        return self._sent_bytes.get(part.flow, 0) / active_s * round_trip_s


class Demands:
    """Demands of the applications that write over time, compared with the data that arrived."""

    def __init__(self, scenario: Scenario, columns: Columns) -> None:
        flows = columns["flows"]
        self._delivered = dict(zip(flows["flow"], flows["delivered_bytes"], strict=True))
        # Written data is counted from the start of the run, but delivered data from the end of a warm-up.
        warm_up = columns.get("warm_up", {})
        for flow, bytes_ in zip(warm_up.get("flow", ()), warm_up.get("delivered_before_bytes", ()), strict=True):
            self._delivered[flow] = self._delivered.get(flow, 0) + bytes_
        self._written = written_bytes(columns)
        videos = columns.get("videos", {})
        self._downloading_s = dict(zip(videos.get("flow", ()), videos.get("downloading_s", ()), strict=True))
        self._streams = {
            flow["name"]: flow["traffic"]["rate_bps"]
            for flow in scenario.resolved["flows"]
            if flow["traffic"]["kind"] == "stream"
        }

    def is_served(self, path: Path, active_s: float, round_trip_s: float) -> bool:
        """Returns whether the application, not the network, limited a flow.

        A player requests a chunk only after it has received the one before, so what it requests is always delivered:
        the network limits the flow if it waited for a chunk nearly all the time.
        """
        if path.flow in self._downloading_s:
            return bool(self._downloading_s[path.flow] <= SERVED * active_s)
        written = self._written.get(path.flow)
        if not written:
            return written is not None
        # What an application has written within the last round trip cannot have been delivered yet.
        recent = self._streams.get(path.flow, 0) / 8 * round_trip_s
        return bool(self._delivered[path.flow] + recent >= SERVED * written)
