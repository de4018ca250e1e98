"""The limits of a flow, one class each, with its evidence, its meaning in words, and its remedy.

The limit of a flow is the one with the strongest evidence; of equally strong ones, the first in `KINDS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Final

from longpipe.scenario.source import SOURCES
from longpipe.units import RATE, SIZE
from longpipe.verdicts.limits.remedy import (
    MORE,
    Remedy,
    constant_path,
    faster,
    faster_bucket,
    faster_shaper,
    in_order,
    steady_delay,
)
from longpipe.verdicts.limits.thresholds import (
    BDP_AND_MORE,
    BUSY,
    CLEARLY,
    FAIR,
    FIRST_ROUND_TRIPS,
    FULL,
    HALF,
    IN_USE,
    LEAST_HEADROOM,
    NEARLY_FULL,
    OUT,
    PATIENT_PS,
    PROXY_IN_USE,
    QUEUED,
    SHORT,
    SLOW_START_ROUND_TRIPS,
    SMALL_WINDOW,
    TINY_BUFFER,
    WAIT,
)

if TYPE_CHECKING:
    from longpipe.verdicts.limits.causes import Limit
    from longpipe.verdicts.limits.evidence import Evidence


class Strength(IntEnum):
    """Strength of the evidence for a limit."""

    # The limit does not hold.
    NONE = 0
    # There is no evidence for any limit.
    REST = 1
    # The limit holds if there is no evidence for another one.
    WEAK = 2
    # The limit holds unless another one prevents the flow from sending at all, or the flow has nothing to send.
    STRONG = 3
    # Without a change of this limit, no other change has an effect.
    CERTAIN = 4


class Kind(ABC):
    """A limit: the strength of the evidence for it, its meaning in words, and the change that raises the goodput."""

    name: ClassVar[Limit]
    meaning: ClassVar[str]
    # Strength that the evidence does not exceed.
    most: ClassVar[Strength] = Strength.STRONG

    @abstractmethod
    def strength(self, e: Evidence) -> Strength:
        """Returns the strength of the evidence that this limits the flow."""

    def remedy(self, e: Evidence) -> Remedy | None:
        """Returns the change of one field that raises the flow's goodput; None if there is none."""
        return None


class FurtherPath(Kind):
    """A further path of a connection, whose first path has the limit."""

    name = "-"
    meaning = "a further path of a connection, whose row has the limit"
    most = Strength.CERTAIN

    def strength(self, e: Evidence) -> Strength:
        return Strength.CERTAIN if e.is_further_path else Strength.NONE


class NotStarted(Kind):
    """A start after the end of the run."""

    name = "not started"
    meaning = "their start is after the end of the run"
    most = Strength.CERTAIN

    def strength(self, e: Evidence) -> Strength:
        return Strength.NONE if e.has_started else Strength.CERTAIN


class Application(Kind):
    """An application whose demand was served: nearly everything that it wrote has arrived."""

    name = "application"
    meaning = "the application had no more data to send"
    most = Strength.CERTAIN

    def strength(self, e: Evidence) -> Strength:
        return Strength.CERTAIN if e.is_served else Strength.NONE


class Shaper(Kind):
    """A shaper that sends at its rate before the slowest link, or drops packets that are longer than its bucket."""

    name = "shaper"
    meaning = "the shaper before the slowest link sent at its rate, which is below the link's, or drops long packets"
    most = Strength.CERTAIN

    def strength(self, e: Evidence) -> Strength:
        if e.is_blocked_by("tbf"):
            return Strength.CERTAIN
        return Strength.STRONG if e.has_its_share and e.is_shaped else Strength.NONE

    def remedy(self, e: Evidence) -> Remedy | None:
        return e.unblocked() if e.is_blocked_by("tbf") else faster_shaper(e, e.slowest)


class Link(Kind):
    """A slowest link that is busy, or gives a flow its share."""

    name = "link"
    meaning = "the slowest link was busy, or gave the flow most of its share"

    def strength(self, e: Evidence) -> Strength:
        return Strength.STRONG if e.has_its_share and not e.is_shaped else Strength.NONE

    def remedy(self, e: Evidence) -> Remedy | None:
        return faster(e, e.slowest)


class LossCause(Kind):
    """A cause of losses or marks that reduced the window for most of the time."""

    most = Strength.CERTAIN

    def strength(self, e: Evidence) -> Strength:
        if e.lost_to != self.name:
            return Strength.NONE
        if e.reduced_by is None:
            return Strength.WEAK
        return Strength.CERTAIN if e.nothing_arrived else Strength.STRONG


class Buffer(LossCause):
    """Overflows of a buffer."""

    name = "buffer"
    meaning = "a full buffer, or a policy that depends on its size, lost packets"

    def remedy(self, e: Evidence) -> Remedy | None:
        port = e.port_of(self.name)
        own, link = e.run.fields.of_link(port), e.run.resolved["links"][port]
        limit = link["policy"].get("flow_limit")
        if own is not None and limit is not None and e.ports.max_queued((port,)) < e.buffer_packets:
            # The buffer was never full, so the queues of flows were.
            return Remedy(f"{own.policy}.flow_limit", MORE * limit)
        return None if own is None or link["buffer"] is None else Remedy(own.buffer, "unlimited")


class Aqm(LossCause):
    """Drops of a queue discipline."""

    name = "AQM"
    meaning = "the queue discipline dropped packets before its buffer was full"

    def remedy(self, e: Evidence) -> Remedy | None:
        own = e.run.fields.of_link(e.port_of(self.name))
        return None if own is None else Remedy(own.policy, "tail-drop")


class Marks(LossCause):
    """Marks of a queue discipline, or of a policer."""

    name = "marks"
    meaning = "a queue marked packets, which reduced the window"

    def remedy(self, e: Evidence) -> Remedy | None:
        own = e.run.fields.of_link(e.port_of(self.name))
        if own is None:
            return None
        policer = own.first("policer")
        if policer is not None and own.conditioners_now[policer].exceed == "mark":
            return faster_bucket(own, policer)
        return Remedy(own.policy, "tail-drop")


class RandomLoss(LossCause):
    """Losses on a link."""

    name = "random loss"
    meaning = "a link lost packets: injected losses or bit errors"

    def remedy(self, e: Evidence) -> Remedy | None:
        own = e.run.fields.of_link(e.port_of(self.name))
        if own is None or own.loss_now is None:
            return None
        is_of_file = own.loss_now.kind == "none" and own.path_now is not None
        return constant_path(own) if is_of_file else Remedy(own.loss, "none")


class Policer(LossCause):
    """Drops of a policer."""

    name = "policer"
    meaning = "a policer dropped packets that exceeded its rate"

    def strength(self, e: Evidence) -> Strength:
        return Strength.CERTAIN if e.is_blocked_by("policer") else super().strength(e)

    def remedy(self, e: Evidence) -> Remedy | None:
        if e.is_blocked_by("policer"):
            return e.unblocked()
        own = e.run.fields.of_link(e.port_of(self.name))
        policer = None if own is None else own.first("policer")
        if own is None or policer is None:
            return None
        rate_bps = RATE.parse(own.conditioners_now[policer].rate)
        if 8 * e.ports.bytes_out(e.port_of(self.name)) / e.run.duration_s >= HALF * rate_bps:
            return faster_bucket(own, policer)
        # The bucket is too small for the bursts of a window, so that its rate is not used.
        burst_bytes = max(4 * SIZE.parse(own.conditioners_now[policer].burst), round(rate_bps / 2 * e.round_trip_s))
        return Remedy(f"{own.conditioners}.{policer}.burst", f"{burst_bytes} B")


class Outage(Kind):
    """Outages of a link, which lose or hold packets."""

    name = "outage"
    meaning = "a link had outages, or there was no route"
    most = Strength.CERTAIN

    def strength(self, e: Evidence) -> Strength:
        if e.nothing_arrived and e.blocking is None and (e.reduced_by == "outage" or e.outages >= HALF):
            return Strength.CERTAIN
        if e.reduced_by != "outage" and (e.outages < OUT or not self._causes_losses(e)):
            return Strength.NONE
        return Strength.STRONG if e.busy < BUSY else Strength.NONE

    def _causes_losses(self, e: Evidence) -> bool:
        """Returns whether what reduced the window may be an effect of outages.

        An outage that holds packets fills the queue, so that overflows and timeouts are its effects. A buffer of one or
        two packets overflows without it, too, and so does that of a link that is busy at all other times.
        """
        if e.reduced_by != "buffer":
            return e.reduced_by not in ("policer", "random loss")
        is_full = e.outages < SHORT and e.busy >= BUSY * (1 - e.outages) and not e.path.datagrams
        return e.buffer_packets > TINY_BUFFER and not is_full

    def remedy(self, e: Evidence) -> Remedy | None:
        own = e.run.fields.of_link(e.out_link)
        if own is None or own.path_now is None:
            # Packets without a route over satellites wait at their host, or are lost at the first router.
            own = e.run.fields.of_satellites(e.flow)
        return None if own is None else constant_path(own)


class ReturnLink(Kind):
    """A busy link on the return path of the ACKs."""

    name = "return link"
    meaning = "a return link of the ACKs was busy"

    def strength(self, e: Evidence) -> Strength:
        if e.path.datagrams or e.busy >= BUSY or e.share >= 1:
            return Strength.NONE
        if e.reduced_by == "timeouts" and e.busy_back >= WAIT:
            # ACKs that wait cause timeouts and probes of the tail.
            return Strength.STRONG
        if e.queued_back >= HALF and e.busy_back >= BUSY:
            # ACKs wait for most of the RTT, whatever limits the window.
            return Strength.STRONG
        if e.busy_back < BUSY:
            return Strength.NONE
        # A link that also carries data may be busy even without the ACKs.
        is_alone = e.slowest_back not in e.run.carry_data
        return Strength.STRONG if is_alone and e.busy_back >= e.busy + CLEARLY else Strength.WEAK

    def remedy(self, e: Evidence) -> Remedy | None:
        if e.path.datagrams:
            return None
        return (faster_shaper if e.ports.is_shaped(e.slowest_back) else faster)(e, e.slowest_back)


class Window(Kind):
    """A full receiver window."""

    name = "window"
    meaning = "the receiver's window was full"

    def strength(self, e: Evidence) -> Strength:
        if e.proxy_used[1] >= max(HALF, e.window_used) or e.round_trips < FIRST_ROUND_TRIPS:
            return Strength.NONE
        # A busy link fills any window with data, or with ACKs, that wait; if none wait, it is busy with other flows.
        is_waiting = e.queued >= QUEUED or e.share >= FAIR
        if ((e.busy >= FULL or e.busy_back >= BUSY) and is_waiting) or e.queued >= HALF:
            return Strength.WEAK if e.window_used >= HALF else Strength.NONE
        # A window that was nearly full cannot grow much without the losses, or without the queues.
        if e.window_used >= (IN_USE if e.reduced_by is None and e.queued >= QUEUED else NEARLY_FULL):
            return Strength.STRONG
        # The mean window of a flow with many short transfers shows nothing about each of them.
        is_small = e.window_segments <= SMALL_WINDOW and not SOURCES[e.flow["traffic"]["kind"]]["short_transfers"]
        if is_small and not e.has_its_share:
            # The receiver delays the ACK of a segment that no second one follows, which may cause a probe of the tail.
            if e.reduced_by in (None, "timeouts") and not e.timeouts:
                return Strength.STRONG
            if e.reduced_by in ("timeouts", "random loss", "buffer") and e.window_used >= HALF:
                return Strength.STRONG
        return Strength.WEAK if e.window_used >= HALF else Strength.NONE

    def remedy(self, e: Evidence) -> Remedy | None:
        if e.path.datagrams:
            return None
        # A window that fills the rest of the link; a larger one would overflow its buffer.
        window, mss = e.flow["tcp"]["receiver_window_bytes"], e.path.mss_bytes
        factor = min(2.0, max(LEAST_HEADROOM, BDP_AND_MORE / max(e.busy, e.share, HALF)))
        larger = max(round(factor * window), window + 2 * mss)
        return Remedy(e.run.fields.of_flow(e.path.flow, "receiver_window"), f"{larger} B")


class ProxyBuffer(Kind):
    """A full buffer of a split-TCP proxy."""

    name = "proxy buffer"
    meaning = "the buffer of a split-TCP proxy was full"

    def strength(self, e: Evidence) -> Strength:
        if e.proxy_used[1] < max(HALF, e.window_used) or e.round_trips < FIRST_ROUND_TRIPS:
            return Strength.NONE
        # Other flows may keep the link busy.
        is_limiting = e.proxy_used[1] >= PROXY_IN_USE and (e.busy < BUSY or e.share < FAIR)
        return Strength.STRONG if is_limiting else Strength.WEAK

    def remedy(self, e: Evidence) -> Remedy | None:
        proxy, used = e.proxy_used
        if not used:
            return None
        field, size = e.run.fields.proxy_buffer(proxy)
        return Remedy(field, f"{MORE * SIZE.parse(size)} B")


class Reordering(Kind):
    """Packets out of order, which the sender takes for losses."""

    name = "reordering"
    meaning = "window reductions without a timeout that no loss of data explains"

    def strength(self, e: Evidence) -> Strength:
        # Duplicate ACKs of packets out of order cause fast retransmits, and not timeouts.
        is_shown = e.reduced_by == "timeouts" and e.fast_retransmits >= e.timeouts and e.is_disordered
        if is_shown:
            return Strength.STRONG
        # Controls with a model of the path count no reductions.
        is_spurious = e.reduced_by is None and e.fast_retransmits > 0 and not e.losses and e.is_disordered
        return Strength.WEAK if is_spurious else Strength.NONE

    def remedy(self, e: Evidence) -> Remedy | None:
        return next((found for own in e.owners if (found := in_order(own)) is not None), None)


class Timeouts(Kind):
    """Timeouts, or probes of the tail, without a loss of data."""

    name = "timeouts"
    meaning = "timeouts, or probes of the tail, that no loss of data explains"

    def strength(self, e: Evidence) -> Strength:
        return Strength.STRONG if e.reduced_by == "timeouts" and self.remedy(e) is not None else Strength.NONE

    def remedy(self, e: Evidence) -> Remedy | None:
        if e.path.datagrams:
            return None
        for own in e.owners:
            if (found := steady_delay(own)) is not None:
                return found
        timer = e.flow["tcp"]["timer"]
        if timer["kind"] == "fine" and timer["min_rto_ps"] >= PATIENT_PS:
            return None
        return Remedy(e.run.fields.of_flow(e.path.flow, "timer"), {"kind": "fine", "timestamps": True})


class SlowStart(Kind):
    """A run, or a transfer, of too few round trips for the window to grow."""

    name = "slow start"
    meaning = "the run is too short for the round trip"
    most = Strength.CERTAIN

    def strength(self, e: Evidence) -> Strength:
        if e.has_no_ack:
            # No change of the path could have raised the window.
            return Strength.CERTAIN
        # Not every loss reduces a window: BBR sets its rate from its model of the path.
        is_short = e.round_trips < SLOW_START_ROUND_TRIPS and not (e.timeouts or e.fast_retransmits)
        # Timers may expire before the first ACKs arrive.
        is_short = is_short or (e.round_trips < FIRST_ROUND_TRIPS and e.reduced_by in (None, "timeouts"))
        return Strength.WEAK if is_short else Strength.NONE


class Congestion(Kind):
    """A congestion control that sets the rate without a loss."""

    name = "congestion"
    meaning = "congestion control set the rate, not a loss"

    def strength(self, e: Evidence) -> Strength:
        return Strength.NONE if e.path.datagrams else Strength.WEAK

    def remedy(self, e: Evidence) -> Remedy | None:
        if e.path.datagrams:
            return None
        return Remedy(e.run.fields.of_flow(e.path.flow, "congestion"), "cubic")


class NotDetermined(Kind):
    """No single change of a field that would raise the goodput is known."""

    name = "not determined"
    meaning = "no single change of a field is known to help"

    def strength(self, e: Evidence) -> Strength:
        # Two links with different fields limit the flow to the same rate.
        return Strength.STRONG if e.has_its_share and e.is_bounded_elsewhere else Strength.REST


# All limits; of those with equally strong evidence, the first one limits a flow.
KINDS: Final[tuple[Kind, ...]] = (
    FurtherPath(),
    NotStarted(),
    Application(),
    Outage(),
    ReturnLink(),
    Window(),
    ProxyBuffer(),
    NotDetermined(),
    Shaper(),
    Link(),
    Policer(),
    Buffer(),
    Aqm(),
    Marks(),
    RandomLoss(),
    Reordering(),
    Timeouts(),
    SlowStart(),
    Congestion(),
)
