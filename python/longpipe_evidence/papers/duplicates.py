"""Segments that a receiver received more than once, from the counters of a run."""

from __future__ import annotations

import math

from longpipe.result import Result
from longpipe.scenario import Dumbbell
from longpipe.units import SIZE


def duplicate_share(result: Result) -> float:
    """Returns a lower bound of the share of arriving segments whose data the receiver already had, in [0, 1].

    Every segment that arrives undamaged is acknowledged at once (`tcp.ack` immediate), so the ACKs sent by the sinks
    count the arrivals. Data up to the highest sequence number received count as new. This includes holes, so the share
    is too small by at most a window per flow. It is nan if nothing arrived, for a graph, and with delayed ACKs.
    """
    network, tcp = result.scenario.network, result.scenario.tcp
    if not isinstance(network, Dumbbell) or tcp.ack.kind != "immediate":
        return math.nan
    ports = result.ports
    acks = ports.loc[ports["port"].str.match(r"sink\d+->"), "frames_in"]
    arrived = int(acks.sum())
    new = int(result.flows["highest_sequence_bytes"].sum()) / SIZE.parse(tcp.mss)
    return max(0.0, 1 - new / arrived) if arrived else math.nan
