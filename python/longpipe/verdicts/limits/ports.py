"""Counters of a run's ports: busy shares, mean queueing delays, and losses by their cause."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longpipe.aal5 import CELL_BYTES
from longpipe.scenario.framings import BY_OCCUPANCY
from longpipe.scenario.shapers import cake_bps, may_shape, port_limit_bps
from longpipe.verdicts.limits.causes import OF_COUNTER, Limit

if TYPE_CHECKING:
    from longpipe.scenario.paths import Path, Resolved


class PortCounters:
    """Counters of a run's ports. A port has the number of its directed link, which is also its row in the columns."""

    def __init__(self, resolved: Resolved, columns: Mapping[str, Any], duration_s: float) -> None:
        self._unit = "packets" if resolved["framing"] == "ip" else "cells"
        self._links, self._columns, self._duration_s = resolved["links"], columns, duration_s
        self.names: Sequence[str] = columns["port"]
        self.utilization: Sequence[float] = columns["utilization"]
        lost_names = [name for name in columns if name.startswith(f"{self._unit}_lost_") and any(columns[name])]
        arrived_names = [name for name in (f"{self._unit}_in", f"{self._unit}_duplicated") if name in columns]
        losses = zip(_sums(columns, lost_names), _sums(columns, arrived_names), strict=True)
        # Share of the arriving packets that each port passes on.
        self._passed = [1 - min(1.0, lost / (arrived or 1)) if lost else 1.0 for lost, arrived in losses]
        self._lossless = {port for port, passed in enumerate(self._passed) if passed == 1}
        self._delays_s = self._mean_delays_s()
        # Links that may have shapers or policers.
        self.shaping = [port for port, link in enumerate(self._links) if may_shape(link)]
        self._shaped = [0.0] * len(self._links)
        for port in self.shaping:
            self._shaped[port] = self._shaper_used(port)
        # Used share of each link's capacity, which is the rate of its shaper if that is less than its own.
        self.used: Sequence[float] = [
            min(1.0, max(shares)) for shares in zip(self.utilization, self._shaped, strict=True)
        ]
        self._sized_by_buffer = [link["policy"]["kind"] in BY_OCCUPANCY for link in self._links]
        # Losses of each port that lost anything, by the limit that they indicate.
        self._losses: dict[int, Counter[Limit]] = {}
        # Sums of these losses over the ports of routes, which many flows share.
        self._by_limit: dict[tuple[tuple[int, ...], Limit], Counter[Limit]] = {}
        for name in lost_names:
            # Runs of older engines in stores have counters of other names.
            limit = OF_COUNTER.get(name.removeprefix(f"{self._unit}_lost_"), "buffer")
            for port, packets in enumerate(columns[name]):
                if packets:
                    self._losses.setdefault(port, Counter())[limit] += packets

    def _mean_delays_s(self) -> list[float]:
        """Returns the mean queueing delay [s] at each port, without the packet's own transmission."""
        queues, left = (self._columns[name] for name in (f"mean_queue_{self._unit}", f"{self._unit}_out"))
        delays_s = []
        for queue, out, used, link in zip(queues, left, self.utilization, self._links, strict=True):
            if not queue or not out or math.isnan(queue):
                delays_s.append(0.0)
            elif self._unit == "cells":
                # The stored mean covers only a single class.
                delays_s.append(8 * CELL_BYTES * queue / link["rate_bps"])
            else:
                # Little's law: the packets that wait, without the one in transmission, over the rate of departures.
                delays_s.append(max(0.0, queue - used) * self._duration_s / out)
        return delays_s

    def delay_s(self, ports: Iterable[int]) -> float:
        """Returns the sum of the ports' mean queueing delays [s]."""
        return sum([self._delays_s[port] for port in ports])

    def all_sized_by_buffer(self, ports: Iterable[int]) -> bool:
        """Returns whether no port has a policy that drops packets before its buffer is full."""
        return all(map(self._sized_by_buffer.__getitem__, ports))

    def is_shaped(self, port: int) -> bool:
        """Returns whether the shaper of a link, rather than the link, limits what it sends.

        A link behind a slower shaper is used in proportion to the two rates, and idles while packets wait.
        """
        return self._shaped[port] > self.utilization[port]

    def _shaper_used(self, port: int) -> float:
        """Returns the used share of the rate of a link's shaper, which may count other lengths than the link; or 0."""
        link = self._links[port]
        limit_bps = port_limit_bps(self._columns, port, link, self._duration_s, policers=False)
        if "service" in link.get("motion", {}) and "bytes_out" in self._columns:
            # The utilization of a link whose rate varies is a share of its mean rate.
            used = 8 * self._columns["bytes_out"][port] / self._duration_s / limit_bps
        else:
            used = self.utilization[port] * float(link["rate_bps"]) / limit_bps
        if math.isfinite(rate_bps := cake_bps(link)):
            used = max(used, 8 * self._columns["shaper_bytes"][port] / (rate_bps * self._duration_s))
        return float(used)

    def may_disorder(self, ports: Iterable[int]) -> bool:
        """Returns whether packets overtook each other at one of the ports or on its link, or were duplicated."""
        counted = [self._columns[name] for name in ("overtakings", "packets_duplicated") if name in self._columns]
        return any(column[port] for column in counted for port in ports)

    def lost_share(self, ports: Iterable[int]) -> float:
        """Returns the loss rate over the given consecutive ports."""
        if self._lossless.issuperset(ports):
            return 0.0
        return 1 - math.prod([self._passed[port] for port in ports])

    def losses_by_limit(self, ports: Iterable[int], aqm: Limit) -> Mapping[Limit, int]:
        """Returns the ports' losses [packets or cells; corrupted frames] by the limit that they indicate.

        Drops of a policy count as `aqm`.
        """
        lossy = tuple([port for port in ports if port in self._losses])
        if (losses := self._by_limit.get((lossy, aqm))) is None:
            losses = self._by_limit[lossy, aqm] = Counter()
            for port in lossy:
                for limit, packets in self._losses[port].items():
                    losses[aqm if limit == "AQM" else limit] += packets
        return losses

    def bytes_out(self, port: int) -> int:
        """Returns the number of bytes that left a port of IP packets."""
        return int(self._columns["bytes_out"][port])

    def waiting_for_grant_s(self, port: int) -> float:
        """Returns the time [s] in which packets at a port waited for capacity that a medium access grants."""
        return float(self._columns["waiting_for_grant_s"][port]) if "waiting_for_grant_s" in self._columns else 0.0

    def waiting_for_medium_s(self, port: int) -> float:
        """Returns the time [s] in which packets at a port waited for a medium that stations share."""
        return float(self._columns["waiting_for_medium_s"][port]) if "waiting_for_medium_s" in self._columns else 0.0

    def most_indicating(self, ports: Iterable[int], limit: Limit, aqm: Limit) -> int | None:
        """Returns the port that lost, or marked, the most packets for a reason that indicates a limit; None without."""
        if limit == "marks":
            marked = self._columns.get(f"{self._unit}_marked")
            counted = {port: int(marked[port] or 0) for port in ports} if marked is not None else {}
        else:
            lossy = [port for port in ports if port in self._losses]
            counted = {port: self.losses_by_limit((port,), aqm).get(limit, 0) for port in lossy}
        largest = max(counted, key=counted.__getitem__, default=None)
        return largest if largest is not None and counted[largest] else None

    def max_round_trip_s(self, path: Path) -> float:
        """Returns the RTT [s] of a flow whose packets find each queue at its maximum length."""
        unit_bytes = path.packet_bytes if self._unit == "packets" else CELL_BYTES
        peaks = self._columns[f"peak_queue_{self._unit}"]
        queues_s = [
            8 * unit_bytes * float(peaks[port] or 0) / float(self._links[port]["rate_bps"])
            for port in (*path.route, *path.return_route)
        ]
        return path.round_trip_s + sum(queues_s)

    def max_queued(self, ports: Iterable[int]) -> int:
        """Returns the maximum total number of packets in the queues of these ports; for ATM, the number of cells."""
        peaks = self._columns[f"peak_queue_{self._unit}"]
        return sum([peaks[port] or 0 for port in ports])


def _sums(ports: Mapping[str, Sequence[Any]], names: Sequence[str]) -> Sequence[int]:
    """Returns, for each port, the sum of the given columns."""
    if len(names) == 1:
        return ports[names[0]]
    return list(map(sum, zip(*(ports[name] for name in names), strict=True))) or [0] * len(ports["port"])
