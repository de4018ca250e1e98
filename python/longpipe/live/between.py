"""Carries packets between two interfaces of this network namespace: acts as a router that contains a simulated path."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from longpipe.errors import RunError
from longpipe.live.carrier import USUAL, Attached, Carrier, Settings
from longpipe.live.certificate import Certificate
from longpipe.live.device import open_packet_socket
from longpipe.live.hosts import Plan
from longpipe.run import check_seed

# Time limit for resolving an address [s].
LONGEST_S: Final = 30.0
_DISCARD: Final = 9
_LOOK_S: Final = 0.1


def between(
    plan: Plan,
    interfaces: Sequence[str],
    addresses: Sequence[Sequence[str]],
    until: Callable[[], bool],
    *,
    seed: int = 1,
    settings: Settings = USUAL,
) -> Certificate:
    """Carries packets between a plan's hosts, which are reached through these interfaces and have these addresses.

    The hosts use this machine as their router. Raises ScenarioError for an invalid seed, and RunError if the machine
    does not permit it, or if no host answers.
    """
    check_seed(seed)
    with contextlib.ExitStack() as stack:
        attached = []
        for interface, addresses_of_interface in zip(interfaces, addresses, strict=True):
            with _socket_errors_of(interface):
                packets = stack.enter_context(open_packet_socket(interface))
            attached.append(
                Attached(
                    addresses_of_interface, "packet", packets.detach(), _ethernet(interface, addresses_of_interface)
                )
            )
        with Carrier(plan, attached, seed, settings) as carrier:
            while carrier.is_alive() and not until():
                time.sleep(_LOOK_S)
        return carrier.certificate(0, tuple(interfaces))


@contextlib.contextmanager
def _socket_errors_of(interface: str) -> Iterator[None]:
    try:
        yield
    except PermissionError:
        raise RunError(f"live: {interface}: no packet socket is permitted; needs root or CAP_NET_RAW") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise RunError(f"live: {interface}: {reason}; needs an existing interface") from None


def _ethernet(interface: str, addresses: Sequence[str]) -> bytes:
    """Returns the Ethernet address of the host, reached through an interface, that has one of these IP addresses."""
    from pyroute2 import IPRoute

    until = time.monotonic() + LONGEST_S
    with IPRoute() as route:
        (index,) = route.link_lookup(ifname=interface)
        while time.monotonic() < until:
            for address in addresses:
                # Sending a datagram makes the kernel resolve the address.
                with contextlib.suppress(OSError), _datagram(address) as asking:
                    asking.sendto(b"", (address, _DISCARD))
                for neighbor in route.get_neighbours(ifindex=index, dst=address):
                    if link := neighbor.get_attr("NDA_LLADDR"):
                        return bytes.fromhex(link.replace(":", ""))
            time.sleep(_LOOK_S)
    raise RunError(f"live: {interface}: no host answers for {' or '.join(addresses)} after {LONGEST_S:g} s")


def _datagram(address: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
