"""Traffic of applications, start and stop times of flows, and traces."""

from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from longpipe.scenario.adaptive_video import AdaptiveVideo
from longpipe.scenario.base import LATER, FileSize, Instant, Lifetime, Model, SampleInterval, kind_or_table
from longpipe.scenario.datagrams import Arrivals, Bursts, Cbr, Poisson, SelfSimilar, Video, Voice
from longpipe.scenario.flow_arrivals import FlowArrivals
from longpipe.scenario.own_stack import OwnStack
from longpipe.scenario.source import Source
from longpipe.scenario.stack import Stack
from longpipe.scenario.stack_path import StackPath
from longpipe.scenario.stream import Stream
from longpipe.scenario.web import Web


class Greedy(Source):
    """An application that always has data to send."""

    kind: Literal["greedy"] = "greedy"


class Transfer(Source):
    """An application that sends one file."""

    kind: Literal["transfer"] = "transfer"
    size: FileSize = Field(description="Size of the file [bytes], as in '8 MB'")


class FixedStart(Model):
    """All flows start at the same time."""

    kind: Literal["fixed"] = "fixed"
    at: Instant = Field(default="0 s", description="Start time [time]; ATM Forum/96-1761 section 3.1")


class StaggeredStart(Model):
    """Flow i starts i intervals after the first."""

    kind: Literal["staggered"] = "staggered"
    first: Instant = Field(default="0 s", description="Start of the first flow [time]")
    interval: Instant = Field(description="Time between the starts of consecutive flows [time], as in '10 ms'")


class RandomStart(Model):
    """The start of each flow is uniformly distributed over an interval, drawn from the flow's own random stream."""

    kind: Literal["random"] = "random"
    from_: Instant = Field(
        default="0 s",
        validation_alias=AliasChoices("from", "from_"),
        serialization_alias="from",
        description="Start of the interval [time]",
    )
    over: Instant = Field(description="Length of the interval [time], as in '100 ms'")


class StopAt(Model):
    """All flows stop writing at a given time; data that were sent before are still delivered."""

    kind: Literal["at"] = "at"
    at: Instant = Field(description="Time of the stop [time], as in '60 s'; after the start")


class StopAfter(Model):
    """Each flow stops writing a given time after its start; data that were sent before are still delivered."""

    kind: Literal["after"] = "after"
    after: Lifetime = Field(description="Time from the flow's start to its stop [time], as in '60 s'")


Traffic = Annotated[
    Greedy
    | Transfer
    | Stream
    | FlowArrivals
    | Web
    | AdaptiveVideo
    | Cbr
    | Poisson
    | Bursts
    | SelfSimilar
    | Voice
    | Video
    | Arrivals
    | Stack
    | StackPath
    | OwnStack,
    Field(discriminator="kind"),
    kind_or_table(),
]
Start = Annotated[FixedStart | StaggeredStart | RandomStart, Field(discriminator="kind"), kind_or_table()]

Stop = Annotated[StopAt | StopAfter, Field(discriminator="kind"), kind_or_table()]


class Traces(Model):
    """Traces to record during the run."""

    cwnd: bool = Field(default=False, description="cwnd and ssthresh of each flow at each change")
    queue: bool = Field(
        default=False,
        description="Queue of each switch port [cells or packets], sampled when the first cell of each frame arrives",
    )
    vc_queue: bool = Field(
        default=False, description="Queue of each switch port by flow [cells or packets], sampled at regular intervals"
    )
    vc_queue_interval: SampleInterval = Field(default="1 ms", description="Sampling interval of vc_queue [time]")
    sequence: bool = Field(default=False, description="Segments sent, ACKs and SACK blocks received by each sender")
    rtt: bool = Field(default=False, description="RTT samples and RTO of each sender")
    delay: Annotated[bool, LATER] = Field(
        default=False,
        description="Queueing delay of each packet at each router port, and quantiles in the results; IP only",
    )
    drops: Annotated[bool, LATER] = Field(
        default=False,
        description="Lost packets with port, flow, first data byte and cause, and packets marked by router ports",
    )
    control: Annotated[bool, LATER] = Field(
        default=False,
        description="State of each sender at each change: BBR's state and bandwidth estimate, the pacing rate, the "
        "recovery state",
    )
    events: Annotated[bool, LATER] = Field(
        default=False,
        description="Lost data segments, and each sender's retransmissions, declared losses, timeouts, window "
        "reductions, undos and state changes, with causes",
    )
    arrivals: Annotated[bool, LATER] = Field(
        default=False, description="Data received by each receiver, each byte at its first arrival"
    )
    flight: Annotated[bool, LATER] = Field(
        default=False,
        description="Bytes in flight of each sender, and what limits it, at each change",
    )
    packets: Annotated[bool, LATER] = Field(
        default=False,
        description="Packets that each real stack sends, receives and declares lost at the flow's sender",
    )
