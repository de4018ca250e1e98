"""A congestion controller from a file: a module of Linux, or a shared object for longpipe_control.h."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from longpipe.errors import ScenarioError
from longpipe.scenario.variant import Variant

Value = StrictBool | StrictInt | StrictFloat | StrictStr


class Module(Variant):
    """A controller from a file: a Linux module (.c, or .so by `longpipe cc build`), or a shared object of your own."""

    kind: Literal["module"] = "module"
    file: str = Field(
        min_length=1,
        max_length=4096,
        description="A path of a C source or of a shared object, read when the scenario is checked",
    )
    parameters: dict[str, Value] = Field(
        default_factory=dict, max_length=64, description="Parameters of the module by name, as {beta = 717}"
    )
    hz: int | None = Field(
        default=None, ge=24, le=1024, description="Ticks per second of the module's clock (HZ); tcp.hz if absent"
    )
    digest: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{64}$",
        description="SHA-256 of the source and of longpipe's header; filled in, and compared if it is there",
    )

    @model_validator(mode="after")
    def _found(self) -> Self:
        from longpipe.controls.objects import check_parameters, find

        try:
            found = find(self.file)
        except ScenarioError:
            # Results of a module that is gone can be read, but not repeated.
            if self.digest is None:
                raise
            return self
        check_parameters(found, self.parameters)
        if self.digest not in (None, found.digest):
            needs = f"needs the file as it was, or no digest; {self.file} has {found.digest[:12]}... now"
            raise ValueError(f"digest: {self.digest[:12]}...; {needs}")
        self.__dict__["digest"] = found.digest
        self.model_fields_set.add("digest")
        return self

    def __getstate__(self) -> dict[Any, Any]:
        """Returns the fields and the object's bytes, because another machine does not have the file."""
        from longpipe.controls.objects import content

        return {**super().__getstate__(), "object": content(self.digest or "")}

    def __setstate__(self, state: dict[Any, Any]) -> None:
        from longpipe.controls.objects import remember

        content = state.pop("object")
        super().__setstate__(state)
        if content is not None and self.digest is not None:
            remember(self.digest, self.file, content)


def core_module(module: Module, hz: int) -> dict[str, Any]:
    """Returns a controller from a file as the core has it: by its digest, so that a run does not depend on a path.

    `hz` is the rate of the kernel's clock ticks, unless the module states its own.
    """
    return {
        "kind": module.kind,
        "digest": module.digest,
        "parameters": [[name, _text(value)] for name, value in sorted(module.parameters.items())],
        "hz": hz if module.hz is None else module.hz,
    }


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def modules_of(resolved: Mapping[str, Any]) -> list[str]:
    """Returns the digests of the modules and classes that a resolved scenario uses."""
    # Connections share what is alike.
    tcps = {id(flow["tcp"]): flow["tcp"] for flow in resolved["flows"]}.values()
    controls = [tcp["congestion"] for tcp in tcps if isinstance(tcp["congestion"], dict)]
    return sorted({control["digest"] for control in controls if control["kind"] == "module"})
