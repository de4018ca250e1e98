"""The transfers of lbd-01: configurations and measures."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import pandas as pd

from longpipe.ip import HEADER_BYTES
from longpipe.result import Result, duration_s
from longpipe.scenario import Dumbbell, Scenario
from longpipe.units import RATE, SIZE
from longpipe_evidence.papers.paper import published_data

ID: Final = "lbd-01"
# Configurations of Table 1. W* is the bandwidth-delay product in packets, 20 per Mbit/s; buffers are fractions of W*.
W_STARS: Final = (20, 40, 80, 160, 320, 640)
BUFFERS: Final = (0.25, 0.5, 0.75, 1.0)
FLAVORS: Final = ("reno", "newreno", "sack")
FLAVORS_BEYOND: Final = ("tahoe", "vegas")
PACKET_BYTES: Final = 640
SEGMENTS: Final = 12_500
MSS: Final = PACKET_BYTES - HEADER_BYTES

# The behavior of the version of ns-2 (2000) used in the paper, and access links that reproduce the times in the
# paper's section 4.2.
BASE: Final = Scenario(defaults="1996").with_(
    **{
        "framing": "ip",
        "duration": "1000 s",
        "switch.buffer": "1 BDP",
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "100 Mbit/s",
            "access_delay": "0 s",
            "trunk_delay": "50 ms",
            "exit_delay": "0 s",
        },
        "traffic": {"kind": "transfer", "size": f"{SEGMENTS * MSS} B"},
        "tcp.mss": f"{MSS} B",
        "tcp.receiver_window": "60 MB",
        "tcp.initial_ssthresh": "unlimited",
        "tcp.reno": {"guard": False, "deflate_on_timeout": True},
        "tcp.newreno": {"guard": False, "flywheel": True, "timer_restart": "every"},
        "tcp.sack": {"pipe": "outstanding", "guard": True},
        "tcp.timer": {
            "kind": "coarse",
            "tick": "100 ms",
            # Phase of the clock that Debian's ns-2 draws with its default seed.
            "phase": {"kind": "fixed", "at": "44412 us"},
            "min_rto": "2 ticks",
            "initial_rto": "30 ticks",
            "count_from_one": False,
            "expires_on_tick": False,
        },
        "tcp.ack": {"kind": "immediate"},
    }
)


# Nothing is random, so a seed has no effect.
SEED: Final = 1


def options(tcp: str) -> dict[str, object]:
    """Returns the scenario fields of a TCP flavor."""
    return {
        # As in ns-2, Vegas uses Reno's loss recovery.
        "tcp.recovery": "reno" if tcp == "vegas" else tcp,
        "tcp.congestion": "vegas" if tcp == "vegas" else "aimd",
        "tcp.estimate_ssthresh": tcp == "newreno",
    }


@dataclass(frozen=True)
class Transfer:
    """One of the paper's configurations: W* [packets], the buffer [fraction of W*] and the flavor of TCP."""

    w_star_packets: int
    buffer_bdp: float
    tcp: str

    @property
    def name(self) -> str:
        """Returns the name of the configuration, such as "640 0.25 reno"."""
        return f"{self.w_star_packets} {self.buffer_bdp:g} {self.tcp}"

    @property
    def buffer_packets(self) -> int:
        """Returns B, the number of packets that may wait behind the one in transmission."""
        return int(self.w_star_packets * self.buffer_bdp)

    def scenario(self, **changes: object) -> Scenario:
        """Returns the configuration as a scenario, with changed (dotted) fields."""
        return BASE.with_(
            **{
                "name": f"{ID} {self.tcp} W*={self.w_star_packets} B={self.buffer_packets}",
                "network.trunk_rate": f"{50 * self.w_star_packets} kbit/s",
                "switch.buffer": f"{self.buffer_packets + 1} packets",
                **options(self.tcp),
                **changes,
            }
        )


def transfers(flavors: tuple[str, ...] = FLAVORS) -> list[Transfer]:
    """Returns the configurations of Table 1 with these flavors, 24 each."""
    return [Transfer(*levels) for levels in product(W_STARS, BUFFERS, flavors)]


def measure(result: Result) -> dict[str, float]:
    """Returns `completion_time_s` (t_c), `utilization` (mu), losses, retransmissions, timeouts and fast retransmits.

    According to section 3.2 of the paper, t_c is the time from the first departure to the last arrival, and mu the
    file's bits on the wire divided by the bits that the bottleneck could have sent in this time. For an incomplete
    transfer t_c is nan, and mu refers to the whole run.
    """
    flow = result.flows.iloc[0]
    lost = result.ports.filter(like="packets_lost_").to_numpy().sum()
    seconds = float(flow["completion_s"])
    taken_s = duration_s(result.scenario) if math.isnan(seconds) else seconds
    network = result.scenario.network
    assert isinstance(network, Dumbbell)  # noqa: S101 - all of its networks are dumbbells
    bits = 8 * PACKET_BYTES * int(flow["delivered_bytes"]) / SIZE.parse(result.scenario.tcp.mss)
    return {
        "completion_time_s": seconds,
        "utilization": bits / (RATE.parse(network.trunk_rate) * taken_s),
        "losses": int(lost),
        "timeouts": int(flow["timeouts"]),
        "retransmissions": int(flow["retransmitted_segments"]),
        "fast_retransmits": int(flow["fast_retransmits"]),
    }


METRICS: Final = ("completion_time_s", "utilization", "losses", "timeouts", "retransmissions")


def row(transfer: Transfer, measured: Mapping[str, float]) -> dict[str, Any]:
    """Returns a row of results: factors and measures."""
    return {**vars(transfer), **measured}


def published() -> pd.DataFrame:
    """Returns every number the paper prints: `quantity`, `w_star_packets`, `buffer_bdp`, `tcp`, `value`, `unit`."""
    return published_data(ID, "published.csv")
