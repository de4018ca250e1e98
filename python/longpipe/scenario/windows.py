"""Receiver windows that fill a path: `receiver_window = "auto"`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from longpipe.scenario.base import AUTO, accepted
from longpipe.scenario.buffers import Packet, bytes_of
from longpipe.scenario.jitter import delay_with_jitter_ps
from longpipe.scenario.own_class import Python
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.topology import Topology
from longpipe.units import SIZE

# Maximum of the window field without RFC 7323.
SMALLEST: Final = SIZE.parse("64 KiB")
LARGEST_BYTES: Final = SIZE.parse(accepted(Tcp, "receiver_window").high)
# Multiple of the BDP: one BDP of data is in flight, and another BDP is sent above the hole during the RTT in which a
# loss is repaired.
TIMES_PATH: Final = 2

Links = Sequence[Mapping[str, Any]]


def fitted(tcps: Sequence[Tcp], topology: Topology, links: Links) -> list[Tcp]:
    """Returns each flow's TCP with a window in bytes; "auto" becomes twice the sum of the BDP and the largest buffer.

    An unlimited buffer counts as one BDP. The window is clamped to 64 KiB to 1 GiB; a policy of `longpipe.gym`, which
    may send more than the path holds, gets the largest one. `links` must already be resolved.
    """
    found: dict[tuple[int, int], Tcp] = {}
    fitted = []
    for tcp, (there, back) in zip(tcps, topology.routes, strict=True):
        window = 0
        if tcp.receiver_window == AUTO:
            of_policy = isinstance(tcp.congestion, Python) and tcp.congestion.policy
            window = LARGEST_BYTES if of_policy else _window(Packet.of(tcp), links, there, back)
        key = (id(tcp), window)
        if key not in found:
            found[key] = tcp.model_copy(update={"receiver_window": f"{window} B"}) if window else tcp
        fitted.append(found[key])
    return fitted


def _window(packet: Packet, links: Links, there: Sequence[int], back: Sequence[int]) -> int:
    delay_ps = sum(delay_with_jitter_ps(links[k]) for k in (*there, *back))
    pipe = min(links[k]["rate_bps"] for k in there) * delay_ps // (8 * 10**12)
    # The host's own port is excluded: its queue is unlimited, so the window need not fill it.
    buffers = [pipe if links[k]["buffer"] is None else bytes_of(links[k]["buffer"], packet.bytes) for k in there[1:]]
    wanted = TIMES_PATH * (pipe + max(buffers, default=0))
    return int(min(max(SMALLEST, wanted), LARGEST_BYTES))
