"""Alternative values of the parameters that ATM Forum/98-0876 leaves open, varied one at a time."""

from collections.abc import Mapping
from typing import Final

from longpipe_evidence.papers.experiments import Factors, Variant

NEWRENO, SACK = {"tcp": ("newreno",)}, {"tcp": ("sack",)}

READINGS: Final = (
    Variant("windows grow by ACKs", {"tcp.congestion.byte_counting": False}),
    Variant("first requests after 100 to 500 ms", {"start": {"kind": "random", "from": "100 ms", "over": "400 ms"}}),
    Variant("NewReno: the first partial ACK alone restarts the timer", {"tcp.newreno.timer_restart": "first"}, NEWRENO),
    Variant("handshake", {"tcp.handshake": True}),
)

VARIANTS: Final = (
    Variant("Poisson cut by rejection", {"traffic.cut": "rejection"}),
    Variant("KB of 1000 bytes", {"traffic.kilobyte": 1000}),
    Variant("cycle from the last request", {"traffic.cycle_from": "last-request"}),
    Variant("all begin at 0", {"start": {"kind": "fixed", "at": "0 s"}}),
    Variant("first requests over 10 s", {"start.over": "10 s"}),
    Variant("silly-window avoidance", {"tcp.silly_window_avoidance": True}),
    Variant("restart of idle connections", {"tcp.idle_restart": True}),
    Variant("WAN: window of 65535 bytes", {"tcp.receiver_window": "65535 B"}, {"network": ("wan",)}),
    Variant("fast retransmit after 4 duplicates", {"tcp.duplicate_ack_threshold": 4}),
    Variant("longest RTO 128 ticks", {"tcp.timer.max_rto": "128 ticks"}),
    Variant("clock phase per flow", {"tcp.timer.phase": {"kind": "per-flow"}}),
    Variant("fast retransmits leave the timer alone", {"tcp.fast_retransmit_restarts_timer": False}),
    Variant(
        "both: timer left alone, growth by ACKs",
        {"tcp.fast_retransmit_restarts_timer": False, "tcp.congestion.byte_counting": False},
    ),
    Variant("NewReno: window inflation for the flywheel", {"tcp.newreno.flywheel": False}, NEWRENO),
    Variant("NewReno: one fast retransmit a window", {"tcp.newreno.guard": True}, NEWRENO),
    Variant("SACK: at most one fast retransmit a window", {"tcp.sack.guard": True}, SACK),
    Variant("SACK: fast retransmits leave the timer alone", {"tcp.fast_retransmit_restarts_timer": False}, SACK),
    Variant(
        "SACK: one fast retransmit a window, timer left alone",
        {"tcp.sack.guard": True, "tcp.fast_retransmit_restarts_timer": False},
        SACK,
    ),
    Variant("SACK: the first partial ACK alone restarts the timer", {"tcp.sack.timer_restart": "first"}, SACK),
    Variant("SACK: PIPE from what is outstanding", {"tcp.sack.pipe": "outstanding"}, SACK),
)

WATCHED: Final[Mapping[str, Factors]] = {
    "WAN SACK EPD .5 RTT": {"network": "wan", "policy": "epd", "tcp": "sack", "buffer_bdp": 0.5},
    "WAN SACK SD .5 RTT": {"network": "wan", "policy": "selective-drop", "tcp": "sack", "buffer_bdp": 0.5},
    "GEO NewReno SD .5 RTT": {"network": "geo", "policy": "selective-drop", "tcp": "newreno", "buffer_bdp": 0.5},
}
