"""The denominator of efficiency in the ATM Forum's papers."""

from __future__ import annotations

import math

from longpipe.result import Result
from longpipe.scenario import Dumbbell
from longpipe.scenario.paths import paths
from longpipe.units import RATE


def full_segments_bps(result: Result) -> float:
    """Returns the payload rate [bit/s] that VBR at its mean rate leaves on a dumbbell's trunk; nan for a graph.

    ATM Forum/96-1761 section 3.2 and 97-0424 section 4.2 count VBR at its mean rate, not by the cells that it sent. All
    segments are assumed to be full.
    """
    network = result.scenario.network
    if not isinstance(network, Dumbbell):
        return math.nan
    payload = max(path.mss_bytes / path.packet_bytes for path in paths(result.scenario.resolved))
    return payload * (RATE.parse(network.trunk_rate) - _vbr_bps(network))


def _vbr_bps(network: Dumbbell) -> float:
    """Returns the long-term mean rate [bit/s] of the VBR traffic over a dumbbell's trunk."""
    if network.vbr is None:
        return 0.0
    slowest = min(RATE.parse(network.access_rate), RATE.parse(network.trunk_rate))
    return network.vbr.duty * (slowest if network.vbr.rate is None else RATE.parse(network.vbr.rate))
