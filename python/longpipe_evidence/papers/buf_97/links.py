"""The three links of ATM Forum/97-0616, and the common parameters of its runs."""

from dataclasses import dataclass
from typing import Final

from longpipe.aal5 import CELL_BITS
from longpipe.units import RATE, TIME
from longpipe_evidence.papers.atm_base import ATM_BASE

# Rate of cells without SONET overhead.
SLOW_RATE: Final = "149.76 Mbit/s"
HOST_DELAY: Final = "5 ms"


@dataclass(frozen=True)
class Link:
    """A satellite link as described in section 4."""

    name: str
    figure: str
    trunk_delay: str
    receiver_window: str
    duration: str
    sources: tuple[int, ...]
    buffers_cells: tuple[int, ...]
    # Round-trip time as defined in section 4.
    round_trip_cells: int

    def round_trips(self, buffer_cells: int) -> float:
        """Returns a buffer in multiples of the paper's round trip."""
        return round(buffer_cells / self.round_trip_cells, 4)

    @property
    def bdp_cells(self) -> float:
        """Returns the bandwidth-delay product [cell] of the propagation delay."""
        round_trip_ps = 2 * (TIME.parse(self.trunk_delay) + 2 * TIME.parse(HOST_DELAY))
        return RATE.parse(SLOW_RATE) * round_trip_ps / 1e12 / CELL_BITS


# Section 4 gives both 50 and 100 ms for several LEO hops; 50 is consistent with its 120 ms. Its list lacks the buffer
# of 25000 cells, which its series of halves and doubles contains.
LINKS: Final = {
    "leo": Link(
        name="one LEO hop, 30 ms",
        figure="2",
        trunk_delay="5 ms",
        receiver_window="600000 B",
        duration="20 s",
        sources=(15, 50, 100),
        buffers_cells=(375, 750, 1500, 3000, 6000, 12000, 24000, 36000),
        round_trip_cells=12000,
    ),
    "multi-leo": Link(
        name="several LEO hops, 120 ms",
        figure="3",
        trunk_delay="50 ms",
        receiver_window="2500000 B",
        duration="100 s",
        sources=(5, 15, 50),
        buffers_cells=(780, 1560, 3125, 6250, 12500, 25000, 50000, 100000),
        round_trip_cells=50000,
    ),
    "geo": Link(
        name="GEO, 570 ms",
        figure="4",
        trunk_delay="275 ms",
        receiver_window="8704000 B",
        duration="100 s",
        sources=(5, 15, 50),
        buffers_cells=(3375, 6750, 12500, 25000, 50000, 100000, 200000, 400000),
        round_trip_cells=200000,
    ),
}

# Section 4, and defaults for unspecified parameters. R and Z of Selective Drop are those of ATM Forum/98-0876 by the
# same authors.
BASE: Final = ATM_BASE.with_(
    **{
        **dict.fromkeys(("network.access_rate", "network.trunk_rate"), SLOW_RATE),
        **dict.fromkeys(("network.access_delay", "network.exit_delay"), HOST_DELAY),
        "network.trunk_delay": "5 ms",
        "switch.policy": {"kind": "selective-drop", "threshold": 0.8, "z": 0.8},
        "tcp.mss": "9180 B",
    }
)


def on_link(link: Link) -> dict[str, object]:
    """Returns the changes that put a scenario on this link, with its window and duration."""
    return {
        "duration": link.duration,
        "network.trunk_delay": link.trunk_delay,
        "tcp.receiver_window": link.receiver_window,
    }
