"""When a sender gives up, and when a receiver acknowledges."""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

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
from longpipe.units import TICKS, TIME, Dimension

# Ticks of any length, so many that they last longer, are for nobody.
LONGEST_RTO: Final = "10000 s"


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

    def problems(self) -> Iterator[tuple[str, str]]:
        """What no field has alone: each with the field's name."""
        yield from _rto_problems(self, TICKS)
        if TICKS.parse(self.max_rto) * TIME.parse(self.tick) > TIME.parse(LONGEST_RTO):
            yield "max_rto", f"{self.max_rto} of {self.tick}; needs at most {LONGEST_RTO} in all"
        if isinstance(self.phase, FixedPhase) and TIME.parse(self.phase.at) >= TIME.parse(self.tick):
            yield "phase.at", f"{self.phase.at}; needs less than one tick ({self.tick})"


class Fine(Model):
    """Retransmission timer of RFC 6298 on a fine clock."""

    kind: Literal["fine"] = "fine"
    granularity: Granularity = Field(default="1 ms", description="Clock granularity G [time]; RFC 6298 section 4")
    min_rto: Rto = Field(default="1 s", description="Smallest RTO [time]; RFC 6298 (2.4)")
    max_rto: Rto = Field(default="60 s", description="Largest RTO [time]; RFC 6298 (2.5)")
    initial_rto: Rto = Field(default="1 s", description="RTO before the first measurement [time]; RFC 6298 (2.1)")
    timestamps: bool = Field(default=False, description="Time every segment by the timestamp option of RFC 7323")

    def problems(self) -> Iterator[tuple[str, str]]:
        """What no field has alone: each with the field's name."""
        yield from _rto_problems(self, TIME)


def _rto_problems(timer: Coarse | Fine, unit: Dimension) -> Iterator[tuple[str, str]]:
    low, initial, high = (unit.parse(rto) for rto in (timer.min_rto, timer.initial_rto, timer.max_rto))
    if high < low:
        yield "max_rto", f"{timer.max_rto}; needs at least min_rto, {timer.min_rto}"
    elif not low <= initial <= high:
        yield "initial_rto", f"{timer.initial_rto}; needs {timer.min_rto} to {timer.max_rto}"


class Immediate(Model):
    """An ACK at once for each segment."""

    kind: Literal["immediate"] = "immediate"


class Delayed(Model):
    """An ACK for every so many segments, or after a delay (RFC 1122 4.2.3.2)."""

    kind: Literal["delayed"] = "delayed"
    segments: Segments = Field(
        default="2 segments", description="Segments that force an ACK [segments]; RFC 1122 4.2.3.2"
    )
    timeout: AckDelay = Field(default="200 ms", description="Longest delay [time]; BSD's fast timer")
    quick: Annotated[int, LATER] = Field(
        default=0, ge=0, le=1_000_000, description="Segments at the start that are acknowledged at once; 16 in Linux"
    )


class LinuxAcks(Model):
    """ACKs as Linux sends them: at once at the start and while the receiver's window grows, else for two segments.

    That window begins with 64 KiB and grows by two segments with each that arrives, up to a bound that follows what
    is read in a round trip (tcp_input.c, 6.1). It takes timestamps, and shows in when ACKs leave; the sender goes by
    `receiver_window`.
    """

    kind: Literal["linux"] = "linux"
    timeout: AckDelay = Field(default="40 ms", description="Longest delay [time]; Linux")
    quick: int = Field(
        default=16, ge=0, le=1_000_000, description="Segments at the start that are acknowledged at once; Linux"
    )
    sack_delay: Annotated[SackDelay, LATER] = Field(
        default="0 s",
        description="Past four ACKs at a new hole others wait for each other so long, a twentieth of the round trip "
        "and 44 segments at most [time]; '0 s': none waits; 1.1 ms in Linux, with the slack of its timers",
    )
    least_round_trip: Annotated[bool, LATER] = Field(
        default=False,
        description="The round trip in which it counts what is read falls at once to one that is shorter, and "
        "grows by an eighth of what others are longer; Linux 6.1.176",
    )
    write_every: Annotated[WriteInterval, LATER] = Field(
        default="0 s",
        description="The sender's application writes so often all that its buffer of 1538 segments has room for, and "
        "what ends a write (PSH) is acknowledged at once [time]; '0 s': nothing ends one; Linux 6.1.176",
    )


Timer = Annotated[Coarse | Fine, Field(discriminator="kind"), kind_or_table()]
Ack = Annotated[Immediate | Delayed | LinuxAcks, Field(discriminator="kind"), kind_or_table()]
