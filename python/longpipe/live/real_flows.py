"""TCP connections of real programs, from the counters of their kernels, of the path and of its ports."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from longpipe.live.flow_limits import RealFlow
from longpipe.live.hosts import Plan
from longpipe.scenario.paths import sustained_bps
from longpipe.verdicts.limits.causes import Limit as LimitOfRun
from longpipe.verdicts.limits.ports import PortCounters
from longpipe.verdicts.limits.thresholds import BUSY


class PathCounts(NamedTuple):
    """A TCP connection as counted from the packets that entered the path.

    `lasted_s` is the time [s] from the establishment of the connection until the latest ACK of new data.
    """

    host: str
    port: int
    peer: str
    peer_port: int
    acked_bytes: int
    lasted_s: float
    retransmitted: int


def real_flows(
    hosts: Mapping[str, Iterable[Mapping[str, Any]]], names: Mapping[str, str], on_path: Iterable[PathCounts]
) -> tuple[RealFlow, ...]:
    """Returns the connections that hosts report, by descending amount of data; `names` maps addresses to hosts.

    The counts of `on_path` replace those of the kernel. The path counts at most 4096 connections.
    """
    counts_by_ends = {
        (
            names.get(counts.host, counts.host),
            counts.port,
            names.get(counts.peer, counts.peer),
            counts.peer_port,
        ): counts
        for counts in on_path
    }
    flows = []
    for host, connections in hosts.items():
        for connection in connections:
            fields = {name: connection[name] for name in RealFlow.__dataclass_fields__ if name in connection}
            flow = RealFlow(**{**fields, "host": host, "peer": names.get(connection["peer"], connection["peer"])})
            if counts := counts_by_ends.get((host, flow.port, flow.peer, flow.peer_port)):
                flow = replace(
                    flow,
                    acked_bytes=counts.acked_bytes,
                    lasted_s=max(flow.lasted_s, counts.lasted_s),
                    retransmitted=counts.retransmitted,
                )
            flows.append(flow)
    return tuple(sorted(flows, key=lambda flow: -flow.acked_bytes))


def with_path(
    flows: Iterable[RealFlow], plan: Plan, ports: Mapping[str, Any], elapsed_s: float
) -> tuple[RealFlow, ...]:
    """Returns the connections with the rate and the limit of their paths, from the counters of a run's ports."""
    resolved = plan.scenario.resolved
    port_counters, routes = PortCounters(resolved, ports, elapsed_s), _routes_by_hosts(resolved)
    flows_with_path = []
    for flow in flows:
        if route := routes.get((flow.host, flow.peer)):
            slowest = min(route, key=lambda link: sustained_bps(resolved["links"][link]))
            limit = _limit_of_route(port_counters, route, slowest, is_reduced=flow.retransmitted > 0)
            flow = replace(flow, path_bps=sustained_bps(resolved["links"][slowest]), path_limit=limit)
        flows_with_path.append(flow)
    return tuple(flows_with_path)


def _routes_by_hosts(resolved: Mapping[str, Any]) -> dict[tuple[str, str], list[int]]:
    """Returns the first route between two hosts as a list of link numbers, by the names of the hosts."""
    names, links = [node["name"] for node in resolved["nodes"]], resolved["links"]
    routes: dict[tuple[str, str], list[int]] = {}
    for flow in resolved["flows"]:
        for route in (flow["route"], flow["return_route"]):
            routes.setdefault((names[links[route[0]]["from"]], names[links[route[-1]]["to"]]), route)
    return routes


def _limit_of_route(ports: PortCounters, route: list[int], slowest: int, *, is_reduced: bool) -> LimitOfRun:
    """Returns the limit that the ports of a route show: the slowest link if busy, or the cause of most losses."""
    if ports.used[slowest] >= BUSY:
        return "shaper" if ports.is_shaped(slowest) else "link"
    losses = ports.losses_by_limit(route, "buffer" if ports.all_sized_by_buffer(route) else "AQM")
    return max(losses, key=lambda limit: losses[limit]) if is_reduced and losses else "congestion"
