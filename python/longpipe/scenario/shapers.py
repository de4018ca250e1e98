"""Rate to which the shapers and policers at a link's port limit all of its packets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from longpipe.aal5 import CELL_BYTES, CELL_PAYLOAD_BYTES
from longpipe.scenario.base import kinds_that
from longpipe.scenario.conditioners import Conditioner

# Token buckets, in the order in which packets pass them.
_BUCKETS: Final = kinds_that(Conditioner, lambda model: model.has_bucket)
# Length [bytes] of a full-sized packet over Ethernet, for which rates of shapers are converted.
FULL_PACKET_BYTES: Final = 1500
# Bytes to which PTM adds one byte (64b/65b).
PTM_BYTES: Final = 64

if TYPE_CHECKING:
    Resolved = Mapping[str, Any]
    # Bytes that a bucket lets pass in addition to its rate, and to its peak rate; None without a limit.
    Credit = tuple[int | None, int | None]


def shaped_bps(
    link: Resolved,
    seconds: float,
    *,
    policers: bool,
    token_credits: Sequence[Credit] | None = None,
    packet_bytes: int | None = None,
) -> float:
    """Returns the largest mean rate [bit/s] of a resolved link's packets in a time, or inf without a limit.

    `token_credits` are those of the buckets when the time begins, as the core returns them; without them, every bucket
    is full. With `policers`, policers that drop are limits, too; a policer that only marks, or that has a bucket for
    each flow, sets no limit for all packets. If CAKE counts packets with overhead or framing, its limit depends on
    their length, so that it is included only for a given `packet_bytes`.
    """
    if not may_shape(link):
        return math.inf
    limit_bps = cake_bps(link)
    if packet_bytes is not None:
        counted = line_bytes(link, packet_bytes)
        limit_bps = limit_bps * packet_bytes / counted if counted else math.inf
    elif counts_otherwise(link):
        limit_bps = math.inf
    of_buckets = buckets(link)
    full = [(bucket["burst_bytes"], bucket.get("mtu_bytes")) for bucket in of_buckets]
    for one, (credit, peak_credit) in zip(of_buckets, full if token_credits is None else token_credits, strict=True):
        drops = policers and one["kind"] == "policer" and one["exceed"] == "drop" and not one["per_flow"]
        if one["kind"] == "tbf" or drops:
            limit_bps = min(limit_bps, one["rate_bps"] + 8 * (credit or 0) / seconds)
            if one.get("peak_bps") is not None:
                limit_bps = min(limit_bps, one["peak_bps"] + 8 * (peak_credit or 0) / seconds)
    return limit_bps


def may_shape(link: Resolved) -> bool:
    """Returns whether a resolved link may have a shaper or policers: it has conditioners, or CAKE."""
    return bool(link.get("conditioners")) or link["policy"]["kind"] == "cake"


def cake_bps(link: Resolved) -> float:
    """Returns the rate [bit/s] of CAKE's shaper at a resolved link, as it counts packets; inf without a shaper."""
    is_cake = link["policy"]["kind"] == "cake" and link["policy"]["rate_bps"] is not None
    return float(link["policy"]["rate_bps"]) if is_cake else math.inf


def counts_otherwise(link: Resolved) -> bool:
    """Returns whether the shaper of a link counts other lengths than those of IP packets: overhead or framing."""
    if math.isinf(cake_bps(link)):
        return False
    policy = link["policy"]
    return bool(policy["overhead"] != 0 or policy["framing"] != "none" or policy["mpu"] > 0)


def line_bytes(link: Resolved, packet_bytes: int) -> int:
    """Returns the length [bytes] of an IP packet as the shaper of a link counts it: CAKE adds overhead and framing."""
    policy = link["policy"]
    if policy["kind"] != "cake":
        return packet_bytes
    length = max(packet_bytes + int(policy["overhead"]), int(policy["mpu"]))
    if policy["framing"] == "atm":
        return math.ceil(length / CELL_PAYLOAD_BYTES) * CELL_BYTES
    return length + math.ceil(length / PTM_BYTES) if policy["framing"] == "ptm" else length


def buckets(link: Resolved) -> list[Resolved]:
    """Returns the conditioners of a resolved link that have token buckets, in the order in which packets pass them."""
    conditioners = link.get("conditioners", ())
    return [conditioner for kind in _BUCKETS for conditioner in conditioners if conditioner["kind"] == kind]


def longest_passing_bytes(bucket: Resolved) -> int:
    """Returns the length [bytes] of the longest IP packet that a policer or `tbf` passes, whatever the rate."""
    return int(min(bucket["burst_bytes"], bucket.get("mtu_bytes") or math.inf))


def port_limit_bps(ports: Mapping[str, Any], number: int, link: Resolved, seconds: float, *, policers: bool) -> float:
    """Returns `shaped_bps` of a run's port for the time that its counters cover, which is `seconds` long.

    Without a warm-up, the buckets are full at the start; with one, the run's columns take into account what they held.
    """
    column = ports.get("policed_bps" if policers else "shaped_bps")
    if column is None:
        return shaped_bps(link, seconds, policers=policers)
    return math.inf if column[number] is None or math.isnan(column[number]) else float(column[number])


def limits_after(
    links: Sequence[Resolved], seconds: float, token_credits: Sequence[Sequence[Credit]]
) -> dict[str, Any]:
    """Returns columns of the ports with `shaped_bps` for the last `seconds` of a run: of shapers, and with policers.

    `token_credits` are those of each link's buckets when this time begins. A value is None without a limit. There are
    no columns if no port has a bucket.
    """
    if not any(map(buckets, links)):
        return {}
    rows = list(zip(links, token_credits, strict=True))
    found = {
        name: [shaped_bps(link, seconds, policers=policers, token_credits=own) for link, own in rows]
        for name, policers in (("shaped_bps", False), ("policed_bps", True))
    }
    return {name: [None if math.isinf(value) else value for value in column] for name, column in found.items()}
