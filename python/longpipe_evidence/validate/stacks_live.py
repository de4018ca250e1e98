"""quinn over live paths in real time, compared with quinn in simulations of the same paths."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Any, Final

from longpipe import Scenario, simulate, stacks
from longpipe.live.answers import output_of
from longpipe.live.carrier import USUAL, Settings
from longpipe.live.certificate import Certificate
from longpipe.live.hosts import plan

PORT: Final = 5203
TRUNK: Final = "switch1->switch2"
# IP and UDP headers [bytes].
HEADERS_BYTES: Final = 28
# Largest IP packet of the stack in both runs [bytes].
LONGEST_PACKET: Final = 1480
CONTROLS: Final = ("cubic", "reno")
# Rates that a busy machine sustains in real time.
RATES_MBITS: Final = (1, 2, 5, 10)
ROUND_TRIPS_MS: Final = (20, 40, 80, 150, 300)
BUFFERS_BDP: Final = (0.5, 1, 2)
# Smallest buffer: a sender's initial window [packets].
MIN_BUFFER_PACKETS: Final = 10
# Delay of each packet at the hosts of the simulation, uniform from 0 to this: real hosts take some tens of microseconds
# to process a packet, and on small buffers the exact times of bursts decide which packets are lost.
JITTER: Final = "100 us"
# Number of simulated transfers with different delays, whose means are compared.
DRAWS: Final = 5
# Accepted differences of goodput and losses, as shares of the simulated values.
GOODPUT_WITHIN: Final = 0.01
LOSSES_WITHIN: Final = 0.05


@dataclass(frozen=True)
class LivePath:
    """A path, and the congestion control of the sender."""

    number: int
    control: str
    rate_mbits: float
    round_trip_ms: float
    buffer_packets: int

    def scenario(self, duration_s: float, jitter: str = "0 s") -> Scenario:
        """Returns a flow that sends as much as the link carries in `duration_s`; the run ends after four times that.

        Hosts delay each packet by up to `jitter`.
        """
        fields: dict[str, Any] = {
            "name": f"stacks-live-{self.number}",
            "framing": "ip",
            "duration": f"{4 * duration_s:g} s",
            "network": {
                "kind": "dumbbell",
                "sources": 1,
                "access_rate": "1 Gbit/s",
                "access_delay": "0 s",
                "exit_delay": "0 s",
                "trunk_rate": f"{self.rate_mbits:g} Mbit/s",
                "trunk_delay": f"{self.round_trip_ms / 2:g} ms",
                "send_jitter": jitter,
            },
            "switch": {"buffer": f"{self.buffer_packets} packets"},
            "traffic": {
                "kind": "stack",
                "stack": "quinn",
                "congestion": self.control,
                "size": f"{self.size_bytes(duration_s)} B",
                "longest_packet": f"{LONGEST_PACKET} B",
            },
        }
        return Scenario(defaults="1996", **fields)

    def size_bytes(self, duration_s: float) -> int:
        """Returns the amount of data that the link carries in `duration_s`, without regard to headers."""
        return round(1e6 * self.rate_mbits * duration_s / 8)


@dataclass(frozen=True)
class Transfer:
    """A transfer of quinn in real time, or the mean of simulated transfers."""

    goodput_mbits: float
    # Packets that the bottleneck dropped, and packets that the sender declared lost.
    drops: float
    declared_lost: float
    # Reason why the connection ended early; empty if it did not.
    closed: str


@dataclass(frozen=True)
class LiveComparison:
    """Both transfers over a path."""

    path: LivePath
    live: Transfer
    simulated: Transfer
    certificate: Certificate

    @property
    def goodput_apart(self) -> float:
        """Returns the difference of the live goodput, as a share of the simulated one."""
        return self.live.goodput_mbits / self.simulated.goodput_mbits - 1

    @property
    def drops_apart(self) -> float:
        """Returns the difference of the live drops, as a share of the simulated ones."""
        if self.live.drops == self.simulated.drops:
            return 0.0
        return self.live.drops / self.simulated.drops - 1 if self.simulated.drops else float("inf")

    @property
    def agrees(self) -> bool:
        """Returns whether goodput and losses differ by at most 1 % and 5 %."""
        drops_apart = abs(self.live.drops - self.simulated.drops)
        return abs(self.goodput_apart) <= GOODPUT_WITHIN and drops_apart <= LOSSES_WITHIN * self.simulated.drops

    def row(self) -> dict[str, Any]:
        """Returns the comparison as a row of a table."""
        return {
            "path": self.path.number,
            "control": self.path.control,
            "rate_mbits": self.path.rate_mbits,
            "round_trip_ms": self.path.round_trip_ms,
            "buffer_packets": self.path.buffer_packets,
            **{
                f"{name}_{field}": value
                for name, result in (("live", self.live), ("simulated", self.simulated))
                for field, value in vars(result).items()
            },
            "goodput_apart": self.goodput_apart,
            "drops_apart": self.drops_apart,
            "p99_late_ms": 1e3 * (self.certificate.lateness_s["0.99"] or 0.0),
            "agrees": self.agrees,
        }


def draw(number: int) -> LivePath:
    """Draws a path; controls alternate."""
    random = Random(f"stacks-live {number}")  # noqa: S311 - not used for cryptography
    rate_mbits, round_trip_ms = random.choice(RATES_MBITS), random.choice(ROUND_TRIPS_MS)
    bdp_packets = 1e3 * rate_mbits * round_trip_ms / 8 / LONGEST_PACKET
    buffer_packets = max(MIN_BUFFER_PACKETS, round(random.choice(BUFFERS_BDP) * bdp_packets))
    return LivePath(number, CONTROLS[number % len(CONTROLS)], rate_mbits, round_trip_ms, buffer_packets)


def compare(path: LivePath, duration_s: float, settings: Settings = USUAL) -> LiveComparison:
    """Sends over a path in real time and in simulations.

    Raises ScenarioError if the stacks are not installed, and RunError if live paths are not possible.
    """
    simulated = [_simulated(path, duration_s, seed) for seed in range(DRAWS)]
    live, certificate = _live(path, duration_s, settings)
    mean = Transfer(
        goodput_mbits=fmean(transfer.goodput_mbits for transfer in simulated),
        drops=fmean(transfer.drops for transfer in simulated),
        declared_lost=fmean(transfer.declared_lost for transfer in simulated),
        closed=next((transfer.closed for transfer in simulated if transfer.closed), ""),
    )
    return LiveComparison(path, live, mean, certificate)


def _simulated(path: LivePath, duration_s: float, seed: int) -> Transfer:
    result = simulate(path.scenario(duration_s, JITTER), seed=seed)
    flow, state = result.flows.iloc[0], result.stacks.iloc[0]
    return Transfer(
        goodput_mbits=_goodput(path, duration_s, float(flow.completion_s)),
        drops=_drops(result.ports.to_dict("list")),
        declared_lost=int(flow.retransmitted_segments),
        closed=str(state.closed),
    )


def _live(path: LivePath, duration_s: float, settings: Settings) -> tuple[Transfer, Certificate]:
    """Transfers a file between real stacks over a live path. Returns its results and the certificate."""
    program = str(stacks.transfer())
    same = [f"congestion={path.control}", f"most_bytes={LONGEST_PACKET - HEADERS_BYTES}"]
    sending = [program, "send", f"sink1:{PORT}", f"size={path.size_bytes(duration_s)}", *same]
    live_plan = plan(path.scenario(duration_s), ("source1", "sink1"), mtu=LONGEST_PACKET)
    text, done = output_of(live_plan, sending, [program, "receive", str(PORT), *same], settings, seed=path.number)
    reported = json.loads(text)
    transfer = Transfer(
        goodput_mbits=_goodput(path, duration_s, float("nan") if reported["seconds"] is None else reported["seconds"]),
        drops=_drops(done.certificate.ports),
        declared_lost=reported["lost_packets"],
        closed=reported["closed"],
    )
    return transfer, done.certificate


def _goodput(path: LivePath, duration_s: float, completion_s: float) -> float:
    return 8e-6 * path.size_bytes(duration_s) / completion_s


def _drops(ports: Mapping[Any, Any]) -> int:
    """Returns the number of packets that the bottleneck's port dropped."""
    place = list(ports["port"]).index(TRUNK)
    return int(ports["packets_lost_overflow"][place])
