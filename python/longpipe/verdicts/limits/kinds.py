"""The limits of a flow, one class each, with its evidence, its meaning in words, and its remedy.

The limit of a flow is the one with the strongest evidence; of equally strong ones, the first in `KINDS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Final

from longpipe.scenario.paths import part_kind
from longpipe.scenario.source import SOURCES
from longpipe.units import RATE, SIZE
from longpipe.verdicts.limits.remedy import (
    MORE,
    Remedy,
    constant_path,
    deep_queue,
    faster,
    faster_bucket,
    faster_shaper,
    granted,
    in_order,
    steady_delay,
)
from longpipe.verdicts.limits.thresholds import (
    BDP_AND_MORE,
    BUSY,
    BUSY_RETURN,
    CLEAR_DIFFERENCE,
    FAIR_SHARE,
    FIRST_ROUND_TRIPS,
    HALF,
    IN_USE,
    MIN_HEADROOM,
    NEARLY_BUSY,
    NEARLY_FULL,
    OUTAGE_SHARE,
    PATIENT_PS,
    PROXY_IN_USE,
    SHORT_OUTAGES,
    SHORT_QUEUE,
    SLOW_START_ROUND_TRIPS,
    SMALL_WINDOW,
    TINY_BUFFER,
)

if TYPE_CHECKING:
    from longpipe.verdicts.limits.causes import Limit
    from longpipe.verdicts.limits.evidence import Evidence


# Name of a cell that no other link has.
OTHER_CELL: Final = "another-cell"


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
    def strength(self, evidence: Evidence) -> Strength:
        """Returns the strength of the evidence that this limits the flow."""

    def remedy(self, evidence: Evidence) -> Remedy | None:
        """Returns the change of one field that raises the flow's goodput; None if there is none."""
        return None


class FurtherPath(Kind):
    """A further path of a connection, whose first path has the limit."""

    name = "-"
    meaning = "a further path of a connection, whose row has the limit"
    most = Strength.CERTAIN

    def strength(self, evidence: Evidence) -> Strength:
        return Strength.CERTAIN if evidence.is_further_path else Strength.NONE


class NotStarted(Kind):
    """A start after the end of the run."""

    name = "not started"
    meaning = "their start is after the end of the run"
    most = Strength.CERTAIN

    def strength(self, evidence: Evidence) -> Strength:
        return Strength.NONE if evidence.has_started else Strength.CERTAIN


class Application(Kind):
    """An application whose demand was served: nearly everything that it wrote has arrived."""

    name = "application"
    meaning = "the application had no more data to send"
    most = Strength.CERTAIN

    def strength(self, evidence: Evidence) -> Strength:
        return Strength.CERTAIN if evidence.is_served else Strength.NONE


class Shaper(Kind):
    """A shaper that sends at its rate before the slowest link, or drops packets that are longer than its bucket."""

    name = "shaper"
    meaning = "the shaper before the slowest link sent at its rate, which is below the link's, or drops long packets"
    most = Strength.CERTAIN

    def strength(self, evidence: Evidence) -> Strength:
        if evidence.is_blocked_by("tbf"):
            return Strength.CERTAIN
        return Strength.STRONG if evidence.has_its_share and evidence.is_shaped else Strength.NONE

    def remedy(self, evidence: Evidence) -> Remedy | None:
        return evidence.unblocked() if evidence.is_blocked_by("tbf") else faster_shaper(evidence, evidence.slowest)


class Link(Kind):
    """A slowest link that is busy, or gives a flow its share."""

    name = "link"
    meaning = "the slowest link was busy, or gave the flow most of its share"

    def strength(self, evidence: Evidence) -> Strength:
        return Strength.STRONG if evidence.has_its_share and not evidence.is_shaped else Strength.NONE

    def remedy(self, evidence: Evidence) -> Remedy | None:
        return faster(evidence, evidence.slowest)


class Access(Kind):
    """A medium access that grants less than its link could carry, or delays ACKs."""

    name = "access"
    meaning = "packets, or ACKs, waited for capacity that a medium access grants"

    def strength(self, evidence: Evidence) -> Strength:
        if evidence.has_its_share or evidence.busy >= BUSY:
            return Strength.NONE
        if evidence.waiting_for_grants(evidence.route) >= HALF:
            return Strength.STRONG
        # ACKs that wait lengthen the RTT, which limits a flow only if nothing else does.
        return Strength.WEAK if evidence.waiting_for_grants(evidence.return_route) >= HALF else Strength.NONE

    def remedy(self, evidence: Evidence) -> Remedy | None:
        ports = evidence.route if evidence.waiting_for_grants(evidence.route) >= HALF else evidence.return_route
        longest_wait = max(ports, key=lambda port: evidence.waiting_for_grants([port]))
        fields = evidence.run.fields.of_link(longest_wait)
        return None if fields is None or fields.access_now is None else granted(evidence, longest_wait, fields)


class Contention(Kind):
    """A medium that the flow's packets, or its ACKs, share with the transmissions of other stations."""

    name = "contention"
    meaning = "packets, or ACKs, waited for a medium that other stations used"

    def strength(self, evidence: Evidence) -> Strength:
        if evidence.busy >= BUSY:
            return Strength.NONE
        # Stations of the medium take capacity from the flow even if another link gives it most of its share.
        if evidence.waiting_for_medium(evidence.route) >= HALF:
            return Strength.STRONG
        return Strength.WEAK if evidence.waiting_for_medium(evidence.return_route) >= HALF else Strength.NONE

    def remedy(self, evidence: Evidence) -> Remedy | None:
        ports = evidence.route if evidence.waiting_for_medium(evidence.route) >= HALF else evidence.return_route
        fields = evidence.run.fields.of_link(max(ports, key=evidence.ports.waiting_for_medium_s))
        if fields is None or fields.access_now is None or fields.access_now.cell is None:
            return None
        return Remedy(f"{fields.access}.cell", OTHER_CELL)


class LossCause(Kind):
    """A cause of losses or marks that reduced the window for most of the time."""

    most = Strength.CERTAIN

    def strength(self, evidence: Evidence) -> Strength:
        if evidence.lost_to != self.name:
            return Strength.NONE
        if evidence.reduced_by is None:
            return Strength.WEAK
        return Strength.CERTAIN if evidence.nothing_arrived else Strength.STRONG


class Buffer(LossCause):
    """Overflows of a buffer."""

    name = "buffer"
    meaning = "a full buffer, or a policy that depends on its size, lost packets"

    def remedy(self, evidence: Evidence) -> Remedy | None:
        port = evidence.port_of(self.name)
        fields, link = evidence.run.fields.of_link(port), evidence.run.resolved["links"][port]
        limit = link["policy"].get("flow_limit")
        if fields is not None and limit is not None and evidence.ports.max_queued((port,)) < evidence.buffer_packets:
            # The buffer was never full, so the queues of flows were.
            return Remedy(f"{fields.policy}.flow_limit", MORE * limit)
        if fields is None or not fields.buffer or link["buffer"] is None:
            return None
        return Remedy(fields.buffer, "unlimited")


class Aqm(LossCause):
    """Drops of a queue discipline."""

    name = "AQM"
    meaning = "the queue discipline dropped packets before its buffer was full"

    def remedy(self, evidence: Evidence) -> Remedy | None:
        fields = evidence.run.fields.of_link(evidence.port_of(self.name))
        return None if fields is None else deep_queue(fields)


class Marks(LossCause):
    """Marks of a queue discipline, or of a policer."""

    name = "marks"
    meaning = "a queue marked packets, which reduced the window"

    def remedy(self, evidence: Evidence) -> Remedy | None:
        fields = evidence.run.fields.of_link(evidence.port_of(self.name))
        if fields is None:
            return None
        policer = fields.first("policer")
        if policer is not None and fields.conditioners_now[policer].exceed == "mark":
            return faster_bucket(fields, policer)
        return Remedy(fields.policy, "tail-drop") if fields.policy else None


class RandomLoss(LossCause):
    """Losses on a link."""

    name = "random loss"
    meaning = "a link lost packets: injected losses or bit errors"

    def remedy(self, evidence: Evidence) -> Remedy | None:
        fields = evidence.run.fields.of_link(evidence.port_of(self.name))
        if fields is None or fields.loss_now is None:
            return None
        is_of_file = fields.loss_now.kind == "none" and fields.path_now is not None
        return constant_path(fields, evidence) if is_of_file else Remedy(fields.loss, "none")


class Policer(LossCause):
    """Drops of a policer."""

    name = "policer"
    meaning = "a policer dropped packets that exceeded its rate"

    def strength(self, evidence: Evidence) -> Strength:
        return Strength.CERTAIN if evidence.is_blocked_by("policer") else super().strength(evidence)

    def remedy(self, evidence: Evidence) -> Remedy | None:
        if evidence.is_blocked_by("policer"):
            return evidence.unblocked()
        fields = evidence.run.fields.of_link(evidence.port_of(self.name))
        policer = None if fields is None else fields.first("policer")
        if fields is None or policer is None:
            return None
        rate_bps = RATE.parse(fields.conditioners_now[policer].rate)
        if 8 * evidence.ports.bytes_out(evidence.port_of(self.name)) / evidence.run.duration_s >= HALF * rate_bps:
            return faster_bucket(fields, policer)
        # The bucket is too small for the bursts of a window, so that its rate is not used.
        burst_bytes = max(
            4 * SIZE.parse(fields.conditioners_now[policer].burst), round(rate_bps / 2 * evidence.round_trip_s)
        )
        return Remedy(f"{fields.conditioners}.{policer}.burst", f"{burst_bytes} B")


class Outage(Kind):
    """Outages of a link, which lose or hold packets."""

    name = "outage"
    meaning = "a link had outages, or there was no route"
    most = Strength.CERTAIN

    def strength(self, evidence: Evidence) -> Strength:
        if (
            evidence.nothing_arrived
            and evidence.blocking is None
            and (evidence.reduced_by == "outage" or evidence.outages >= HALF)
        ):
            return Strength.CERTAIN
        if evidence.reduced_by != "outage" and (evidence.outages < OUTAGE_SHARE or not self._causes_losses(evidence)):
            return Strength.NONE
        return Strength.STRONG if evidence.busy < BUSY else Strength.NONE

    def _causes_losses(self, evidence: Evidence) -> bool:
        """Returns whether what reduced the window may be an effect of outages.

        An outage that holds packets fills the queue, so that overflows and timeouts are its effects. A buffer of one or
        two packets overflows without it, too, and so does that of a link that is busy at all other times.
        """
        if evidence.reduced_by != "buffer":
            return evidence.reduced_by not in ("policer", "random loss")
        is_full = (
            evidence.outages < SHORT_OUTAGES
            and evidence.busy >= BUSY * (1 - evidence.outages)
            and not evidence.path.datagrams
        )
        return evidence.buffer_packets > TINY_BUFFER and not is_full

    def remedy(self, evidence: Evidence) -> Remedy | None:
        fields = evidence.run.fields.of_link(evidence.out_link)
        if fields is None or fields.path_now is None:
            # Packets without a route over satellites wait at their host, or are lost at the first router.
            fields = evidence.run.fields.of_satellites(evidence.flow)
        return None if fields is None else constant_path(fields, evidence)


class ReturnLink(Kind):
    """A busy link on the return path of the ACKs."""

    name = "return link"
    meaning = "a return link of the ACKs was busy"

    def strength(self, evidence: Evidence) -> Strength:
        if evidence.path.datagrams or evidence.busy >= BUSY or evidence.share >= 1:
            return Strength.NONE
        if evidence.reduced_by == "timeouts" and evidence.busy_back >= BUSY_RETURN:
            # ACKs that wait cause timeouts and probes of the tail.
            return Strength.STRONG
        if evidence.queued_back >= HALF and evidence.busy_back >= BUSY:
            # ACKs wait for most of the RTT, whatever limits the window.
            return Strength.STRONG
        if evidence.busy_back < BUSY:
            return Strength.NONE
        # A link that also carries data may be busy even without the ACKs.
        is_alone = evidence.slowest_back not in evidence.run.carry_data
        return Strength.STRONG if is_alone and evidence.busy_back >= evidence.busy + CLEAR_DIFFERENCE else Strength.WEAK

    def remedy(self, evidence: Evidence) -> Remedy | None:
        if evidence.path.datagrams:
            return None
        return (faster_shaper if evidence.ports.is_shaped(evidence.slowest_back) else faster)(
            evidence, evidence.slowest_back
        )


class Window(Kind):
    """A full receiver window."""

    name = "window"
    meaning = "the receiver's window was full"

    def strength(self, evidence: Evidence) -> Strength:
        if evidence.proxy_used[1] >= max(HALF, evidence.window_used) or evidence.round_trips < FIRST_ROUND_TRIPS:
            return Strength.NONE
        # At a busy link, the data or ACKs of this flow wait; if none wait, the link is busy with other flows.
        is_waiting = evidence.queued >= SHORT_QUEUE or evidence.share >= FAIR_SHARE
        if ((evidence.busy >= NEARLY_BUSY or evidence.busy_back >= BUSY) and is_waiting) or evidence.queued >= HALF:
            return Strength.WEAK if evidence.window_used >= HALF else Strength.NONE
        # A window that was nearly full cannot grow much without the losses, or without the queues.
        if evidence.window_used >= (
            IN_USE if evidence.reduced_by is None and evidence.queued >= SHORT_QUEUE else NEARLY_FULL
        ):
            return Strength.STRONG
        # The mean window of a flow with many short transfers shows nothing about each of them.
        is_small = (
            evidence.window_segments <= SMALL_WINDOW
            and not SOURCES[evidence.flow["traffic"]["kind"]]["short_transfers"]
        )
        if is_small and not evidence.has_its_share:
            # The receiver delays the ACK of a segment that no second one follows, which may cause a probe of the tail.
            if evidence.reduced_by in (None, "timeouts") and not evidence.timeouts:
                return Strength.STRONG
            if evidence.reduced_by in ("timeouts", "random loss", "buffer") and evidence.window_used >= HALF:
                return Strength.STRONG
        return Strength.WEAK if evidence.window_used >= HALF else Strength.NONE

    def remedy(self, evidence: Evidence) -> Remedy | None:
        if evidence.path.datagrams:
            return None
        # A window that fills the rest of the link; a larger one would overflow its buffer.
        window, mss = evidence.flow["tcp"]["receiver_window_bytes"], evidence.path.mss_bytes
        factor = min(2.0, max(MIN_HEADROOM, BDP_AND_MORE / max(evidence.busy, evidence.share, HALF)))
        larger = max(round(factor * window), window + 2 * mss)
        return Remedy(evidence.run.fields.of_flow(evidence.path.flow, "receiver_window"), f"{larger} B")


class ProxyBuffer(Kind):
    """A full buffer of a split-TCP proxy."""

    name = "proxy buffer"
    meaning = "the buffer of a split-TCP proxy was full"

    def strength(self, evidence: Evidence) -> Strength:
        if evidence.proxy_used[1] < max(HALF, evidence.window_used) or evidence.round_trips < FIRST_ROUND_TRIPS:
            return Strength.NONE
        # Other flows may keep the link busy.
        is_limiting = evidence.proxy_used[1] >= PROXY_IN_USE and (evidence.busy < BUSY or evidence.share < FAIR_SHARE)
        return Strength.STRONG if is_limiting else Strength.WEAK

    def remedy(self, evidence: Evidence) -> Remedy | None:
        proxy, used = evidence.proxy_used
        if not used:
            return None
        field, size = evidence.run.fields.proxy_buffer(proxy)
        return Remedy(field, f"{MORE * SIZE.parse(size)} B")


class Reordering(Kind):
    """Packets out of order, which the sender takes for losses."""

    name = "reordering"
    meaning = "window reductions without a timeout that no loss of data explains"

    def strength(self, evidence: Evidence) -> Strength:
        # Duplicate ACKs of packets out of order cause fast retransmits, and not timeouts.
        is_shown = (
            evidence.reduced_by == "timeouts"
            and evidence.fast_retransmits >= evidence.timeouts
            and evidence.is_disordered
        )
        if is_shown:
            return Strength.STRONG
        # Controls with a model of the path count no reductions.
        is_spurious = (
            evidence.reduced_by is None
            and evidence.fast_retransmits > 0
            and not evidence.losses
            and evidence.is_disordered
        )
        return Strength.WEAK if is_spurious else Strength.NONE

    def remedy(self, evidence: Evidence) -> Remedy | None:
        return next((remedy for fields in evidence.owners if (remedy := in_order(fields)) is not None), None)


class Timeouts(Kind):
    """Timeouts, or probes of the tail, without a loss of data."""

    name = "timeouts"
    meaning = "timeouts, or probes of the tail, that no loss of data explains"

    def strength(self, evidence: Evidence) -> Strength:
        return (
            Strength.STRONG
            if evidence.reduced_by == "timeouts" and self.remedy(evidence) is not None
            else Strength.NONE
        )

    def remedy(self, evidence: Evidence) -> Remedy | None:
        if evidence.path.datagrams:
            return None
        for fields in evidence.owners:
            if (remedy := steady_delay(fields)) is not None:
                return remedy
        timer = evidence.flow["tcp"]["timer"]
        if timer["kind"] == "fine" and timer["min_rto_ps"] >= PATIENT_PS:
            return None
        return Remedy(evidence.run.fields.of_flow(evidence.path.flow, "timer"), {"kind": "fine", "timestamps": True})


class SlowStart(Kind):
    """A run, or a transfer, of too few round trips for the window to grow."""

    name = "slow start"
    meaning = "the run is too short for the round trip"
    most = Strength.CERTAIN

    def strength(self, evidence: Evidence) -> Strength:
        if evidence.has_no_ack:
            # No change of the path could have raised the window.
            return Strength.CERTAIN
        # Not every loss reduces a window: BBR sets its rate from its model of the path.
        is_short = evidence.round_trips < SLOW_START_ROUND_TRIPS and not (
            evidence.timeouts or evidence.fast_retransmits
        )
        # Timers may expire before the first ACKs arrive.
        is_short = is_short or (evidence.round_trips < FIRST_ROUND_TRIPS and evidence.reduced_by in (None, "timeouts"))
        return Strength.WEAK if is_short else Strength.NONE


class Congestion(Kind):
    """A congestion control that sets the rate without a loss."""

    name = "congestion"
    meaning = "congestion control set the rate, not a loss"

    def strength(self, evidence: Evidence) -> Strength:
        return Strength.NONE if evidence.path.datagrams else Strength.WEAK

    def remedy(self, evidence: Evidence) -> Remedy | None:
        if evidence.path.datagrams or part_kind(evidence.flow["tcp"]["congestion"]) == "cubic":
            return None
        return Remedy(evidence.run.fields.of_flow(evidence.path.flow, "congestion"), "cubic")


class NotDetermined(Kind):
    """No single change of a field that would raise the goodput is known."""

    name = "not determined"
    meaning = "no single change of a field is known to help"

    def strength(self, evidence: Evidence) -> Strength:
        # Two links with different fields limit the flow to the same rate.
        return Strength.STRONG if evidence.has_its_share and evidence.is_bounded_elsewhere else Strength.REST


# All limits; of those with equally strong evidence, the first one limits a flow.
KINDS: Final[tuple[Kind, ...]] = (
    FurtherPath(),
    NotStarted(),
    Application(),
    Outage(),
    ReturnLink(),
    Window(),
    ProxyBuffer(),
    Contention(),
    NotDetermined(),
    Shaper(),
    Link(),
    Access(),
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
