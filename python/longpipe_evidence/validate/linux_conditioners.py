"""Linux's policers and shapers, packet by packet: with datagrams at random instants, and with TCP."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from longpipe_evidence.validate import linux_boot
from longpipe_evidence.validate.linux import LinuxCase, LinuxFlow

# Ethernet's header, which Linux's queueing disciplines count and its ingress policers do not [bytes].
ETHERNET_BYTES: Final = 14
HEADERS_BYTES: Final = 28
DATAGRAMS: Final = 2000
JITTERED: Final = 20_000
QUANTILES: Final = 501
TIMEOUT_S: Final = 1800.0
# Rate of a bottleneck without a queue.
FAST: Final = "1 Gbit/s"


@dataclass(frozen=True)
class DatagramCase:
    """Datagrams through one conditioner: a mean rate [bit/s], lengths of IP packets [bytes], and its tc syntax."""

    name: str
    rate_bps: float
    lengths: tuple[int, ...]
    words: str
    count: int = DATAGRAMS

    @property
    def datagrams(self) -> list[tuple[int, int]]:
        """Returns an instant [ns] and a length for each datagram: a Poisson process, rounded to whole microseconds."""
        random = Random(self.name)  # noqa: S311 - not used for cryptography
        mean_s = 8 * sum(self.lengths) / len(self.lengths) / self.rate_bps
        at_s, arrivals = 0.0, []
        for _ in range(self.count):
            at_s += random.expovariate(1 / mean_s)
            arrivals.append((1000 * round(at_s * 1e6), random.choice(self.lengths)))
        return arrivals

    @property
    def guest(self) -> dict[str, Any]:
        """Returns the case in the guest's format."""
        return in_guest(self.words, self.datagrams)


def in_guest(words: str, datagrams: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Returns datagrams, as instants [ns] and lengths of IP packets, through a conditioner in the guest's format."""
    if words.startswith("police"):
        filtered = f"filter add dev t1 ingress matchall action {words} conform-exceed drop/ok"
        commands, undo = {"t": ["qdisc add dev t1 clsact", filtered]}, {"t": ["qdisc del dev t1 clsact"]}
    else:
        commands, undo = {"": [f"qdisc add dev t0 root {words}"]}, {"": ["qdisc del dev t0 root"]}
    return {"datagrams": datagrams, "commands": commands, "undo": undo, "rest_s": 2.0}


POLICED: Final = (
    DatagramCase("police", 12e6, (1000,), "police rate 8mbit burst 20000"),
    DatagramCase("police-lengths", 15e6, (100, 500, 1000, 1500), "police rate 10mbit burst 6000"),
    DatagramCase("police-peak", 9e6, (200, 1500), "police rate 8mbit burst 30000 peakrate 12mbit mtu 1514"),
    DatagramCase("police-odd", 3e6, (333, 777), "police rate 1777kbit burst 5000"),
)
SHAPED: Final = (
    DatagramCase("tbf", 9e6, (1000,), "tbf rate 8mbit burst 5000 limit 20000"),
    DatagramCase("tbf-lengths", 12e6, (100, 500, 1000, 1486), "tbf rate 10mbit burst 3000 limit 30000"),
    DatagramCase("tbf-peak", 9e6, (200, 1486), "tbf rate 8mbit burst 30000 limit 40000 peakrate 12mbit mtu 1514"),
    DatagramCase("tbf-odd", 3e6, (333, 777), "tbf rate 1777kbit burst 2000 limit 10000"),
)
# One flow through CAKE, unaffected by randomness or by fairness among hosts; tc measures packet lengths at the device.
CAKED: Final = (
    DatagramCase("cake", 9e6, (1000,), "cake bandwidth 8mbit besteffort raw"),
    DatagramCase("cake-lengths", 12e6, (100, 500, 1000, 1486), "cake bandwidth 10mbit besteffort raw"),
    DatagramCase("cake-atm", 3.2e6, (100, 500, 1000, 1478), "cake bandwidth 3777kbit besteffort overhead 40 atm"),
    DatagramCase("cake-ptm", 6e6, (40, 800, 1500), "cake bandwidth 6mbit besteffort overhead 30 ptm"),
    DatagramCase("cake-rtt", 9e6, (60, 1200), "cake bandwidth 7mbit besteffort overhead 38 mpu 84 rtt 30ms"),
)
# Jitter, reordering and duplication of netem: one datagram per millisecond on average.
DELAYED: Final = tuple(
    DatagramCase(name, 8e6, (1000,), f"netem limit 100000 {words}", JITTERED)
    for name, words in {
        "uniform": "delay 20ms 5ms",
        "normal": "delay 20ms 5ms distribution normal",
        "pareto": "delay 20ms 5ms distribution pareto",
        "paretonormal": "delay 20ms 5ms distribution paretonormal",
        "correlated": "delay 20ms 5ms 50%",
        "early": "delay 2ms 3ms distribution normal",
        "reorder": "delay 20ms reorder 25% 50%",
        "gap": "delay 20ms 2ms reorder 60% gap 5",
        "duplicate": "duplicate 10% 30%",
    }.items()
)
# TCP over a policed 20 Mbit/s path: the policer's rate, its burst [bytes] and the flow.
TCP: Final = tuple(
    LinuxCase(
        rate="20 Mbit/s",
        round_trip=round_trip,
        buffer=200,
        police=f"rate {rate} burst {burst}",
        flows=(flow,),
        duration="30 s",
        seed=seed,
    )
    for seed, (round_trip, rate, burst, flow) in enumerate(
        (
            ("30 ms", "10mbit", 60000, LinuxFlow(control="reno")),
            ("60 ms", "6mbit", 100000, LinuxFlow(control="cubic")),
            ("20 ms", "4mbit", 15000, LinuxFlow(control="cubic")),
            ("100 ms", "8mbit", 200000, LinuxFlow(control="reno")),
        )
    )
)
# TCP over a token bucket filter with its own queue; sizes in bytes.
SHAPED_TCP: Final = tuple(
    LinuxCase(
        rate=FAST, round_trip=round_trip, shape=f"rate {rate} burst {burst} limit {limit}", flows=flows, duration="30 s"
    )
    for round_trip, rate, burst, limit, flows in (
        ("30 ms", "10mbit", 30_000, 60_000, (LinuxFlow(control="reno"),)),
        ("60 ms", "6mbit", 100_000, 50_000, (LinuxFlow(control="cubic"),)),
        ("20 ms", "4mbit", 5000, 30_000, (LinuxFlow(control="cubic"),)),
        ("100 ms", "8mbit", 200_000, 150_000, (LinuxFlow(control="reno"),)),
        ("40 ms", "12mbit", 20_000, 90_000, (LinuxFlow(control="cubic"), LinuxFlow(control="reno", start="3 s"))),
        ("50 ms", "5mbit", 60_000, 80_000, (LinuxFlow(control="bbr"),)),
    )
)
# BBR over a policer that it should detect (lt_bw): the policer's rate and burst [bytes].
POLICED_BBR: Final = tuple(
    LinuxCase(
        rate=rate,
        round_trip=round_trip,
        buffer=1000,
        police=f"rate {policed} burst {burst}",
        flows=(LinuxFlow(control="bbr"),),
        duration="20 s",
        seed=seed,
    )
    for seed, (rate, round_trip, policed, burst) in enumerate(
        (
            ("40 Mbit/s", "30 ms", "8mbit", 20_000),
            ("40 Mbit/s", "60 ms", "5mbit", 60_000),
            ("100 Mbit/s", "20 ms", "10mbit", 40_000),
            ("30 Mbit/s", "100 ms", "4mbit", 100_000),
            ("20 Mbit/s", "40 ms", "6mbit", 200_000),
            ("50 Mbit/s", "150 ms", "12mbit", 500_000),
        )
    )
)


def delays(seed: int = 0) -> Iterator[pd.DataFrame]:
    """Runs the cases for netem; yields the result of `distribution` for each case."""

    def read(number: int, share: Path) -> pd.DataFrame:
        sent, arrived = (pd.read_csv(share / name) for name in ("sent.csv", "arrivals.csv"))
        return distribution(DELAYED[number], sent["sent_ns"].to_numpy(), arrived)

    yield from linux_boot.boot([case.guest for case in DELAYED], seed=seed, timeout_s=TIMEOUT_S, read=read)


def distribution(case: DatagramCase, sent_ns: npt.NDArray[np.int64], arrived: pd.DataFrame) -> pd.DataFrame:
    """Returns quantiles of the delays [ms], computed from each arrival's datagram number and time.

    The row with quantile -1 contains the number of arrivals per datagram.
    """
    delays_ms = (arrived["arrived_ns"].to_numpy() - sent_ns[arrived["number"]]) / 1e6
    shares = np.linspace(0, 1, QUANTILES)
    rows = pd.DataFrame({"case": case.name, "share": shares, "delay_ms": np.quantile(delays_ms, shares).round(6)})
    per_datagram = pd.DataFrame({"case": [case.name], "share": [-1.0], "delay_ms": [len(arrived) / len(sent_ns)]})
    return pd.concat([rows, per_datagram])


def measured(cases: Sequence[DatagramCase], seed: int = 0) -> Iterator[pd.DataFrame]:
    """Starts the guest once for all cases; yields rows per datagram: case, sent_ns, bytes, arrived_ns (-1 if lost)."""

    def read(number: int, share: Path) -> pd.DataFrame:
        case = cases[number]
        sent = pd.read_csv(share / "sent.csv")["sent_ns"]
        arrived = pd.read_csv(share / "arrivals.csv").set_index("number")["arrived_ns"]
        return pd.DataFrame(
            {
                "case": case.name,
                "sent_ns": sent,
                "bytes": [length for _, length in case.datagrams],
                "arrived_ns": arrived.reindex(range(len(sent)), fill_value=-1).to_numpy(),
            }
        )

    yield from linux_boot.boot([case.guest for case in cases], seed=seed, timeout_s=TIMEOUT_S, read=read)
