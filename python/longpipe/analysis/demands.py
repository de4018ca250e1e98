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
    """Returns the mean rate [bit/s] at which each flow's application had data to send, in the measured part of the run.

    It is infinite for a greedy flow.

    `columns` are those of the run's `Result`; they are needed because the amount that a web server sends is random. The
    demand of datagrams, which do not respond to congestion, is nan.
    """
    seconds, written = TIME.parse(scenario.duration) / 1e12 - begin_s(columns), written_bytes(scenario, columns)
    before = columns.get("warm_up", {})
    sent = dict(zip(before.get("flow", ()), before.get("delivered_before_bytes", ()), strict=True))
    found = []
    for flow in whole(scenario.resolved):
        name = flow["name"]
        size = written.get(name, flow["traffic"].get("size_bytes", math.inf)) - sent.get(name, 0)
        found.append(8 * size / seconds if flow["traffic"]["kind"] in OVER_TCP else math.nan)
    return found


def written_bytes(scenario: Scenario, columns: Mapping[str, Any]) -> dict[str, float]:
    """Returns, for each flow, the data [bytes] that servers, applications with a rate and arriving flows wrote.

    For random bursts, the mean fraction of time in bursts is used.
    """
    resolved, web, flows = scenario.resolved, columns["web"], columns["flows"]
    written: dict[str, float] = dict(zip(web.get("flow", ()), web.get("scheduled_bytes", ()), strict=True))
    arrived, before = columns.get("arrived", {}), columns.get("warm_up", {})
    early = dict(zip(before.get("flow", ()), before.get("arrived_before_bytes", ()), strict=False))
    for name, late in zip(arrived.get("flow", ()), arrived.get("arrived_bytes", ()), strict=True):
        written[name] = late + early.get(name, 0)
    videos = columns.get("videos", {})
    written |= dict(zip(videos.get("flow", ()), videos.get("scheduled_bytes", ()), strict=True))
    starts = dict(zip(flows["flow"], flows["start_s"], strict=True))
    for flow in whole(resolved):
        if (traffic := flow["traffic"])["kind"] == "stream":
            start_s = starts[flow["name"]]
            active_s = min(_stop_s(flow, start_s), resolved["duration_ps"] / 1e12) - start_s
            bursts = traffic["bursts"]
            on = bursts["on_ps"] / (bursts["on_ps"] + bursts["off_ps"]) if bursts else 1.0
            written[flow["name"]] = traffic["rate_bps"] / 8 * on * max(0.0, active_s)
    return written


def _stop_s(flow: Mapping[str, Any], start_s: float) -> float:
    """Returns the time [s] at which a flow stops writing."""
    stop = flow.get("stop")
    if stop is None:
        return math.inf
    return float(stop["at_ps"] / 1e12 if stop["kind"] == "at" else start_s + stop["after_ps"] / 1e12)
