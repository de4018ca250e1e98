"""What applications send, when they begin, and what is recorded."""

from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from longpipe.scenario.base import LATER, FileSize, Instant, Model, SampleInterval, kind_or_table
from longpipe.scenario.datagrams import Arrivals, Bursts, Cbr, Poisson, Video, Voice
from longpipe.scenario.web import Web


class Greedy(Model):
    """An application that always has data."""

    kind: Literal["greedy"] = "greedy"


class Transfer(Model):
    """One file."""

    kind: Literal["transfer"] = "transfer"
    size: FileSize = Field(description="Length of the file [bytes], as in '8 MB'")


class FixedStart(Model):
    """All flows at one instant."""

    kind: Literal["fixed"] = "fixed"
    at: Instant = Field(default="0 s", description="The instant [time]; ATM Forum/96-1761 section 3.1")


class StaggeredStart(Model):
    """Flow i begins i intervals after the first."""

    kind: Literal["staggered"] = "staggered"
    first: Instant = Field(default="0 s", description="Start of the first flow [time]")
    interval: Instant = Field(description="Time between one flow's start and the next one's [time], as in '10 ms'")


class RandomStart(Model):
    """Each flow uniformly in an interval, from its own random stream."""

    kind: Literal["random"] = "random"
    from_: Instant = Field(
        default="0 s",
        validation_alias=AliasChoices("from", "from_"),
        serialization_alias="from",
        description="Start of the interval [time]",
    )
    over: Instant = Field(description="Length of the interval [time], as in '100 ms'")


Traffic = Annotated[
    Greedy | Transfer | Web | Cbr | Poisson | Bursts | Voice | Video | Arrivals,
    Field(discriminator="kind"),
    kind_or_table(),
]
Start = Annotated[FixedStart | StaggeredStart | RandomStart, Field(discriminator="kind"), kind_or_table()]


class Traces(Model):
    """What to record over time; off costs nothing."""

    cwnd: bool = Field(default=False, description="cwnd and ssthresh of every flow, at each change")
    queue: bool = Field(
        default=False, description="Cells (or packets) held by every switch port, at the first cell of each frame"
    )
    vc_queue: bool = Field(
        default=False, description="Cells (or packets) of each flow held by every switch port, at regular instants"
    )
    vc_queue_interval: SampleInterval = Field(default="1 ms", description="Time between the samples of vc_queue [time]")
    sequence: bool = Field(default=False, description="Segments sent, ACKs and SACK blocks received by every sender")
    rtt: bool = Field(default=False, description="Round trips measured by every sender, and its RTO")
    delay: Annotated[bool, LATER] = Field(
        default=False,
        description="Queueing delay of every packet at every router port, and its quantiles among the results; IP only",
    )
    drops: Annotated[bool, LATER] = Field(
        default=False, description="Packets that router ports lost or marked, each with the reason; IP only"
    )
    control: Annotated[bool, LATER] = Field(
        default=False,
        description="What every sender is about, at each change: BBR's stage and the bandwidth that it goes by, the "
        "rate at which segments leave, the state of RACK's recovery",
    )
    arrivals: Annotated[bool, LATER] = Field(
        default=False, description="Data that reached every receiver, each byte when it first came"
    )
