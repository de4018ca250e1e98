"""Share of a flow's active time in which a link was busy, estimated from counters of the whole run."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, Final

from longpipe.aal5 import CELL_BYTES
from longpipe.metrics.warm_up import begin_s
from longpipe.scenario.paths import Path, Resolved, paths

Columns = Mapping[str, Mapping[str, Any]]
# Start [s], end [s] and number of bytes of one sender's packets on a link.
Packets = tuple[float, float, float]
# Minimum active time of a flow [s], which keeps rates finite.
_MIN_ACTIVE_S: Final = 1e-12


def active_time(start_s: float, completion_s: float | None, warm_up_s: float, duration_s: float) -> tuple[float, float]:
    """Returns the start and end [s] of a flow after the warm-up; without a completion, it ends with the run.

    `duration_s` is the time from the end of the warm-up to the end of the run.
    """
    start_s = max(start_s - warm_up_s, 0.0)
    end_s = duration_s if completion_s is None or math.isnan(completion_s) else completion_s - warm_up_s
    return start_s, max(end_s, start_s + _MIN_ACTIVE_S)


class Loads:
    """Distribution over time of the packets on each link of a run.

    The counters of a port are sums over the run. `Loads` distributes them over time: each flow is assumed to send
    evenly between its start and its end, data on its route and ACKs on its return route. VBR sources are assumed to
    send during the whole run. The sum over the run is exact, and so is the share of a flow that uses a link alone.
    """

    def __init__(self, resolved: Resolved, columns: Columns, paths: Sequence[Path], duration_s: float) -> None:
        """Keeps the counters of a run; `known` are its flows' paths, `duration_s` is its measured time [s]."""
        self._resolved, self._columns, self._known, self._duration_s = resolved, columns, paths, duration_s
        self._profiles: dict[int, _Profile] = {}

    @cached_property
    def _packets(self) -> dict[int, list[Packets]]:
        """The packets on each link, by the number of the link."""
        columns, flows = self._columns, self._columns["flows"]
        rows = zip(*(flows[name] for name in ("flow", "start_s", "completion_s")), strict=True)
        begin = begin_s(columns)
        times = {flow: active_time(start_s, end_s, begin, self._duration_s) for flow, start_s, end_s in rows}
        sent = dict(zip(flows["flow"], flows["sent_bytes"], strict=True))
        relays, flow_paths = columns.get("relays", {}), self._known
        if relays.get("connection"):
            flow_paths = paths(self._resolved, parts=True)
            parts = zip(*(relays[name] for name in ("connection", "flow", "sent_bytes")), strict=True)
            for connection, flow, sent_bytes in parts:
                times[connection], sent[connection] = times[flow], sent_bytes
        by_link: dict[int, list[Packets]] = {}
        for path in flow_paths:
            segments = sent[path.flow] / path.mss_bytes
            for link in path.route:
                by_link.setdefault(link, []).append((*times[path.flow], segments * path.packet_bytes))
            for link in () if path.datagrams else path.return_route:
                by_link.setdefault(link, []).append((*times[path.flow], segments * path.ack_bytes))
        vbr = columns.get("vbr", {})
        cells = dict(zip(*(vbr.get(name, ()) for name in ("source", "cells_sent")), strict=True))
        for source in self._resolved["vbr"]:
            for link in source["route"]:
                by_link.setdefault(link, []).append((0.0, self._duration_s, CELL_BYTES * float(cells[source["name"]])))
        return by_link

    def busy(self, link: int, utilization: float, start_s: float, end_s: float) -> float:
        """Returns the share of the time from `start_s` to `end_s` [s] in which a link was busy, at most 1.

        `utilization` is the share of the whole run in which the link was busy.
        """
        if start_s <= 0 and end_s >= self._duration_s:
            return utilization
        if link not in self._profiles:
            self._profiles[link] = _Profile(self._packets.get(link, ()))
        share = self._profiles[link].share(start_s, end_s)
        return min(1.0, utilization * self._duration_s * share / (end_s - start_s))


class _Profile:
    """Cumulative number of bytes on a link, a piecewise linear function of time."""

    def __init__(self, packets: Sequence[Packets]) -> None:
        changes: dict[float, float] = {}
        for start_s, end_s, size in packets:
            rate = size / (end_s - start_s)
            changes[start_s] = changes.get(start_s, 0.0) + rate
            changes[end_s] = changes.get(end_s, 0.0) - rate
        self._times = sorted(changes)
        self._rates = list(accumulate(changes[at] for at in self._times))
        steps = zip(self._rates, self._times, self._times[1:], strict=False)
        self._sums = [0.0, *accumulate(rate * (end - start) for rate, start, end in steps)]

    def share(self, start_s: float, end_s: float) -> float:
        """Returns the share of all bytes between two times [s]."""
        total = self._sums[-1]
        if total <= 0:
            return 0.0
        used_before = self._until(start_s) if start_s > self._times[0] else 0.0
        return ((self._until(end_s) if end_s < self._times[-1] else total) - used_before) / total

    def _until(self, at_s: float) -> float:
        i = bisect_right(self._times, at_s) - 1
        return 0.0 if i < 0 else self._sums[i] + max(0.0, self._rates[i]) * (at_s - self._times[i])
