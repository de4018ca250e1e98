"""Proxies that split connections (performance enhancing proxies, RFC 3135)."""

from typing import Literal

from pydantic import Field

from longpipe.scenario.base import Model, SplitBuffer
from longpipe.scenario.own import OwnTcp
from longpipe.scenario.parts import Part, part


class Pep(Model):
    """A proxy that ends each TCP connection that passes, and carries it on by one of its own (RFC 3135)."""

    buffer: SplitBuffer = Field(
        description="Room for what a connection delivered and the next has not acknowledged [bytes], as in '1 MB'"
    )
    tcp: Part[OwnTcp] = part(default=None, description="TCP fields of what it sends that differ from the flow's")


class TrunkPep(Pep):
    """The same at one end of a dumbbell's trunk."""

    at: Literal["switch1", "switch2"] = Field(default="switch1", description="Its switch: switch1 or switch2")
