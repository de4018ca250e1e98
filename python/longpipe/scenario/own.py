"""TCP fields of a flow, group or proxy that differ from the scenario's."""

from typing import Annotated, Any

from pydantic import SerializerFunctionWrapHandler, WrapSerializer

from longpipe.scenario.tcp import Tcp


def _only_overrides(tcp: Tcp | None, handler: SerializerFunctionWrapHandler) -> dict[str, Any] | None:
    written = handler(tcp)
    if tcp is None:
        return None
    own = {name: v for name, v in written.items() if name in tcp.model_fields_set}
    # Options of a congestion controller that were not specified follow the scenario's profile.
    for field in own.keys() & {"congestion", "vegas"}:
        if isinstance(own[field], dict):
            chosen = getattr(tcp, field)
            fields = type(chosen).model_fields
            said = {"kind", *(fields[name].serialization_alias or name for name in chosen.model_fields_set)}
            own[field] = {name: v for name, v in own[field].items() if name in said}
    return own


OwnTcp = Annotated[Tcp | None, WrapSerializer(_only_overrides)]
