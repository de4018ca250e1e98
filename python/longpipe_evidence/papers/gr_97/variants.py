"""Alternative values of the parameters that ATM Forum/97-0424 leaves open, varied one at a time."""

from collections.abc import Mapping
from typing import Final

from longpipe_evidence.papers.experiments import Factors, Variant
from longpipe_evidence.papers.gr_97.claims import FIXED_PHASE

R, Z = "switch.policy.threshold", "switch.policy.z"
SELECTIVE_DROP = {"policy": ("selective-drop",)}
RENO, SACK = {"tcp": ("reno",)}, {"tcp": ("sack",)}
FAST_RETRANSMIT = {"tcp": ("reno", "sack")}
# Without the LAN, whose windows are smaller.
LARGE_WINDOWS = {"network": ("wan", "satellite")}

PHASE: Final = Variant(FIXED_PHASE, {"tcp.timer.phase": {"kind": "fixed", "at": "30 ms"}})

READINGS: Final = (
    Variant("handshake", {"tcp.handshake": True}),
    PHASE,
)

VARIANTS: Final = (
    Variant("EPD: R 0.9", {R: 0.9}, {"policy": ("epd",)}),
    Variant("Selective Drop: R 0.9", {R: 0.9}, SELECTIVE_DROP),
    Variant("Selective Drop: Z 1", {Z: 1.0}, SELECTIVE_DROP),
    Variant(
        "UBR: partial packet discard", {"switch.policy": {"kind": "partial-packet-discard"}}, {"policy": ("tail-drop",)}
    ),
    Variant("ties: rotating", {"switch.ties": "rotating"}),
    Variant("ties: port order", {"switch.ties": "port-order"}),
    Variant("clock phase 0", {"tcp.timer.phase": {"kind": "fixed", "at": "0 s"}}),
    Variant("clock phase 10 ms", {"tcp.timer.phase": {"kind": "fixed", "at": "10 ms"}}),
    Variant("clock phase 50 ms", {"tcp.timer.phase": {"kind": "fixed", "at": "50 ms"}}),
    Variant("clock phase per flow", {"tcp.timer.phase": {"kind": "per-flow"}}),
    Variant("first measurement as any other", {"tcp.timer.count_from_one": False}),
    Variant("fast retransmit at the fourth duplicate", {"tcp.duplicate_ack_threshold": 4}, FAST_RETRANSMIT),
    Variant("fast retransmits leave the timer alone", {"tcp.fast_retransmit_restarts_timer": False}, FAST_RETRANSMIT),
    Variant("fast retransmits at any distance", {"tcp.fast_retransmit_interval": "0 s"}, FAST_RETRANSMIT),
    Variant("fast retransmits 100 ms apart", {"tcp.fast_retransmit_interval": "100 ms"}, FAST_RETRANSMIT),
    Variant("fast retransmits 300 ms apart", {"tcp.fast_retransmit_interval": "300 ms"}, FAST_RETRANSMIT),
    Variant("Reno: inflated by fast retransmits alone", {"tcp.reno.inflate_always": False}, RENO),
    Variant("starts over 500 us", {"start": {"kind": "random", "over": "500 us"}}),
    Variant("starts over 100 ms", {"start": {"kind": "random", "over": "100 ms"}}),
    Variant("VBR first on at 100 ms", {"network.vbr.phase": "100 ms"}),
    Variant("initial ssthresh 64 KiB", {"tcp.initial_ssthresh": "64 KiB"}, LARGE_WINDOWS),
    Variant("Reno: one fast retransmit a window", {"tcp.reno.guard": True}, RENO),
    Variant("SACK: several fast retransmits a window", {"tcp.sack.guard": False}, SACK),
    Variant("silly-window avoidance off", {"tcp.silly_window_avoidance": False}),
)

WATCHED: Final[Mapping[str, Factors]] = {
    "LAN Reno GR 0.5": {"network": "lan", "sources": 5, "buffer_cells": 1000, "tcp": "reno", "policy": "tail-drop",
                        "guaranteed_rate": 0.5, "vbr_period_ms": 300},
    "WAN SACK GR 0": {"network": "wan", "sources": 15, "buffer_cells": 36000, "tcp": "sack", "policy": "epd",
                      "guaranteed_rate": 0.0, "vbr_period_ms": 300},
    "satellite Reno GR 0": {"network": "satellite", "sources": 5, "buffer_cells": 600000, "tcp": "reno",
                            "policy": "selective-drop", "guaranteed_rate": 0.0, "vbr_period_ms": 300},
}  # fmt: skip
