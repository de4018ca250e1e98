"""A congestion controller that is a class in Python."""

import json
from typing import Any, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from longpipe.errors import ScenarioError
from longpipe.scenario.module import Value
from longpipe.scenario.variant import Variant


class Python(Variant):
    """A subclass of `longpipe.Control`, executed by Python."""

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
        description="SHA-256 of the class's code, or of its version; filled in, and compared if it is there",
    )

    @model_validator(mode="before")
    @classmethod
    def _of_class(cls, fields: Any) -> Any:  # noqa: ANN401 - before validation
        if isinstance(fields, dict):
            for name in ("class", "class_"):
                if isinstance(fields.get(name), type):
                    from longpipe.controls.classes import find

                    found = find(fields[name])
                    return {**fields, name: found.name, "digest": found.digest}
        return fields

    @model_validator(mode="after")
    def _found(self) -> Self:
        from longpipe.controls.classes import check_parameters, find

        try:
            found = find(self.class_, self.digest)
        except ScenarioError:
            # Results of a class that is gone can be read, but not repeated.
            if self.digest is None:
                raise
            return self
        check_parameters(found, self.parameters)
        if self.digest not in (None, found.digest):
            needs = f"needs the class as it was, or no digest; {self.class_} has {found.digest[:12]}... now"
            raise ValueError(f"digest: {self.digest[:12]}...; {needs}")
        self.__dict__["digest"] = found.digest
        self.model_fields_set.add("digest")
        return self

    def __getstate__(self) -> dict[Any, Any]:
        """Returns the fields and the pickled class, because another process may not find it."""
        from longpipe.controls.classes import content

        return {**super().__getstate__(), "pickled": content(self.digest or "")}

    def __setstate__(self, state: dict[Any, Any]) -> None:
        from longpipe.controls.classes import remember

        pickled = state.pop("pickled")
        super().__setstate__(state)
        if pickled is not None and self.digest is not None:
            remember(self.digest, self.class_, pickled)


def class_as_table() -> BeforeValidator:
    """Accepts a class itself for the table that names it."""
    return BeforeValidator(lambda value: {"kind": "python", "class": value} if isinstance(value, type) else value)


def core_class(control: Python, hz: int) -> dict[str, Any]:
    """Returns a class as the core has it: as a module, by its digest."""
    return {
        "kind": "module",
        "digest": control.digest,
        "parameters": [[name, json.dumps(value)] for name, value in sorted(control.parameters.items())],
        "hz": hz,
    }
