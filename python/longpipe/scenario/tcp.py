"""TCP end points."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import Field, SerializerFunctionWrapHandler, field_serializer, model_validator

from longpipe.errors import ScenarioError
from longpipe.scenario.base import (
    LATER,
    MOST_WINDOW_SCALE,
    Delay,
    InitialWindow,
    Instant,
    Model,
    PacingBurst,
    SegmentSize,
    Threshold,
    Window,
    WindowScale,
    models_by_kind,
)
from longpipe.scenario.careful_resume import CarefulResume, CarefulResumeOff
from longpipe.scenario.congestion import OWN, Aimd, Congestion
from longpipe.scenario.constraints import Constraint
from longpipe.scenario.ecn import Ecn, EcnOff
from longpipe.scenario.parts import Part, part
from longpipe.scenario.profiles import CLASSIC, Profile, filled
from longpipe.scenario.recovery import NewRenoOptions, Recovery, Reno, RenoOptions, SackOptions, TahoeOptions
from longpipe.scenario.timers import Ack, Coarse, Fine, Immediate, Timer
from longpipe.scenario.variant import MODELS, RECOVERY_OF_MODELS, Control, Variant
from longpipe.units import SIZE

# Loss recoveries whose options have a field in `Tcp`, which keeps them while another recovery is selected.
OPTIONS: Final[dict[str, type[Model]]] = {
    kind: next(base for base in model.__bases__ if not issubclass(base, Variant))
    for kind, model in models_by_kind(Recovery).items()
    if model.is_flat
}


_L4S: Final = ("ecn", {"kind": "accurate", "ect": 1})


def _constraints_of(kind: str, control: type[Control]) -> Iterator[Constraint]:
    """Yields the constraints on other fields that follow from the facts of a congestion control."""
    chosen = f"congestion.kind is '{kind}' and "
    if control.needs_marks == "share":
        yield Constraint(
            "ecn",
            chosen + "ecn.kind is not 'dctcp' and ecn.kind is not 'accurate'",
            f"{{ecn.kind}}; needs dctcp or accurate for congestion = {kind!r}, which uses the share of marks",
            remedy=("ecn", "dctcp"),
        )
    if control.measures_delay:
        problem = (
            f"{{timer.kind}} without timestamps; needs fine, with timestamps, for congestion = {kind!r}, which "
            "measures one-way delays"
        )
        fine = chosen + "timer.kind is 'fine' and timer.timestamps is not true"
        yield Constraint("timer", fine, problem, remedy=("timer.timestamps", True))
        other = chosen + "timer.kind is not 'fine'"
        yield Constraint("timer", other, problem, remedy=("timer", {"kind": "fine", "timestamps": True}))
    if control.is_model:
        yield Constraint(
            "recovery",
            chosen + f"recovery.kind is not '{RECOVERY_OF_MODELS}'",
            f"{{recovery.kind}}; needs {RECOVERY_OF_MODELS!r} with congestion {kind!r}, which needs a report of each "
            "loss",
            remedy=("recovery", RECOVERY_OF_MODELS),
        )
    if control.needs_marks == "count":
        l4s = f"needs {{kind = 'accurate', ect = 1}} for congestion = {kind!r}, which counts marks of L4S packets"
        yield Constraint("ecn", chosen + "ecn.kind is not 'accurate'", "{ecn.kind}; " + l4s, remedy=_L4S)
        no_l4s = chosen + "ecn.kind is 'accurate' and ecn.ect < 1"
        yield Constraint("ecn", no_l4s, "accurate with ect = 0; " + l4s, remedy=_L4S)


class Tcp(Model):
    """Sender and receiver of a TCP connection."""

    profile: Profile = Field(
        default=CLASSIC,
        description="Defaults of the other fields: 'classic' for the listed default of each field, or 'linux-6' for "
        "those of Linux 6: CUBIC, RACK-TLP, timestamps, an initial window of 10 segments",
    )
    recovery: Part[Recovery] = part(default=Reno.unchecked(), description="Loss recovery, by name or with its options")
    congestion: Part[Congestion] = part(
        default=Aimd.unchecked(), description="Congestion control, by name or with its options"
    )
    mss: SegmentSize = Field(
        default="512 B", description="Payload of a full segment [bytes]; ATM Forum/96-1761 section 3.1"
    )
    receiver_window: Window = Field(
        default="64 KiB",
        description="Advertised window [bytes], or 'auto': twice the sum of the path's BDP and buffer; "
        "ATM Forum/96-1761 section 3.1 (LAN; 600 KB on the WAN)",
    )
    window_scale: WindowScale = Field(
        default="as needed", description="Shift of the 16-bit window field, or 'as needed'; RFC 7323 section 2"
    )
    initial_window: InitialWindow = Field(default="1 segment", description="Initial cwnd [segments]; RFC 2001")
    initial_ssthresh: Threshold = Field(
        default="unlimited", description="Initial ssthresh [bytes] or 'unlimited'; RFC 5681 section 3.1"
    )
    estimate_ssthresh: bool = Field(
        default=False,
        description="Lower ssthresh to the first RTT divided by the spacing of the second and third ACK; Hoe 1996",
    )
    duplicate_ack_threshold: int = Field(
        default=3, ge=1, le=1000, description="Duplicate ACKs that trigger a fast retransmit; RFC 5681 section 3.2"
    )
    fast_retransmit_restarts_timer: bool = Field(
        default=True,
        description="A fast retransmit restarts the retransmission timer, as in 4.4BSD and ns-2; if false, only ACKs "
        "of new data do; RFC 6298 section 5",
    )
    fast_retransmit_interval: Instant = Field(
        default="0 s",
        description="Minimum time between fast retransmits [time]; earlier duplicates trigger none",
    )
    silly_window_avoidance: bool = Field(
        default=True, description="Delay a short segment while more data waits to be sent; RFC 1122 section 4.2.3.4"
    )
    idle_restart: bool = Field(
        default=False, description="Return to the initial window after an idle period of one RTO; RFC 5681 section 4.1"
    )
    initial_rtt: Annotated[Delay, LATER] = Field(
        default="0 s",
        description="RTT known before the first segment [time], as from a handshake; '0 s': none. It initializes SRTT, "
        "BBR's rate and Hybla's window",
    )
    preconnect: Annotated[Delay, LATER] = Field(
        default="0 s",
        description="Time for which the connection is established and idle before its first segment [time]; Westwood "
        "and BBR of Linux measure from the handshake",
    )
    handshake: Annotated[bool, LATER] = Field(
        default=False,
        description="SYN and SYN-ACK cross the path before data, and give the first RTT sample; a lost one is "
        "retransmitted after the initial RTO; RFC 9293 section 3.5, RFC 6298 section 5",
    )
    pacing: Annotated[bool, LATER] = Field(
        default=False,
        description="Pace segments at 2 cwnd/SRTT in early slow start and 1.2 cwnd/SRTT later, as in Linux; if false, "
        "transmission is ACK-clocked; BBR always paces, at its own rate",
    )
    pacing_burst: Annotated[PacingBurst, LATER] = Field(
        default="unlimited",
        description="Maximum burst of a paced sender [segments]; 'unlimited': the data of 1/1024 s, at least two "
        "segments",
    )
    hz: Annotated[int, LATER] = Field(
        default=250,
        ge=24,
        le=1024,
        description="Ticks per second of the kernel clock: of congestion controls by Linux's rules (CUBIC, BIC, H-TCP, "
        "Westwood), RACK's reordering timer, delayed ACKs with ack = 'linux', and modules; Linux CONFIG_HZ",
    )
    careful_resume: Part[Annotated[CarefulResume, LATER]] = part(
        default=CarefulResumeOff.unchecked(),
        description="Careful Resume, a start with the window of an earlier connection: off, previous or saved; RFC "
        "9959",
    )
    tahoe: Part[Annotated[TahoeOptions, LATER]] = part(default=TahoeOptions.unchecked(), description="Options of Tahoe")
    reno: Part[RenoOptions] = part(default=RenoOptions.unchecked(), description="Options of Reno")
    newreno: Part[NewRenoOptions] = part(default=NewRenoOptions.unchecked(), description="Options of NewReno")
    sack: Part[SackOptions] = part(default=SackOptions.unchecked(), description="Options of SACK")
    timer: Part[Timer] = part(default=Coarse.unchecked(), description="Retransmission timer: coarse or fine")
    ack: Part[Ack] = part(
        default=Immediate.unchecked(), description="ACK policy of the receiver: immediate, delayed or linux"
    )
    ecn: Part[Annotated[Ecn, LATER]] = part(
        default=EcnOff.unchecked(),
        description="Explicit congestion notification, and how receivers echo marks: off, classic, dctcp or accurate",
    )

    @property
    def least_window_scale(self) -> int:
        """Returns the smallest shift with which the receiver window fits into its 16-bit field."""
        return min(max(0, SIZE.parse(self.receiver_window).bit_length() - 16), MOST_WINDOW_SCALE)

    @property
    def timestamps(self) -> bool:
        """Returns whether segments carry timestamps (RFC 7323)."""
        return isinstance(self.timer, Fine) and self.timer.timestamps

    constraints: ClassVar = (
        Constraint("receiver_window", "receiver_window < mss", "{receiver_window}; needs at least one segment ({mss})"),
        Constraint(
            "window_scale",
            "window_scale < least_window_scale",
            f"{{window_scale}}; needs {{least_window_scale}} to {MOST_WINDOW_SCALE} for a window of "
            "{receiver_window}",
        ),
        Constraint(
            "initial_ssthresh", "initial_ssthresh < mss", "{initial_ssthresh}; needs at least one segment ({mss})"
        ),
        Constraint(
            "initial_rtt",
            "handshake is true and initial_rtt > '0 s'",
            "{initial_rtt}; needs 0 s with a handshake, which measures the RTT",
            remedy=("initial_rtt", "0 s"),
        ),
        Constraint(
            "preconnect",
            "handshake is true and preconnect > '0 s'",
            "{preconnect}; needs 0 s with a handshake, because data follow it at once",
        ),
        *(
            constraint
            for kind, control in sorted(models_by_kind(Congestion).items())
            for constraint in _constraints_of(kind, control)
        ),
        Constraint(
            "careful_resume",
            f"careful_resume.kind is not 'off' and recovery.kind is not '{RECOVERY_OF_MODELS}'",
            f"{{careful_resume.kind}} with {{recovery.kind}}; needs recovery = {RECOVERY_OF_MODELS!r}",
            remedy=("recovery", RECOVERY_OF_MODELS),
        ),
        *(
            Constraint(
                "careful_resume",
                f"careful_resume.kind is not 'off' and congestion.kind is '{kind}'",
                f"{{careful_resume.kind}} with {kind}; needs a control that only sets a window, such as 'cubic'",
            )
            for kind in sorted((*MODELS, *OWN))
        ),
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yields the field and the message of each violated constraint across fields, including those of the timer."""
        yield from super().problems()
        for name, problem in self.timer.problems():
            yield f"timer.{name}", problem

    @model_validator(mode="before")
    @classmethod
    def _by_profile(cls, written: Any) -> Any:  # noqa: ANN401 - unvalidated input
        return filled(written)

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        """Copies written options between the recovery and the field of its name, so that they agree."""
        chosen = self.recovery
        if chosen.kind not in OPTIONS:
            return self
        said = {name: getattr(chosen, name) for name in chosen.model_fields_set - {"kind"}}
        table: Model = getattr(self, chosen.kind)
        options = {name: getattr(table, name) for name in table.model_fields_set} | said
        try:
            self.__dict__["recovery"] = type(chosen)(**options)
        except ScenarioError as error:
            raise ValueError(f"recovery: {error}") from None
        if said:
            self.__dict__[chosen.kind] = OPTIONS[chosen.kind](**options)
            self.model_fields_set.add(chosen.kind)
        return self

    @field_serializer("recovery", mode="wrap")
    def _by_name(self, chosen: Variant, handler: SerializerFunctionWrapHandler) -> object:
        return chosen.kind if chosen.kind in OPTIONS else handler(chosen)
