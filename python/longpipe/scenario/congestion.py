"""Congestion control: how much may be in flight."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from longpipe.scenario.base import Model, PositiveShare, Segments, kind_or_table
from longpipe.scenario.variant import CHOSEN, Variant


class AimdOptions(Model):
    """How AIMD counts an ACK; without effect on other congestion controls."""

    byte_counting: bool = Field(
        default=False,
        description="An ACK opens the window by the bytes it acknowledges, a segment at most (RFC 5681 section 3.1), "
        "else by a segment, as in 4.4BSD",
    )


class Aimd(Variant, AimdOptions):
    """Slow start and congestion avoidance (RFC 5681 section 3.1)."""

    kind: Literal["aimd"] = "aimd"


class HighSpeed(Variant):
    """The larger the window, the faster it grows and the less a loss takes, by the table of RFC 3649."""

    kind: Literal["highspeed"] = "highspeed"


class Scalable(Variant):
    """Growth and cut in proportion to the window: a recovery takes as many round trips at any rate (Kelly 2003)."""

    kind: Literal["scalable"] = "scalable"
    increase: PositiveShare = Field(default=0.01, description="What each ACK adds to the window; Kelly 2003, a")
    decrease: PositiveShare = Field(default=0.125, description="Share of the window that a loss takes; Kelly 2003, b")
    low_window: Segments = Field(
        default="16 segments", description="Largest window that moves as AIMD's does [segments]; Kelly 2003, lwnd"
    )


VegasData = Annotated[float, Field(gt=0, le=1e6)]


class VegasOptions(Model):
    """Data that Vegas leaves in queues, by its own estimate; without effect on other congestion controls."""

    alpha: VegasData = Field(default=1.0, description="The window grows below [segments]; Brakmo, Peterson 1995")
    beta: VegasData = Field(default=3.0, description="The window shrinks above [segments]; Brakmo, Peterson 1995")
    gamma: VegasData = Field(default=1.0, description="Slow start ends above [segments]; Brakmo, Peterson 1995")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.beta < self.alpha:
            raise ValueError(f"beta {self.beta:g}; needs at least alpha, {self.alpha:g}")
        return self


class Vegas(Variant, VegasOptions):
    """The window that keeps between alpha and beta segments in the path's queues (Brakmo and Peterson 1995)."""

    kind: Literal["vegas"] = "vegas"


Congestion = Annotated[
    Aimd | HighSpeed | Scalable | Vegas,
    Field(discriminator="kind"),
    kind_or_table(),
    CHOSEN,
]
