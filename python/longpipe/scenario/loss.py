"""Losses of a link, whatever its buffer holds: of packets as they enter its port or interface, or by wrong bits."""

from typing import Annotated, Literal

from pydantic import Field

from longpipe.scenario.base import ASCENDING, Instant, Model, Probability, kind_or_table

PacketNumber = Annotated[int, Field(ge=0, lt=2**63)]


class NoLoss(Model):
    """No packet is lost by force."""

    kind: Literal["none"] = "none"


class PacketLoss(Model):
    """Packets by number, in the order in which they enter the link."""

    kind: Literal["packets"] = "packets"
    indices: Annotated[tuple[PacketNumber, ...], ASCENDING] = Field(
        description="A list of packet numbers, counted from 0, as in [14, 28]"
    )


class TimedLoss(Model):
    """The first packet that enters at or after each instant."""

    kind: Literal["at-times"] = "at-times"
    instants: Annotated[tuple[Instant, ...], ASCENDING] = Field(
        description="A list of instants [time], as in ['1 s', '1.5 s']"
    )


class BernoulliLoss(Model):
    """Each packet independently, by the run's random stream of the link."""

    kind: Literal["bernoulli"] = "bernoulli"
    probability: Probability = Field(description="A probability of a loss, per packet")


class GilbertElliottLoss(Model):
    """A Markov chain of a good and a bad state, moving before each packet (Gilbert 1960, Elliott 1963)."""

    kind: Literal["gilbert-elliott"] = "gilbert-elliott"
    good_to_bad: Probability = Field(description="A probability of a step from good to bad, per packet")
    bad_to_good: Probability = Field(description="A probability of a step from bad to good, per packet")
    loss_in_good: Probability = Field(default=0.0, description="Probability of a loss in the good state; Gilbert 1960")
    loss_in_bad: Probability = Field(default=1.0, description="Probability of a loss in the bad state")


class BitErrorLoss(Model):
    """Each bit independently: 1 - (1 - rate)^n of what is n bits long, at the end of the wire; cells spoil frames."""

    kind: Literal["bit-errors"] = "bit-errors"
    rate: Probability = Field(description="A bit error rate (BER): the probability that a bit is wrong, as in 1e-7")


Loss = Annotated[
    NoLoss | PacketLoss | TimedLoss | BernoulliLoss | GilbertElliottLoss | BitErrorLoss,
    Field(discriminator="kind"),
    kind_or_table(),
]
