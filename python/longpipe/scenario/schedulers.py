"""Ports that choose between queues: by flow, by class, or by what a sender can do with marks."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from longpipe.scenario.base import Delay, Model, QueueTime, TurnQuantum, UpdateTime, kind_or_table
from longpipe.units import TIME

Weight = Annotated[int, Field(ge=1, le=10_000)]
Queues = Annotated[int, Field(ge=1, le=65_536)]
Gain = Annotated[float, Field(gt=0, le=1e9)]
TurnBytes = Annotated[TurnQuantum, Field(description="What a queue may send in a turn [bytes]")]


class Drr(Model):
    """Deficit round robin, a queue for each flow; without room the longest queue loses its last packet."""

    kind: Literal["drr"] = "drr"
    quantum: TurnBytes = "1514 B"
    queues: Queues | None = Field(
        default=None, description="Queues among which a hash spreads the flows; else one for each flow"
    )


class Sfq(Model):
    """Stochastic fair queueing by bytes: a hash that may change spreads flows over queues in turn (McKenney 1990)."""

    kind: Literal["sfq"] = "sfq"
    quantum: TurnBytes = "1514 B"
    queues: Queues = Field(default=1024, description="Queues among which a hash spreads the flows; Linux sch_sfq")
    perturb: QueueTime | None = Field(
        default=None, description="How often the hash changes [time], 10 s for many; what waits stays; never if absent"
    )


class Fq(Model):
    """Linux's fair queue: one for each flow, new ones first, each with a credit (sch_fq); senders pace themselves."""

    kind: Literal["fq"] = "fq"
    quantum: TurnBytes = "3028 B"
    initial_quantum: TurnQuantum = Field(
        default="15140 B", description="What a flow may send in its first turn [bytes]; Linux sch_fq, ten packets"
    )
    flow_limit: int = Field(default=100, ge=1, le=10**9, description="Most packets of a flow that wait; Linux sch_fq")
    refill_delay: Delay = Field(
        default="40 ms",
        description="A flow that had no turn to come for longer begins with a whole one [time]; Linux sch_fq",
    )


class StrictPriority(Model):
    """A queue for each class, each with the port's buffer; of those where packets wait the first one sends."""

    kind: Literal["strict-priority"] = "strict-priority"
    classes: int = Field(default=2, ge=1, le=256, description="Number of classes, to which flows belong by 'class'")


class WeightedPriority(Model):
    """A queue for each class, each with the port's buffer, in turn by weight (deficit round robin)."""

    kind: Literal["weighted-priority"] = "weighted-priority"
    weights: tuple[Weight, ...] = Field(
        default=(3, 1), min_length=1, max_length=256, description="Quanta of each class in a turn, as in [3, 1]"
    )
    quantum: TurnQuantum = Field(default="1514 B", description="What a weight of 1 may send in a turn [bytes]")


class Step(Model):
    """All are marked from a delay on."""

    kind: Literal["step"] = "step"
    threshold: Delay = Field(default="1 ms", description="The delay [time]; Linux sch_dualpi2")


class Ramp(Model):
    """The longer the delay, the more are marked."""

    kind: Literal["ramp"] = "ramp"
    min: Delay = Field(default="800 us", description="No mark up to here [time]; RFC 9332 appendix A.1 minTh")
    max: Delay = Field(default="1200 us", description="All from here on [time]; RFC 9332 appendix A.1, minTh + range")


class TimeShifted(Model):
    """First come, first served, as if packets of low latency had come earlier."""

    kind: Literal["time-shifted"] = "time-shifted"
    shift: Delay = Field(default="50 ms", description="By how much [time]; RFC 9332 appendix A.1 tshift")


class Shares(Model):
    """The classic queue has a share of the bytes while both wait."""

    kind: Literal["weighted"] = "weighted"
    classic: float = Field(default=0.1, gt=0, lt=1, description="The share [fraction]; Linux, RFC 9332 has 1/16")


class DualPi2(Model):
    """A queue of low latency coupled with a classic one under one PI controller (RFC 9332); whose likelihoods add up.

    The queue of low latency takes ECT(1) and what was marked before; it is marked by max(own, k p'), the classic one by
    p'^2. Where k p' reaches 1 both drop by p'^2.
    """

    kind: Literal["dualpi2"] = "dualpi2"
    target: QueueTime = Field(default="15 ms", description="Delay aimed at in the classic queue [time]; RFC 9332")
    update: UpdateTime = Field(default="16 ms", description="Time from update to update [time]; RFC 9332 Tupdate")
    alpha: Gain = Field(default=0.16, description="Weight of the delay's distance from the target [1/s]; RFC 9332")
    beta: Gain = Field(default=3.2, description="Weight of its change [1/s]; RFC 9332")
    coupling: float = Field(default=2, ge=1, le=100, description="k; RFC 9332 section 2.1")
    marking: Annotated[Ramp | Step, Field(discriminator="kind"), kind_or_table()] = Field(
        default=Ramp(), description="When the queue of low latency marks by itself: ramp (RFC 9332) or step (Linux)"
    )
    least_packets: int = Field(
        default=1, ge=0, le=10**9, description="It marks none where no more wait [packets]; RFC 9332 Th_len"
    )
    scheduler: Annotated[TimeShifted | Shares, Field(discriminator="kind"), kind_or_table()] = Field(
        default=TimeShifted(), description="Who sends where both wait: time-shifted or weighted; RFC 9332 appendix A.1"
    )
    ecn: bool = Field(
        default=True, description="Mark rather than drop packets of the classic queue that can be marked; RFC 9332"
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        """What no field has alone: each with the field's name."""
        if isinstance(self.marking, Ramp) and TIME.parse(self.marking.max) <= TIME.parse(self.marking.min):
            yield "marking.max", f"{self.marking.max}; needs more than min, {self.marking.min}"


class AckFilter(Model):
    """A plain queue where an ACK takes the place of those of its connection that wait and say less (RFC 3449 5.2.1).

    Duplicates, ACKs with SACK blocks and those that tell otherwise of marks are kept.
    """

    kind: Literal["ack-filter"] = "ack-filter"


CHOOSING = (Drr, Sfq, Fq, StrictPriority, WeightedPriority, DualPi2, AckFilter)
