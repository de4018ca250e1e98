"""Bases of kinds of loss recovery and congestion control, each with its own parameters."""

from typing import Any, ClassVar, Final, Self

from pydantic import model_validator

from longpipe.scenario.base import Becomes, Model

# Kinds that are resolved to their names; see `Variant.is_flat`.
FLAT: Final[set[str]] = set()


class Variant(Model):
    """A kind of loss recovery or congestion control with its parameters; such an object equals its name."""

    # Whether the resolved form has the kind's name, and its options in fields of their own; the digests of stored runs
    # depend on this form. Other kinds are resolved to tables.
    is_flat: ClassVar[bool] = False
    # Facts that the core declares (crates/tcp/src/variant.rs). Generated models define those that differ from these.
    is_model: ClassVar[bool] = False
    measures_delay: ClassVar[bool] = False
    needs_marks: ClassVar[str] = "none"
    fills_buffers: ClassVar[bool] = True
    detects_each_loss: ClassVar[bool] = False
    kind: str

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if cls.is_flat:
            FLAT.add(cls.model_fields["kind"].default)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name, problem in self.problems():
            raise ValueError(f"{name} {problem}")
        return self

    def __eq__(self, other: object) -> bool:
        return self.kind == other if isinstance(other, str) else super().__eq__(other)

    def __hash__(self) -> int:
        return hash(self.kind)


class LossRecovery(Variant):
    """A kind of loss recovery."""

    # How a loss is detected, as a sentence without its period.
    detection: ClassVar[str] = ""


class Control(Variant):
    """A kind of congestion control."""

    # Whether the window grows by one segment per RTT and is halved at a loss, as in the model of Mathis et al. (1997).
    is_reno: ClassVar[bool] = False
    # What the window becomes at a loss, and at an ECN mark if that differs; the rule of a control that sets the window
    # from a model of the path or from delays, as a sentence without its period.
    after_loss: ClassVar[str] = ""
    after_mark: ClassVar[str] = ""
    by_model: ClassVar[str] = ""


def _name_or_table(table: dict[str, Any]) -> str | dict[str, Any]:
    return table["kind"] if table["kind"] in FLAT or len(table) == 1 else table


CHOSEN: Final = Becomes("", _name_or_table)
