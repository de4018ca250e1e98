"""Capacity and delay of each flow's path, computed before the run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from longpipe.aal5 import CELL_BYTES, packet_cells
from longpipe.ip import packet_bytes
from longpipe.scenario.jitter import delay_with_jitter_ps
from longpipe.scenario.shapers import FULL_PACKET_BYTES, may_shape, shaped_bps
from longpipe.scenario.source import OVER_TCP

Resolved = Mapping[str, Any]

# Memory per packet in flight or in a queue [bytes], from docs/performance.md, rounded up.
_PACKET_BYTES: Final = 100


def part_kind(part: str | Mapping[str, Any]) -> str:
    """Returns the kind of a part of a resolved scenario, which is written as its name or as a table."""
    return part if isinstance(part, str) else str(part["kind"])


class Path(NamedTuple):
    """A flow's path to its receiver and back, without queues: its delays with and without transmission times.

    The delays include the mean delay of jitter. `bottleneck` is the link with the smallest equal share per flow of its
    rate or its shaper's; a link at a switch's port is preferred. `window_bytes` is the receiver window on the wire,
    with headers (and the overhead of cells). `endless` is true for a greedy application.
    """

    flow: str
    route: tuple[int, ...]
    return_route: tuple[int, ...]
    bottleneck: int
    delay_ps: int
    round_trip_s: float
    mss_bytes: int
    packet_bytes: int
    ack_bytes: int
    window_bytes: float
    endless: bool
    datagrams: bool


def whole(resolved: Resolved) -> list[Mapping[str, Any]]:
    """Returns the flows of a resolved scenario; a split flow is represented by its last part."""
    return [flow for flow in resolved["flows"] if "onward" not in flow]


def route_of_all_parts(resolved: Resolved, number: int) -> list[int]:
    """Returns the links from a flow's sender to its receiver; of a split flow, `number` is that of the last part."""
    flows = resolved["flows"]
    route: list[int] = []
    part: int | None = number
    while part is not None:
        route = [*flows[part]["route"], *route]
        sources = (k for k, flow in enumerate(flows) if flow.get("onward", {}).get("flow") == part)
        part = next(sources, None) if "relayed" in flows[part] else None
    return route


def paths(resolved: Resolved, *, parts: bool = False) -> list[Path]:
    """Returns the path of each flow of a resolved scenario.

    For a split flow, this is the path of the last part, or of every part if `parts`.
    """
    links = resolved["links"]
    rates, delays = [link["rate_bps"] for link in links], [delay_with_jitter_ps(link) for link in links]
    ranks = ranked(resolved, [sustained_bps(link) for link in links])
    # Computed once per TCP, which flows share: MSS, lengths of a full segment and of an ACK, and window on the wire.
    segments: dict[int, tuple[int, int, int, float]] = {}
    found = []
    for flow in resolved["flows"] if parts else whole(resolved):
        tcp, route, back, kind = flow["tcp"], flow["route"], flow["return_route"], flow["traffic"]["kind"]
        if (segment := segments.get(id(tcp))) is None:
            segments[id(tcp)] = segment = _segment(resolved, tcp)
        mss, data, ack, window = segment
        delay_ps = sum([delays[k] for k in route]) + sum([delays[k] for k in back])
        sending_s = sum([8 * data / rates[k] for k in route]) + sum([8 * ack / rates[k] for k in back])
        found.append(
            Path(
                flow=flow["name"],
                route=tuple(route),
                return_route=tuple(back),
                bottleneck=min(route, key=ranks.__getitem__),
                delay_ps=delay_ps,
                round_trip_s=delay_ps / 1e12 + sending_s,
                mss_bytes=mss,
                packet_bytes=data,
                ack_bytes=ack,
                window_bytes=window,
                endless=kind == "greedy",
                datagrams=kind not in OVER_TCP,
            )
        )
    return found


def sustained_bps(link: Resolved) -> float:
    """Returns the rate of a resolved link [bit/s], or of its shaper for full-sized packets if that is less."""
    if not may_shape(link):
        return float(link["rate_bps"])
    limit_bps = shaped_bps(link, math.inf, policers=False, packet_bytes=FULL_PACKET_BYTES)
    return min(float(link["rate_bps"]), limit_bps)


def ranked(resolved: Resolved, rates_bps: Sequence[float]) -> dict[int, tuple[float, bool]]:
    """Returns, for each link that carries data, its rate per flow and whether it starts at a host.

    The bottleneck of a route is the link with the smallest of these values.
    """
    links, nodes = resolved["links"], resolved["nodes"]
    users = Counter([link for flow in resolved["flows"] for link in flow["route"]])
    hosts = [node["kind"] != "switch" for node in nodes]
    return {k: (rates_bps[k] / count, hosts[links[k]["from"]]) for k, count in users.items()}


def _segment(resolved: Resolved, tcp: Mapping[str, Any]) -> tuple[int, int, int, float]:
    """Returns a connection's MSS, and the lengths of a full segment, an ACK and a window on the wire [bytes]."""
    timestamps, mss = tcp["timer"].get("timestamps", False), tcp["mss_bytes"]
    data, ack = (wire_bytes(resolved, payload, timestamps) for payload in (mss, 0))
    return mss, data, ack, tcp["receiver_window_bytes"] / mss * data


def wire_bytes(resolved: Resolved, payload_bytes: int, timestamps: bool) -> int:
    """Returns the length [bytes] of a segment on the wire, as an IP packet or as cells."""
    if resolved["framing"] == "ip":
        return packet_bytes(payload_bytes, timestamps)
    return packet_cells(payload_bytes, timestamps) * CELL_BYTES


def max_memory_bytes(resolved: Resolved) -> float:
    """Returns the memory [bytes] of a run with all windows full of segments.

    More is needed for retransmissions and traces, and in runs with an event per cell.
    """
    windows = (
        min(flow["tcp"]["receiver_window_bytes"], flow["traffic"].get("size_bytes", math.inf))
        / flow["tcp"]["mss_bytes"]
        for flow in resolved["flows"]
    )
    return float(_PACKET_BYTES * sum(windows))


def trunk(resolved: Resolved, *, back: bool = False) -> int:
    """Returns the number of a resolved dumbbell's trunk: the directed link from switch1 to another switch.

    With `back`, it is the trunk from switch2. If satellites are routers, it is the transmitter of the station at the
    switch.
    """
    first = "switch2" if back else "switch1"
    nodes = resolved["nodes"]
    ends = ((nodes[link["from"]], nodes[link["to"]]) for link in resolved["links"])
    return next(k for k, (a, b) in enumerate(ends) if a["name"] == first and b["kind"] == "switch")


def port_name(resolved: Resolved, link: int) -> str:
    """Returns the name of a directed link, "a->b"."""
    nodes, ends = resolved["nodes"], resolved["links"][link]
    return f"{nodes[ends['from']]['name']}->{nodes[ends['to']]['name']}"
