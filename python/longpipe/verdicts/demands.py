"""Demand of each flow's application."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from longpipe.metrics.warm_up import begin_s
from longpipe.scenario.paths import whole
from longpipe.scenario.source import OVER_TCP
from longpipe.units import TIME

if TYPE_CHECKING:
    from longpipe.scenario import Scenario


def demands_bps(scenario: Scenario, columns: Mapping[str, Any]) -> list[float]:
    """Returns the mean rate [bit/s] at which each flow's application had data to send, in the measured part of the run.

    It is infinite for a greedy flow, and nan for datagrams, which do not respond to congestion. `columns` are those of
    the run's `Result`; they are needed because the amount that a web server sends is random.
    """
    seconds, written = TIME.parse(scenario.duration) / 1e12 - begin_s(columns), written_bytes(columns)
    warm_up = columns.get("warm_up", {})
    delivered_before = dict(zip(warm_up.get("flow", ()), warm_up.get("delivered_before_bytes", ()), strict=True))
    rates_bps = []
    for flow in whole(scenario.resolved):
        name = flow["name"]
        size = written.get(name, flow["traffic"].get("size_bytes", math.inf)) - delivered_before.get(name, 0)
        rates_bps.append(8 * size / seconds if flow["traffic"]["kind"] in OVER_TCP else math.nan)
    return rates_bps


def written_bytes(columns: Mapping[str, Any]) -> dict[str, float]:
    """Returns, for each flow, the data [bytes] that servers, applications with a rate and arriving flows wrote."""
    arrived, warm_up = columns.get("arrived", {}), columns.get("warm_up", {})
    arrived_before = dict(zip(warm_up.get("flow", ()), warm_up.get("arrived_before_bytes", ()), strict=False))
    written: dict[str, float] = {}
    for part, counter in (("web", "scheduled_bytes"), ("videos", "scheduled_bytes"), ("streams", "written_bytes")):
        counted = columns.get(part, {})
        written |= zip(counted.get("flow", ()), counted.get(counter, ()), strict=True)
    for name, arrived_after in zip(arrived.get("flow", ()), arrived.get("arrived_bytes", ()), strict=True):
        written[name] = arrived_after + arrived_before.get(name, 0)
    return written
