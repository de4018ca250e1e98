"""Sources of traffic: what the core declares about each kind, and what their models have in common."""

import json
from typing import Any, ClassVar, Final

from longpipe import _core
from longpipe.scenario.base import Model
from longpipe.scenario.core import core_fields

# Facts about each kind of traffic in a resolved scenario: fields of the struct `Facts` in
# crates/network/src/traffic/parameters.rs.
SOURCES: Final[dict[str, dict[str, Any]]] = json.loads(_core.kind_facts())["traffic"]
# Kinds of traffic with flow control and congestion control, over TCP and over real stacks. All other kinds are
# datagrams, or further paths of a stack's connection.
OVER_TCP: Final = frozenset(kind for kind, facts in SOURCES.items() if facts["transport"] in ("tcp", "stack"))
# Transports by real stacks, and kinds of traffic that use them.
STACKS: Final = ("stack", "further-path")
OF_STACKS: Final = frozenset(kind for kind, facts in SOURCES.items() if facts["transport"] in STACKS)


class Source(Model):
    """Traffic of an application."""

    # Kind in the core, if it differs from that of the model.
    core_kind: ClassVar[str | None] = None
    # How the data are transported: "tcp", "datagrams", "stack" or "further-path".
    transport: ClassVar[str]
    # Whether the connection stands for a transport over UDP, which proxies do not split.
    stands_for_udp: ClassVar[bool]
    # Field with the time between events that occur even if no packet is sent, if there is one.
    repeats: ClassVar[str | None] = None
    kind: str

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        """Makes the facts that the core declares about the kind attributes of the class."""
        super().__pydantic_init_subclass__(**kwargs)
        for name, fact in SOURCES.get(cls.core_kind or cls.model_fields["kind"].default, {}).items():
            setattr(cls, name, fact)

    def core(self) -> dict[str, Any]:
        """Converts the traffic for the core. Raises ScenarioError for an invalid file."""
        return core_fields(self)

    def data_file(self) -> str | None:
        """Returns the path of a file with measured data, if the traffic has one."""
        return None
