"""TCP Prague beside CUBIC and BBR in six queues (ANRW 2024): one flow of each on a link of 100 Mbit/s for 60 s."""

from itertools import product
from typing import Any, Final

from longpipe.result import Result
from longpipe.scenario import Scenario
from longpipe_evidence.papers.experiments import Caption, Experiment, Factors, Variant
from longpipe_evidence.papers.prague_24.claims import CLAIMS
from longpipe_evidence.papers.replicated import ReplicatedPaper

ID: Final = "prague-24"
# Buffers of the artifact [BDP]; a BDP of 100 Mbit/s and 10 ms has 125 kB.
BUFFERS_BDP: Final = (0.5, 1, 2, 4, 8)
BDP_BYTES: Final = 125_000
LINK_BPS: Final = 100e6
# Threshold of marks in `fq`, and target of the AQMs.
AQM_TARGET: Final = "5 ms"
# Rate of IP packets of 1500 bytes: the artifact's token bucket of 100 Mbit/s also counts Ethernet headers of 14 bytes.
IP_RATE_BPS: Final = 99_075_297
LEGACY: Final[dict[str, dict[str, object]]] = {
    "cubic": {"congestion": "cubic"},
    "cubic-ecn": {"congestion": "cubic", "ecn": "classic"},
    "bbr": {"congestion": "bbr"},
}
PRAGUE: Final = {"congestion": "prague", "ecn": {"kind": "accurate", "ect": 1}}

BASE: Final = Scenario(defaults="1996").with_(
    **{
        "framing": "ip",
        "duration": "60 s",
        "tcp.profile": "linux-6",
        "network": {
            "kind": "dumbbell",
            "trunk_rate": f"{IP_RATE_BPS} bit/s",
            "trunk_delay": "5 ms",
            "access_rate": "1 Gbit/s",
            "access_delay": "0 s",
            "exit_delay": "0 s",
            "group": [{"name": "legacy", "tcp": LEGACY["cubic"]}, {"name": "prague", "tcp": PRAGUE}],
        },
        # The artifact starts both flows by remote commands, at times that it does not control.
        "start": {"kind": "random", "over": "1 s"},
    }
)


def queue_of(queue: str, buffer_bdp: float) -> dict[str, object]:
    """Returns the policy and the buffer of one of the six queues, by the artifact's commands."""
    byte_limit = int(buffer_bdp * BDP_BYTES)
    packets = f"{byte_limit // 1500 + 1} packets"
    # Of the notebook of commit 66e3977. Earlier commands had `ce_threshold`, and targets that grew with the buffer.
    codel = {"target": AQM_TARGET, "interval": "100 ms", "arithmetic": "linux", "ecn": True}
    policies: dict[str, tuple[object, str]] = {
        "fifo": ("tail-drop", f"{byte_limit} B"),
        # A single queue of `fq` marks by the sojourn time, which is the backlog at the arrival divided by the rate.
        "fifo-ecn": ({"kind": "step-marking", "unit": "bytes", "threshold": int(IP_RATE_BPS * 0.005 / 8)}, packets),
        "codel": ({"kind": "codel", **codel}, packets),
        "fq": (
            {"kind": "fq", "flow_limit": byte_limit // 1500 + 1, "ce_threshold": AQM_TARGET},
            packets,
        ),
        "fq-codel": ({"kind": "fq-codel", "rules": "linux", **codel}, packets),
        # Linux's defaults but for the target, whatever the buffer of the other queues.
        "dualpi2": (
            {"kind": "dualpi2", "target": AQM_TARGET, "marking": "step", "scheduler": "weighted"},
            "10000 packets",
        ),
    }
    policy, buffer = policies[queue]
    return {"switch.policy": policy, "switch.buffer": buffer}


QUEUES: Final = {
    "fifo": "FIFO",
    "fifo-ecn": "FIFO+ECN",
    "codel": "CoDel",
    "fq": "FQ",
    "fq-codel": "FQ-CoDel",
    "dualpi2": "DualPI2",
}


def experiments() -> list[Experiment]:
    """Yields the 90 cells: three legacy controls, five buffers and six queues."""
    planned = []
    for (number, legacy), buffer, queue in product(enumerate(LEGACY, 1), BUFFERS_BDP, QUEUES):
        factors: Factors = {"legacy": legacy, "buffer_bdp": buffer, "queue": queue}
        groups = [{"name": "legacy", "tcp": LEGACY[legacy]}, {"name": "prague", "tcp": PRAGUE}]
        scenario = BASE.with_(**{"network.group": groups, **queue_of(queue, buffer)})
        planned.append(Experiment(factors, scenario, table=str(number)))
    return planned


def measure(result: Result) -> dict[str, float]:
    """Returns the shares of the 100 Mbit/s that Prague and the other flow get, and the delay of Prague's packets.

    `delay_ms` is the mean queueing delay in the only queue, or in the low-latency queue; nan with a queue per flow.
    """
    rates_bps = result.flows.set_index("flow")["throughput_bps"]
    policy: Any = result.scenario.switch.policy
    trunk = result.ports[result.ports["port"] == "switch1->switch2"].iloc[0]
    delay_ms = float("nan")
    if policy.kind == "dualpi2":
        queues = result.queues
        low = queues[(queues["port"] == "switch1->switch2") & (queues["queue"] == "low-latency")]
        delay_ms = 1e3 * float(low["mean_delay_s"].iloc[0])
    elif policy.kind in ("tail-drop", "step-marking", "codel"):
        delay_ms = 1e3 * float(trunk["mean_queue_packets"]) * 8 * 1500 / IP_RATE_BPS
    return {
        "share": float(rates_bps["prague"]) / LINK_BPS,
        "legacy_share": float(rates_bps["legacy"]) / LINK_BPS,
        "delay_ms": delay_ms,
    }


PAPER: Final = ReplicatedPaper(
    id=ID,
    title="To switch or not to switch to TCP Prague? Incentives in a partial L4S deployment (ANRW, July 2024)",
    data="published.csv",
    factors={"legacy": "with", "buffer_bdp": "BDP", "queue": "queue"},
    columns="queue",
    column_names=QUEUES,
    metrics=("share",),
    decimals=3,
    series="legacy",
    captions=(
        Caption(1, "1", "share", "Prague's share of 100 Mbit/s beside CUBIC without ECN"),
        Caption(2, "2", "share", "Prague's share of 100 Mbit/s beside CUBIC with classic ECN"),
        Caption(3, "3", "share", "Prague's share of 100 Mbit/s beside BBR"),
    ),
    experiments=experiments,
    measure=measure,
    claims=CLAIMS,
    variants=(
        Variant("both flows start at 0 s", {"start": "fixed"}),
        Variant("100 Mbit/s of IP packets", {"network.trunk_rate": "100 Mbit/s"}),
        Variant("ack: delayed", {"tcp.ack": "delayed"}),
    ),
    watched={
        f"{QUEUES[queue]} of 2 BDP, {legacy}": {"legacy": legacy, "buffer_bdp": 2, "queue": queue}
        for legacy in LEGACY
        for queue in ("fifo", "codel")
    },
    conditions=(
        "One Prague flow and one other flow, 100 Mbit/s, 10 ms, 60 s. Both start within the first second, at times "
        "drawn from the seed. Numbers of the artifact's figures, means of ten runs."
    ),
    seeds=3,
)
