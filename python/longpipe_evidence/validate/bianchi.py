"""Saturated Wi-Fi stations, and Bianchi's closed form of their goodput (IEEE JSAC 18(3), 2000).

Bianchi's stations always have a frame, never discard one, and count a busy period as a slot of back-off. `saturated`
simulates such stations in a whole scenario, each with a host, a queue, and datagrams of 1500 bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from longpipe.run import simulate
from longpipe.scenario import Scenario

# Length of the IP packets [bytes], whose bits count as goodput.
PACKET_BYTES: Final = 1500
HEADER_BYTES: Final = 28
CW_MIN: Final = 15
CW_MAX: Final = 1023
# Transmissions of a frame before a station discards it; the closed form has no limit.
RETRY_LIMIT: Final = 255
SLOT_US: Final = 9


@dataclass(frozen=True)
class Mode:
    """An amendment of IEEE 802.11 at a data rate, with durations [us] of a frame, its response, SIFS and DIFS.

    A frame has 1500 bytes and the headers of its amendment: 36 bytes of 802.11a and g, 38 bytes of the others.
    """

    standard: str
    rate: str
    frame_us: float
    response_us: float
    sifs_us: float = 16
    difs_us: float = 34

    @property
    def exchange_us(self) -> float:
        """Duration of a frame, its response, and the spaces until counting resumes; also after a collision."""
        return self.frame_us + self.sifs_us + self.response_us + self.difs_us


# Preambles of 20, 36, 40 and 44 us; symbols of 4 us (216 bit), 3.6 us (260 and 312 bit) and 13.6 us (1950 bit).
MODES: Final = {
    "802.11a, 54 Mbit/s": Mode("a", "54 Mbit/s", 20 + 57 * 4, 28),
    "802.11g, 54 Mbit/s": Mode("g", "54 Mbit/s", 20 + 57 * 4 + 6, 34, 10, 28),
    "802.11n, 72.2 Mbit/s": Mode("n", "72.2 Mbit/s", 36 + 176, 28),
    "802.11ac, 86.7 Mbit/s": Mode("ac", "86.7 Mbit/s", 40 + 144, 28),
    "802.11ax, 143.4 Mbit/s": Mode("ax", "143.4 Mbit/s", 44 + 7 * 13.6, 28),
}


def attempt_probability(stations: int, window: int = CW_MIN + 1, doublings: int = 6) -> float:
    """Returns the probability that a station transmits in a slot: the solution of Bianchi's equations (7) and (9).

    The first back-off has `window` values, and each failure doubles their number, up to `doublings` times.
    """
    lower, upper = 0.0, 1.0
    while upper - lower > 1e-12:
        transmits = (lower + upper) / 2
        collides = 1 - (1 - transmits) ** (stations - 1)
        backoff = 1 + window + collides * window * math.fsum((2 * collides) ** stage for stage in range(doublings))
        lower, upper = (transmits, upper) if transmits * backoff < 2 else (lower, transmits)
    return lower


def goodput_mbps(stations: int, mode: Mode) -> float:
    """Returns the goodput [Mbit/s] of all stations together (Bianchi's equation 13)."""
    transmits = attempt_probability(stations)
    idle = (1 - transmits) ** stations
    succeeds = stations * transmits * (1 - transmits) ** (stations - 1)
    return succeeds * 8 * PACKET_BYTES / (idle * SLOT_US + (1 - idle) * mode.exchange_us)


def saturated(stations: int, mode: Mode, duration_s: float) -> Scenario:
    """Returns a scenario in which stations send more datagrams to an access point than the channel carries."""
    access = {
        "kind": "wifi",
        "cell": "channel",
        "standard": mode.standard,
        "max_frames": 1,
        "aifsn": 2,
        "retry_limit": RETRY_LIMIT,
        "counts_busy_slots": True,
    }
    names = [f"station{i}" for i in range(stations)]
    offered_bps = round(1.5e6 * goodput_mbps(stations, mode) / stations)
    network: dict[str, Any] = {
        "kind": "graph",
        "nodes": [{"name": name, "kind": "host"} for name in (*names, "server")] + [{"name": "ap", "kind": "switch"}],
        "links": [{"between": [name, "ap"], "rate": mode.rate, "delay": "0 s", "access": access} for name in names]
        + [{"between": ["ap", "server"], "rate": "1 Gbit/s", "delay": "0 s"}],
        "flows": [{"name": name, "from": name, "to": "server"} for name in names],
    }
    traffic = {"kind": "cbr", "rate": f"{offered_bps} bit/s", "payload": f"{PACKET_BYTES - HEADER_BYTES} B"}
    return Scenario(
        defaults="1996",
        framing="ip",
        duration=f"{duration_s:g} s",
        warm_up="1 s",
        network=network,
        switch={"buffer": "100 packets"},
        traffic=traffic,
    )


def simulated_mbps(scenario: Scenario, seed: int) -> float:
    """Returns the goodput [Mbit/s] of all stations together, with the headers of the IP packets."""
    payload_bps = float(simulate(scenario, seed=seed).throughputs_bps.sum())
    return payload_bps * PACKET_BYTES / (PACKET_BYTES - HEADER_BYTES) / 1e6
