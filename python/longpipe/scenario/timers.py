"""Retransmission timers of senders, and ACK policies of receivers."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from longpipe.scenario.base import (
    LATER,
    AckDelay,
    Granularity,
    Instant,
    Model,
    Rto,
    SackDelay,
    Segments,
    Tick,
    Ticks,
    WriteInterval,
    kind_or_table,
)
from longpipe.scenario.constraints import Constraint

# Longest RTO accepted, for ticks of any length.
LONGEST_RTO: Final = "10000 s"
# Constraints of every timer.
_RTO: Final = (
    Constraint("max_rto", "max_rto < min_rto", "{max_rto}; needs at least min_rto, {min_rto}"),
    Constraint(
        "initial_rto",
        "max_rto >= min_rto and initial_rto < min_rto",
        "{initial_rto}; needs {min_rto} to {max_rto}",
    ),
    Constraint(
        "initial_rto",
        "max_rto >= min_rto and initial_rto > max_rto",
        "{initial_rto}; needs {min_rto} to {max_rto}",
    ),
)


class FixedPhase(Model):
    """All hosts' ticks start at a given time."""

    kind: Literal["fixed"] = "fixed"
    at: Instant = Field(default="0 s", description="First tick; less than one tick [time]")


class CommonPhase(Model):
    """The phase of the ticks is drawn uniformly, once per run, for all hosts."""

    kind: Literal["common"] = "common"


class PerFlowPhase(Model):
    """The phase of the ticks is drawn uniformly for each flow."""

    kind: Literal["per-flow"] = "per-flow"


Phase = Annotated[FixedPhase | CommonPhase | PerFlowPhase, Field(discriminator="kind"), kind_or_table()]


class Coarse(Model):
    """BSD's slow timer: measures one segment at a time in ticks, with srtt and rttvar as scaled integers."""

    kind: Literal["coarse"] = "coarse"
    tick: Tick = Field(default="100 ms", description="Length of a tick [time]; ATM Forum/96-1761 section 3.1")
    phase: Phase = Field(default=FixedPhase.unchecked(), description="Phase of the ticks: fixed, common or per-flow")
    min_rto: Ticks = Field(default="2 ticks", description="Minimum RTO [ticks]; BSD's slow timer")
    max_rto: Ticks = Field(
        default="640 ticks",
        description="Maximum RTO [ticks], 64 s with ticks of 100 ms; BSD's TCPTV_REXMTMAX, 64 s (128 ticks of 500 ms)",
    )
    initial_rto: Ticks = Field(
        default="30 ticks",
        description="RTO before the first RTT sample [ticks], 3 s with ticks of 100 ms; RFC 1122 section 4.2.3.1",
    )
    count_from_one: bool = Field(
        default=True,
        description="Count the first RTT sample as one tick more, as in BSD; if false, samples are at least one tick",
    )
    expires_on_tick: bool = Field(
        default=True,
        description="Expire on a tick, as in BSD; if false, exactly one RTO after the timer was set, as in ns-2",
    )

    constraints: ClassVar = (
        *_RTO,
        Constraint(
            "max_rto",
            f"max_rto * tick > '{LONGEST_RTO}'",
            f"{{max_rto}} of {{tick}}; needs at most {LONGEST_RTO} in all",
        ),
        Constraint("phase.at", "phase.at >= tick", "{phase.at}; needs less than one tick ({tick})"),
    )


class Fine(Model):
    """Retransmission timer of RFC 6298 with a fine-grained clock."""

    kind: Literal["fine"] = "fine"
    granularity: Granularity = Field(default="1 ms", description="Clock granularity G [time]; RFC 6298 section 4")
    min_rto: Rto = Field(default="1 s", description="Minimum RTO [time]; RFC 6298 (2.4)")
    max_rto: Rto = Field(default="60 s", description="Maximum RTO [time]; RFC 6298 (2.5)")
    initial_rto: Rto = Field(default="1 s", description="RTO before the first RTT sample [time]; RFC 6298 (2.1)")
    timestamps: bool = Field(
        default=False, description="Use the timestamp option of RFC 7323, which gives an RTT sample per ACK"
    )

    constraints: ClassVar = _RTO


class Immediate(Model):
    """An immediate ACK for each segment."""

    kind: Literal["immediate"] = "immediate"


class Delayed(Model):
    """Delayed ACKs: one for every n-th segment, or after a timeout (RFC 1122 4.2.3.2)."""

    kind: Literal["delayed"] = "delayed"
    segments: Segments = Field(
        default="2 segments", description="Number of segments after which an ACK is sent [segments]; RFC 1122 4.2.3.2"
    )
    timeout: AckDelay = Field(default="200 ms", description="Maximum delay of an ACK [time]; BSD's fast timer")
    quick: Annotated[int, LATER] = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="Number of initial segments with immediate ACKs (quick ACKs); 16 in Linux",
    )


class LinuxAcks(Model):
    """Linux's ACK policy: immediate at the start and while the receive window grows, otherwise every second segment.

    The receive window starts at 64 KiB and grows by two segments per arriving segment, up to a limit that follows the
    data read per RTT (tcp_input.c, 6.1). The policy needs timestamps. The growing window limits the sender only with
    `growing_window`; otherwise `receiver_window` is advertised from the start.
    """

    kind: Literal["linux"] = "linux"
    timeout: AckDelay = Field(
        default="40 ms",
        description="Minimum timeout of a delayed ACK, rounded up to the next tick of `tcp.hz` [time]; doubles up to "
        "the RTT whenever no second segment arrives; Linux TCP_ATO_MIN",
    )
    quick: int = Field(
        default=16, ge=0, le=1_000_000, description="Number of initial segments with immediate ACKs (quick ACKs); Linux"
    )
    sack_delay: Annotated[SackDelay, LATER] = Field(
        default="0 s",
        description="ACK compression: after four ACKs at a new hole, delay SACKs by this time, at most RTT/20, 44 "
        "segments and a third range [time]; 1.1 ms in Linux including timer slack; '0 s' disables it",
    )
    least_round_trip: Annotated[bool, LATER] = Field(
        default=False,
        description="Filter of the receiver-side RTT estimate: adopts a smaller sample at once, and moves by 1/8 of "
        "the difference towards a larger one; Linux 6.1.176",
    )
    write_every: Annotated[WriteInterval, LATER] = Field(
        default="0 s",
        description="Interval at which the sender's application fills its buffer of at least 1538 segments, in calls "
        "of 64 KiB [time]; '0 s' means that one call waits until a third of the buffer is free; Linux 6.1.176",
    )
    growing_window: Annotated[bool, LATER] = Field(
        default=False,
        description="Advertise the receive window while it grows from 64 KiB up to `receiver_window`, so that it "
        "limits the sender; if false, advertise `receiver_window` from the start; Linux tcp_moderate_rcvbuf",
    )


Timer = Annotated[Coarse | Fine, Field(discriminator="kind"), kind_or_table()]
Ack = Annotated[Immediate | Delayed | LinuxAcks, Field(discriminator="kind"), kind_or_table()]
