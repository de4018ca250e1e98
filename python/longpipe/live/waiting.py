"""Where a live run waits until a program listens before it starts the first program, and for how long."""

from collections.abc import Iterable
from typing import Final

from longpipe.errors import ScenarioError, nearest, shown
from longpipe.inputs.numbers import whole_number

# Default maximum time [s] that a program may take until it listens, and its text on the command line.
LONGEST_WAIT_S: Final = 60.0
LONGEST_WAIT: Final = f"{LONGEST_WAIT_S:g} s"


def check_wait_for(
    text: str,
    hosts: Iterable[str],
    *,
    option: str = "--wait-for",
    needs: str = "a second --at",
    example: str = "sink1:5201",
) -> tuple[str, int]:
    """Splits HOST:PORT, the value of `option`; `hosts` are those of the commands, in their order.

    Raises ScenarioError unless a command other than the first one runs at that host; without one, the error names what
    it `needs`.
    """
    host, _, digits = text.rpartition(":")
    port = whole_number(digits)
    if not host or port is None:
        raise ScenarioError(f"{option}: {shown(text)}; needs HOST:PORT, as in {example}")
    if not 0 < port < 1 << 16:
        raise ScenarioError(f"{option}: port {port}; needs a port from 1 to 65535, as in {example}")
    awaitable = list(hosts)[1:]
    if host not in awaitable:
        accepted = nearest(host, awaitable) if awaitable else f"needs {needs}"
        raise ScenarioError(f"{option}: {host!r}, where no command starts before the first one; {accepted}")
    return host, port
