"""TCP fields of a flow, group or proxy that differ from the scenario's."""

from typing import Annotated, Any

from pydantic import BeforeValidator, SerializerFunctionWrapHandler, WrapSerializer

from longpipe.errors import shown
from longpipe.scenario.profile_options import FORMER
from longpipe.scenario.tcp import Tcp


def _only_overrides(tcp: Tcp | None, handler: SerializerFunctionWrapHandler) -> dict[str, Any] | None:
    written = handler(tcp)
    if tcp is None:
        return None
    own = {name: v for name, v in written.items() if name in tcp.model_fields_set}
    # Options of a congestion controller that were not specified follow the scenario's profile.
    if isinstance(chosen := own.get("congestion"), dict):
        fields = type(tcp.congestion).model_fields
        specified = {"kind", *(fields[name].serialization_alias or name for name in tcp.congestion.model_fields_set)}
        own["congestion"] = {name: v for name, v in chosen.items() if name in specified}
    return own


def _check_former(fields: object) -> object:
    """Rejects a former field with options of a congestion control that is not selected beside it."""
    if isinstance(fields, dict) and "congestion" not in fields:
        for name in FORMER.keys() & fields.keys():
            needs = f"congestion = {{kind = {FORMER[name]!r}, ...}} instead"
            raise ValueError(f"{name}: {shown(fields[name])}; needs {needs}")
    return fields


OwnTcp = Annotated[Tcp | None, BeforeValidator(_check_former), WrapSerializer(_only_overrides)]
