"""Datagrams over a live path, compared with `netem` in a Linux guest with a virtual clock."""

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from longpipe import Scenario
from longpipe.linux_end import kernel as linux_kernel
from longpipe.live.answers import answer
from longpipe.live.carrier import USUAL, Settings
from longpipe.live.certificate import Certificate
from longpipe.live.hosts import plan
from longpipe_evidence.validate import linux_boot
from longpipe_evidence.validate.linux_conditioners import ETHERNET_BYTES, HEADERS_BYTES, DatagramCase, in_guest

PORT: Final = 5202
LENGTH: Final = 1000
DATAGRAMS: Final = 10_000
# Delays that differ by less than this [ms] count as equal; the machine takes this time to send and deliver a packet.
WITHIN_MS: Final = 0.2
# The Kolmogorov-Smirnov distance of two samples of sizes n and m from one distribution exceeds this times sqrt(1/n +
# 1/m) with a probability below 1e-6.
DISTANCE: Final = 2.7
# Accepted difference between the shares of lost datagrams, in standard deviations.
DEVIATIONS: Final = 4.0
BATCHES: Final = 50
TIMEOUT_S: Final = 1800.0

Delays = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NetemCase:
    """A path (as netem's arguments and as a dumbbell's fields) and the mean rate of datagrams sent at random times."""

    name: str
    words: str
    network: Mapping[str, Any]
    rate_bps: float = 8e6
    buffer: str = "100000 packets"

    @property
    def scenario(self) -> Scenario:
        """Returns the path as a scenario."""
        fields: dict[str, Any] = {
            "name": f"netem-{self.name}",
            "framing": "ip",
            "switch": {"buffer": self.buffer},
            "tcp": {"mss": "1460 B"},
            "network": {
                "kind": "dumbbell",
                "sources": 1,
                "access_rate": "10 Gbit/s",
                "trunk_rate": "10 Gbit/s",
                "access_delay": "0 s",
                "trunk_delay": "20 ms",
                "exit_delay": "0 s",
                **self.network,
            },
        }
        return Scenario(defaults="1996", **fields)


def _jitter(distribution: str) -> dict[str, Any]:
    jitter = {"kind": "jitter", "delay": "20 ms", "jitter": "5 ms", "distribution": distribution}
    return {"trunk_delay": "0 s", "conditioners": [jitter]}


CASES: Final = {
    case.name: case
    for case in (
        NetemCase("delay", "limit 100000 delay 20ms", {}),
        NetemCase("uniform", "limit 100000 delay 20ms 5ms", _jitter("uniform")),
        NetemCase("normal", "limit 100000 delay 20ms 5ms distribution normal", _jitter("normal")),
        NetemCase(
            "loss",
            "limit 100000 delay 20ms loss 1%",
            {"trunk_loss": {"kind": "bernoulli", "probability": 0.01}},
        ),
        NetemCase(
            "bursts",
            "limit 100000 delay 20ms loss gemodel 1% 25%",
            {"trunk_loss": {"kind": "gilbert-elliott", "good_to_bad": 0.01, "bad_to_good": 0.25}},
        ),
        # netem's rate counts Ethernet's header. Like longpipe's buffer, its limit includes the packet in transmission.
        NetemCase(
            "rate",
            "rate 8mbit limit 50",
            {"trunk_rate": f"{8_000_000 * LENGTH // (LENGTH + ETHERNET_BYTES)} bit/s", "trunk_delay": "0 s"},
            rate_bps=8.5e6,
            buffer="50 packets",
        ),
    )
}


@dataclass(frozen=True)
class NetemComparison:
    """Delays [ms] of one case's datagrams in the order in which they were sent; NaN for lost ones."""

    case: NetemCase
    netem: Delays
    live: Delays
    certificate: Certificate

    def distance(self, within_ms: float = WITHIN_MS) -> float:
        """Returns the Kolmogorov-Smirnov distance between the delays; those closer than `within_ms` count as equal."""
        netem, live = (np.sort(delays[~np.isnan(delays)]) for delays in (self.netem, self.live))
        at = np.concatenate([netem, live])
        apart = 0.0
        for sample, other in ((netem, live), (live, netem)):
            below = np.searchsorted(sample, at, side="right") / max(1, len(sample))
            shifted = np.searchsorted(other, at + within_ms, side="right") / max(1, len(other))
            apart = max(apart, float(np.max(below - shifted, initial=0.0)))
        return apart

    @property
    def loss_difference(self) -> float:
        """Returns the difference of the loss shares in standard deviations, which account for losses in bursts."""
        shares = [np.isnan(delays).astype(float) for delays in (self.netem, self.live)]
        variance = sum(
            np.var([part.mean() for part in np.array_split(share, BATCHES)], ddof=1) / BATCHES for share in shares
        )
        difference = abs(shares[0].mean() - shares[1].mean())
        if not difference:
            return 0.0
        return float(difference / variance**0.5) if variance else math.inf

    def agrees(self, within_ms: float = WITHIN_MS) -> bool:
        """Returns whether delays and losses differ by no more than chance explains."""
        arrived = [max(1, int(np.sum(~np.isnan(delays)))) for delays in (self.netem, self.live)]
        largest = DISTANCE * (1 / arrived[0] + 1 / arrived[1]) ** 0.5
        return self.distance(within_ms) <= largest and self.loss_difference <= DEVIATIONS


def lost_share(delays: Delays) -> float:
    """Returns the share of datagrams that were lost."""
    return float(np.isnan(delays).mean())


def spread_ms(delays: Delays) -> tuple[float, ...]:
    """Returns the mean and the 1 %, 50 % and 99 % quantiles of the delays [ms]; NaN if every datagram was lost."""
    arrived = delays[~np.isnan(delays)]
    if not len(arrived):
        return (math.nan,) * 4
    return (float(arrived.mean()), *map(float, np.quantile(arrived, (0.01, 0.5, 0.99))))


def compare(cases: Sequence[NetemCase], count: int = DATAGRAMS, settings: Settings = USUAL) -> list[NetemComparison]:
    """Sends `count` datagrams over a live path, and through netem with the same sending times.

    Raises ScenarioError if user-mode Linux is unavailable, and RunError if live paths are not possible.
    """
    linux_kernel.get()
    lived = [over_live(case, count, settings) for case in cases]
    guest = [
        in_guest(f"netem {case.words}", [(int(at), LENGTH) for at in sent])
        for case, (sent, _, _) in zip(cases, lived, strict=True)
    ]
    measured = linux_boot.boot(guest, seed=0, timeout_s=TIMEOUT_S, read=lambda _, share: _read(share))
    return [
        NetemComparison(case, netem, live, certificate)
        for case, (_, netem), (_, live, certificate) in zip(cases, measured, lived, strict=True)
    ]


def over_live(
    case: NetemCase, count: int, settings: Settings = USUAL
) -> tuple[npt.NDArray[np.int64], Delays, Certificate]:
    """Sends datagrams over a live path at about `case.rate_bps`; returns sending times [ns] and delays [ms]."""
    live_plan = plan(case.scenario, ("source1", "sink1"))
    planned = DatagramCase(case.name, case.rate_bps, (LENGTH,), case.words, count).datagrams
    with tempfile.TemporaryDirectory(prefix="longpipe-netem-") as name:
        folder = Path(name)
        (folder / "datagrams").write_text("".join(f"{at} {length - HEADERS_BYTES}\n" for at, length in planned))
        _, done = answer(live_plan, ["schedule", "sink1", str(PORT), name], ["stamp", str(PORT), name], settings)
        return *_read(folder), done.certificate


def _read(folder: Path) -> tuple[npt.NDArray[np.int64], Delays]:
    """Returns sending times [ns] relative to the first one, and delays [ms]."""
    sent = pd.read_csv(folder / "sent.csv")["sent_ns"].to_numpy()
    arrived = pd.read_csv(folder / "arrivals.csv")
    number = arrived["number"].to_numpy()
    delays = np.full(len(sent), np.nan)
    delays[number] = (arrived["arrived_ns"].to_numpy() - sent[number]) / 1e6
    return sent - sent[0], delays
