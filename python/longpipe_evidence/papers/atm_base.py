"""Common parameters of the ATM Forum's documents: links, TCP without options, the coarse timer of 4.3BSD, and order."""

from typing import Final

from longpipe.scenario import Scenario

# Values that a document does not specify are those of the other documents, which have the same authors.
ATM_BASE: Final = Scenario(defaults="1996").with_(
    **{
        "network": {
            "kind": "dumbbell",
            "access_rate": "155.52 Mbit/s",
            "trunk_rate": "155.52 Mbit/s",
            "access_delay": "5 us",
            "trunk_delay": "5 us",
            "exit_delay": "5 us",
        },
        "switch.slot_phase": 0.5,
        "tcp.initial_ssthresh": "unlimited",
        "tcp.timer": {
            "kind": "coarse",
            "tick": "100 ms",
            "phase": {"kind": "fixed", "at": "0 s"},
            "min_rto": "2 ticks",
            "initial_rto": "30 ticks",
        },
        "tcp.ack": {"kind": "immediate"},
        "start": {"kind": "fixed", "at": "0 s"},
    }
)

# Networks of frr-96 and gr-97.
LAN_AND_WAN: Final[dict[str, dict[str, object]]] = {
    "lan": {"duration": "10 s", "tcp.receiver_window": "65535 B"},
    "wan": {
        "duration": "20 s",
        "tcp.receiver_window": "600000 B",
        "network.access_delay": "5 ms",
        "network.trunk_delay": "5 ms",
        "network.exit_delay": "5 ms",
    },
}

# The documents exclude randomization or do not mention it, and do not specify the order of simultaneous cells.
DETERMINISTIC_TIES: Final = "rotating"
# Each replication draws the order of simultaneous cells and the phase of the hosts' common clock. ATM Forum/96-1761
# says that all sources of this configuration start together, without other randomness, and share a coarse timer.
DRAWN: Final[dict[str, object]] = {"switch.ties": "random", "tcp.timer.phase": {"kind": "common"}}
RANDOMNESS: Final = (
    f"Single run: {DETERMINISTIC_TIES} order of simultaneous cells, clocks and starts at 0, nothing random. "
    "Replications draw by seed the order of simultaneous cells and the phase of the hosts' common 100 ms clock; "
)
