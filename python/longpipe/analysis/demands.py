"""Demand of each flow's application."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from longpipe.analysis.paths import OVER_TCP, whole
from longpipe.analysis.warm_up import begin_s
from longpipe.units import TIME

if TYPE_CHECKING:
    from longpipe.scenario import Scenario


def demands_bps(scenario: Scenario, columns: Mapping[str, Any]) -> list[float]:
    """Returns the data that the application of each flow had to send, over the measured part of the run [bit/s].

    It is infinite for a greedy flow, and leaves out a warm-up.

    `columns` are those of the run's `Result`, because the amount that a web server sends is random. The demand of
    datagrams, which do not respond to congestion, is nan.
    """
    seconds, web = TIME.parse(scenario.duration) / 1e12 - begin_s(columns), columns["web"]
    before = columns.get("warm_up", {})
    sent = dict(zip(before.get("flow", ()), before.get("delivered_before_bytes", ()), strict=True))
    served = dict(zip(web.get("flow", ()), web.get("scheduled_bytes", ()), strict=True))
    found = []
    for flow in whole(scenario.resolved):
        name = flow["name"]
        size = served.get(name, flow["traffic"].get("size_bytes", math.inf)) - sent.get(name, 0)
        found.append(8 * size / seconds if flow["traffic"]["kind"] in OVER_TCP else math.nan)
    return found
