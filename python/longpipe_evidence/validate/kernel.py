"""Comparison of the TCP of the machine's kernel over a live path with a simulation of that path."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from longpipe import Scenario, simulate
from longpipe.errors import ScenarioError, nearest
from longpipe.ip import packet_bytes
from longpipe.live.answers import answer
from longpipe.live.carrier import Settings
from longpipe.live.certificate import Certificate
from longpipe.live.hosts import plan
from longpipe.units import TIME
from longpipe_evidence.validate.linux_compare import longpipe_name

MSS: Final = 1448
PORT: Final = 5201
TRUNK: Final = "switch1->switch2"
_AVAILABLE: Final = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@dataclass(frozen=True)
class ComparedQuantity:
    """A quantity in the kernel's run and in the simulated run."""

    kernel: float
    longpipe: float

    @property
    def apart(self) -> float:
        """Returns the difference of the kernel's value from the simulated one, as a fraction of the latter."""
        if self.longpipe:
            return self.kernel / self.longpipe - 1
        return 0.0 if self.kernel == 0 else float("inf")


@dataclass(frozen=True)
class KernelComparison:
    """Comparison of one congestion control."""

    control: str
    goodput_bps: ComparedQuantity
    # Mean queue while the sender sends [packet].
    queue_packets: ComparedQuantity
    lost_packets: ComparedQuantity
    certificate: Certificate


def available() -> tuple[str, ...]:
    """Returns the congestion controls that both the machine's kernel and longpipe have."""
    names = _AVAILABLE.read_text().split() if _AVAILABLE.exists() else []
    return tuple(sorted(name for name in names if longpipe_name(name) is not None))


def scenario(control: str, *, rate: str, round_trip: str, buffer: str, duration: str, **changes: object) -> Scenario:
    """Returns a dumbbell with one flow that uses the profile linux-6; the trunk has the whole delay."""
    half_ps = TIME.parse(round_trip) // 2
    fields: dict[str, Any] = {
        "name": f"kernel-{control}",
        "framing": "ip",
        "duration": duration,
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "10 Gbit/s",
            "trunk_rate": rate,
            "access_delay": "0 s",
            "exit_delay": "0 s",
            "trunk_delay": f"{half_ps} ps",
        },
        "switch": {"buffer": buffer},
        "tcp": {
            "profile": "linux-6",
            "mss": f"{MSS} B",
            "congestion": longpipe_name(control),
            # The sender knows the RTT, as it would after a handshake.
            "initial_rtt": round_trip,
        },
    }
    return Scenario(defaults="1996", **fields).with_(**changes)


def compare(
    control: str,
    *,
    rate: str = "50 Mbit/s",
    round_trip: str = "40 ms",
    buffer: str = "150 packets",
    duration: str = "20 s",
    seed: int = 1,
    **changes: object,
) -> KernelComparison:
    """Runs the kernel and longpipe for `duration` each; `changes` are dotted fields of the scenario.

    Raises ScenarioError for a control that Linux or longpipe lacks, and RunError if live paths are not possible.
    """
    if control not in available():
        raise ScenarioError(f"--control: {control!r}; {nearest(control, available())}, of this kernel")
    case = scenario(control, rate=rate, round_trip=round_trip, buffer=buffer, duration=duration, **changes)
    duration_s = TIME.parse(case.duration) / 1e12
    live_plan = plan(case, ("source1", "sink1"), mtu=packet_bytes(MSS, timestamps=True))
    sending = ["send", "sink1", str(PORT), f"{duration_s:g}", control]
    goodput_text, session = answer(live_plan, sending, ["receive", str(PORT)], Settings(), seed=seed)
    simulated = simulate(case, seed)
    trunk: dict[Any, Any] = simulated.ports.set_index("port").loc[TRUNK].to_dict()
    ports = session.certificate.ports
    row = list(ports["port"]).index(TRUNK)
    # The queue is empty before the sender starts, and nearly empty when it ends.
    mean_queue = float(ports["mean_queue_packets"][row]) * session.certificate.elapsed_s / duration_s
    return KernelComparison(
        control=control,
        goodput_bps=ComparedQuantity(
            float(goodput_text), 8 * int(simulated.flows["delivered_bytes"].sum()) / duration_s
        ),
        queue_packets=ComparedQuantity(mean_queue, float(trunk["mean_queue_packets"])),
        lost_packets=ComparedQuantity(
            float(ports["packets_lost_overflow"][row] + ports["packets_lost_aqm"][row]),
            float(trunk["packets_lost_overflow"] + trunk["packets_lost_aqm"]),
        ),
        certificate=session.certificate,
    )
