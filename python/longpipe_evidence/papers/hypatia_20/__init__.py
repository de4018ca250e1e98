"""Hypatia (IMC 2020): NewReno and Vegas, each alone over paths of a constellation, for 200 s."""

from functools import cache
from typing import Any, Final

import numpy as np

from longpipe.result import Result
from longpipe.scenario import Scenario
from longpipe_evidence.papers.experiments import Caption, Experiment, Variant
from longpipe_evidence.papers.hypatia_20.claims import AFTER_S, BEFORE_S, CLAIMS, FILLS, PAIRS
from longpipe_evidence.papers.replicated import ReplicatedPaper

ID: Final = "hypatia-20"
# Index of the path's link that leaves the source's ground station.
_TRUNK: Final = 2
_STATIONS: Final = {
    "rio-petersburg": ("Rio de Janeiro", "Saint Petersburg"),
    "manila-dalian": ("Manila", "Dalian"),
    "istanbul-nairobi": ("Istanbul", "Nairobi"),
}
CONTROLS: Final = {"newreno": "aimd", "vegas": "vegas"}
# As in ns-3, the delay is sampled when a packet's transmission starts, and packets are not kept in order.
AS_NS3: Final = {"step": "100 ms", "between": "hold", "at": "start", "order": "free"}

BASE: Final = Scenario(defaults="1996").with_(
    **{
        "framing": "ip",
        "duration": "200 s",
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "1 Gbit/s",
            "access_delay": "0 s",
            "exit_delay": "0 s",
            "trunk_rate": "10 Mbit/s",
            "trunk_delay": "0 s",
        },
        # 100 packets may wait, in addition to the one in transmission.
        "switch.buffer": "101 packets",
        "tcp.recovery": "newreno",
        # As in ns-3, IP packets are 1432 bytes long.
        "tcp.mss": "1380 B",
        "tcp.initial_window": "10 segments",
        "tcp.receiver_window": "100 MB",
        "tcp.timer": {"kind": "fine", "min_rto": "1 s", "timestamps": True},
        "tcp.ack": {"kind": "delayed", "timeout": "200 ms"},
        "traces.cwnd": True,
    }
)


@cache
def experiments() -> list[Experiment]:
    """Yields both controllers over each pair: once from time 0, and per seed from a time within the first second."""
    planned = []
    for pair, (first, last) in _STATIONS.items():
        for tcp, control in CONTROLS.items():
            path = {"shell": "kuiper-630", "from": first, "to": last, **AS_NS3}
            once = BASE.with_(**{"name": f"{pair} {tcp}", "network.path": path, "tcp.congestion": control})
            drawn = once.with_(start={"kind": "random", "over": "1 s"})
            planned.append(Experiment({"pair": pair, "tcp": tcp}, drawn, once, "1"))
    return planned


def path(scenario: Scenario) -> dict[str, float]:
    """Returns a run's RTT over its route [ms], its largest increase by 91 s, and times without a route [s]."""
    motion = scenario.resolved["links"][_TRUNK]["motion"]
    at_ps, one_way_ps = np.array(motion["delay"]["knots_ps"], dtype=float).T
    at_s, round_trips_ms = at_ps / 1e12, 2 * one_way_ps / 1e9
    early = at_s < (BEFORE_S + AFTER_S) / 2
    jump = int(np.diff(round_trips_ms[early]).argmax())
    gaps = motion.get("outages", {}).get("intervals_ps", [])
    begins, ends = gaps[0] if gaps else (np.nan, np.nan)
    return {
        "least_ms": float(round_trips_ms.min()),
        "most_ms": float(round_trips_ms.max()),
        "jump_s": float(at_s[jump + 1]),
        "before_jump_ms": float(round_trips_ms[jump]),
        "after_jump_ms": float(round_trips_ms[jump + 1]),
        "gap_begins_s": begins / 1e12,
        "gap_ends_s": ends / 1e12,
    }


def measure(result: Result) -> dict[str, float]:
    """Returns the measures for claims: of the path, of its queue [packets], and the window at two times [segments]."""
    ports: dict[str, Any] = {name: column[_TRUNK] for name, column in result.columns["ports"].items()}
    windows = result.traces["cwnd"]
    last = np.searchsorted(windows["time_s"].to_numpy(), [BEFORE_S, AFTER_S], side="right") - 1
    before, after = windows["cwnd_bytes"].to_numpy()[last] / 1380
    return {
        "utilization": float(ports["utilization"]),
        "mean_queue": float(ports["mean_queue_packets"]),
        "peak_queue": float(ports["peak_queue_packets"]),
        "lost": float(ports["packets_lost_overflow"]),
        "overtakings": float(ports["overtakings"]),
        "window_before": float(before),
        "window_after": float(after),
        **path(result.scenario),
    }


PAPER: Final = ReplicatedPaper(
    id=ID,
    title='Exploring the "Internet from space" with Hypatia (IMC, October 2020), sections 4.1 and 4.2',
    data=None,
    factors={"pair": "pair", "tcp": "TCP"},
    columns="tcp",
    column_names={"newreno": "NewReno", "vegas": "Vegas"},
    metrics=("utilization",),
    series="pair",
    captions=(Caption(1, "1", "utilization", "share of the 10 Mbit/s in use over 200 s"),),
    experiments=experiments,
    measure=measure,
    claims=CLAIMS,
    variants=(
        Variant("order: fifo", {"network.path.order": "fifo"}),
        Variant("delay linear between instants", {"network.path.between": "linear"}),
        Variant("recovery: SACK", {"tcp.recovery": "sack"}),
        Variant("timestamps: none", {"tcp.timer.timestamps": False}),
        Variant("ack: immediate", {"tcp.ack": "immediate"}),
    ),
    watched={f"{PAIRS[FILLS[0]]}, {tcp}": {"pair": FILLS[0], "tcp": tcp} for tcp in CONTROLS},
    conditions=(
        "One flow alone over the shortest route of Kuiper-630, recomputed every 100 ms and constant in between; one "
        "queue of 100 "
        "packets, at the source's station. Single run: from 0 s on. Replications draw the start within the first "
        "second from the seed. Without a route packets wait."
    ),
    seeds=5,
)
