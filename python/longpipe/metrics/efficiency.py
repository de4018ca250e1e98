"""Efficiency of a dumbbell: the payload delivered over its trunk as a share of the maximum possible payload.

Each direction of the trunk in which a flow sends data has its efficiency, of the data delivered in this direction. The
maximum payload is computed in two steps, and no run can exceed it:

1. The trunk's capacity is the data that it can send from 0 to the end of the run: its rate times the duration, the
   integral of a time-varying rate, or the delivery opportunities of a schedule. If packets pass a token bucket at the
   trunk's port, a shaper or a policer that drops, the capacity is at most the bucket's size plus its rate times the
   duration; the rate of CAKE's shaper is a limit, too, of bytes as CAKE counts them, with its `overhead` and
   `framing`. The VBR cells that it sent are subtracted. Outages are not subtracted, because the link could have carried
   data without them.
2. That capacity is filled with packets of the flows that cross the trunk, starting with the packets that have the most
   payload per byte on the wire. Headers, TCP timestamps, padding to whole cells and a schedule's bytes per packet all
   count. If CAKE counts other lengths than the link, this is done for both, and the smaller payload is the maximum. TCP
   can send any number of full segments. Datagrams, and segments shorter than the MSS, count only up to the number that
   was sent.

Each byte delivered crossed the trunk during the run in one of these packets, so that efficiency is at most 1.

If there is a warm-up, all of this refers to the time after it, and instead of a bucket's size counts what was in the
bucket, or had passed it but not left the port, when the warm-up ended. Data that crossed the trunk during the warm-up
may be delivered after it: for example, data beyond the trunk, in a proxy, or behind a missing segment at the receiver.
Therefore the data delivered count only as far as the trunk sent packets after the warm-up: up to the maximum payload of
the bytes that it sent. The trunk cannot have sent more than its capacity, so efficiency is at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from longpipe.aal5 import CELL_BYTES, CELL_PAYLOAD_BYTES, OVERHEAD_BYTES, ip_packet_cells
from longpipe.ip import packet_bytes
from longpipe.metrics.warm_up import begin_s, capacity
from longpipe.scenario.datagrams import HEADERS, longest_bytes
from longpipe.scenario.paths import port_name, trunk
from longpipe.scenario.shapers import (
    FULL_PACKET_BYTES,
    PTM_BYTES,
    cake_bps,
    counts_otherwise,
    line_bytes,
    port_limit_bps,
    shaped_bps,
)
from longpipe.scenario.source import OVER_TCP, SOURCES

Resolved = Mapping[str, Any]
Columns = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Offer:
    """Packets of one kind that could fill the trunk.

    `share` is the payload divided by the length on the wire; `most_bytes` is the available payload.
    """

    share: float
    most_bytes: float


def attainable_bytes(capacity_bytes: float, offers: Iterable[Offer]) -> float:
    """Returns the maximum payload in a number of bytes on the wire.

    If all offers are used up, it continues with the best packets. Packets that a shaper counts as 0 bytes have no
    maximum.
    """
    ranked = sorted(offers, key=lambda offer: offer.share, reverse=True)
    if ranked and math.isinf(ranked[0].share):
        return math.inf
    payload = 0.0
    for offer in ranked:
        flow_bytes = min(offer.most_bytes, offer.share * capacity_bytes)
        payload += flow_bytes
        capacity_bytes = max(0.0, capacity_bytes - flow_bytes / offer.share)
    return payload + capacity_bytes * ranked[0].share if ranked else 0.0


@dataclass(frozen=True)
class Trunk:
    """Capacity of a dumbbell's trunk minus the VBR cells sent, and the part of it in use, after the warm-up.

    `counted_bps` is the capacity of a shaper that counts other lengths than the link, inf without one, and
    `full_packets_bps` the rate of full-sized packets that both limits allow.
    """

    left_bps: float
    used_bps: float
    counted_bps: float
    full_packets_bps: float


def trunk_after_vbr(resolved: Resolved, duration_ps: int, columns: Columns, *, back: bool) -> Trunk:
    """Returns the rate of a resolved dumbbell's trunk minus VBR traffic, and the part of it that other traffic used.

    `back` selects the trunk's direction: from switch2 to switch1.
    """
    begin_ps = round(1e12 * begin_s(columns))
    number = trunk(resolved, back=back)
    link = resolved["links"][number]
    rate_bps = float(link["rate_bps"])
    if "service" in link.get("motion", {}):
        rate_bps = (capacity(link, duration_ps) - capacity(link, begin_ps)) / (duration_ps - begin_ps)
    classes, name = columns["classes"], port_name(resolved, number)
    rows = zip(classes.get("port", ()), classes.get("class", ()), classes.get("cells_out", ()), strict=True)
    vbr_cells = sum(int(cells) for port, kind, cells in rows if (port, kind) == (name, "vbr"))
    vbr_bps = 8 * CELL_BYTES * vbr_cells * 1e12 / (duration_ps - begin_ps)
    ports = columns["ports"]
    utilization = ports["utilization"][list(ports["port"]).index(name)]
    # The first VBR cell may have begun transmission during the warm-up.
    used_bps = max(0.0, utilization * rate_bps - vbr_bps)
    limit_bps = port_limit_bps(ports, number, link, (duration_ps - begin_ps) / 1e12, policers=True)
    # Shapers count whole nanoseconds and omit a schedule's additional bytes, so slightly more may have been sent.
    left_bps = max(min(max(0.0, rate_bps - vbr_bps), limit_bps), used_bps)
    if not counts_otherwise(link):
        return Trunk(left_bps, used_bps, math.inf, left_bps)
    sent_bps = 8e12 * ports["shaper_bytes"][number] / (duration_ps - begin_ps) if "shaper_bytes" in ports else 0.0
    of_full_packets_bps = shaped_bps(link, math.inf, policers=False, packet_bytes=FULL_PACKET_BYTES)
    return Trunk(left_bps, used_bps, max(cake_bps(link), sent_bps), min(left_bps, of_full_packets_bps))


def offers(resolved: Resolved, columns: Columns, *, back: bool, counted: bool = False) -> Iterator[Offer]:
    """Yields the packets with which flows can fill a dumbbell's trunk, or, if `counted`, its shaper as that counts.

    For a split flow, these are the packets of the part that crosses the trunk in this direction.
    """
    links, nodes = resolved["links"], resolved["nodes"]
    link = links[trunk(resolved, back=back)]
    across = {
        k for k, other in enumerate(links) if other["from"] == link["from"] and nodes[other["to"]]["kind"] == "switch"
    }
    wire = _Wire.of_shaper(link) if counted else _Wire.of(resolved, link)
    sent = _sent(columns)
    for flow in (other for other in resolved["flows"] if not across.isdisjoint(other["route"])):
        segments, sent_bytes, counted_bytes = sent[flow["name"]]
        tcp, traffic = flow["tcp"], flow["traffic"]
        full = wire.share_of(flow)
        if traffic["kind"] in OVER_TCP:
            mss, headers = tcp["mss_bytes"], packet_bytes(0, tcp["timer"].get("timestamps", False))
            short_bytes = short_of(traffic, mss, segments, sent_bytes) if counted_bytes is None else counted_bytes
            yield Offer(full, math.inf)
            # Short segments matter only with cells, where a shorter segment may fill its last cell better.
            if short_bytes > 0 and (short := wire.best_share(mss, headers)) > full:
                yield Offer(short, short_bytes)
        # A file may be empty.
        elif full > 0:
            yield Offer(full, sent_bytes)


def payload_share(resolved: Resolved, link: Resolved, flow: Resolved) -> float:
    """Returns the largest share of payload in the packets of a flow on a link: in full segments or in datagrams."""
    return _Wire.of(resolved, link).share_of(flow)


@dataclass(frozen=True)
class _Wire:
    """Lengths of packets on a link, or as its shaper counts them.

    A packet and `overhead_bytes` fill cells of `cell_bytes`, and the last one is padded or, with PTM, costs a whole
    byte; 0 without cells.
    """

    length_of: Callable[[int], int]
    overhead_bytes: int = 0
    cell_bytes: int = 0

    @classmethod
    def of(cls, resolved: Resolved, link: Resolved) -> _Wire:
        """Returns the encapsulation on a link of a resolved scenario."""
        if resolved["framing"] != "ip":
            return cls(lambda packet: CELL_BYTES * ip_packet_cells(packet), OVERHEAD_BYTES, CELL_PAYLOAD_BYTES)
        # A schedule's additional bytes per packet.
        header_bytes = link.get("motion", {}).get("service", {}).get("header_bytes", 0)
        return cls(lambda packet: packet + header_bytes)

    @classmethod
    def of_shaper(cls, link: Resolved) -> _Wire:
        """Returns the encapsulation that CAKE's shaper counts."""
        policy = link["policy"]
        cells = {"atm": CELL_PAYLOAD_BYTES, "ptm": PTM_BYTES}
        return cls(partial(line_bytes, link), policy["overhead"], cells.get(policy["framing"], 0))

    def share_of(self, flow: Resolved) -> float:
        """Returns the largest share of payload in a flow's full segments or datagrams; 0 if an empty file is sent."""
        tcp, traffic = flow["tcp"], flow["traffic"]
        if traffic["kind"] in OVER_TCP:
            return self.share(tcp["mss_bytes"], packet_bytes(0, tcp["timer"].get("timestamps", False)))
        payload = longest_bytes(traffic) - HEADERS
        share_at = self.best_share if SOURCES[traffic["kind"]]["varies_length"] else self.share
        return share_at(payload, HEADERS) if payload > 0 else 0.0

    def share(self, payload: int, headers: int) -> float:
        """Returns a packet's payload divided by its length on the wire, or inf if a shaper counts it as 0 bytes."""
        length = self.length_of(payload + headers)
        return payload / length if length else math.inf

    def best_share(self, payload: int, headers: int) -> float:
        """Returns the maximum share of payload for packets with at most `payload` bytes of it.

        With cells, the share is largest for a packet that fills its last cell.
        """
        shares = [self.share(payload, headers)]
        if self.cell_bytes:
            around = headers + self.overhead_bytes
            filling = (payload + around) // self.cell_bytes * self.cell_bytes - around
            if filling > 0:
                shares.append(self.share(filling, headers))
        return max(shares)


def short_of(traffic: Resolved, mss: int, segments: float, sent_bytes: float) -> float:
    """Returns the payload [bytes] of segments shorter than the MSS, for runs stored before it was counted.

    In a file, only the last segment is short; it counts once per transmission. For other traffic, all data may have
    been in short segments; `store.engines` repeats such runs.
    """
    missing = mss * segments - sent_bytes
    last = traffic["size_bytes"] % mss if traffic["kind"] == "transfer" else 0
    if missing == 0:
        return 0.0
    return missing // (mss - last) * last if last and missing % (mss - last) == 0 else sent_bytes


def _sent(columns: Columns) -> dict[str, tuple[float, float, float | None]]:
    """Returns, for each flow or part of a split flow, its segments, their payload, and that of short ones if known."""
    sent_by_flow: dict[str, tuple[float, float, float | None]] = {}
    for part, name in (("flows", "flow"), ("relays", "connection")):
        rows = columns.get(part, {})
        segments, sent = ([*map(float, rows.get(column, ()))] for column in ("sent_segments", "sent_bytes"))
        short = [*map(float, rows["short_bytes"])] if "short_bytes" in rows else [None] * len(sent)
        sent_by_flow |= zip(rows.get(name, ()), zip(segments, sent, short, strict=True), strict=True)
    return sent_by_flow
