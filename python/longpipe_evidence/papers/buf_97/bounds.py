"""Upper bound that the start-up alone sets on efficiency, for any buffer and recovery algorithm."""

from typing import Final

from longpipe.aal5 import packet_cells
from longpipe.units import SIZE, TIME
from longpipe_evidence.papers.buf_97.links import HOST_DELAY, Link

MSS: Final = "9180 B"


def start_up_bound(link: Link, sources: int) -> float:
    """Returns the efficiency limit of `sources` windows that start at one segment and double every RTT, [0, 1].

    The link idles until the windows together fill the bandwidth-delay product; after that it counts as busy. Data take
    half a round trip to arrive, so nothing is delivered in this time either.
    """
    round_trip_s = 2 * (TIME.parse(link.trunk_delay) + 2 * TIME.parse(HOST_DELAY)) / 1e12
    segments = link.bdp_cells / packet_cells(SIZE.parse(MSS))
    duration_s = TIME.parse(link.duration) / 1e12
    window, lost_s = float(sources), round_trip_s / 2
    while window < segments:
        lost_s += round_trip_s * (1 - window / segments)
        window *= 2
    return 1 - lost_s / duration_s
