"""Queues that act: what a router's port, and of RED a switch's, refuses, marks or drops before it is full."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from longpipe.scenario.base import (
    LATER,
    Backlog,
    Delay,
    Model,
    PositiveShare,
    Quantum,
    QueueTime,
    SegmentSize,
    UpdateTime,
)
from longpipe.units import TIME

Ecn = Annotated[
    bool, Field(description="Mark rather than drop the packets of senders that understand marks; RFC 3168 section 5")
]
QueueUnit = Annotated[Literal["packets", "bytes"], Field(description="What thresholds count")]
Gain = Annotated[float, Field(gt=0, le=1e9)]


class Red(Model):
    """Random Early Detection: the longer the mean queue, the more arrivals go (Floyd and Jacobson 1993)."""

    kind: Literal["red"] = "red"
    min: float = Field(default=5, gt=0, le=1e12, description="Mean queue below which none goes [unit]; Floyd 1997")
    max: float = Field(
        default=15, gt=0, le=1e12, description="Mean queue from which on all go, or twice that if gentle [unit]"
    )
    unit: Literal["packets", "bytes", "cells"] = Field(
        default="packets", description="What thresholds count; cells, of which frames are judged whole, in ATM switches"
    )
    weight: PositiveShare = Field(
        default=0.002,
        description="w of the queue that an arrival finds in the mean; 1 - exp(-1/C) for C packets/s fits a link",
    )
    max_p: PositiveShare = Field(default=0.1, description="Probability at 'max'; Floyd 1997")
    gentle: bool = Field(default=True, description="Rise from max_p to 1 up to twice 'max', rather than jump")
    adaptive: bool = Field(
        default=False, description="Move max_p so that the mean stays half-way; Floyd, Gummadi and Shenker 2001"
    )
    gap: Literal["uniform", "wait", "drawn"] = Field(
        default="uniform",
        description="How far those that go are apart: 1 to 1/p (Floyd and Jacobson 1993), 1/p to 2/p as in ns-2, or "
        "drawn once for each gap as in Linux",
    )
    mean_packet: SegmentSize = Field(
        default="1000 B", description="Mean length of a packet, by which an idle line and bytes are counted [bytes]"
    )
    ecn: Ecn = False
    per_vc: Annotated[bool, LATER] = Field(
        default=False, description="A mean for each VC of the cells that it holds, rather than one of all"
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        """What no field has alone: each with the field's name."""
        if self.min >= self.max:
            yield "max", f"{self.max:g}; needs more than min, {self.min:g}"
        if self.gap == "drawn" and (self.gentle or self.adaptive):
            yield "gap", "drawn; needs gentle = false and adaptive = false, as Linux has it"
        if self.per_vc and self.unit != "cells":
            yield "per_vc", "true; needs unit = 'cells', of which VCs are made"
        if self.ecn and self.unit == "cells":
            yield "ecn", "true; needs false with unit = 'cells', which carry no marks of IP"


class Pie(Model):
    """Every 15 ms the delay and its change move the probability by which arrivals go (RFC 8033)."""

    kind: Literal["pie"] = "pie"
    target: QueueTime = Field(default="15 ms", description="Delay aimed at [time]; RFC 8033 QDELAY_REF")
    update: UpdateTime = Field(default="15 ms", description="Time from update to update [time]; RFC 8033 T_UPDATE")
    burst: Delay = Field(default="150 ms", description="How long a burst may last [time]; RFC 8033 MAX_BURST")
    alpha: Gain = Field(default=0.125, description="Weight of the delay's distance from the target [1/s]; RFC 8033")
    beta: Gain = Field(default=1.25, description="Weight of its change [1/s]; RFC 8033 section 4.2")
    least_backlog: Backlog = Field(
        default="3000 B", description="No packet goes where no more waits [bytes]; RFC 8033 section 4.1, two packets"
    )
    delay: Literal["sojourn", "departure-rate", "departure-time"] = Field(
        default="sojourn",
        description="How the delay is known: that of the packet that left last, the queue over the rate of departures "
        "(half of each new rate in the mean, as in ns-3), or the queue times how long 2^14 bytes take to depart (a "
        "quarter of each new time in the mean); RFC 8033 section 5.2",
    )
    rules: Literal["rfc-8033", "linux", "ns-3"] = Field(
        default="rfc-8033", description="Whose reading of bursts and of very short and long delays"
    )
    derandomize: bool = Field(default=True, description="Keep those that go apart; RFC 8033 section 5.4")
    ecn: Ecn = False


class StepMarking(Model):
    """Marks packets that find K or more waiting, and refuses none but those without room (RFC 8257 section 3.1)."""

    kind: Literal["step-marking"] = "step-marking"
    threshold: int = Field(ge=1, le=10**12, description="K [unit]; RFC 8257 section 4.1 asks for C RTT/7")
    unit: QueueUnit = "packets"


class Blue(Model):
    """Overflow raises the probability by which arrivals go, an idle line lowers it (Feng et al. 1999)."""

    kind: Literal["blue"] = "blue"
    increment: PositiveShare = Field(default=0.02, description="What an overflow adds; Feng et al. 1999 d1")
    decrement: PositiveShare = Field(default=0.002, description="What an idle line takes off; Feng et al. 1999 d2")
    freeze: QueueTime = Field(default="100 ms", description="Least time between two of these [time]; Feng et al. 1999")
    ecn: Ecn = False


class CodelOptions(Model):
    """How CoDel knows a delay that lasts."""

    target: QueueTime = Field(default="5 ms", description="Delay that is no reason to drop [time]; RFC 8289 TARGET")
    interval: QueueTime = Field(default="100 ms", description="How long it may be longer [time]; RFC 8289 INTERVAL")
    least_backlog: Backlog = Field(
        default="1500 B", description="No packet is dropped that leaves no more behind [bytes]; RFC 8289 section 4.2"
    )
    arithmetic: Literal["exact", "linux", "ns-3"] = Field(
        default="exact",
        description="Times between drops by roots, or by Linux's or ns-3's steps towards them in units of 1024 ns",
    )
    ecn: Ecn = False

    def problems(self) -> Iterator[tuple[str, str]]:
        """What no field has alone: each with the field's name."""
        if TIME.parse(self.interval) < TIME.parse(self.target):
            yield "interval", f"{self.interval}; needs at least the target, {self.target}"


class Codel(CodelOptions):
    """Controlled delay: drops at the head, the more often the longer packets wait too long (RFC 8289)."""

    kind: Literal["codel"] = "codel"


class FqCodel(CodelOptions):
    """A queue for each flow, new ones first, each under CoDel (RFC 8290); without room the longest queue is cut."""

    kind: Literal["fq-codel"] = "fq-codel"
    quantum: Quantum = Field(default="1514 B", description="What a queue may send in a turn [bytes]; RFC 8290")
    queues: int | None = Field(
        default=None,
        ge=1,
        le=65536,
        description="Queues among which a hash spreads the flows, 1024 in Linux; else one for each flow",
    )
    rules: Literal["rfc-8290", "linux"] = Field(
        default="rfc-8290",
        description="Whether CoDel looks at the backlog of a flow, or of all as Linux's, and where flows that emptied "
        "wait",
    )


ACTIVE = (Red, Pie, StepMarking, Blue, Codel, FqCodel)
