"""What the path of each flow can hold, and whether its windows fill that; all of it known before the run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from longpipe.aal5 import CELL_BYTES, packet_cells
from longpipe.ip import packet_bytes
from longpipe.scenario.buffers import bytes_of
from longpipe.units import SIZE

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

Resolved = Mapping[str, Any]

# What a packet takes that is in flight or in a queue [bytes]: docs/performance.md, rounded up.
_PACKET_BYTES: Final = 100


@dataclass(frozen=True)
class Path:
    """A flow's way to its receiver and back, without queues: propagation, and with a segment's and an ACK's sending.

    `bottleneck` numbers the link that leaves it least when all its flows share alike, a switch's port if there is one.
    `window_bytes` is the receiver's window with headers (and cells' tax) on the wire; `endless` says that the
    application always has data.
    """

    flow: str
    route: tuple[int, ...]
    return_route: tuple[int, ...]
    bottleneck: int
    propagation_ps: int
    round_trip_s: float
    mss_bytes: int
    packet_bytes: int
    window_bytes: float
    endless: bool
    datagrams: bool


# Kinds of traffic; all others are datagrams.
OVER_TCP: Final = ("greedy", "transfer", "web")


def whole(resolved: Resolved) -> list[Mapping[str, Any]]:
    """The flows of a resolved scenario; of one that is split, its last part."""
    return [flow for flow in resolved["flows"] if "onward" not in flow]


def paths(resolved: Resolved, *, parts: bool = False) -> list[Path]:
    """The path of each flow of a resolved scenario, of one that is split its last part's; with `parts` of all parts."""
    links, nodes = resolved["links"], resolved["nodes"]
    users = Counter(link for flow in resolved["flows"] for link in flow["route"])

    def key(link: int) -> tuple[float, bool]:
        return links[link]["rate_bps"] / users[link], nodes[links[link]["from"]]["kind"] != "switch"

    found = []
    for flow in resolved["flows"] if parts else whole(resolved):
        tcp, route, back = flow["tcp"], flow["route"], flow["return_route"]
        timestamps = tcp["timer"].get("timestamps", False)
        data, ack = (wire_bytes(resolved, payload, timestamps) for payload in (tcp["mss_bytes"], 0))
        propagation_ps = sum(links[link]["delay_ps"] for link in (*route, *back))
        sending_s = sum(8 * data / links[link]["rate_bps"] for link in route)
        sending_s += sum(8 * ack / links[link]["rate_bps"] for link in back)
        found.append(
            Path(
                flow=flow["name"],
                route=tuple(route),
                return_route=tuple(back),
                bottleneck=min(route, key=key),
                propagation_ps=propagation_ps,
                round_trip_s=propagation_ps / 1e12 + sending_s,
                mss_bytes=tcp["mss_bytes"],
                packet_bytes=data,
                window_bytes=tcp["receiver_window_bytes"] / tcp["mss_bytes"] * data,
                endless=flow["traffic"]["kind"] == "greedy",
                datagrams=flow["traffic"]["kind"] not in OVER_TCP,
            )
        )
    return found


def wire_bytes(resolved: Resolved, payload_bytes: int, timestamps: bool) -> int:
    """Length of a segment on the wire [bytes], as an IP packet or as cells; with the timestamps of RFC 7323, or not."""
    if resolved["framing"] == "ip":
        return packet_bytes(payload_bytes, timestamps)
    return packet_cells(payload_bytes, timestamps) * CELL_BYTES


def most_held_bytes(resolved: Resolved) -> float:
    """What a run takes if all windows are full of segments at once [bytes].

    What is sent again or recorded comes on top, and more where each cell has an event of its own.
    """
    windows = (
        min(flow["tcp"]["receiver_window_bytes"], flow["traffic"].get("size_bytes", math.inf))
        / flow["tcp"]["mss_bytes"]
        for flow in resolved["flows"]
    )
    return float(_PACKET_BYTES * sum(windows))


def trunk(resolved: Resolved) -> int:
    """Number of a resolved dumbbell's trunk: the directed link from switch1 to another switch.

    Over a constellation whose satellites are routers it is the transmitter of the station at switch1.
    """
    nodes = resolved["nodes"]
    ends = ((nodes[link["from"]], nodes[link["to"]]) for link in resolved["links"])
    return next(k for k, (a, b) in enumerate(ends) if a["name"] == "switch1" and b["kind"] == "switch")


def port_name(resolved: Resolved, link: int) -> str:
    """A directed link by its nodes: "a->b"."""
    nodes, ends = resolved["nodes"], resolved["links"][link]
    return f"{nodes[ends['from']]['name']}->{nodes[ends['to']]['name']}"


def window_warnings(scenario: Scenario) -> list[str]:
    """A line for each port that its flows' windows can't fill, or whose buffer they can't."""
    resolved = scenario.resolved
    known = paths(resolved)
    through: dict[int, list[Path]] = {path.bottleneck: [] for path in known}
    for path in known:
        for port in set(path.route) & through.keys():
            through[port].append(path)
    return [line for port, own in through.items() for line in _warning(resolved, port, own)]


def _warning(resolved: Resolved, port: int, through: Sequence[Path]) -> Iterator[str]:
    """What is wrong with the windows of a port's endless flows; nothing where they are held up elsewhere too."""
    own = [path for path in through if path.endless]
    if not own or any(path.bottleneck != port for path in own):
        return
    alone = len(own) == len(through)
    link = resolved["links"][port]
    rate_bps, shortest_s = link["rate_bps"], min(path.round_trip_s for path in own)
    held = sum(path.window_bytes for path in own)
    pipe = rate_bps * shortest_s / 8
    # A buffer without limit is nothing that windows could fill.
    buffer = bytes_of(link["buffer"], own[0].packet_bytes) if link["buffer"] else 0
    who = f"the receiver's window of {own[0].flow}" if len(own) == 1 else f"the receivers' windows of {len(own)} flows"
    where = f"{port_name(resolved, port)}: {who}"
    filled = sum(8 * path.window_bytes / path.round_trip_s for path in own) / rate_bps
    needed = _rounded_up(own[0], (pipe + buffer) / len(own))
    remedy = f"needs tcp.receiver_window of {needed} or more, or 'auto'"
    if filled < 1:
        yield f"{where} can fill {filled:.1%} of it, whatever its buffer; {remedy}"
    elif alone and 0 < held - pipe < buffer:
        yield f"{where} can fill {(held - pipe) / buffer:.1%} of its buffer, a larger one changes nothing; {remedy}"


def _rounded_up(path: Path, wire: float) -> str:
    """The window of a flow that has so many bytes on the wire, to a tenth of its unit."""
    window = wire / path.packet_bytes * path.mss_bytes
    unit, scale = next(((unit, scale) for unit, scale in (("MB", 10**6), ("KB", 10**3)) if window >= scale), ("B", 1))
    return SIZE.canonical(f"{math.ceil(10 * window / scale) / 10:g} {unit}")
