"""Loss recovery: which segments a sender retransmits, and when."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from longpipe.scenario.base import LATER, Burst, Model, kind_or_table
from longpipe.scenario.variant import CHOSEN, LossRecovery

TimerRestart = Literal["first", "every"]
Pipe = Literal["window", "outstanding"]

Guard = Annotated[
    bool,
    Field(description="Avoid a second fast retransmit for data sent before the last recovery; RFC 2582 section 5"),
]

Blocks = Annotated[
    int,
    Field(ge=1, le=3, description="Maximum number of SACK blocks per ACK; 3 fit with a timestamp, RFC 2018 section 3"),
]


class Vanilla(LossRecovery):
    """Retransmits only after a timeout, from the first unacknowledged byte (ATM Forum/96-1761 section 2)."""

    label: ClassVar[str] = "timeouts only"
    detection: ClassVar[str] = "A loss was detected"
    kind: Literal["vanilla"] = "vanilla"


class TahoeOptions(Model):
    """Options of Tahoe; no effect on other recovery algorithms."""

    guard: Guard = False


class Tahoe(LossRecovery, TahoeOptions):
    """Fast retransmit, then slow start from the first unacknowledged byte (Jacobson 1988)."""

    is_flat: ClassVar[bool] = True
    label: ClassVar[str] = "Tahoe"
    detection: ClassVar[str] = "Three duplicate ACKs reported a loss (fast retransmit, RFC 2001 section 3)"
    kind: Literal["tahoe"] = "tahoe"


class RenoOptions(Model):
    """Options of Reno; no effect on other recovery algorithms."""

    guard: Guard = False
    deflate_on_timeout: bool = Field(
        default=False,
        description="After a timeout, set ssthresh to half of the window without its inflation; 4.4BSD "
        "includes the inflation",
    )
    guard_timeouts_only: bool = Field(
        default=False,
        description="Apply 'guard' only after a timeout, so that several fast retransmits may occur in a row; ns-2 of "
        "2000",
    )
    inflate_always: bool = Field(
        default=False,
        description="Duplicate ACKs beyond the threshold inflate the window even without a fast retransmit, until the "
        "next ACK of new data deflates it; 4.4BSD",
    )


class Reno(LossRecovery, RenoOptions):
    """Fast retransmit and fast recovery: duplicate ACKs inflate the halved window (RFC 2001)."""

    is_flat: ClassVar[bool] = True
    label: ClassVar[str] = "Reno"
    detection: ClassVar[str] = "Three duplicate ACKs reported a loss (fast retransmit, RFC 5681 section 3.2)"
    kind: Literal["reno"] = "reno"


class NewRenoOptions(Model):
    """Options of NewReno; no effect on other recovery algorithms."""

    flywheel: bool = Field(
        default=True,
        description="In recovery send one new segment per two duplicate ACKs; if false, as the inflated window "
        "allows; ATM Forum/98-0876 section 3.1",
    )
    max_burst: Burst = Field(
        default="unlimited",
        description="Maximum number of new segments per ACK during recovery [segments]; RFC 2582",
    )
    partial_deflation: bool = Field(
        default=False,
        description="A partial ACK deflates the window by the acknowledged data minus one segment (RFC 2582); if "
        "false, it sets the window to ssthresh; ATM Forum/98-0876 section 3.1",
    )
    guard: Guard = False
    timer_restart: TimerRestart = Field(
        default="every",
        description="Which partial ACKs restart the retransmission timer: first or every; ATM Forum/98-0876 section "
        "3.1",
    )


class NewReno(LossRecovery, NewRenoOptions):
    """Each partial ACK retransmits the next hole, until recovery ends (ATM Forum/98-0876 section 3.1)."""

    is_flat: ClassVar[bool] = True
    label: ClassVar[str] = "NewReno"
    detection: ClassVar[str] = "Three duplicate ACKs reported a loss (fast retransmit, RFC 6582 section 3.2)"
    kind: Literal["newreno"] = "newreno"


class SackOptions(Model):
    """Options of SACK; no effect on other recovery algorithms."""

    blocks: Blocks = 3
    pipe: Pipe = Field(
        default="window",
        description="Initial PIPE at a fast retransmit: the window or the outstanding data, less one segment per "
        "duplicate ACK; "
        "ATM Forum/98-0876 section 3.2",
    )
    guard: Guard = True
    timer_restart: TimerRestart = Field(
        default="every", description="Which partial ACKs restart the retransmission timer: first or every; RFC 2582"
    )


class Sack(LossRecovery, SackOptions):
    """Sends holes first, then new data, while PIPE < cwnd (RFC 2018, ATM Forum/98-0876 section 3.2)."""

    is_flat: ClassVar[bool] = True
    label: ClassVar[str] = "SACK"
    detection: ClassVar[str] = "SACK blocks reported a loss (RFC 6675 section 5)"
    kind: Literal["sack"] = "sack"


class Rfc6675(LossRecovery):
    """Conservative SACK recovery with IsLost(), PIPE, NextSeg() and the rescue retransmission (RFC 6675)."""

    label: ClassVar[str] = "SACK (RFC 6675)"
    detection: ClassVar[str] = "SACK blocks reported a loss (RFC 6675 section 5)"
    kind: Literal["rfc6675"] = "rfc6675"
    blocks: Blocks = 3
    fack: Annotated[bool, LATER] = Field(
        default=False,
        description="Forward acknowledgment: declare all holes below the highest SACKed byte lost, and start recovery "
        "when they exceed three segments (Mathis and Mahdavi 1996)",
    )


class Rack(LossRecovery):
    """RACK-TLP with proportional rate reduction (RFC 8985, RFC 9937), as in Linux."""

    label: ClassVar[str] = "RACK-TLP"
    detection: ClassVar[str] = (
        "RACK declared a segment lost, because one that was sent later had arrived (RFC 8985 section 6.2)"
    )
    kind: Literal["rack"] = "rack"
    blocks: Blocks = 3
    probe: bool = Field(
        default=True, description="Send a tail loss probe after two RTTs without an ACK; RFC 8985 section 7"
    )
    undo: bool = Field(
        default=True,
        description="Undo a reduction if an ACK shows that it was spurious; needs timestamps (Eifel), D-SACK or "
        "F-RTO; RFC 4015",
    )
    dsack: Annotated[bool, LATER] = Field(
        default=False,
        description="Receivers send D-SACK blocks: a reduction is undone if all its retransmissions were duplicates, "
        "and RACK's reordering window grows; RFC 2883",
    )
    frto: Annotated[bool, LATER] = Field(
        default=False,
        description="F-RTO: after a timeout send new data first; undo the timeout if data that was not retransmitted "
        "is then acknowledged; RFC 5682",
    )
    successive: Annotated[bool, LATER] = Field(
        default=False,
        description="Start another recovery, with another reduction, at once if retransmissions of later losses are "
        "in flight when a recovery ends; Linux tcp_time_to_recover",
    )


Recovery = Annotated[
    Vanilla | Tahoe | Reno | NewReno | Sack | Rfc6675 | Rack,
    Field(discriminator="kind"),
    kind_or_table(),
    CHOSEN,
]
