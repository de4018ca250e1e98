"""Loss recovery: what is sent again."""

from typing import Annotated, Literal

from pydantic import Field

from longpipe.scenario.base import LATER, Burst, Model, kind_or_table
from longpipe.scenario.variant import CHOSEN, Variant

TimerRestart = Literal["first", "every"]
Pipe = Literal["window", "outstanding"]

Guard = Annotated[
    bool,
    Field(description="No second fast retransmit of data sent before the latest recovery; RFC 2582 section 5"),
]


class Vanilla(Variant):
    """A timeout alone goes back to the first unacknowledged byte (ATM Forum/96-1761 section 2)."""

    kind: Literal["vanilla"] = "vanilla"


class TahoeOptions(Model):
    """What Tahoe leaves open; without effect on other recoveries."""

    guard: Guard = False


class Tahoe(Variant, TahoeOptions):
    """A fast retransmit goes back in slow start (Jacobson 1988)."""

    kind: Literal["tahoe"] = "tahoe"


class RenoOptions(Model):
    """What Reno leaves open; without effect on other recoveries."""

    guard: Guard = False
    deflate_on_timeout: bool = Field(
        default=False,
        description="A timeout halves the window as it was before duplicate ACKs inflated it, unlike 4.4BSD",
    )
    guard_timeouts_only: bool = Field(
        default=False,
        description="The guard holds after a timeout alone: fast retransmits may follow each other, as in ns-2 of 2000",
    )
    inflate_always: bool = Field(
        default=False,
        description="Duplicates past the threshold inflate the window even without a fast retransmit, until the next "
        "ACK of new data deflates it; the order of 4.4BSD's tests",
    )


class Reno(Variant, RenoOptions):
    """A fast retransmit sends one segment again, and duplicates inflate the halved window (RFC 2001)."""

    kind: Literal["reno"] = "reno"


class NewRenoOptions(Model):
    """What NewReno leaves open; without effect on other recoveries."""

    flywheel: bool = Field(
        default=True,
        description="One new segment for every two duplicate ACKs, else as the inflated window allows; "
        "ATM Forum/98-0876 section 3.1",
    )
    max_burst: Burst = Field(
        default="unlimited",
        description="Most segments that an ACK lets out in recovery, besides a resent one [segments]; RFC 2582",
    )
    partial_deflation: bool = Field(
        default=False,
        description="A partial ACK takes what it acknowledges, less a segment, off the window (RFC 2582), "
        "else sets it to ssthresh; ATM Forum/98-0876 section 3.1",
    )
    guard: Guard = False
    timer_restart: TimerRestart = Field(
        default="every",
        description="Partial ACKs that restart the retransmission timer: first or every; ATM Forum/98-0876 section 3.1",
    )


class NewReno(Variant, NewRenoOptions):
    """Each partial ACK sends the next hole until all is acknowledged (ATM Forum/98-0876 section 3.1)."""

    kind: Literal["newreno"] = "newreno"


class SackOptions(Model):
    """What SACK leaves open; without effect on other recoveries."""

    blocks: int = Field(
        default=3, ge=1, le=3, description="Most blocks in an ACK; 3 fit beside a timestamp, RFC 2018 section 3"
    )
    pipe: Pipe = Field(
        default="window",
        description="PIPE at a fast retransmit: the window or what is outstanding, less the duplicate ACKs; "
        "ATM Forum/98-0876 section 3.2",
    )
    guard: Guard = True
    timer_restart: TimerRestart = Field(
        default="every", description="Partial ACKs that restart the retransmission timer: first or every; RFC 2582"
    )


class Sack(Variant, SackOptions):
    """Holes first, while PIPE is below the halved window (RFC 2018, ATM Forum/98-0876 section 3.2)."""

    kind: Literal["sack"] = "sack"


class Rfc6675(Variant):
    """Lost is what enough data arrived beyond; PIPE leaves it out; a lost tail is rescued once (RFC 6675)."""

    kind: Literal["rfc6675"] = "rfc6675"
    blocks: int = Field(
        default=3, ge=1, le=3, description="Most blocks in an ACK; 3 fit beside a timestamp, RFC 2018 section 3"
    )
    fack: Annotated[bool, LATER] = Field(
        default=False,
        description="All is lost that did not arrive below the last byte that did, and a gap of more than three "
        "segments begins a recovery; Mathis and Mahdavi 1996",
    )


class Rack(Variant):
    """Losses by time, probes of the tail, a window in proportion to what arrives (RFC 8985, RFC 9937), as in Linux."""

    kind: Literal["rack"] = "rack"
    blocks: int = Field(
        default=3, ge=1, le=3, description="Most blocks in an ACK; 3 fit beside a timestamp, RFC 2018 section 3"
    )
    probe: bool = Field(
        default=True, description="Probe the tail when ACKs stay away for two round trips; RFC 8985 section 7"
    )
    undo: bool = Field(
        default=True,
        description="Take a reduction back if an ACK shows that nothing had been lost; needs timestamps, D-SACK or "
        "F-RTO, RFC 4015",
    )
    dsack: Annotated[bool, LATER] = Field(
        default=False,
        description="ACKs tell what came twice: a reduction all copies of which did is taken back, and RACK waits "
        "longer; RFC 2883",
    )
    frto: Annotated[bool, LATER] = Field(
        default=False,
        description="After a timeout and the ACK of its first copy new data leave first; if older data that were sent "
        "once are acknowledged then, the timeout is taken back; RFC 5682",
    )
    successive: Annotated[bool, LATER] = Field(
        default=False,
        description="A recovery that ends while copies of later losses are under way is followed by another at once, "
        "which costs the window again; Linux, tcp_time_to_recover",
    )


Recovery = Annotated[
    Vanilla | Tahoe | Reno | NewReno | Sack | Rfc6675 | Rack,
    Field(discriminator="kind"),
    kind_or_table(),
    CHOSEN,
]
