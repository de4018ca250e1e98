"""What the fields of a TCP connection have in common, besides their bounds: agreement, profiles, and derived values."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from pydantic import SerializerFunctionWrapHandler, field_serializer, model_validator

from longpipe.errors import ScenarioError
from longpipe.scenario.base import Model, models_by_kind
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.constraints import Constraint
from longpipe.scenario.control_kinds import MODELS, OWN, RECOVERY_OF_MODELS
from longpipe.scenario.profile_options import filled
from longpipe.scenario.recovery import Recovery
from longpipe.scenario.variant import Variant

# Loss recoveries whose options have a field in `Tcp`, which keeps them while another recovery is selected.
OPTIONS: Final[dict[str, type[Model]]] = {
    kind: next(base for base in model.__bases__ if not issubclass(base, Variant))
    for kind, model in models_by_kind(Recovery).items()
    if model.is_flat
}


_L4S: Final = ("ecn", {"kind": "accurate", "ect": 1})


def _of_facts() -> Iterator[Constraint]:
    """Yields the constraints on other fields that follow from the facts of congestion controls."""
    controls = [
        (f"congestion.kind is '{kind}' and ", kind, control)
        for kind, control in sorted(models_by_kind(Congestion).items())
    ]
    for chosen, kind, control in controls:
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
    yield Constraint(
        "recovery",
        f"congestion.kind is among '{' '.join(sorted(MODELS))}' and recovery.kind is not '{RECOVERY_OF_MODELS}'",
        f"{{recovery.kind}}; needs {RECOVERY_OF_MODELS!r} with congestion '{{congestion.kind}}', which needs a report "
        "of each loss",
        remedy=("recovery", RECOVERY_OF_MODELS),
    )
    for chosen, kind, control in controls:
        if control.needs_marks == "count":
            l4s = f"needs {{kind = 'accurate', ect = 1}} for congestion = {kind!r}, which counts marks of L4S packets"
            yield Constraint("ecn", chosen + "ecn.kind is not 'accurate'", "{ecn.kind}; " + l4s, remedy=_L4S)
            no_l4s = chosen + "ecn.kind is 'accurate' and ecn.ect < 1"
            yield Constraint("ecn", no_l4s, "accurate with ect = 0; " + l4s, remedy=_L4S)


class Connection(Model):
    """Sender and receiver of a TCP connection, without their fields."""

    if TYPE_CHECKING:
        recovery: Variant

    constraints: ClassVar = (
        Constraint(
            "window_scale",
            "window_scale < least_window_scale",
            "{window_scale}; needs {least_window_scale} to {most_window_scale} for a window of {receiver_window}",
        ),
        *(
            Constraint(
                "timer",
                f"receiver_control.kind is not 'off' and {timer}",
                "{timer.kind} without timestamps; needs fine, with timestamps, for receiver_control = "
                "{receiver_control.kind}, which measures RTTs",
                remedy=remedy,
            )
            for timer, remedy in (
                ("timer.kind is 'fine' and timer.timestamps is not true", ("timer.timestamps", True)),
                ("timer.kind is not 'fine'", ("timer", {"kind": "fine", "timestamps": True})),
            )
        ),
        *_of_facts(),
        *(
            Constraint(
                field,
                f"{value} is not 'off' and recovery.kind is not '{RECOVERY_OF_MODELS}'",
                f"{{{value}}} with {{recovery.kind}}; needs recovery = {RECOVERY_OF_MODELS!r}",
                remedy=("recovery", RECOVERY_OF_MODELS),
            )
            for field, value in (("careful_resume", "careful_resume.kind"), ("rapid_start", "rapid_start"))
        ),
        *(
            Constraint(
                field,
                f"{value} is not '{off}' and congestion.kind is among '{' '.join(sorted((*MODELS, *OWN)))}'",
                f"{{{value}}} with {{congestion.kind}}; needs a control that only sets a window, such as 'cubic'",
            )
            for field, value, off in (
                ("careful_resume", "careful_resume.kind", "off"),
                ("rapid_start", "rapid_start", "off"),
                ("rate_limited", "rate_limited.kind", "control"),
            )
        ),
        Constraint(
            "careful_resume",
            "careful_resume.kind is not 'off' and rapid_start is not 'off'",
            "{careful_resume.kind} with rapid_start = {rapid_start}; needs 'off', because each sets the window in the "
            "first recovery",
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _by_profile(cls, written: Any) -> Any:  # noqa: ANN401 - unvalidated input
        return filled(written, cls)

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        """Copies written options between the recovery and the field of its name, so that they agree."""
        chosen = self.recovery
        if chosen.kind not in OPTIONS:
            return self
        specified = {name: getattr(chosen, name) for name in chosen.model_fields_set - {"kind"}}
        table: Model = getattr(self, chosen.kind)
        if not specified and all(getattr(chosen, name) == getattr(table, name) for name in table.model_fields_set):
            return self
        options = {name: getattr(table, name) for name in table.model_fields_set} | specified
        try:
            self.__dict__["recovery"] = type(chosen)(**options)
        except ScenarioError as error:
            raise ValueError(f"recovery: {error}") from None
        if specified:
            self.__dict__[chosen.kind] = OPTIONS[chosen.kind](**options)
            self.model_fields_set.add(chosen.kind)
        return self

    @field_serializer("recovery", mode="wrap")
    def _by_name(self, chosen: Variant, handler: SerializerFunctionWrapHandler) -> object:
        return chosen.kind if chosen.kind in OPTIONS else handler(chosen)
