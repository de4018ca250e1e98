"""Variation of a link over time: rate, delay, outages and order from a list, a file or Es/N0."""

from typing import Annotated, Final, Literal

from pydantic import Field

from longpipe.scenario.base import Decibels, Delay, Duration, Instant, Model, StepRate, SymbolRate

Order = Literal["fifo", "free"]
HoldOrDrop = Literal["hold", "drop"]
Between = Annotated[
    Literal["linear", "hold"],
    Field(description="Delay between two points: linear interpolation, or hold the earlier one"),
]
ReadAt = Annotated[
    Literal["end", "start"],
    Field(
        description="Time at which a packet samples the delay: at the end of its transmission, or at the start as in "
        "ns-3 "
        "and Hypatia"
    ),
]
MAX_STEPS: Final = 1_000_000


class Outages(Model):
    """Times at which the link does not transmit, and what happens to its packets."""

    intervals: tuple[tuple[Instant, Instant], ...] = Field(
        default=(), description="Begin and end of each outage [time], as in [['10 s', '10.5 s']]; ordered and disjoint"
    )
    every: Duration | None = Field(
        default=None, description="Interval of regular outages [time], such as handovers; none if absent"
    )
    phase: Instant = Field(default="0 s", description="Start of the first regular outage [time]")
    gap: Duration = Field(default="100 ms", description="Duration of each regular outage [time]")
    arriving: HoldOrDrop = Field(
        default="hold", description="Fate of packets that arrive during an outage: hold or drop"
    )
    waiting: HoldOrDrop = Field(
        default="hold", description="Fate of packets that are queued when an outage begins: hold or drop"
    )
    in_service: Literal["hold", "drop", "deliver"] = Field(
        default="hold",
        description="Fate of the packet that is in transmission when an outage begins: hold (keeps the bits sent), "
        "drop or deliver",
    )
    in_flight: Literal["deliver", "drop"] = Field(
        default="deliver", description="Fate of packets on the wire when an outage begins: deliver or drop"
    )


class Moving(Model):
    """A link with its own series; if a series is absent, the rate or delay is the constant one of the link."""

    kind: Literal["moving"] = "moving"
    delay: tuple[tuple[Instant, Delay], ...] = Field(
        default=(),
        description="Points of the delay [time], as in [['0 s', '20 ms'], ['15 s', '28 ms']]; two points at one time "
        "are a jump",
    )
    between: Between = "linear"
    at: ReadAt = "end"
    rate: tuple[tuple[Instant, StepRate], ...] = Field(
        default=(), description="Steps of the rate [bit/s], as in [['0 s', '50 Mbit/s'], ['5 s', '0 bit/s']]"
    )
    rate_cycle: Duration | None = Field(
        default=None, description="Period after which the steps repeat [time]; no repetition if absent"
    )
    outages: Outages = Field(default=Outages.unchecked(), description="Outages")
    order: Order = Field(
        default="fifo", description="Whether packets arrive in the order of departure (fifo) or may be reordered (free)"
    )


class File(Model):
    """A link from a file: .csv (time, rate, delay, loss or RTTs), .json of irtt, otherwise a mahimahi schedule."""

    kind: Literal["file"] = "file"
    file: str = Field(
        min_length=1, max_length=4096, description="A path of a file, which is read when the scenario is checked"
    )
    bytes: int = Field(default=1504, ge=1, le=1_000_000, description="Bytes per line of a schedule; mahimahi")
    header: int = Field(
        default=4, ge=0, le=10_000, description="Additional bytes of a schedule that each packet uses; mahimahi"
    )
    between: Between = "hold"
    at: ReadAt = "end"
    outages: Outages = Field(default=Outages.unchecked(), description="Outages; not with a schedule")
    order: Order = Field(
        default="fifo", description="Whether packets arrive in the order of departure (fifo) or may be reordered (free)"
    )


class Coded(Model):
    """A link with adaptive coding and modulation (DVB-S2 ACM): Es/N0 determines its rate."""

    kind: Literal["coded"] = "coded"
    symbol_rate: SymbolRate = Field(description="A symbol rate of the carrier [baud]")
    esn0: tuple[tuple[Instant, Decibels], ...] = Field(
        default=(),
        description="Points of Es/N0 [dB], as in [['0 s', 12.5], ['60 s', 3.0]]; two points at one time are a jump",
    )
    file: str | None = Field(
        default=None,
        min_length=1,
        max_length=4096,
        description="CSV file with time and esn0, in s and dB, instead of points; read when the scenario is checked",
    )
    between: Literal["linear", "hold"] = Field(
        default="linear", description="Es/N0 between two points: linear interpolation, or hold the earlier one"
    )
    margin: Annotated[float, Field(ge=0, le=30)] = Field(
        default=0.0,
        description="Increase of all thresholds [dB], for implementation losses and outdated channel reports",
    )
    hysteresis: Annotated[float, Field(ge=0, le=30)] = Field(
        default=0.3, description="Hysteresis: margin above its threshold that a change to a faster mode needs [dB]"
    )
    modcods: str = Field(
        default="dvb-s2",
        min_length=1,
        max_length=4096,
        description="The 28 modes of dvb-s2 (EN 302 307 table 13), or a CSV file with modcod, esn0 and efficiency",
    )
    outages: Outages = Field(
        default=Outages.unchecked(), description="Outages, in addition to times with Es/N0 below the lowest threshold"
    )
