"""Common parameters of the ATM Forum's documents: links, TCP without options, and the coarse timer of 4.3BSD."""

from typing import Final

from longpipe.scenario import Scenario

# Values that a document does not specify are those of the other documents, which have the same authors.
ATM_BASE: Final = Scenario().with_(
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
