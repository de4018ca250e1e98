"""Packet schedulers: ports with several queues, by flow, by class, or by ECN codepoint."""

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from longpipe.scenario.base import Delay, Model, QueueTime, Rate, TurnQuantum, UpdateTime, kind_or_table
from longpipe.scenario.constraints import Constraint
from longpipe.scenario.queues import Queue

Weight = Annotated[int, Field(ge=1, le=10_000)]
Queues = Annotated[int, Field(ge=1, le=65_536)]
Gain = Annotated[float, Field(gt=0, le=1e9)]
TurnBytes = Annotated[TurnQuantum, Field(description="Bytes that a queue may send per round [bytes]")]


class Drr(Queue):
    """Deficit round robin with a queue per flow; a full buffer drops the last packet of the longest queue."""

    label: ClassVar[str] = "DRR"
    kind: Literal["drr"] = "drr"
    quantum: TurnBytes = "1514 B"
    queues: Queues | None = Field(
        default=None, description="Number of queues to which flows are hashed; one queue per flow if absent"
    )


class Sfq(Queue):
    """Stochastic fair queueing by bytes: round robin over queues to which flows are hashed (McKenney 1990)."""

    label: ClassVar[str] = "SFQ"
    kind: Literal["sfq"] = "sfq"
    quantum: TurnBytes = "1514 B"
    queues: Queues = Field(default=1024, description="Number of queues to which flows are hashed; Linux sch_sfq")
    perturb: QueueTime | None = Field(
        default=None,
        description="Interval of changes of the hash [time]; queued packets stay in their queue; never if absent",
    )


class Fq(Queue):
    """Linux's fair queue (sch_fq): a queue per flow with a byte credit, new flows first; pacing is left to senders."""

    kind: Literal["fq"] = "fq"
    quantum: TurnBytes = "3028 B"
    initial_quantum: TurnQuantum = Field(
        default="15140 B",
        description="Bytes that a flow may send in its first round [bytes]; Linux sch_fq, ten packets",
    )
    flow_limit: int = Field(
        default=100, ge=1, le=10**9, description="Maximum number of queued packets of a flow; Linux sch_fq"
    )
    refill_delay: Delay = Field(
        default="40 ms",
        description="Idle time after which a flow gets a full quantum [time]; Linux sch_fq flow_refill_delay",
    )


class StrictPriority(Queue):
    """A queue per class, each with the port's buffer; the first class with queued packets is served."""

    kind: Literal["strict-priority"] = "strict-priority"
    classes: int = Field(default=2, ge=1, le=256, description="Number of classes; a flow's class is its field 'class'")


class WeightedPriority(Queue):
    """A queue per class, each with the port's buffer, served by weighted deficit round robin."""

    kind: Literal["weighted-priority"] = "weighted-priority"
    weights: tuple[Weight, ...] = Field(
        default=(3, 1), min_length=1, max_length=256, description="Quanta per round of each class, as in [3, 1]"
    )
    quantum: TurnQuantum = Field(default="1514 B", description="Bytes per round for a weight of 1 [bytes]")


class Step(Model):
    """Marks every packet whose delay reaches the threshold."""

    kind: Literal["step"] = "step"
    threshold: Delay = Field(
        default="1 ms", description="Delay at and above which packets are marked [time]; Linux sch_dualpi2"
    )


class Ramp(Model):
    """Marks with a probability that rises linearly with the delay."""

    kind: Literal["ramp"] = "ramp"
    min: Delay = Field(
        default="800 us", description="Delay up to which no packet is marked [time]; RFC 9332 appendix A.1 minTh"
    )
    max: Delay = Field(
        default="1200 us",
        description="Delay [time] at and above which every packet is marked; RFC 9332 appendix A.1, minTh + range",
    )


class TimeShifted(Model):
    """Serves in order of arrival; low-latency packets count as if they had arrived earlier by a shift."""

    kind: Literal["time-shifted"] = "time-shifted"
    shift: Delay = Field(default="50 ms", description="The shift [time]; RFC 9332 appendix A.1 tshift")


class Shares(Model):
    """Guarantees the classic queue a share of the bytes while both queues are backlogged."""

    kind: Literal["weighted"] = "weighted"
    classic: float = Field(
        default=0.1, gt=0, lt=1, description="Share of the classic queue [fraction]; Linux (RFC 9332 suggests 1/16)"
    )


class DualPi2(Queue):
    """A low-latency queue coupled to a classic queue by one PI controller (RFC 9332).

    The low-latency queue takes ECT(1) and CE packets and marks them with probability max(own, k p'). The classic queue
    drops or marks with probability p'^2. When k p' reaches 1, both queues drop with probability p'^2. Decisions are
    derandomized: probabilities are accumulated, and a packet is marked when the sum reaches 1.
    """

    label: ClassVar[str] = "DualPI2"
    kind: Literal["dualpi2"] = "dualpi2"
    target: QueueTime = Field(default="15 ms", description="Target delay of the classic queue [time]; RFC 9332")
    update: UpdateTime = Field(
        default="16 ms", description="Update interval of the controller [time]; RFC 9332 Tupdate"
    )
    alpha: Gain = Field(default=0.16, description="Gain for the delay's deviation from the target [1/s]; RFC 9332")
    beta: Gain = Field(default=3.2, description="Gain for the change in delay [1/s]; RFC 9332")
    coupling: float = Field(default=2, ge=1, le=100, description="Coupling factor k; RFC 9332 section 2.1")
    marking: Annotated[Ramp | Step, Field(discriminator="kind"), kind_or_table()] = Field(
        default=Ramp.unchecked(), description="Native marking of the low-latency queue: ramp (RFC 9332) or step (Linux)"
    )
    least_packets: int = Field(
        default=1,
        ge=0,
        le=10**9,
        description="Backlog of the low-latency queue up to which there is no native marking [packets]; RFC 9332 "
        "Th_len",
    )
    scheduler: Annotated[TimeShifted | Shares, Field(discriminator="kind"), kind_or_table()] = Field(
        default=TimeShifted.unchecked(),
        description="Scheduler of the two queues: time-shifted or weighted; RFC 9332 appendix A.1",
    )
    ecn: bool = Field(
        default=True, description="Mark ECN-capable packets of the classic queue instead of dropping them; RFC 9332"
    )

    constraints: ClassVar = (
        Constraint("marking.max", "marking.max <= marking.min", "{marking.max}; needs more than min, {marking.min}"),
    )


class AckFilter(Queue):
    """A FIFO queue in which a new ACK replaces queued ACKs of its connection that it makes redundant (RFC 3449 5.2.1).

    Duplicate ACKs, ACKs with SACK blocks and ACKs whose ECN feedback differs are kept.
    """

    kind: Literal["ack-filter"] = "ack-filter"


class HeadDrop(Queue):
    """A FIFO queue whose full buffer drops the oldest packets, which senders notice earlier (pfifo_head_drop)."""

    kind: Literal["head-drop"] = "head-drop"


class Cake(Queue):
    """CAKE: a shaper, DiffServ tins, and fair queueing of hosts and flows with COBALT, as in Linux (sch_cake).

    A flow's DSCP is its field 'class'. ECN-capable packets are marked instead of dropped, except by BLUE. A full buffer
    drops from the longest queue.
    """

    kind: Literal["cake"] = "cake"
    rate: Rate | None = Field(
        default=None,
        description="Rate of the shaper, which counts packet lengths with overhead and framing; unlimited if "
        "absent; sch_cake bandwidth",
    )
    overhead: int = Field(
        default=0, ge=-64, le=256, description="Bytes added to the length of each IP packet [bytes]; sch_cake overhead"
    )
    framing: Literal["none", "atm", "ptm"] = Field(
        default="none",
        description="Framing of the line: 'atm', 53-byte cells of 48 bytes of payload, or 'ptm', one more byte for "
        "each 64; sch_cake",
    )
    mpu: int = Field(
        default=0, ge=0, le=256, description="Minimum length of a packet with its overhead [bytes]; sch_cake mpu"
    )
    rtt: QueueTime = Field(
        default="100 ms",
        description="RTT for which COBALT is configured: its interval, and 20 times its target [time]; sch_cake rtt",
    )
    tins: Literal["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"] = Field(
        default="diffserv3",
        description="Priority tins, selected by DSCP; each has priority up to its share of the rate; sch_cake",
    )
    isolation: Literal[
        "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"
    ] = Field(
        default="triple-isolate",
        description="Entities among which a tin's rate is shared: flows, hosts, or hosts and then their flows; "
        "sch_cake",
    )
    ack_filter: Literal["off", "on", "aggressive"] = Field(
        default="off", description="Remove ACKs that later ones in the queue make redundant; sch_cake ack-filter"
    )
    ingress: bool = Field(
        default=False,
        description="Count dropped packets as sent, for a bottleneck upstream of this queue; sch_cake ingress",
    )


# Disciplines that schedule packets at dequeue, for IP only.
Choosing = Drr | Sfq | Fq | StrictPriority | WeightedPriority | DualPi2 | AckFilter | HeadDrop | Cake
CHOOSING: tuple[type[Model], ...] = get_args(Choosing)
