"""What limited each flow of a run, determined from counters that every run has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, Literal

from longpipe.aal5 import CELL_BYTES
from longpipe.analysis.demands import written_bytes
from longpipe.analysis.loads import Loads, active_time
from longpipe.analysis.paths import Path, Resolved, paths, ranked, sustained_bps
from longpipe.analysis.proxies import proxy_buffers
from longpipe.analysis.shapers import cake_bps, port_limit_bps
from longpipe.analysis.warm_up import begin_s
from longpipe.garbage import without_collections
from longpipe.units import TIME

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

# Columns that the core returns, by part of the result and by name.
Columns = Mapping[str, Mapping[str, Any]]
# Cause of a connection's window reductions, the time until the next ones [s], and the mean window in it [bytes].
Reductions = tuple[str, float, float]
Limit = Literal[
    "link", "return link", "shaper", "window", "proxy buffer", "buffer", "AQM", "random loss", "outage", "policer",
    "timeouts", "marks", "reordering", "slow start", "congestion", "application", "not started", "-",
]  # fmt: skip

# Meanings of the short names in the table.
MEANINGS: Final[Mapping[Limit, str]] = {
    "link": "the slowest link was busy",
    "return link": "a return link of the ACKs was busy",
    "shaper": "the shaper before the slowest link sent at its rate, which is below the link's",
    "window": "the receiver's window was full",
    "proxy buffer": "the buffer of a split-TCP proxy was full",
    "buffer": "a full buffer, or a policy that depends on its size, lost packets",
    "AQM": "the queue discipline dropped packets before its buffer was full",
    "random loss": "a link lost packets: injected losses or bit errors",
    "outage": "an outage lost packets, or there was no route",
    "policer": "a policer dropped packets that exceeded its rate",
    "timeouts": "timeouts, or probes of the tail, that no loss of data explains",
    "reordering": "window reductions without a timeout that no loss of data explains",
    "marks": "a queue marked packets, which reduced the window",
    "slow start": "the run is too short for the round trip",
    "congestion": "congestion control set the rate, not a loss",
    "application": "the application had no more data to send",
    "not started": "their start is after the end of the run",
    "-": "a further path of a connection, whose row has the limit",
}
# Meaning of `slow start` for flows that completed before the end of the run.
TRANSFER_TOO_SHORT: Final = "the transfer is too short for the round trip"
# Limit that a window reduction indicates, by the cause that the core reports.
OF_CAUSE: Final[Mapping[str, Limit]] = {
    "overflow": "buffer",
    "aqm": "AQM",
    "partial_frame": "buffer",
    "ack_filter": "buffer",
    "injected_loss": "random loss",
    "bit_error": "random loss",
    "outage": "outage",
    "no_route": "outage",
    "policer": "policer",
    "ecn": "marks",
    "none": "timeouts",
}
# Limit that packets lost at a port indicate, by the suffix of the counter's name, for suffixes that are not among the
# causes above.
_OF_COUNTER: Final[Mapping[str, Limit]] = {
    "discarded": "buffer",
    "injected": "random loss",
    "errors": "random loss",
    "on_wire": "outage",
}
# Policies whose thresholds are fractions of the buffer, so that a larger buffer reduces the number of drops.
SIZED_BY_BUFFER: Final = frozenset({"tail-drop", "partial-packet-discard", "epd", "selective-drop", "fba"})
# Thresholds at and above which a link counts as busy and a window as full.
BUSY: Final = 0.9
IN_USE: Final = 0.9
# Utilization of a window at and above which it is the limit in a run without losses, where few other causes are
# possible.
MOSTLY: Final = 0.5
# Share of lost ACKs, of lost datagrams, or of time, at and above which the share is considered large.
MUCH: Final = 0.05
# Share of the written data that arrives: below it, the application was faster than the network. Also the share of time
# in which a player waits for chunks, above which the network is slower than the player.
SERVED: Final = 0.95
# Number of RTTs after which slow start has ended for any window.
SLOW_START_ROUND_TRIPS: Final = 40
# Number of RTTs, with full queues, in which data of a flow have arrived unless they were lost.
ARRIVED_ROUND_TRIPS: Final = 2
# Segments per RTT, with full queues, below which a sender waits for a timeout: any window allows at least one.
WAITING: Final = 0.5


@dataclass(frozen=True)
class FlowLimit:
    """The limit of a flow.

    `link` is the directed link that left the least capacity for the flow, `link_busy` is the share of the flow's active
    time, from its start to its end, in which this link, or its shaper, was busy (estimated, see `Loads`), `window_used`
    is the mean share of the receiver window in flight (estimated from rates, delays and mean queues in both
    directions), and `idle` is the share of time after the last byte was delivered. `return_link` is the busiest link on
    the return path of the ACKs, `return_link_busy` is its share of busy time, as `link_busy`, and `acks_lost` is the
    share of ACKs lost at its ports. `proxy` is the proxy whose buffer is used most, "" without proxies, and
    `proxy_used` is the mean share of this buffer that the data in flight before and after the proxy take (estimated as
    `window_used`). `limited_by` is "-" for a further path of a connection, whose first path has the limit.
    """

    flow: str
    limited_by: Limit
    link: str
    link_busy: float
    window_used: float
    idle: float
    return_link: str
    return_link_busy: float
    acks_lost: float
    proxy: str = ""
    proxy_used: float = 0.0

    @property
    def busy_link(self) -> str:
        """Returns the link whose rate, or whose shaper, limits the flow, or ""."""
        return {"link": self.link, "shaper": self.link, "return link": self.return_link}.get(self.limited_by, "")


@without_collections()
def limits(scenario: Scenario, columns: Columns) -> list[FlowLimit]:
    """Returns what limited each flow of a run, in the order of the flows; `columns` are those of its `Result`."""
    resolved = scenario.resolved
    begin = begin_s(columns)
    # Times are measured from the end of a warm-up, as the counters are.
    duration_s = TIME.parse(scenario.duration) / 1e12 - begin
    links, ports = resolved["links"], _Ports(resolved, columns["ports"], duration_s)
    flows = columns["flows"]
    demands, reductions = _Demands(scenario, columns), _reductions(columns)
    datagrams = _datagrams(columns)
    known = list(paths(resolved))
    ranks = ranked(resolved, [sustained_bps(link) for link in links])
    users = Counter([path.bottleneck for path in known])
    # Real stacks report the number of window reductions, but not their causes.
    real = set(columns.get("stacks", {}).get("flow", ()))
    # Routes that change may reorder packets that no link reorders.
    rerouted = {flow["name"] for flow in resolved["flows"] if flow.get("rerouting")}
    carry_data = {link for flow in (*resolved["flows"], *resolved["vbr"]) for link in flow["route"]}
    loads = Loads(resolved, columns, known, duration_s)
    # Connections by the names of their further paths.
    connections = {flow["name"]: flow["traffic"]["of"] for flow in resolved["flows"] if "of" in flow["traffic"]}
    further: dict[str, list[int]] = {}
    for path in known:
        if path.flow in connections:
            further.setdefault(connections[path.flow], []).extend(path.route)
    # Runs stored by early versions have no column for reductions due to marks.
    marks = flows.get("mark_reductions") or repeat(0)
    names = (
        "start_s", "completion_s", "delivered_bytes", "sent_bytes", "sent_segments", "timeouts", "fast_retransmits",
    )  # fmt: skip
    counters = zip(*(flows[name] for name in names), marks)  # noqa: B905 - `marks` may be endless
    proxies = _Proxies(resolved, columns, ports)
    found = []
    for path, counted in zip(known, counters, strict=True):
        (
            flow_start_s, completion_s, delivered_bytes, sent_bytes, sent_segments,
            timeouts, fast_retransmits, mark_reductions,
        ) = counted  # fmt: skip
        # Most real stacks do not report their timeouts.
        timeouts = 0 if math.isnan(timeouts) else timeouts
        start_s, end_s = active_time(flow_start_s, completion_s, begin, duration_s)
        if start_s >= duration_s:
            found.append(_not_started(path.flow, ports.names[path.bottleneck]))
            continue
        # Of equally slow links, other flows may use one for a part of the run, because routes change.
        slow = [link for link in path.route if ranks[link] == ranks[path.bottleneck]]
        slowest = max(slow, key=ports.used.__getitem__) if len(slow) > 1 else path.bottleneck
        active_s = end_s - start_s
        idle = 1 - active_s / max(duration_s - start_s, active_s)
        round_trip_s = path.round_trip_s + ports.delay_s((*path.route, *path.return_route))
        on_the_way = sent_bytes / active_s * round_trip_s
        window_used = (
            0.0 if path.datagrams else min(1.0, on_the_way * path.packet_bytes / path.mss_bytes / path.window_bytes)
        )
        proxy, proxy_used = proxies.used(path.flow, active_s)
        aqm: Limit = "buffer" if ports.all_sized_by_buffer(path.route) else "AQM"
        slowest_back = max(path.return_route, key=ports.used.__getitem__)
        busy, return_busy = (loads.busy(link, ports.used[link], start_s, end_s) for link in (slowest, slowest_back))
        full: Limit = "shaper" if ports.is_shaped(slowest) else "link"
        limited_by: Limit = "-"
        if path.flow in connections:
            pass
        elif path.datagrams:
            max_queued = ports.max_queued(path.route) + sent_segments / active_s * path.delay_ps / 1e12
            lost = _lost_share(*datagrams.get(path.flow, (0, 0, 0)), max_queued)
            limited_by = _limit_of_datagrams(busy, full, lost, ports.losses_by_limit(path.route, aqm))
        else:
            reduced_by = None
            if rows := (reductions or {}).get(path.flow):
                share_bps = sustained_bps(links[slowest]) / users[path.bottleneck]
                share_bytes = share_bps * path.round_trip_s / 8 * path.mss_bytes / path.packet_bytes
                reduced_by = _reduced_by(rows, share_bytes, aqm)
            elif reductions is None or path.flow in real:
                # A connection's counters include the losses on its further paths.
                losses = ports.losses_by_limit({*path.route, *further.get(path.flow, ())}, aqm)
                reduced_by = _by_count(timeouts, fast_retransmits, losses, mark_reductions)
            # Programs over real stacks may have nothing to send.
            demanding = path.flow not in real or sent_bytes
            max_round_trips = active_s / ports.max_round_trip_s(path)
            nothing_arrived = demanding and not delivered_bytes and max_round_trips >= ARRIVED_ROUND_TRIPS
            waiting = path.flow not in real and sent_segments < WAITING * max_round_trips
            if (nothing_arrived or waiting) and reduced_by in (None, "timeouts"):
                # The losses reduced no window, because the sender has not detected them or lost its handshake.
                counts = ports.losses_by_limit((*path.route, *path.return_route), aqm)
                reduced_by = _most(counts) or reduced_by
            limited_by = _limit(
                busy=busy,
                full=full,
                return_busy=return_busy,
                nothing_arrived=nothing_arrived,
                acks_alone=slowest_back not in carry_data,
                window_used=window_used,
                proxy_used=proxy_used,
                timeouts=timeouts,
                disordered=path.flow in rerouted or ports.may_disorder((*path.route, *path.return_route)),
                fast_retransmits=fast_retransmits,
                reduced_by=reduced_by,
                is_served=demands.is_served(path, active_s),
                round_trips=active_s / round_trip_s,
            )
        found.append(
            FlowLimit(
                flow=path.flow,
                limited_by=limited_by,
                link=ports.names[slowest],
                link_busy=busy,
                window_used=window_used,
                idle=idle,
                return_link=ports.names[slowest_back],
                return_link_busy=return_busy,
                acks_lost=ports.lost_share(path.return_route),
                proxy=proxy,
                proxy_used=proxy_used,
            )
        )
    return found


def _not_started(flow: str, link: str) -> FlowLimit:
    """Returns the limit of a flow whose start is not before the end of the run."""
    return FlowLimit(
        flow=flow,
        limited_by="not started",
        link=link,
        link_busy=0.0,
        window_used=0.0,
        idle=0.0,
        return_link="",
        return_link_busy=0.0,
        acks_lost=0.0,
    )


def limit_lines(found: Iterable[FlowLimit]) -> list[str]:
    """Returns a line per limit with the number of its flows, the most frequent limit first.

    Further paths of connections do not count as flows.
    """
    found = without_further_paths(found)
    counts = Counter(one.limited_by for one in found)
    return [
        f"{limit}: {count} of {len(found)} flows, {_meaning(limit, found)}{_where(limit, found)}"
        for limit, count in counts.most_common()
    ]


def notes(found: Iterable[FlowLimit]) -> list[str]:
    """Returns a line about many lost ACKs: such losses do not limit a flow by themselves and are shown nowhere else."""
    found = without_further_paths(found)
    lost = [one.acks_lost for one in found if one.acks_lost >= MUCH]
    if not lost:
        return []
    where = Counter(one.return_link for one in found if one.acks_lost >= MUCH).most_common(1)[0][0]
    return [
        f"ACKs of {len(lost)} of {len(found)} flows: {sum(lost) / len(lost):.1%} lost on the return path, by {where}"
    ]


def idle_lines(found: Iterable[FlowLimit]) -> list[str]:
    """Returns a line about the flows that ended early, which also have a limit: that of their active time."""
    found = without_further_paths(found)
    idle = [one.idle for one in found if one.idle >= MUCH]
    return (
        [f"{len(idle)} of {len(found)} flows, which were then idle for {sum(idle) / len(idle):.0%} of the time"]
        if idle
        else []
    )


def without_further_paths(found: Iterable[FlowLimit]) -> list[FlowLimit]:
    """Returns the limits without those of further paths of connections."""
    return [one for one in found if one.limited_by != "-"]


def _meaning(limit: Limit, found: Iterable[FlowLimit]) -> str:
    """Returns the meaning of a limit, which names the transfer, not the run, if transfers ended before their run."""
    if limit != "slow start":
        return MEANINGS[limit]
    have_ended = {one.idle > 0 for one in found if one.limited_by == limit}
    if have_ended == {True}:
        return TRANSFER_TOO_SHORT
    return MEANINGS[limit] if have_ended == {False} else f"{MEANINGS[limit]}, or {TRANSFER_TOO_SHORT}"


def _where(limit: Limit, found: Iterable[FlowLimit]) -> str:
    """Returns the return link or the proxy that limits the most flows, if one does; users rarely look for it."""
    if limit not in ("return link", "proxy buffer"):
        return ""
    busy: dict[str, list[float]] = {}
    for one in found:
        if one.limited_by == limit:
            where, used = (
                (one.return_link, one.return_link_busy) if limit == "return link" else (one.proxy, one.proxy_used)
            )
            busy.setdefault(where, []).append(used)
    link, shares = max(busy.items(), key=lambda item: len(item[1]))
    return f": {link}, {sum(shares) / len(shares):.1%} used{' and others' if len(busy) > 1 else ''}"


def _limit(
    *,
    busy: float,
    full: Limit,
    return_busy: float,
    nothing_arrived: bool,
    acks_alone: bool,
    window_used: float,
    proxy_used: float,
    timeouts: int,
    disordered: bool,
    fast_retransmits: int,
    reduced_by: Limit | None,
    is_served: bool,
    round_trips: float,
) -> Limit:
    if is_served:
        return "application"
    # A busy link then carried the data of other flows.
    if nothing_arrived and reduced_by is not None:
        return reduced_by
    if busy >= BUSY:
        return full
    # A link that also carries data may be busy even without the ACKs.
    if return_busy >= BUSY and acks_alone:
        return "return link"
    full_window: Limit = "proxy buffer" if proxy_used > window_used else "window"
    if max(window_used, proxy_used) >= IN_USE:
        return full_window
    if reduced_by == "timeouts" and not timeouts:
        # Without reordering, a probe of the tail was sent because ACKs were late.
        reduced_by = "reordering" if disordered else None if return_busy >= BUSY else "timeouts"
    if reduced_by is not None:
        return reduced_by
    if return_busy >= BUSY:
        return "return link"
    if max(window_used, proxy_used) >= MOSTLY:
        return full_window
    # Not every loss reduces a window: BBR sets its rate from its model of the path.
    short = round_trips < SLOW_START_ROUND_TRIPS and not (timeouts or fast_retransmits)
    return "slow start" if short else "congestion"


def _by_count(timeouts: float, fast_retransmits: int, losses: Mapping[Limit, int], marks: int) -> Limit | None:
    """Returns what reduced a window without reductions by cause, or None if nothing is known to have reduced it.

    Real stacks, and runs that were stored before senders recorded their reductions, have no reductions by cause. The
    cause of most losses then counts.
    """
    if (timeouts or fast_retransmits) and losses:
        return _most(losses)
    if timeouts:
        return "timeouts"
    return "marks" if marks else None


def _reduced_by(reductions: Iterable[Reductions], share_bytes: float, aqm: Limit) -> Limit | None:
    """Returns the cause that kept the window of a flow below its share of the path for the longest time.

    Returns None if nothing reduced the window. The weight of each reduction is the time until the next one, multiplied
    by the fraction of the flow's fair share by which the mean window fell short in this time. If the mean window never
    fell short, the weight is the time alone. Drops of a policy count as `aqm`.
    """
    below: dict[Limit, float] = {}
    lasted: dict[Limit, float] = {}
    for cause, reduced_s, mean_window_bytes in reductions:
        missing = max(0.0, 1 - mean_window_bytes / share_bytes)
        limit = OF_CAUSE[cause]
        limit = aqm if limit == "AQM" else limit
        below[limit] = below.get(limit, 0) + reduced_s * missing
        lasted[limit] = lasted.get(limit, 0) + reduced_s
    if not lasted:
        return None
    weights = below if any(below.values()) else lasted
    return max(weights, key=lambda limit: weights[limit])


def _limit_of_datagrams(busy: float, full: Limit, lost: float, losses: Mapping[Limit, int]) -> Limit:
    """Returns the limit of a source that sets its own rate: the path limits it only if much of the data is lost.

    Then the limit is the cause of most losses on the route; losses in the queue before a busy link or shaper show that
    this is too slow: `full` is the limit if it is busy.
    """
    if lost < MUCH:
        return "application"
    most = _most(losses) or "buffer"
    return full if most in ("buffer", "AQM") and busy >= BUSY else most


def _most(losses: Mapping[Limit, int]) -> Limit | None:
    """Returns the limit that most losses indicate, or None without losses."""
    return max(losses, key=lambda limit: losses[limit], default=None)


def _lost_share(sent: int, received: int, lost: int, max_queued: float) -> float:
    """Returns a lower bound on the share of lost datagrams.

    `lost` counts the lost datagrams that were sent before the last one that arrived. Of those sent after it, the ones
    that cannot still be in the network were also lost.
    """
    lost = max(lost, math.floor(sent - received - max_queued))
    return lost / (received + lost) if lost > 0 else 0.0


class _Ports:
    """Counters of a run's ports. A port has the number of its directed link, which is also its row in the columns."""

    def __init__(self, resolved: Resolved, columns: Mapping[str, Any], duration_s: float) -> None:
        self._unit = "packets" if resolved["framing"] == "ip" else "cells"
        self._links, self._columns, self._duration_s = resolved["links"], columns, duration_s
        self.names: Sequence[str] = columns["port"]
        self.utilization: Sequence[float] = columns["utilization"]
        lost = [name for name in columns if name.startswith(f"{self._unit}_lost_")]
        arrived = [name for name in (f"{self._unit}_in", f"{self._unit}_duplicated") if name in columns]
        losses = zip(_sums(columns, lost), _sums(columns, arrived), strict=True)
        # Share of the arriving packets that each port passes on.
        self._passed = [1 - min(1.0, packets / (of or 1)) if packets else 1.0 for packets, of in losses]
        self._delays_s = self._mean_delays_s()
        self._shaped = [self._shaper_used(number) for number in range(len(self._links))]
        # Used share of each link's capacity, which is the rate of its shaper if that is less than its own.
        self.used: Sequence[float] = [
            min(1.0, max(shares)) for shares in zip(self.utilization, self._shaped, strict=True)
        ]
        self._sized_by_buffer = [link["policy"]["kind"] in SIZED_BY_BUFFER for link in self._links]
        self._by_limit = {
            name: OF_CAUSE.get(suffix) or _OF_COUNTER.get(suffix, "buffer")
            for name in lost
            for suffix in (name.removeprefix(f"{self._unit}_lost_"),)
        }

    def _mean_delays_s(self) -> list[float]:
        """Returns the mean queueing delay [s] at each port, without the packet's own transmission."""
        queues, left = (self._columns[name] for name in (f"mean_queue_{self._unit}", f"{self._unit}_out"))
        found = []
        for queue, out, used, link in zip(queues, left, self.utilization, self._links, strict=True):
            if not queue or not out or math.isnan(queue):
                found.append(0.0)
            elif self._unit == "cells":
                # The stored mean covers only a single class.
                found.append(8 * CELL_BYTES * queue / link["rate_bps"])
            else:
                found.append(max(0.0, queue - used) * self._duration_s / out)
        return found

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
        used = self.utilization[port] * float(link["rate_bps"]) / limit_bps
        # Runs that early versions stored do not contain what CAKE counted.
        if math.isfinite(rate_bps := cake_bps(link)) and "shaper_bytes" in self._columns:
            used = max(used, 8 * self._columns["shaper_bytes"][port] / (rate_bps * self._duration_s))
        return used

    def may_disorder(self, ports: Iterable[int]) -> bool:
        """Returns whether packets overtook each other at one of the ports or on its link, or were duplicated."""
        counted = [self._columns[name] for name in ("overtakings", "packets_duplicated") if name in self._columns]
        return any(column[port] for column in counted for port in ports)

    def lost_share(self, ports: Iterable[int]) -> float:
        """Returns the loss rate over the given consecutive ports."""
        return 1 - math.prod([self._passed[port] for port in ports])

    def losses_by_limit(self, ports: Collection[int], aqm: Limit) -> Counter[Limit]:
        """Returns the ports' losses [packets or cells; corrupted frames] by the limit that they indicate.

        Drops of a policy count as `aqm`.
        """
        found: Counter[Limit] = Counter()
        for name, limit in self._by_limit.items():
            column = self._columns[name]
            found[aqm if limit == "AQM" else limit] += sum([column[port] for port in ports])
        return +found

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


class _Proxies:
    """Shares of the proxies' buffers that the data in flight of the connections on both sides take."""

    def __init__(self, resolved: Resolved, columns: Columns, ports: _Ports) -> None:
        self._ports, self._buffers = ports, proxy_buffers(resolved)
        flows, relays = columns["flows"], columns.get("relays", {})
        self._sent_bytes: dict[str, int] = dict(zip(flows["flow"], flows["sent_bytes"], strict=True))
        self._sent_bytes |= zip(relays.get("connection", ()), relays.get("sent_bytes", ()), strict=True)

    def used(self, flow: str, active_s: float) -> tuple[str, float]:
        """Returns the proxy of the flow whose buffer is used most, and the mean share of its buffer in flight."""
        used = [
            ((self._in_flight(one.before, active_s) + self._in_flight(one.after, active_s)) / one.size_bytes, one.at)
            for one in self._buffers.get(flow, ())
        ]
        share, at = max(used, default=(0.0, ""))
        return at, min(1.0, share)

    def _in_flight(self, part: Path, active_s: float) -> float:
        """Returns the mean payload in flight [bytes] of a connection."""
        round_trip_s = part.round_trip_s + self._ports.delay_s((*part.route, *part.return_route))
        return self._sent_bytes.get(part.flow, 0) / active_s * round_trip_s


class _Demands:
    """Demands of the applications that write over time, compared with the data that arrived."""

    def __init__(self, scenario: Scenario, columns: Columns) -> None:
        flows = columns["flows"]
        self._delivered = dict(zip(flows["flow"], flows["delivered_bytes"], strict=True))
        # Written data is counted from the start of the run, but delivered data from the end of a warm-up.
        before = columns.get("warm_up", {})
        for flow, bytes_ in zip(before.get("flow", ()), before.get("delivered_before_bytes", ()), strict=True):
            self._delivered[flow] = self._delivered.get(flow, 0) + bytes_
        self._written = written_bytes(columns)
        videos = columns.get("videos", {})
        self._downloading_s = dict(zip(videos.get("flow", ()), videos.get("downloading_s", ()), strict=True))
        self._streams = {
            flow["name"]: flow["traffic"]["rate_bps"]
            for flow in scenario.resolved["flows"]
            if flow["traffic"]["kind"] == "stream"
        }

    def is_served(self, path: Path, active_s: float) -> bool:
        """Returns whether the application, not the network, limited a flow.

        A player requests a chunk only after it has received the one before, so what it requests is always delivered:
        the network limits the flow if it waited for a chunk nearly all the time.
        """
        if path.flow in self._downloading_s:
            return bool(self._downloading_s[path.flow] <= SERVED * active_s)
        written = self._written.get(path.flow)
        if not written:
            return written is not None
        # What an application has written within the last round trip cannot have been delivered yet.
        recent = self._streams.get(path.flow, 0) / 8 * path.round_trip_s
        return bool(self._delivered[path.flow] + recent >= SERVED * written)


def _datagrams(columns: Columns) -> dict[str, tuple[int, int, int]]:
    """Returns, for each datagram flow, the numbers sent, received, and lost before the last one that arrived."""
    datagrams = columns.get("datagrams", {})
    rows = zip(*(datagrams.get(name, ()) for name in ("flow", "sent", "received", "lost")), strict=True)
    return {flow: (sent, received, lost) for flow, sent, received, lost in rows}


def _reductions(columns: Columns) -> dict[str, list[Reductions]] | None:
    """Returns the window reductions by connection; None for a run that was stored before senders recorded them."""
    if "reductions" not in columns:
        return None
    part = columns["reductions"]
    rows = zip(*(part[name] for name in ("cause", "reduced_s", "mean_window_bytes")), strict=True)
    found: dict[str, list[Reductions]] = {}
    for connection, row in zip(part["connection"], rows, strict=True):
        found.setdefault(connection, []).append(row)
    return found
