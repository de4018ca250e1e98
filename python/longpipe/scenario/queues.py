"""Active queue management: disciplines that drop or mark before the buffer is full; ATM switches can also use RED."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from longpipe.scenario.base import (
    LATER,
    Backlog,
    Delay,
    PositiveShare,
    Quantum,
    QueueTime,
    SegmentSize,
    UpdateTime,
)
from longpipe.scenario.constraints import Constraint
from longpipe.scenario.declared import Declared

Ecn = Annotated[bool, Field(description="Mark ECN-capable packets instead of dropping them; RFC 3168 section 5")]
QueueUnit = Annotated[Literal["packets", "bytes"], Field(description="Unit of the thresholds")]
Gain = Annotated[float, Field(gt=0, le=1e9)]
HashedQueues = Annotated[
    int | None,
    Field(
        ge=1,
        le=65536,
        description="Number of queues to which flows are hashed, 1024 in Linux; one queue per flow if absent",
    ),
]
_DRAWN: Final = "drawn; needs gentle = false and adaptive = false, as in Linux"


@dataclass(frozen=True)
class Mahimahi:
    """A queue of mahimahi, for the discipline to which it corresponds."""

    name: str
    # Arguments of the queue [ms], each with the field that it sets.
    arguments: Mapping[str, str] = field(default_factory=dict)
    # Values of fields that are constants of mahimahi.
    constants: Mapping[str, str] = field(default_factory=dict)


class Queue(Declared):
    """A queue discipline of a port: which packets or frames it drops or marks, and when."""

    part: ClassVar[str] = "policy"
    # Facts that the core declares: whether the discipline exists for cells and for IP packets, when it decides, which
    # packets it marks, and its processor time per packet in addition to that of tail drop [ns].
    cells: ClassVar[bool]
    packets: ClassVar[bool]
    decides: ClassVar[Literal["by-occupancy", "by-frame", "at-enqueue", "at-dequeue"]]
    marks: ClassVar[Literal["nothing", "with-ecn", "capable", "scalable"]]
    cost_ns: ClassVar[int]
    # The corresponding queue of mahimahi, if there is one.
    mahimahi: ClassVar[Mahimahi | None] = None


class Red(Queue):
    """Random Early Detection: the drop probability rises with the average queue (Floyd and Jacobson 1993)."""

    label: ClassVar[str] = "RED"
    kind: Literal["red"] = "red"
    min: float = Field(
        default=5, gt=0, le=1e12, description="Average queue below which RED drops nothing [unit] (Floyd 1997)"
    )
    max: float = Field(
        default=15,
        gt=0,
        le=1e12,
        description="Average queue [unit] at and above which RED drops everything; twice that if gentle",
    )
    unit: Literal["packets", "bytes", "cells"] = Field(
        default="packets",
        description="Unit of the thresholds; 'cells' is for ATM switches, where RED drops whole frames",
    )
    weight: PositiveShare = Field(
        default=0.002,
        description="Weight w_q of a new sample in the average queue; 1 - exp(-1/C) suits a link of C packets/s",
    )
    max_p: PositiveShare = Field(default=0.1, description="Drop probability at 'max' (Floyd 1997)")
    gentle: bool = Field(
        default=True, description="Raise the probability linearly from max_p at 'max' to 1 at twice 'max'"
    )
    adaptive: bool = Field(
        default=False,
        description="Adaptive RED: adapt max_p to keep the average queue half-way between min and max; "
        "Floyd, Gummadi and Shenker 2001",
    )
    gap: Literal["uniform", "wait", "drawn"] = Field(
        default="uniform",
        description="Distribution of the number of packets between drops: 'uniform' from 1 to 1/p (Floyd and "
        "Jacobson 1993), 'wait' uniform from 1/p to 2/p as in ns-2, or 'drawn', which draws the "
        "number once for each gap as in Linux",
    )
    mean_packet: SegmentSize = Field(
        default="1000 B",
        description="Mean packet size, used to age the average while the port is idle, and to scale the "
        "probability by packet size [bytes]",
    )
    ecn: Ecn = False
    per_vc: Annotated[bool, LATER] = Field(
        default=False, description="Keep a separate average for the queued cells of each VC"
    )

    constraints: ClassVar = (
        Constraint("max", "min >= max", "{max}; needs more than min, {min}"),
        Constraint("gap", "gap is 'drawn' and gentle is true", _DRAWN),
        Constraint("gap", "gap is 'drawn' and gentle is false and adaptive is true", _DRAWN),
        Constraint(
            "per_vc",
            "per_vc is true and unit is not 'cells'",
            "true; needs unit = 'cells', because IP has no VCs",
        ),
        Constraint(
            "ecn",
            "ecn is true and unit is 'cells'",
            "true; needs false with unit = 'cells', because cells have no ECN field",
        ),
    )


class PieOptions(Queue):
    """Parameters of PIE's controller."""

    target: QueueTime = Field(default="15 ms", description="Target queueing delay [time]; RFC 8033 QDELAY_REF")
    update: UpdateTime = Field(
        default="15 ms", description="Update interval of the drop probability [time]; RFC 8033 T_UPDATE"
    )
    burst: Delay = Field(default="150 ms", description="Burst allowance without drops [time]; RFC 8033 MAX_BURST")
    alpha: Gain = Field(default=0.125, description="Gain for the delay's deviation from the target [1/s]; RFC 8033")
    beta: Gain = Field(default=1.25, description="Gain for the change in delay [1/s]; RFC 8033 section 4.2")
    least_backlog: Backlog = Field(
        default="3000 B",
        description="PIE neither drops nor marks up to this backlog [bytes]; RFC 8033 section 4.1, two packets; with "
        "the rules of ns-3, two packets of any length",
    )
    ecn: Ecn = False


class Pie(PieOptions):
    """PIE: a PI controller sets the drop probability from the queueing delay and its change (RFC 8033)."""

    # mahimahi updates the probability every 30 ms.
    mahimahi: ClassVar = Mahimahi(
        "pie", {"qdelay_ref": "target", "max_burst": "burst"}, {"update": "30 ms", "delay": "departure-rate"}
    )
    label: ClassVar[str] = "PIE"
    kind: Literal["pie"] = "pie"
    delay: Literal["sojourn", "departure-rate", "departure-time"] = Field(
        default="sojourn",
        description="Estimate of the delay: the sojourn time of the latest departure; the backlog over the departure "
        "rate (averaged with weight 1/2 as ns-3, or 1/8 with the rules of Linux); or the backlog times the time per "
        "byte over 2^14 bytes (averaged with weight 1/4); RFC 8033 section 5.2",
    )
    rules: Literal["rfc-8033", "linux", "ns-3"] = Field(
        default="rfc-8033",
        description="Implementation whose rules apply to bursts and to very short and very long delays",
    )
    derandomize: bool = Field(default=True, description="Spread drops out (derandomize); RFC 8033 section 5.4")


class FqPie(PieOptions):
    """A queue for each flow, new flows first, each under PIE (Linux's fq_pie); a full buffer drops the arrival."""

    label: ClassVar[str] = "FQ-PIE"
    kind: Literal["fq-pie"] = "fq-pie"
    quantum: Quantum = Field(default="1514 B", description="Bytes that a queue may send per round [bytes]; fq_pie")
    queues: HashedQueues = None


class StepMarking(Queue):
    """Marks packets that find a queue of K or more, and drops only when the buffer is full (RFC 8257 section 3.1)."""

    label: ClassVar[str] = "step marking"
    kind: Literal["step-marking"] = "step-marking"
    threshold: int = Field(
        ge=1, le=10**12, description="Marking threshold K [unit]; RFC 8257 section 4.1 recommends C RTT/7"
    )
    unit: QueueUnit = "packets"


class Blue(Queue):
    """BLUE: overflow raises the drop probability, and an idle link lowers it (Feng et al. 1999)."""

    label: ClassVar[str] = "BLUE"
    kind: Literal["blue"] = "blue"
    increment: PositiveShare = Field(
        default=0.02, description="Increase of the probability at an overflow (Feng et al. 1999 d1)"
    )
    decrement: PositiveShare = Field(
        default=0.002, description="Decrease of the probability when idle (Feng et al. 1999 d2)"
    )
    freeze: QueueTime = Field(
        default="100 ms", description="Minimum time between two changes [time] (Feng et al. 1999)"
    )
    ecn: Ecn = False


class CodelOptions(Queue):
    """Parameters of CoDel's detection of a standing queue."""

    target: QueueTime = Field(default="5 ms", description="Acceptable standing queue delay [time]; RFC 8289 TARGET")
    interval: QueueTime = Field(
        default="100 ms",
        description="Time for which the delay must exceed the target before the first drop [time]; RFC 8289 INTERVAL",
    )
    least_backlog: Backlog = Field(
        default="1500 B",
        description="CoDel does not drop while the backlog is at most this [bytes]; RFC 8289 section 4.2",
    )
    arithmetic: Literal["exact", "linux", "ns-3"] = Field(
        default="exact",
        description="Interval between drops: exact inverse square root, or the Newton steps of Linux or ns-3 in units "
        "of 1024 ns",
    )
    ecn: Ecn = False

    constraints: ClassVar = (
        Constraint("interval", "interval < target", "{interval}; needs at least the target, {target}"),
    )


class Codel(CodelOptions):
    """Controlled delay: drops at the head, increasingly often while the delay exceeds the target (RFC 8289)."""

    # mahimahi drops nothing while at most one packet of 1504 bytes is queued.
    mahimahi: ClassVar = Mahimahi("codel", {"target": "target", "interval": "interval"}, {"least_backlog": "1504 B"})
    label: ClassVar[str] = "CoDel"
    kind: Literal["codel"] = "codel"


class FqCodel(CodelOptions):
    """A CoDel queue for each flow, new flows first (RFC 8290); a full buffer drops from the longest queue."""

    label: ClassVar[str] = "FQ-CoDel"
    kind: Literal["fq-codel"] = "fq-codel"
    quantum: Quantum = Field(default="1514 B", description="Bytes that a queue may send per round [bytes]; RFC 8290")
    queues: HashedQueues = None
    rules: Literal["rfc-8290", "linux"] = Field(
        default="rfc-8290",
        description="Implementation to follow. Linux: CoDel compares the backlog of all flows, and a new flow that "
        "became empty joins the old flows only if there are any. RFC 8290: CoDel compares the flow's own backlog, "
        "and such a flow always joins them",
    )
