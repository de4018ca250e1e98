"""Alternative values of the parameters that ATM Forum/96-1761 leaves open, varied one at a time.

A variant is a name, dotted scenario fields, and a condition; each one added here gets a row in the sensitivity table.
"""

from collections.abc import Mapping
from typing import Final

from longpipe_evidence.papers.experiments import Factors, Variant

R, Z = "switch.policy.threshold", "switch.policy.z"
TAIL_DROP = {"policy": ("tail-drop",)}
EPD = {"policy": ("epd",)}
SELECTIVE_DROP = {"policy": ("selective-drop",)}
FBA = {"policy": ("fba",)}
NOT_TAIL_DROP = {"policy": ("epd", "selective-drop", "fba")}
LAN, WAN = {"network": ("lan",)}, {"network": ("wan",)}

READINGS: Final = (
    Variant("handshake", {"tcp.handshake": True}),
    Variant("plain UBR discards partial packets", {"switch.policy": {"kind": "partial-packet-discard"}}, TAIL_DROP),
)

VARIANTS: Final = (
    Variant("EPD: R 0.7", {R: 0.7}, EPD),
    Variant("EPD: R 0.8", {R: 0.8}, EPD),
    Variant("EPD: R 0.95", {R: 0.95}, EPD),
    Variant("Selective Drop: R 0.8", {R: 0.8}, SELECTIVE_DROP),
    Variant("Selective Drop: R 0.95", {R: 0.95}, SELECTIVE_DROP),
    Variant("Selective Drop: Z 0.5", {Z: 0.5}, SELECTIVE_DROP),
    Variant("Selective Drop: Z 1", {Z: 1.0}, SELECTIVE_DROP),
    Variant("FBA: R 0.8", {R: 0.8}, FBA),
    Variant("FBA: R 0.5", {R: 0.5}, FBA),
    Variant("FBA: Z 0.5", {Z: 0.5}, FBA),
    Variant("FBA: Z 1", {Z: 1.0}, FBA),
    Variant("last cell discarded too", {"switch.policy.keep_last": False}, NOT_TAIL_DROP),
    Variant("initial ssthresh 64 KiB", {"tcp.initial_ssthresh": "64 KiB"}),
    Variant("receiver window 65536 B", {"tcp.receiver_window": "65536 B"}, LAN),
    Variant("ties: rotating", {"switch.ties": "rotating"}),
    Variant("ties: port order", {"switch.ties": "port-order"}),
    Variant("slot phase 0", {"switch.slot_phase": 0.0}),
    Variant("slot phase 0.25", {"switch.slot_phase": 0.25}),
    Variant("slot phase 0.75", {"switch.slot_phase": 0.75}),
    Variant("clock phase 0", {"tcp.timer.phase": {"kind": "fixed", "at": "0 s"}}),
    Variant("clock phase 50 ms", {"tcp.timer.phase": {"kind": "fixed", "at": "50 ms"}}),
    Variant("clock phase per flow", {"tcp.timer.phase": {"kind": "per-flow"}}),
    # The first RTO remains 3 s.
    Variant("tick 50 ms", {"tcp.timer.tick": "50 ms", "tcp.timer.initial_rto": "60 ticks"}),
    Variant("tick 200 ms", {"tcp.timer.tick": "200 ms", "tcp.timer.initial_rto": "15 ticks"}),
    Variant("tick 500 ms", {"tcp.timer.tick": "500 ms", "tcp.timer.initial_rto": "6 ticks"}),
    Variant("smallest RTO 1 tick", {"tcp.timer.min_rto": "1 tick"}),
    Variant("smallest RTO 3 ticks", {"tcp.timer.min_rto": "3 ticks"}),
    Variant("smallest RTO 10 ticks", {"tcp.timer.min_rto": "10 ticks"}),
    Variant("smallest RTO 3 s", {"tcp.timer.min_rto": "30 ticks"}, WAN),
    Variant("first RTO 1 s", {"tcp.timer.initial_rto": "10 ticks"}),
    Variant("first RTO 6 s", {"tcp.timer.initial_rto": "60 ticks"}),
    Variant("starts over a packet's 32.7 us", {"start": {"kind": "random", "over": "32.716 us"}}),
    Variant("starts over 1 ms", {"start": {"kind": "random", "over": "1 ms"}}),
    Variant("starts over 100 ms", {"start": {"kind": "random", "over": "100 ms"}}),
    Variant("send jitter 5 us", {"network.send_jitter": "5 us"}),
    Variant("send jitter 100 us", {"network.send_jitter": "100 us"}, WAN),
    Variant("fast retransmit on the fourth duplicate", {"tcp.duplicate_ack_threshold": 4}),
    Variant("delayed ACK", {"tcp.ack": {"kind": "delayed"}}),
    Variant("silly-window avoidance off", {"tcp.silly_window_avoidance": False}),
)

WATCHED: Final[Mapping[str, Factors]] = {
    f"WAN 5 36000 Vanilla {name}": {
        "network": "wan",
        "sources": 5,
        "buffer_cells": 36000,
        "tcp": "vanilla",
        "policy": policy,
    }
    for name, policy in (("EPD", "epd"), ("SD", "selective-drop"), ("FBA", "fba"))
}
