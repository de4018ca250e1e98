"""Congestion control: how much may be in flight."""

from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from longpipe.scenario.base import (
    LATER,
    PositiveShare,
    Probability,
    ReferenceRtt,
    Segments,
    kind_or_table,
    kinds_that,
)
from longpipe.scenario.core import core_fields
from longpipe.scenario.module import Module
from longpipe.scenario.own_class import Python, class_as_table
from longpipe.scenario.own_control import OwnControl
from longpipe.scenario.variant import CHOSEN, Control


class Aimd(Control):
    """Slow start and congestion avoidance (RFC 5681 section 3.1)."""

    is_flat: ClassVar[bool] = True
    is_reno: ClassVar[bool] = True
    label: ClassVar[str] = "AIMD (Reno)"
    after_loss: ClassVar[str] = "half of the data in flight (RFC 5681 section 3.1, equation 4)"
    kind: Literal["aimd"] = "aimd"
    byte_counting: bool = Field(
        default=False,
        description="An ACK increases cwnd by the bytes that it acknowledges, at most one segment (RFC 5681 section "
        "3.1); if false, by one segment, as in 4.4BSD",
    )


class Bbr(Control):
    """BBR version 1: paces at the measured bandwidth, with at most two BDP in flight (Cardwell et al. 2016)."""

    label: ClassVar[str] = "BBR"
    by_model: ClassVar[str] = (
        "BBR set it to what its model of the path, the product of bottleneck bandwidth and minimum RTT, allows in this "
        "phase (Cardwell et al. 2016)"
    )
    kind: Literal["bbr"] = "bbr"


class Bbr3(Control):
    """BBR version 3: losses also bound the rate and the data in flight (draft-ietf-ccwg-bbr, its text after -06)."""

    label: ClassVar[str] = "BBRv3"
    by_model: ClassVar[str] = (
        "BBRv3 set it to what its model of the path, the product of bottleneck bandwidth and minimum RTT, allows in "
        "this phase (draft-ietf-ccwg-bbr)"
    )
    kind: Literal["bbr3"] = "bbr3"


class Bic(Control):
    """Binary search for the window of the last loss, as in Linux (Xu, Harfoush and Rhee 2004)."""

    label: ClassVar[str] = "BIC"
    after_loss: ClassVar[str] = "0.8 of the window (Xu et al. 2004, and Linux)"
    kind: Literal["bic"] = "bic"


class Copa(Control):
    """Keeps 1/delta packets in the queue, as estimated from RTTs (Arun and Balakrishnan, NSDI 2018)."""

    label: ClassVar[str] = "Copa"
    by_model: ClassVar[str] = (
        "Copa moves it to 1/(δ·d) segments per second, d being the queueing delay (Arun and Balakrishnan 2018)"
    )
    kind: Literal["copa"] = "copa"
    delta: Annotated[float, Field(ge=0.001, le=10)] = Field(
        default=0.5,
        description="Inverse of the number of packets in the queue at equilibrium, δ; Arun, Balakrishnan 2018",
    )
    competitive: bool = Field(
        default=False,
        description="Competitive mode: reduce delta, by AIMD of its inverse, if the queue was not nearly empty for "
        "five RTTs, which indicates other connections; section 2.2. On short paths Copa's own queue may trigger it",
    )


class Cubic(Control):
    """After slow start, cwnd is a cubic function of the time since the last reduction (RFC 9438)."""

    profile_options: ClassVar = {"linux-6": {"rules": "linux"}}
    label: ClassVar[str] = "CUBIC"
    after_loss: ClassVar[str] = "0.7 of the window (RFC 9438 section 4.6)"
    kind: Literal["cubic"] = "cubic"
    scaling: float = Field(
        default=0.4, gt=0, le=1000, description="Scaling factor C of the cubic [segments/s³]; RFC 9438 section 5"
    )
    beta: float = Field(default=0.7, gt=0, lt=1, description="Factor by which a loss multiplies cwnd; RFC 9438 β_cubic")
    fast_convergence: bool = Field(
        default=True, description="Lower W_max further after a loss below the previous one; RFC 9438 section 4.7"
    )
    reno_friendly: bool = Field(default=True, description="Grow at least as fast as Reno; RFC 9438 section 4.3")
    hystart: Literal["none", "linux", "plus-plus", "search"] = Field(
        default="linux",
        description="How slow start ends before a loss: none, long RTTs and ACK trains as in Linux (Ha and Rhee 2011), "
        "HyStart++ (RFC 9406), or SEARCH (draft-chung-ccwg-search-09)",
    )
    rules: Literal["rfc-9438", "linux"] = Field(
        default="rfc-9438", description="Arithmetic of the RFC, or of Linux's tcp_cubic.c where it differs"
    )


class Dctcp(Control):
    """Reduces cwnd by the share of marked data (RFC 8257); needs tcp.ecn = 'dctcp' or 'accurate'."""

    label: ClassVar[str] = "DCTCP"
    after_loss: ClassVar[str] = "half of the window, as any sender does after a loss (RFC 8257 section 3.5)"
    after_mark: ClassVar[str] = "1 - alpha/2 of the window, alpha being the share of marked data (RFC 8257 section 3.3)"
    kind: Literal["dctcp"] = "dctcp"
    gain: PositiveShare = Field(
        default=0.0625, description="Weight g of the latest window's share of marks; RFC 8257 section 4.2"
    )
    initial_alpha: Probability = Field(
        default=1.0, description="Initial estimate alpha of the share of marks; RFC 8257 section 3.3"
    )


class HighSpeed(Control):
    """Larger windows grow faster and are reduced less, according to the table of RFC 3649."""

    profile_options: ClassVar = {"linux-6": {"rules": "linux"}}
    label: ClassVar[str] = "HighSpeed"
    after_loss: ClassVar[str] = "a fraction that depends on the window (RFC 3649 section 5)"
    kind: Literal["highspeed"] = "highspeed"
    rules: Annotated[Literal["rfc-3649", "linux"], LATER] = Field(
        default="rfc-3649",
        description="Interpolate between table rows, or like Linux use the rows only and halve cwnd at the first loss",
    )


class HTcp(Control):
    """Grows faster the longer ago the last loss was, as in Linux (Leith and Shorten 2004)."""

    label: ClassVar[str] = "H-TCP"
    kind: Literal["htcp"] = "htcp"


class Hybla(Control):
    """Grows as a connection with a short reference RTT would, as in Linux (Caini and Firrincieli 2004)."""

    label: ClassVar[str] = "Hybla"
    kind: Literal["hybla"] = "hybla"
    reference: ReferenceRtt = Field(default="25 ms", description="Reference RTT [time]; Caini, Firrincieli 2004, RTT0")


class Illinois(Control):
    """Grows more slowly and is reduced more with longer queueing delays, as in Linux (Liu et al. 2008)."""

    label: ClassVar[str] = "Illinois"
    kind: Literal["illinois"] = "illinois"


class Ledbat(Control):
    """Keeps the one-way queueing delay at a target, and so yields to other traffic (RFC 6817)."""

    label: ClassVar[str] = "LEDBAT"
    after_loss: ClassVar[str] = "half of the window (RFC 6817 section 2.4.2)"
    by_model: ClassVar[str] = "LEDBAT measured a queueing delay above its target (RFC 6817 section 2.4.2)"
    kind: Literal["ledbat"] = "ledbat"
    target: ReferenceRtt = Field(default="100 ms", description="Target queueing delay [time]; RFC 6817, TARGET")
    gain: PositiveShare = Field(default=1.0, description="Growth per RTT without queueing [segments]; RFC 6817, GAIN")
    allowed_increase: Annotated[float, Field(gt=0, le=1e6)] = Field(
        default=1.0,
        description="Maximum amount by which cwnd may exceed the data in flight [segments]; RFC 6817, ALLOWED_INCREASE",
    )
    base_history: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=10,
        description="Number of minutes over which the minimum delay is the base delay; RFC 6817, BASE_HISTORY",
    )
    current_filter: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=4,
        description="Number of latest delays whose minimum is the current delay; RFC 6817, CURRENT_FILTER "
        "(the RFC gives no value)",
    )


class LinuxReno(Control):
    """Slow start and congestion avoidance that count delivered segments, not ACKs, as in Linux."""

    is_reno: ClassVar[bool] = True
    label: ClassVar[str] = "Reno of Linux"
    after_loss: ClassVar[str] = "half of the data in flight (RFC 5681 section 3.1, equation 4)"
    kind: Literal["linux-reno"] = "linux-reno"
    hystart: Annotated[Literal["none", "plus-plus", "search"], LATER] = Field(
        default="none",
        description="How slow start ends before a loss: none, HyStart++ (RFC 9406), or SEARCH "
        "(draft-chung-ccwg-search-09)",
    )


class Prague(Control):
    """Reduces cwnd by half the share of marked data, and paces (L4S); needs tcp.ecn = {kind = 'accurate', ect = 1}."""

    label: ClassVar[str] = "Prague"
    after_mark: ClassVar[str] = (
        "1 - alpha/2 of the window, alpha being the share of marked data "
        "(draft-briscoe-iccrg-prague-congestion-control)"
    )
    kind: Literal["prague"] = "prague"
    rtt_target: ReferenceRtt = Field(
        default="25 ms",
        description="RTT below which connections grow at the same rate, independent of their RTT; up to 100 ms [time]; "
        "tcp_prague.c 0.7, prague_rtt_target",
    )
    transition: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default=4,
        description="Number of RTTs after slow start after which growth becomes RTT-independent; tcp_prague.c 0.7, "
        "prague_rtt_transition",
    )


class Scalable(Control):
    """Growth and reduction proportional to cwnd, so recovery takes the same time in RTTs at any rate (Kelly 2003)."""

    profile_options: ClassVar = {"linux-6": {"rules": "linux"}}
    label: ClassVar[str] = "Scalable"
    after_loss: ClassVar[str] = "7/8 of the window (Kelly 2003)"
    kind: Literal["scalable"] = "scalable"
    increase: PositiveShare = Field(default=0.01, description="Increase of cwnd per ACK [segments]; Kelly 2003, a")
    decrease: PositiveShare = Field(default=0.125, description="Reduction of cwnd at a loss [fraction]; Kelly 2003, b")
    low_window: Segments = Field(
        default="16 segments",
        description="Largest window that follows AIMD [segments]; no effect with Linux's rules; Kelly 2003, lwnd",
    )
    rules: Annotated[Literal["kelly-2003", "linux"], LATER] = Field(
        default="kelly-2003",
        description="Rules of the paper, or of Linux's tcp_scalable.c: Reno's growth below 100 segments, and the same "
        "reduction at any window; 'linux' in the profile linux-6",
    )


VegasData = Annotated[float, Field(gt=0, le=1e6)]


class Vegas(Control):
    """Keeps between alpha and beta segments in the path's queues (Brakmo and Peterson 1995)."""

    is_flat: ClassVar[bool] = True
    # Linux's Vegas keeps 2 to 4 segments in queues (tcp_vegas.c).
    profile_options: ClassVar = {"linux-6": {"rules": "linux", "alpha": 2.0, "beta": 4.0, "gamma": 1.0}}
    label: ClassVar[str] = "Vegas"
    by_model: ClassVar[str] = "Vegas estimated that more than β of its segments are queued (Brakmo and Peterson 1995)"
    kind: Literal["vegas"] = "vegas"
    alpha: VegasData = Field(
        default=1.0, description="Queued data below which cwnd grows [segments]; Brakmo, Peterson 1995"
    )
    beta: VegasData = Field(
        default=3.0, description="Queued data above which cwnd shrinks [segments]; Brakmo, Peterson 1995"
    )
    gamma: VegasData = Field(
        default=1.0, description="Queued data above which slow start ends [segments]; Brakmo, Peterson 1995"
    )
    rules: Annotated[Literal["brakmo-1995", "linux"], LATER] = Field(
        default="brakmo-1995",
        description="Rules of the paper, as in ns-2, or of Linux's tcp_vegas.c, which uses the minimum RTT sample of "
        "each RTT and doubles cwnd in every RTT of slow start; 'linux', with alpha 2 and beta 4, in the profile "
        "linux-6",
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.beta < self.alpha:
            raise ValueError(f"beta {self.beta:g}; needs at least alpha, {self.alpha:g}")
        return self


class Veno(Control):
    """Reduces less at losses while few segments are queued, as in Linux (Fu and Liew 2003)."""

    label: ClassVar[str] = "Veno"
    kind: Literal["veno"] = "veno"
    backlog: VegasData = Field(
        default=3.0,
        description="Queued data that indicate congestion [segments], in halves; Fu, Liew 2003, β",
    )


class Westwood(Control):
    """Westwood+: after a loss cwnd is the ACK rate times the minimum RTT, as in Linux (Mascolo 2004)."""

    label: ClassVar[str] = "Westwood"
    after_loss: ClassVar[str] = "the product of the measured bandwidth and the minimum RTT (Casetti et al. 2002)"
    kind: Literal["westwood"] = "westwood"


class Yeah(Control):
    """Grows as Scalable TCP while few segments are queued, otherwise as Reno, as in Linux (Baiocchi et al. 2007)."""

    label: ClassVar[str] = "YeAH"
    kind: Literal["yeah"] = "yeah"


Congestion = Annotated[
    Aimd
    | Bbr
    | Bbr3
    | Bic
    | Copa
    | Cubic
    | Dctcp
    | HighSpeed
    | HTcp
    | Hybla
    | Illinois
    | Ledbat
    | LinuxReno
    | Module
    | Prague
    | Python
    | Scalable
    | Vegas
    | Veno
    | Westwood
    | Yeah,
    Field(discriminator="kind"),
    kind_or_table(),
    class_as_table(),
    CHOSEN,
]
# Kinds that execute the user's code, and all others.
OWN: Final = kinds_that(Congestion, lambda model: issubclass(model, OwnControl))
BUILT_IN: Final = kinds_that(Congestion, lambda model: not issubclass(model, OwnControl))


def flat_options(control: Control) -> dict[str, Any]:
    """Returns the fields of the resolved form that contain the options of AIMD and Vegas, whichever is selected."""
    aimd = control if isinstance(control, Aimd) else Aimd.unchecked()
    vegas = control if isinstance(control, Vegas) else Vegas.unchecked()
    return {"byte_counting": aimd.byte_counting, "vegas": core_fields(vegas, without=("kind",))}
