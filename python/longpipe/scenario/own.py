"""TCP fields of a part of a scenario that differ from the scenario's."""

from typing import Annotated, Any

from pydantic import SerializerFunctionWrapHandler, WrapSerializer

from longpipe.scenario.tcp import Tcp


def _only_overrides(tcp: Tcp | None, handler: SerializerFunctionWrapHandler) -> dict[str, Any] | None:
    written = handler(tcp)
    if tcp is None:
        return None
    own = {name: v for name, v in written.items() if name in tcp.model_fields_set}
    if isinstance(own.get("congestion"), dict):
        # What is not said of it may be as the scenario's profile has it.
        said = {"kind", *tcp.congestion.model_fields_set}
        own["congestion"] = {name: v for name, v in own["congestion"].items() if name in said}
    return own


OwnTcp = Annotated[Tcp | None, WrapSerializer(_only_overrides)]
