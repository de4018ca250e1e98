"""Congestion control: how much may be in flight."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from longpipe.scenario.base import LATER, Model, PositiveShare, Probability, ReferenceRtt, Segments, kind_or_table
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


class Bbr(Variant):
    """Sends at the bandwidth that it measures, twice the path's product under way: version 1 (Cardwell et al. 2016)."""

    kind: Literal["bbr"] = "bbr"


class Bbr3(Variant):
    """BBR, version 3: losses bound what it takes for the path's, too (draft-ietf-ccwg-bbr, its text after -06)."""

    kind: Literal["bbr3"] = "bbr3"


class Bic(Variant):
    """A search for the old maximum by halves, as in Linux (Xu, Harfoush and Rhee 2004)."""

    kind: Literal["bic"] = "bic"


class Cubic(Variant):
    """Past slow start the window follows a cubic of the time since the last reduction (RFC 9438)."""

    kind: Literal["cubic"] = "cubic"
    scaling: float = Field(
        default=0.4, gt=0, le=1000, description="How steep the cubic is, C [segments/s³]; RFC 9438 section 5"
    )
    beta: float = Field(default=0.7, gt=0, lt=1, description="Share of the window that a loss leaves; RFC 9438 β_cubic")
    fast_convergence: bool = Field(
        default=True, description="A loss below the old maximum lowers it further; RFC 9438 section 4.7"
    )
    reno_friendly: bool = Field(default=True, description="Grow at least as Reno would; RFC 9438 section 4.3")
    hystart: Literal["none", "linux", "plus-plus"] = Field(
        default="linux",
        description="What ends slow start besides a loss: nothing, long round trips and trains of ACKs as in Linux "
        "(Ha and Rhee 2011), or HyStart++ (RFC 9406)",
    )
    rules: Literal["rfc-9438", "linux"] = Field(
        default="rfc-9438", description="The RFC's arithmetic, or that of Linux's tcp_cubic.c where it differs"
    )


class Dctcp(Variant):
    """The window falls by the share of data that arrived marked (RFC 8257); needs tcp.ecn = 'dctcp' or 'accurate'."""

    kind: Literal["dctcp"] = "dctcp"
    gain: PositiveShare = Field(
        default=0.0625, description="g, weight of the latest window's share of marks; RFC 8257 section 4.2"
    )
    initial_alpha: Probability = Field(
        default=1.0, description="Share taken for granted at first; RFC 8257 section 3.3"
    )


class HighSpeed(Variant):
    """The larger the window, the faster it grows and the less a loss takes, by the table of RFC 3649."""

    kind: Literal["highspeed"] = "highspeed"
    rules: Annotated[Literal["rfc-3649", "linux"], LATER] = Field(
        default="rfc-3649",
        description="In proportion between the table's rows, or as Linux: by whole rows, and half at the first loss",
    )


class HTcp(Variant):
    """The faster the longer no loss came, as in Linux (Leith and Shorten 2004)."""

    kind: Literal["htcp"] = "htcp"


class Hybla(Variant):
    """A connection of a long round trip grows as one of a short one would, as in Linux (Caini and Firrincieli 2004)."""

    kind: Literal["hybla"] = "hybla"
    reference: ReferenceRtt = Field(
        default="25 ms", description="Round trip of the connection that it equals [time]; Caini, Firrincieli 2004, RTT0"
    )


class Illinois(Variant):
    """The longer the queueing delay, the slower the growth and the deeper the cut, as in Linux (Liu et al. 2008)."""

    kind: Literal["illinois"] = "illinois"


class Ledbat(Variant):
    """The queueing delay of the way there held at a target, so that it makes way for others (RFC 6817)."""

    kind: Literal["ledbat"] = "ledbat"
    target: ReferenceRtt = Field(default="100 ms", description="Queueing delay that it holds [time]; RFC 6817, TARGET")
    gain: PositiveShare = Field(
        default=1.0, description="Growth in a round trip without queueing [segments]; RFC 6817, GAIN"
    )
    allowed_increase: Annotated[float, Field(gt=0, le=1e6)] = Field(
        default=1.0,
        description="How far the window may be above what is under way [segments]; RFC 6817, ALLOWED_INCREASE",
    )
    base_history: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=10, description="Minutes whose least delay is taken for the path's; RFC 6817, BASE_HISTORY"
    )
    current_filter: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=4, description="Latest delays of which the least counts; RFC 6817, CURRENT_FILTER, which it leaves open"
    )


class LinuxReno(Variant):
    """Slow start and congestion avoidance by the segments that arrive, whatever the number of ACKs, as in Linux."""

    kind: Literal["linux-reno"] = "linux-reno"


class Scalable(Variant):
    """Growth and cut in proportion to the window: a recovery takes as many round trips at any rate (Kelly 2003)."""

    kind: Literal["scalable"] = "scalable"
    increase: PositiveShare = Field(default=0.01, description="What each ACK adds to the window; Kelly 2003, a")
    decrease: PositiveShare = Field(default=0.125, description="Share of the window that a loss takes; Kelly 2003, b")
    low_window: Segments = Field(
        default="16 segments",
        description="Largest window that moves as AIMD's does [segments], without effect on Linux's rules; "
        "Kelly 2003, lwnd",
    )
    rules: Annotated[Literal["kelly-2003", "linux"], LATER] = Field(
        default="kelly-2003",
        description="The paper's rules, or those of Linux's tcp_scalable.c: Reno's growth below 100 segments, and the "
        "same cut at any window; 'linux' in the profile linux-6",
    )


VegasData = Annotated[float, Field(gt=0, le=1e6)]


class VegasOptions(Model):
    """Data that Vegas leaves in queues, by its own estimate; without effect on other congestion controls."""

    alpha: VegasData = Field(default=1.0, description="The window grows below [segments]; Brakmo, Peterson 1995")
    beta: VegasData = Field(default=3.0, description="The window shrinks above [segments]; Brakmo, Peterson 1995")
    gamma: VegasData = Field(default=1.0, description="Slow start ends above [segments]; Brakmo, Peterson 1995")
    rules: Annotated[Literal["brakmo-1995", "linux"], LATER] = Field(
        default="brakmo-1995",
        description="The paper's rules, as in ns-2, or those of Linux's tcp_vegas.c: the shortest RTT of a round trip "
        "counts, and slow start doubles in every round trip; 'linux', with alpha 2 and beta 4, in the profile linux-6",
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.beta < self.alpha:
            raise ValueError(f"beta {self.beta:g}; needs at least alpha, {self.alpha:g}")
        return self


class Vegas(Variant, VegasOptions):
    """The window that keeps between alpha and beta segments in the path's queues (Brakmo and Peterson 1995)."""

    kind: Literal["vegas"] = "vegas"


class Veno(Variant):
    """Losses while few segments stand in queues are the link's, and cost less, as in Linux (Fu and Liew 2003)."""

    kind: Literal["veno"] = "veno"
    backlog: VegasData = Field(
        default=3.0,
        description="Backlog in queues that counts as congestion [segments], in halves; Fu, Liew 2003, β",
    )


class Westwood(Variant):
    """After a loss the window is what the path took, by the rate of ACKs: Westwood+, as in Linux (Mascolo 2004)."""

    kind: Literal["westwood"] = "westwood"


Congestion = Annotated[
    Aimd
    | Bbr
    | Bbr3
    | Bic
    | Cubic
    | Dctcp
    | HighSpeed
    | HTcp
    | Hybla
    | Illinois
    | Ledbat
    | LinuxReno
    | Scalable
    | Vegas
    | Veno
    | Westwood,
    Field(discriminator="kind"),
    kind_or_table(),
    CHOSEN,
]
