"""Careful Resume: a connection starts with the window that an earlier one used (RFC 9959)."""

from typing import Annotated, Literal

from pydantic import Field

from longpipe.scenario.base import Instant, Model, ReferenceRtt, SavedWindow, Threshold, kind_or_table


class CarefulResumeOff(Model):
    """A connection starts with the initial window."""

    kind: Literal["off"] = "off"


class _Jump(Model):
    """Options that are independent of the origin of the saved parameters."""

    max_jump: Threshold = Field(
        default="unlimited", description="Maximum window after the jump [bytes]; RFC 9959 section 4.3, max_jump"
    )
    beta: float = Field(
        default=0.5,
        ge=0.5,
        lt=1,
        description="Share of PipeSize that becomes ssthresh at the end of Safe Retreat; RFC 9959 section 4.6, Beta",
    )
    pipe_size: Literal["sent-since", "all-acknowledged"] = Field(
        default="sent-since",
        description="Data that PipeSize includes in addition to the data in flight at the jump: data sent and "
        "acknowledged since the jump (the RFC's example), or all data acknowledged since the jump (the text of its "
        "rules)",
    )


class PreviousPath(_Jump):
    """Starts with what an earlier flow between the same two hosts measured in this run."""

    kind: Literal["previous"] = "previous"
    lifetime: Instant = Field(
        default="1 h",
        description="Age at which saved parameters expire [time]; RFC 9959 section 4.1, Lifetime (the RFC "
        "gives no value)",
    )


class SavedPath(_Jump):
    """Starts with given parameters, as if an earlier connection had saved them."""

    kind: Literal["saved"] = "saved"
    cwnd: SavedWindow = Field(description="Data acknowledged in one RTT [bytes]; RFC 9959, saved_cwnd")
    rtt: ReferenceRtt = Field(description="Minimum RTT [time]; RFC 9959, saved_rtt")


CarefulResume = Annotated[CarefulResumeOff | PreviousPath | SavedPath, Field(discriminator="kind"), kind_or_table()]
