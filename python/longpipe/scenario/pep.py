"""Split-TCP performance enhancing proxies (RFC 3135)."""

from typing import Literal

from pydantic import Field

from longpipe.scenario.base import Model, SplitBuffer
from longpipe.scenario.parts import Part, part
from longpipe.scenario.tcp_overrides import TcpOverrides


class Pep(Model):
    """A proxy that terminates each passing TCP connection and forwards its data over a second one (RFC 3135)."""

    buffer: SplitBuffer = Field(
        description="Buffer per connection for data that are not yet acknowledged on the second connection [bytes], as "
        "in '1 MB'",
    )
    tcp: Part[TcpOverrides] = part(
        default=None, description="TCP fields of the proxy's sender that differ from the flow's"
    )


class TrunkPep(Pep):
    """A split-TCP proxy at one end of a dumbbell's trunk."""

    at: Literal["switch1", "switch2"] = Field(default="switch1", description="Switch of the proxy: switch1 or switch2")
