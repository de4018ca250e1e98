"""A congestion controller that is a class in Python."""

import json
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from longpipe.scenario.digests import is_renewed
from longpipe.scenario.own_control import Known, OwnControl, Value

if TYPE_CHECKING:
    from longpipe.controls.classes import KnownClass


class Python(OwnControl):
    """A subclass of `longpipe.Control`, executed by Python."""

    noun: ClassVar[str] = "class"
    pickled_as: ClassVar[str] = "pickled"

    draws: ClassVar[bool] = True
    in_lab: ClassVar[bool] = False
    kind: Literal["python"] = "python"
    class_: str = Field(
        validation_alias=AliasChoices("class", "class_"),
        serialization_alias="class",
        min_length=1,
        max_length=4096,
        description="The class, as 'package.module:Class' or 'file.py:Class'; in Python also the class itself",
    )
    parameters: dict[str, Value] = Field(
        default_factory=dict, max_length=64, description="Arguments of the class by name, as {gain = 1.5}"
    )
    digest: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{64}$",
        description="SHA-256 of the class's code, or of its version; computed if absent, otherwise compared",
    )
    policy: bool = Field(
        default=False,
        description="Whether the class applies a policy of longpipe.gym, which an automatic receiver window does not "
        "limit; computed",
    )

    @model_validator(mode="before")
    @classmethod
    def _of_class(cls, fields: Any) -> Any:  # noqa: ANN401 - before validation
        if isinstance(fields, dict):
            for name in ("class", "class_"):
                if isinstance(fields.get(name), type):
                    control = _found(fields[name])
                    return {**fields, name: control.name, "digest": control.digest}
        return fields

    @property
    def own_name(self) -> str:
        """Returns the name of the class."""
        return self.class_

    def _find(self) -> str:
        from longpipe.controls.class_checks import check_parameters

        # A class of a file is identified by what the file contains now, any other one by the digest, if it is known.
        digest = None if is_renewed() and self.class_.partition(":")[0].endswith(".py") else self.digest
        control = _found(self.class_, digest)
        if control.cls is not None:
            check_parameters(control.cls, control.name, self.parameters)
        if control.is_policy:
            # Models are frozen, so that an assignment would fail.
            self.__dict__["policy"] = True
            self.model_fields_set.add("policy")
        return control.digest

    @staticmethod
    def _known() -> Known:
        from longpipe.controls import classes

        return classes


def _found(target: str | type, digest: str | None = None) -> "KnownClass":
    """Returns a class by its name or digest, or a class itself, with an existing base; see `controls.classes.load`."""
    # Imported here because few scenarios need them.
    from longpipe.controls.classes import load
    from longpipe.scenario.class_bases import check_base

    control = load(target, digest)
    if control.cls is not None:
        check_base(control.cls, control.name)
    return control


def class_as_table() -> BeforeValidator:
    """Accepts the class itself in place of the table that names it."""
    return BeforeValidator(lambda value: {"kind": "python", "class": value} if isinstance(value, type) else value)


def core_class(control: Python) -> dict[str, Any]:
    """Converts a class for the core, which treats it as a module with its digest."""
    return {
        "kind": "module",
        "digest": control.digest,
        "parameters": [[name, json.dumps(value)] for name, value in sorted(control.parameters.items())],
        "hz": None,
    }
