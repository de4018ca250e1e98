"""Receiver's windows that fill a path: `receiver_window = "auto"`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from longpipe.scenario.base import AUTO, LARGEST_WINDOW
from longpipe.scenario.buffers import Packet, bytes_of
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.topology import Topology
from longpipe.units import SIZE

# The field as it was before RFC 7323.
SMALLEST: Final = SIZE.parse("64 KiB")
# What a path holds is outstanding; behind a hole, for a round trip, as much again.
TIMES_PATH: Final = 2

Links = Sequence[Mapping[str, Any]]


def fitted(tcps: Sequence[Tcp], topology: Topology, links: Links) -> list[Tcp]:
    """Each flow's TCP with a window of bytes: where it is "auto", twice what its pipe and its largest buffer hold.

    A buffer without limit counts as a pipe's worth; a window has 64 KiB to 1 GiB. `links` are those of the core.
    """
    found: dict[tuple[int, int], Tcp] = {}
    fitted = []
    for tcp, (there, back) in zip(tcps, topology.routes, strict=True):
        window = _window(Packet.of(tcp), links, there, back) if tcp.receiver_window == AUTO else 0
        key = (id(tcp), window)
        if key not in found:
            found[key] = tcp.model_copy(update={"receiver_window": f"{window} B"}) if window else tcp
        fitted.append(found[key])
    return fitted


def _window(packet: Packet, links: Links, there: Sequence[int], back: Sequence[int]) -> int:
    delay_ps = sum(links[k]["delay_ps"] for k in (*there, *back))
    pipe = min(links[k]["rate_bps"] for k in there) * delay_ps // (8 * 10**12)
    # Behind the host's own port, which has no limit and no queue that the window need fill.
    buffers = [pipe if links[k]["buffer"] is None else bytes_of(links[k]["buffer"], packet.bytes) for k in there[1:]]
    wanted = TIMES_PATH * (pipe + max(buffers, default=0))
    return int(min(max(SMALLEST, wanted), SIZE.parse(LARGEST_WINDOW)))
