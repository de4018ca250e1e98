"""Alternative values of the parameters that ATM Forum/97-0616 leaves open, varied one at a time."""

from collections.abc import Mapping
from typing import Final

from longpipe_evidence.papers.experiments import Factors, Variant

READINGS: Final = (
    Variant("handshake", {"tcp.handshake": True}),
    Variant("starts within 1 ms", {"start": {"kind": "random", "over": "1 ms"}}),
    Variant(
        "starts within 100 ms, a clock per host",
        {"start": {"kind": "random", "over": "100 ms"}, "tcp.timer.phase": {"kind": "per-flow"}},
    ),
)

VARIANTS: Final = (
    Variant("Selective Drop: R 0.9", {"switch.policy.threshold": 0.9}),
    Variant("ties: rotating", {"switch.ties": "rotating"}),
    Variant("a clock per host", {"tcp.timer.phase": {"kind": "per-flow"}}),
    Variant("starts within a packet's time", {"start": {"kind": "random", "over": "546.4 us"}}),
    Variant("starts over 1 s", {"start": {"kind": "random", "over": "1 s"}}),
    Variant("smallest RTO 10 ticks", {"tcp.timer.min_rto": "10 ticks"}),
    Variant("initial ssthresh 64 KiB", {"tcp.initial_ssthresh": "64 KiB"}),
    Variant("fast retransmit at the fourth duplicate", {"tcp.duplicate_ack_threshold": 4}),
)

WATCHED: Final[Mapping[str, Factors]] = {
    "LEO N 100 half": {"network": "leo", "sources": 100, "buffer_rtt": 0.5},
    "GEO N 5 half": {"network": "geo", "sources": 5, "buffer_rtt": 0.5},
    "GEO N 50 least": {"network": "geo", "sources": 50, "buffer_cells": 3375},
}
