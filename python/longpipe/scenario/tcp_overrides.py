"""TCP fields of a flow, group or proxy that override the scenario's."""

from typing import Annotated, Any

from pydantic import BeforeValidator, SerializerFunctionWrapHandler, WrapSerializer

from longpipe.errors import shown
from longpipe.scenario.profile_options import FORMER
from longpipe.scenario.tcp import Tcp


def _specified_fields(tcp: Tcp | None, handler: SerializerFunctionWrapHandler) -> dict[str, Any] | None:
    """Returns the written form of the fields that the user specified; the others follow the scenario's profile."""
    if tcp is None:
        return None
    overrides = {name: value for name, value in handler(tcp).items() if name in tcp.model_fields_set}
    if isinstance(control := overrides.get("congestion"), dict):
        fields = type(tcp.congestion).model_fields
        options = {fields[name].serialization_alias or name for name in tcp.congestion.model_fields_set}
        overrides["congestion"] = {name: value for name, value in control.items() if name in {"kind", *options}}
    return overrides


def _reject_former_options(fields: object) -> object:
    """Rejects a former field that is now an option of a congestion control, unless `congestion` is beside it."""
    if isinstance(fields, dict) and "congestion" not in fields:
        for name in FORMER.keys() & fields.keys():
            accepted = f"congestion = {{kind = {FORMER[name]!r}, ...}} instead"
            raise ValueError(f"{name}: {shown(fields[name])}; needs {accepted}")
    return fields


TcpOverrides = Annotated[Tcp | None, BeforeValidator(_reject_former_options), WrapSerializer(_specified_fields)]
