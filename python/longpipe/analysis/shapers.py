"""Rate to which the shapers and policers at a link's port limit all of its packets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def shaped_bps(link: Mapping[str, Any], seconds: float, *, policers: bool) -> float:
    """Returns the largest mean rate [bit/s] of a resolved link's packets in a time, or inf without a limit.

    A token bucket is full at the start. With `policers`, policers that drop are limits, too; a policer that only marks,
    or that has a bucket for each flow, sets no limit for all packets.
    """
    found = math.inf
    if link["policy"]["kind"] == "cake" and link["policy"]["rate_bps"] is not None:
        found = float(link["policy"]["rate_bps"])
    for one in link.get("conditioners", ()):
        drops = policers and one["kind"] == "policer" and one["exceed"] == "drop" and not one["per_flow"]
        if one["kind"] == "tbf" or drops:
            found = min(found, one["rate_bps"] + 8 * one["burst_bytes"] / seconds)
            if one.get("peak_bps") is not None:
                found = min(found, one["peak_bps"] + 8 * one["mtu_bytes"] / seconds)
    return found
