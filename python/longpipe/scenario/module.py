"""A congestion controller from a file: a module of Linux, or an object or WebAssembly module for longpipe_control.h."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from longpipe.scenario.own_control import Known, OwnControl, Value, core_values


class Module(OwnControl):
    """A controller from a file: a Linux module (.c, or .so by `longpipe cc build`), or your own (.so or .wasm)."""

    noun: ClassVar[str] = "file"
    pickled_as: ClassVar[str] = "object"

    draws: ClassVar[bool] = True
    label: ClassVar[str] = "WebAssembly file…"
    kind: Literal["module"] = "module"
    file: str = Field(
        min_length=1,
        max_length=4096,
        description="A path of a C source, a shared object or a WebAssembly module, read when the scenario is checked",
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
        description="SHA-256 of the source and of longpipe's header; computed if absent, otherwise compared",
    )

    @property
    def own_name(self) -> str:
        """Returns the path of the file."""
        return self.file

    def _find(self) -> str:
        from longpipe.controls.objects import check_parameters, find

        found = find(self.file)
        check_parameters(found, self.parameters)
        return found.digest

    @staticmethod
    def _known() -> Known:
        from longpipe.controls import objects

        return objects


def core_module(module: Module) -> dict[str, Any]:
    """Converts a controller from a file for the core, which identifies it by its digest, not by its path."""
    return {
        "kind": module.kind,
        "digest": module.digest,
        "parameters": core_values(module.parameters),
        "hz": module.hz,
    }


def modules_of(resolved: Mapping[str, Any]) -> list[str]:
    """Returns the digests of the modules and classes that a resolved scenario uses."""
    # Connections share equal parts.
    tcps = {id(flow["tcp"]): flow["tcp"] for flow in resolved["flows"]}.values()
    controls = [tcp["congestion"] for tcp in tcps if isinstance(tcp["congestion"], dict)]
    return sorted({control["digest"] for control in controls if control["kind"] == "module"})
