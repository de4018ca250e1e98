"""TCP end points."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from longpipe.scenario.base import (
    Burst,
    Instant,
    Model,
    Segments,
    SegmentSize,
    Threshold,
    Tick,
    Ticks,
    TimerDuration,
    Window,
    WindowScale,
    kind_or_table,
)

Recovery = Literal["vanilla", "tahoe", "reno", "newreno", "sack"]
TimerRestart = Literal["first", "every"]
Pipe = Literal["window", "outstanding"]
Congestion = Literal["aimd", "vegas"]


class FixedPhase(Model):
    """Ticks at a given instant, the same for all hosts."""

    kind: Literal["fixed"] = "fixed"
    at: Instant = Field(default="0 s", description="First tick; less than one tick [time]")


class CommonPhase(Model):
    """Ticks drawn uniformly, once for all hosts of a run."""

    kind: Literal["common"] = "common"


class PerFlowPhase(Model):
    """Ticks drawn uniformly, once for each flow."""

    kind: Literal["per-flow"] = "per-flow"


Phase = Annotated[FixedPhase | CommonPhase | PerFlowPhase, Field(discriminator="kind"), kind_or_table()]


class Coarse(Model):
    """BSD's slow timer: times one segment at a time in whole ticks, with srtt and rttvar as scaled integers."""

    kind: Literal["coarse"] = "coarse"
    tick: Tick = Field(default="100 ms", description="Length of a tick [time]; ATM Forum/96-1761 section 3.1")
    phase: Phase = Field(default=FixedPhase(), description="When the ticks fall: fixed, common or per-flow")
    min_rto: Ticks = Field(default="2 ticks", description="Smallest RTO [ticks]; BSD's slow timer")
    max_rto: Ticks = Field(default="640 ticks", description="Largest RTO [ticks]; 64 s, as BSD's TCPTV_REXMTMAX")
    initial_rto: Ticks = Field(
        default="30 ticks", description="RTO before the first measurement [ticks]; 3 s, RFC 1122"
    )
    count_from_one: bool = Field(
        default=True, description="The first measurement counts a tick more, as in BSD, else each counts at least one"
    )
    expires_on_tick: bool = Field(
        default=True, description="The timer expires on a tick, as in BSD, else the RTO after it was set, as in ns-2"
    )


class Fine(Model):
    """Retransmission timer of RFC 6298 on a fine clock."""

    kind: Literal["fine"] = "fine"
    granularity: TimerDuration = Field(default="1 ms", description="Clock granularity G [time]; RFC 6298 section 4")
    min_rto: TimerDuration = Field(default="1 s", description="Smallest RTO [time]; RFC 6298 (2.4)")
    max_rto: TimerDuration = Field(default="60 s", description="Largest RTO [time]; RFC 6298 (2.5)")
    initial_rto: TimerDuration = Field(
        default="1 s", description="RTO before the first measurement [time]; RFC 6298 (2.1)"
    )
    timestamps: bool = Field(default=False, description="Time every segment by the timestamp option of RFC 7323")


class Immediate(Model):
    """An ACK at once for each segment."""

    kind: Literal["immediate"] = "immediate"


class Delayed(Model):
    """An ACK for every so many segments, or after a delay (RFC 1122 4.2.3.2)."""

    kind: Literal["delayed"] = "delayed"
    segments: Segments = Field(
        default="2 segments", description="Segments that force an ACK [segments]; RFC 1122 4.2.3.2"
    )
    timeout: TimerDuration = Field(default="200 ms", description="Longest delay [time]; BSD's fast timer")


Timer = Annotated[Coarse | Fine, Field(discriminator="kind"), kind_or_table()]
Ack = Annotated[Immediate | Delayed, Field(discriminator="kind"), kind_or_table()]


Guard = Annotated[
    bool,
    Field(description="No second fast retransmit of data sent before the latest recovery; RFC 2582 section 5"),
]


class VegasOptions(Model):
    """Data that Vegas leaves in queues, by its own estimate; without effect on other congestion controls."""

    alpha: float = Field(
        default=1.0, gt=0, le=1e6, description="The window grows below [segments]; Brakmo, Peterson 1995"
    )
    beta: float = Field(
        default=3.0, gt=0, le=1e6, description="The window shrinks above [segments]; Brakmo, Peterson 1995"
    )
    gamma: float = Field(
        default=1.0, gt=0, le=1e6, description="Slow start ends above [segments]; Brakmo, Peterson 1995"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.beta < self.alpha:
            raise ValueError(f"beta {self.beta:g}; needs at least alpha, {self.alpha:g}")
        return self


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


class Tcp(Model):
    """Both ends of a connection."""

    recovery: Recovery = Field(default="reno", description="Loss recovery; ATM Forum/96-1761 section 2")
    congestion: Congestion = Field(
        default="aimd",
        description="Congestion control: aimd (RFC 5681 section 3.1) or vegas (Brakmo and Peterson 1995)",
    )
    mss: SegmentSize = Field(
        default="512 B", description="Payload of a full segment [bytes]; ATM Forum/96-1761 section 3.1"
    )
    receiver_window: Window = Field(
        default="64 KiB",
        description="Advertised window [bytes]; ATM Forum/96-1761 section 3.1 (LAN; 600 KB on the WAN)",
    )
    window_scale: WindowScale = Field(
        default="as needed", description="Shift of the 16-bit window field, or 'as needed'; RFC 7323 section 2"
    )
    initial_window: Segments = Field(default="1 segment", description="cwnd at the start [segments]; RFC 2001")
    initial_ssthresh: Threshold = Field(
        default="unlimited", description="ssthresh at the start [bytes] or 'unlimited'; RFC 5681 section 3.1"
    )
    estimate_ssthresh: bool = Field(
        default=False,
        description="Lower ssthresh to the first round trip over the spacing of the second and third ACK; Hoe 1996",
    )
    duplicate_ack_threshold: int = Field(
        default=3, ge=1, le=1000, description="Duplicate ACKs that trigger a fast retransmit; RFC 5681 section 3.2"
    )
    fast_retransmit_restarts_timer: bool = Field(
        default=True,
        description="A fast retransmit restarts the retransmission timer, as in 4.4BSD and ns-2, "
        "else ACKs of new data alone do; RFC 6298 section 5",
    )
    fast_retransmit_interval: Instant = Field(
        default="0 s",
        description="Least time from one fast retransmit to the next [time]; duplicates that come earlier trigger none",
    )
    byte_counting: bool = Field(
        default=False,
        description="An ACK opens the window by the bytes it acknowledges, a segment at most (RFC 5681 section 3.1), "
        "else by a segment, as in 4.4BSD",
    )
    silly_window_avoidance: bool = Field(
        default=True, description="Hold back a short segment while more data waits; RFC 1122 4.2.3.4"
    )
    vegas: VegasOptions = Field(default=VegasOptions(), description="Thresholds of Vegas")
    idle_restart: bool = Field(
        default=False, description="Back to the initial window after an RTO without sending; RFC 5681 section 4.1"
    )
    reno: RenoOptions = Field(default=RenoOptions(), description="Options of Reno")
    newreno: NewRenoOptions = Field(default=NewRenoOptions(), description="Options of NewReno")
    sack: SackOptions = Field(default=SackOptions(), description="Options of SACK")
    timer: Timer = Field(default=Coarse(), description="Retransmission timer: coarse or fine")
    ack: Ack = Field(default=Immediate(), description="When the receiver acknowledges: immediate or delayed")
