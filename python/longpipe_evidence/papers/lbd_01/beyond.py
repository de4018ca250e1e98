"""Extension of lbd-01 to present sizes: 8 GB over 600 ms, up to 10 Gbit/s and a million packets in flight."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

import pandas as pd

from longpipe.scenario import Scenario
from longpipe_evidence.papers.lbd_01.transfers import (
    BASE,
    FLAVORS,
    FLAVORS_BEYOND,
    MSS,
    PACKET_BYTES,
    SEED,
    measure,
    options,
)

if TYPE_CHECKING:
    from longpipe.study import Runner

# Rates at which W* is 11 718, 117 187 and 1 171 875 packets.
RATES_MBPS: Final = (100, 1000, 10_000)
BUFFERS: Final = (0.25, 0.5, 1.0)
ROUND_TRIP_MS: Final = 600
SEGMENTS: Final = 12_500_000
# The ratio of access and bottleneck rates is that of the paper at 32 Mbit/s.
ACCESS: Final = 3.125
# Maximum window of RFC 7323, which is less than 2 W* at 10 Gbit/s.
WINDOW: Final = "1 GiB"


@dataclass(frozen=True)
class LongTransfer:
    """8 GB over one bottleneck: its rate [Mbit/s], the buffer [fraction of W*] and the flavor of TCP."""

    rate_mbps: int
    buffer_bdp: float
    tcp: str

    @property
    def w_star_packets(self) -> int:
        """Returns the bandwidth-delay product in packets."""
        return self.rate_mbps * 1000 * ROUND_TRIP_MS // (8 * PACKET_BYTES)

    def scenario(self) -> Scenario:
        """Returns the transfer as a scenario."""
        return BASE.with_(
            **{
                "name": f"beyond lbd-01 {self.tcp} {self.rate_mbps} Mbit/s B={self.buffer_bdp:g}W*",
                "duration": "10000 s",
                "network.trunk_rate": f"{self.rate_mbps} Mbit/s",
                "network.access_rate": f"{1000 * ACCESS * self.rate_mbps:.0f} kbit/s",
                "network.trunk_delay": f"{ROUND_TRIP_MS // 2} ms",
                "switch.buffer": f"{int(self.w_star_packets * self.buffer_bdp) + 1} packets",
                "traffic": {"kind": "transfer", "size": f"{SEGMENTS * MSS} B"},
                "tcp.receiver_window": WINDOW,
                **options(self.tcp),
            }
        )


def transfers() -> list[LongTransfer]:
    """Returns all 45 transfers."""
    return [LongTransfer(*levels) for levels in product(RATES_MBPS, BUFFERS, (*FLAVORS, *FLAVORS_BEYOND))]


def reproduce_beyond(runner: Runner) -> pd.DataFrame:
    """Runs the missing transfers.

    Returns a row for each: `rate_mbps`, `w_star_packets`, `buffer_bdp`, `tcp`, measures.
    """
    planned = transfers()
    jobs = [(transfer.scenario(), SEED) for transfer in planned]
    runner.complete(jobs)
    return pd.DataFrame(
        {
            "rate_mbps": transfer.rate_mbps,
            "w_star_packets": transfer.w_star_packets,
            "buffer_bdp": transfer.buffer_bdp,
            "tcp": transfer.tcp,
            **measure(runner.require(*job)),
        }
        for transfer, job in zip(planned, jobs, strict=True)
    )
