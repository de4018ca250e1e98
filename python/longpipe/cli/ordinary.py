"""Ordinary words that `longpipe fields WORD` accepts for fields of a scenario, and for things that are not fields."""

from typing import Final

_RATES: Final = ("network.*_rate", "network.links.rate", "network.links.return_rate", "network.path.rate")
_DELAYS: Final = ("network.*_delay", "network.links.delay", "network.links.return_delay", "network.path.delay")
_LOSSES: Final = ("network.*_loss", "network.links.loss", "network.links.return_loss")
_POLICIES: Final = ("switch.policy", "network.return_policy", "network.links.policy", "network.links.return_policy")
_BACK: Final = ("network.group.direction", "network.return_*")

# Patterns of the fields to which an ordinary word refers.
FIELDS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("bandwidth", "capacity", "speed", "throughput", "bitrate"), _RATES),
    **dict.fromkeys(("latency", "propagation", "distance"), _DELAYS),
    **dict.fromkeys(("round-trip", "delays"), (*_DELAYS, "tcp.initial_rtt", "traces.rtt")),
    **dict.fromkeys(("bottleneck",), ("network.trunk_*", "switch.buffer", "switch.policy")),
    **dict.fromkeys(("upload", "uploads", "uplink", "upstream", "reverse"), _BACK),
    **dict.fromkeys(("corruption", "plr"), _LOSSES),
    **dict.fromkeys(("aqm", "discipline", "qdisc", "queue", "queues"), _POLICIES),
    **dict.fromkeys(("mtu", "segment-size", "packet-size"), ("tcp.mss", "framing")),
    **dict.fromkeys(("rwnd", "rcvbuf", "receive-window"), ("tcp.receiver_window", "tcp.window_scale")),
    **dict.fromkeys(("congestion-window", "iw"), ("tcp.initial_window", "traces.cwnd")),
    **dict.fromkeys(("reordering", "reorder", "out-of-order"), ("network.path.order", "network.conditioners.order")),
    **dict.fromkeys(("handover", "handovers", "fading", "mobility"), ("network.path", "network.path.outages*")),
    **dict.fromkeys(("rain", "weather", "acm", "snr"), ("network.path.esn0", "network.path.symbol_rate")),
    **dict.fromkeys(("hosts", "connections", "clients", "senders"), ("network.sources", "network.group*")),
    **dict.fromkeys(("background", "background-traffic", "cross-traffic"), ("network.group.traffic", "network.vbr")),
    **dict.fromkeys(("application",), ("traffic",)),
    **dict.fromkeys(("udp",), ("traffic.rate", "traffic.payload")),
    **dict.fromkeys(("warm-up", "warmup", "warm_up", "transient", "steady-state"), ("warm_up",)),
}  # fmt: skip
# Words for things that are set elsewhere or do not exist, each with an alternative.
ELSEWHERE: Final[dict[str, str]] = {
    "seeds": "no field but an option: longpipe run --seed 2, design --replications 5",
    **dict.fromkeys(
        ("ping", "icmp", "iperf3", "tls", "vpn", "dns"),
        "no field: real programs use a simulated path with longpipe live FILE -- COMMAND",
    ),
}  # fmt: skip
