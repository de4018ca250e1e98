"""Injected losses of a link, independent of its buffer: losses of packets on entry to its port, or bit errors."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from longpipe.scenario.base import ASCENDING, Instant, Model, Probability, SampleInterval, kind_or_table

PacketNumber = Annotated[int, Field(ge=0, lt=2**63)]


class NoLoss(Model):
    """No injected losses."""

    kind: Literal["none"] = "none"


class PacketLoss(Model):
    """Loses the listed packets, numbered in the order in which they enter the link."""

    kind: Literal["packets"] = "packets"
    indices: Annotated[tuple[PacketNumber, ...], ASCENDING] = Field(
        description="A list of packet numbers, counted from 0, as in [14, 28]"
    )


class PeriodicLoss(Model):
    """Loses every packet whose number, counted from 1, is a multiple of the interval (Mathis et al. 1997)."""

    kind: Literal["periodic"] = "periodic"
    interval: Annotated[int, Field(ge=1, lt=2**63)] = Field(
        description="A number of packets from one loss to the next [packets], as in 1000 for a loss rate of 0.1 %"
    )


class TimedLoss(Model):
    """Loses the first packet that enters at or after each listed time."""

    kind: Literal["at-times"] = "at-times"
    instants: Annotated[tuple[Instant, ...], ASCENDING] = Field(
        description="A list of times [time], as in ['1 s', '1.5 s']"
    )


class BernoulliLoss(Model):
    """Loses each packet independently, from the link's random stream."""

    draws: ClassVar[bool] = True
    kind: Literal["bernoulli"] = "bernoulli"
    probability: Probability = Field(description="A probability of a loss, per packet")


class LossOverTime(Model):
    """Loses each packet independently with a time-varying probability, which is 0 before the first listed time."""

    draws: ClassVar[bool] = True
    kind: Literal["over-time"] = "over-time"
    steps: tuple[tuple[Instant, Probability], ...] = Field(
        description="A list of times [time] and the probability from then on, as in [['0 s', 0.0], ['15 s', 0.5]]"
    )


class GilbertElliottTimeLoss(Model):
    """Gilbert-Elliott model in time: states have exponential durations, so bursts do not depend on the load."""

    draws: ClassVar[bool] = True
    kind: Literal["gilbert-elliott-in-time"] = "gilbert-elliott-in-time"
    good: SampleInterval = Field(description="A mean time in the good state [time]")
    bad: SampleInterval = Field(description="A mean time in the bad state [time]")
    loss_in_good: Probability = Field(default=0.0, description="Probability of a loss in the good state")
    loss_in_bad: Probability = Field(default=1.0, description="Probability of a loss in the bad state")


class GilbertElliottLoss(Model):
    """Gilbert-Elliott model: two states, with a transition before each packet (Gilbert 1960, Elliott 1963)."""

    draws: ClassVar[bool] = True
    kind: Literal["gilbert-elliott"] = "gilbert-elliott"
    good_to_bad: Probability = Field(description="A transition probability from good to bad, per packet")
    bad_to_good: Probability = Field(description="A transition probability from bad to good, per packet")
    loss_in_good: Probability = Field(default=0.0, description="Probability of a loss in the good state; Gilbert 1960")
    loss_in_bad: Probability = Field(default=1.0, description="Probability of a loss in the bad state")


class BitErrorLoss(Model):
    """Independent bit errors: a packet of n bits is lost with probability 1 - (1 - rate)^n at the end of the link."""

    draws: ClassVar[bool] = True
    kind: Literal["bit-errors"] = "bit-errors"
    rate: Probability = Field(description="A bit error rate (BER): the probability that a bit is wrong, as in 1e-7")


Loss = Annotated[
    NoLoss
    | PacketLoss
    | PeriodicLoss
    | TimedLoss
    | BernoulliLoss
    | LossOverTime
    | GilbertElliottTimeLoss
    | GilbertElliottLoss
    | BitErrorLoss,
    Field(discriminator="kind"),
    kind_or_table(),
]
