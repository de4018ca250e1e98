"""Links that move: rate, delay, outages and order over time, from a list, a file, a carrier's Es/N0 or satellites."""

from typing import Annotated, Any, Final, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from longpipe.scenario.base import Decibels, Delay, Duration, Instant, Model, StepRate, SymbolRate

Order = Literal["fifo", "free"]
HoldOrDrop = Literal["hold", "drop"]
BETWEEN = "A delay between two knots: linear, or hold, which is that of the former"
AT = "Which instant of a packet's transmission its delay is read at: end, or start as ns-3 and Hypatia have it"
MOST_STEPS: Final = 1_000_000
# Policies of links that move: by what the port holds when a packet comes, and nothing else.
BESIDE_MOTION: Final = {
    "ip": ("tail-drop", "selective-drop", "fba"),
    "aal5": ("tail-drop", "partial-packet-discard", "epd", "selective-drop", "fba"),
}


class Outages(Model):
    """When the line sends nothing, and what becomes of packets then."""

    intervals: tuple[tuple[Instant, Instant], ...] = Field(
        default=(), description="Begin and end of each [time], as in [['10 s', '10.5 s']], in order and apart"
    )
    every: Duration | None = Field(
        default=None, description="Another one begins each such time [time], as handovers do; none but those if absent"
    )
    phase: Instant = Field(default="0 s", description="When the first of these begins [time]")
    gap: Duration = Field(default="100 ms", description="How long each of these lasts [time]")
    arriving: HoldOrDrop = Field(default="hold", description="What becomes of packets that come meanwhile")
    waiting: HoldOrDrop = Field(default="hold", description="What becomes of packets that wait at the begin")
    in_service: Literal["hold", "drop", "deliver"] = Field(
        default="hold",
        description="What becomes of the packet in service at the begin; held, it keeps what it has sent",
    )
    in_flight: Literal["deliver", "drop"] = Field(
        default="deliver", description="What becomes of packets on the wire at the begin"
    )


class Moving(Model):
    """A link by its own series; what is absent stands as the link's rate and delay do."""

    kind: Literal["moving"] = "moving"
    delay: tuple[tuple[Instant, Delay], ...] = Field(
        default=(), description="Knots of the delay [time], as in [['0 s', '20 ms'], ['15 s', '28 ms']]; two jump"
    )
    between: Literal["linear", "hold"] = Field(default="linear", description=BETWEEN)
    at: Literal["end", "start"] = Field(default="end", description=AT)
    rate: tuple[tuple[Instant, StepRate], ...] = Field(
        default=(), description="Steps of the rate [bit/s], as in [['0 s', '50 Mbit/s'], ['5 s', '0 bit/s']]"
    )
    rate_cycle: Duration | None = Field(
        default=None, description="The steps begin anew after this [time]; once if absent"
    )
    outages: Outages = Field(default=Outages(), description="When the line sends nothing")
    order: Order = Field(
        default="fifo", description="Whether packets arrive as they left (fifo) or may overtake each other (free)"
    )


class File(Model):
    """A link by a file: .csv (time, rate, delay, loss, or round trips), .json of irtt, else mahimahi's schedule."""

    kind: Literal["file"] = "file"
    file: str = Field(min_length=1, max_length=4096, description="A path of a file, read when the scenario is checked")
    bytes: int = Field(default=1504, ge=1, le=1_000_000, description="Bytes of each line of a schedule; mahimahi")
    header: int = Field(
        default=4, ge=0, le=10_000, description="Bytes that each packet takes of a schedule besides its own; mahimahi"
    )
    between: Literal["linear", "hold"] = Field(default="hold", description=BETWEEN)
    at: Literal["end", "start"] = Field(default="end", description=AT)
    outages: Outages = Field(default=Outages(), description="When the line sends nothing; not beside a schedule")
    order: Order = Field(
        default="fifo", description="Whether packets arrive as they left (fifo) or may overtake each other (free)"
    )


class Coded(Model):
    """A link whose modulation and coding follow the carrier's strength (DVB-S2's ACM): its rate moves in steps."""

    kind: Literal["coded"] = "coded"
    symbol_rate: SymbolRate = Field(description="Symbols that the carrier sends [baud]")
    esn0: tuple[tuple[Instant, Decibels], ...] = Field(
        default=(), description="Knots of Es/N0 [dB], as in [['0 s', 12.5], ['60 s', 3.0]]; two at an instant jump"
    )
    file: str | None = Field(
        default=None,
        min_length=1,
        max_length=4096,
        description="In their place a CSV file with time and esn0, in s and dB; read when the scenario is checked",
    )
    between: Literal["linear", "hold"] = Field(
        default="linear", description="An Es/N0 between two knots: linear, or hold, which is that of the former"
    )
    margin: Annotated[float, Field(ge=0, le=30)] = Field(
        default=0.0, description="What thresholds are raised by [dB], for implementation losses and late reports"
    )
    hysteresis: Annotated[float, Field(ge=0, le=30)] = Field(
        default=0.3, description="What Es/N0 has to be above a threshold for a faster step [dB]"
    )
    modcods: str = Field(
        default="dvb-s2",
        min_length=1,
        max_length=4096,
        description="The 28 steps of dvb-s2 (EN 302 307 table 13), or a CSV file with modcod, esn0 and efficiency",
    )
    outages: Outages = Field(
        default=Outages(), description="When the line sends nothing, besides times below the least step"
    )


class Satellites(Model):
    """A way over a constellation, by the shortest route between two ground stations; needs `longpipe[orbits]`."""

    kind: Literal["satellites"] = "satellites"
    shell: str = Field(
        min_length=1, max_length=200, description="A shell, as in starlink-550, or ORBITSxSATELLITES:KM:DEGREES:PHASING"
    )
    from_: str = Field(
        validation_alias=AliasChoices("from", "from_"),
        serialization_alias="from",
        max_length=200,
        description="The station at the first node: a city, or LATITUDE,LONGITUDE in degrees",
    )
    to: str = Field(max_length=200, description="The station at the second node, likewise")
    as_: Literal["link", "graph"] = Field(
        default="link",
        validation_alias=AliasChoices("as", "as_"),
        serialization_alias="as",
        description="One moving link with one queue (link), or each satellite a router with its own (graph)",
    )
    rerouting: Literal["keep", "drop"] = Field(
        default="keep",
        description="In a graph: whether packets under way keep their route when it changes, or each node sends them "
        "along the new one, and drops those that are no longer on it",
    )
    begin: Delay = Field(default="0 s", description="When the run begins, after the shell's epoch [time]")
    step: Duration = Field(
        default="1 s", description="The route is found anew this often [time]; between its knots the delay is linear"
    )
    between: Literal["linear", "hold"] = Field(default="linear", description=BETWEEN)
    at: Literal["end", "start"] = Field(default="end", description=AT)
    outages: Outages = Field(
        default=Outages(), description="When the line sends nothing, besides times without a route"
    )
    order: Order = Field(
        default="free",
        description="Whether packets under way keep their path after a change (free), or none arrives before another",
    )


def _told(value: Any) -> Any:  # noqa: ANN401 - whatever was written
    """A kind by what only it has."""
    if isinstance(value, dict) and "kind" not in value:
        own = {"shell": "satellites", "symbol_rate": "coded", "file": "file"}
        return {"kind": next((kind for field, kind in own.items() if field in value), "moving"), **value}
    return {"kind": value} if isinstance(value, str) else value


Path = Annotated[Moving | File | Coded | Satellites, Field(discriminator="kind"), BeforeValidator(_told)]
