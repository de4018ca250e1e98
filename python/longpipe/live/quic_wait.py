"""Startup of quic-network-simulator: clients wait for the simulator, and the simulator waits for the server."""

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from typing import Final

from longpipe.errors import RunError, ScenarioError, shown
from longpipe.inputs.numbers import whole_number

# Port to which clients connect to find the simulator.
PORT: Final = 57832
LONGEST_S: Final = 10.0
_BETWEEN_S: Final = 0.1
# A long header with an unknown version, which a server answers with Version Negotiation (RFC 9000 sections 6.1, 15).
_LONG_HEADER: Final = b"\xc0" + bytes.fromhex("1a2a3a4a")
_SHORTEST_DATAGRAM: Final = 1200


@contextlib.contextmanager
def ready_to_be_waited_for() -> Iterator[None]:
    """Accepts connections from waiting clients. Raises RunError if the port is in use."""
    try:
        listening = socket.create_server(("", PORT), backlog=100)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise RunError(f"live: TCP port {PORT}: {reason}; needs this port, at which clients wait") from None
    with listening:
        yield


def wait_for_server(text: str) -> None:
    """Waits until a QUIC server at HOST:PORT answers. Raises RunError after 10 s."""
    host, _, digits = text.rpartition(":")
    port = whole_number(digits)
    if not host or port is None or not 0 < port < 1 << 16:
        raise ScenarioError(f"WAITFORSERVER: {shown(text)}; needs a host and its port, as in server:443")
    number, until = os.urandom(8), time.monotonic() + LONGEST_S
    probe = (_LONG_HEADER + b"\x08" + number + b"\x08" + number).ljust(_SHORTEST_DATAGRAM, b"\0")
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.settimeout(_BETWEEN_S)
            asking.connect((host, port))
            asking.send(probe)
            if asking.recv(2048):
                return
        time.sleep(_BETWEEN_S)
    raise RunError(f"WAITFORSERVER: {text} did not answer within {LONGEST_S:g} s; needs a QUIC server")
