"""Works that every simulator runs: flows over a dumbbell of drop-tail routers, unless a kind says otherwise."""

from dataclasses import dataclass, replace
from typing import Final

HEADER_BYTES: Final = 40
STARTS_S: Final = 1.0
GEO_DELAY_S: Final = 0.275


@dataclass(frozen=True)
class Work:
    """Greedy SACK flows over one trunk; flow i uses host pair i modulo `host_pairs`; starts are spread over 1 s."""

    name: str
    flows: int
    host_pairs: int
    mss_bytes: int
    access_bps: int
    trunk_bps: int
    delay_s: float
    """Propagation delay of the trunk, one way; the access links have none."""
    buffer_packets: int
    """Room at the trunk, the packet in service included."""
    duration_s: float

    @property
    def window_packets(self) -> int:
        """Receiver window: twice the capacity of the path and the buffer, so that it is never the limit."""
        return 4 * max(self.buffer_packets, self.pipe_packets)

    @property
    def pipe_packets(self) -> int:
        """Bandwidth-delay product [packets]."""
        return max(1, round(self.trunk_bps * 2 * self.delay_s / 8 / (self.mss_bytes + HEADER_BYTES)))

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.flows} flows, {self.mss_bytes}-byte segments, trunk {self.trunk_bps / 1e6:g} Mbit/s, "
            f"{self.delay_s * 1e3:g} ms, {self.buffer_packets} packets"
        )

    def suiting(self, kind: str) -> "Work":
        """Returns the work adapted to a kind.

        ns-3's BBR needs ten times the buffer to deliver more than a tenth; the path with a proxy is that of a
        geostationary satellite; ten stations that share a channel have a trunk that is faster than the channel.
        """
        match kind:
            case _ if "with 10" in kind:
                shared = replace(self, flows=10, host_pairs=10, trunk_bps=self.access_bps)
                # Windows that keep satellite terminals busy.
                return replace(shared, buffer_packets=2000) if "dama" in kind else shared
            case "bbr":
                return replace(self, buffer_packets=10 * self.buffer_packets)
            case "cubic through a proxy":
                satellite = replace(self, delay_s=GEO_DELAY_S)
                return replace(satellite, buffer_packets=satellite.pipe_packets)
        return self

    def lasting(self, duration_s: float) -> "Work":
        """Returns the work with another simulated duration."""
        return replace(self, duration_s=duration_s)

    def arguments(self) -> list[str]:
        """Returns the arguments of ns2.tcl and ns3.cc."""
        integers = (self.flows, self.host_pairs, self.mss_bytes, self.access_bps, self.trunk_bps)
        others = (self.delay_s, self.buffer_packets, self.window_packets, self.duration_s)
        return [*map(str, integers), *map(str, others)]


def _works() -> dict[str, Work]:
    works = (
        Work("A", 15, 15, 1024, 155_520_000, 45_000_000, 0.005, 53, 100.0),
        Work("B", 100, 100, 9180, 155_520_000, 155_000_000, 0.275, 1156, 100.0),
        Work("C", 1000, 20, 1024, 1_000_000_000, 1_000_000_000, 0.010, 2350, 10.0),
    )
    return {work.name: work for work in works}


WORKS: Final = _works()
