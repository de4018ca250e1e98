"""The experiments: four full factorial designs, one for each kind of conclusion."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, Final

import numpy as np

from longpipe.metrics import atm_forum
from longpipe.result import Result
from longpipe.scenario import Dumbbell, Scenario
from longpipe.units import RATE
from longpipe_evidence.papers.denominator import full_segments_bps
from longpipe_evidence.papers.experiments import Experiment, Factors
from longpipe_evidence.papers.lbd_01.transfers import BUFFERS, SEGMENTS, W_STARS
from longpipe_evidence.papers.today.paths import ACCESS_DELAY, PAGE, PATHS, QUEUES, SENDERS, WEB_QUEUES, Path, clients
from longpipe_evidence.papers.www_98 import measure as measure_web

SEEDS: Final = 10
# Number of TCP flows in addition to the bursts, as in ATM Forum/97-0424.
BESIDE_BURSTS: Final = 15
# Duration of runs with web pages, in which each client requests four pages.
WEB_DURATION: Final = "40 s"
PACKET_BITS: Final = 12_000
MSS_BYTES: Final = 1448
# Payload of a datagram in a packet of 1500 bytes.
DATAGRAM_BYTES: Final = 1472


@dataclass(frozen=True)
class Design:
    """A full factorial design: factors with their levels, responses of its runs, and the documents that it tests."""

    id: str
    title: str
    documents: tuple[str, ...]
    levels: dict[str, tuple[Any, ...]]
    responses: tuple[str, ...]


DESIGNS: Final = {
    design.id: design
    for design in (
        Design(
            "long-lived",
            "Long-lived flows",
            ("frr-96", "gr-97", "buf-97"),
            {
                "network": tuple(PATHS),
                "tcp": tuple(SENDERS),
                "policy": tuple(QUEUES),
                "buffer_rtt": (0.0625, 0.5, 1.0, 2.0),
                "sources": (5, 50),
            },
            ("efficiency", "fairness"),
        ),
        Design(
            "bursts",
            "Long-lived flows and bursts of higher priority",
            ("gr-97",),
            {
                "network": tuple(PATHS),
                "tcp": tuple(SENDERS),
                "guaranteed": (0.0, 0.1, 0.5),
                "burst_ms": (50, 100, 300, 1000),
            },
            ("efficiency", "fairness"),
        ),
        Design(
            "web",
            "Web pages",
            ("www-98",),
            {
                "network": tuple(PATHS),
                "tcp": tuple(SENDERS),
                "policy": WEB_QUEUES,
                "buffer_bdp": (0.5, 1.0, 2.0),
            },
            ("efficiency", "fairness"),
        ),
        Design(
            "transfer",
            "One transfer over an empty path",
            ("lbd-01",),
            {"w_star_packets": W_STARS, "buffer_bdp": BUFFERS, "tcp": tuple(SENDERS)},
            ("utilization",),
        ),
    )
}


def experiments() -> list[Experiment]:
    """Yields every combination of every design's levels; the table of an experiment is the id of its design."""
    return [experiment for design in DESIGNS.values() for experiment in of_design(design)]


def of_design(design: Design) -> Iterator[Experiment]:
    """Yields the experiments of one design."""
    for levels in product(*design.levels.values()):
        factors: Factors = dict(zip(design.levels, levels, strict=True))
        changes = _CHANGES[design.id](factors)
        name = " ".join((design.id, *map(str, levels)))
        yield Experiment(factors, _base().with_(**{"name": name, **changes}), table=design.id)


@cache
def _base() -> Scenario:
    """Returns the scenario that all designs have in common."""
    return Scenario(defaults="1996").with_(
        **{
            "framing": "ip",
            "switch.buffer": "1 BDP",
            "network": {
                "kind": "dumbbell",
                "access_rate": "1 Gbit/s",
                "access_delay": ACCESS_DELAY,
                "exit_delay": ACCESS_DELAY,
            },
            "tcp": {"profile": "linux-6"},
            "start": {"kind": "random", "over": "1 s"},
        }
    )


def _on_path(path: Path, factors: Factors) -> dict[str, Any]:
    return {
        "network.trunk_rate": path.rate,
        "network.trunk_delay": path.trunk_delay,
        "duration": path.duration,
        "tcp.congestion": factors["tcp"],
    }


def _long_lived(factors: Factors) -> dict[str, Any]:
    return {
        **_on_path(PATHS[str(factors["network"])], factors),
        "network.sources": factors["sources"],
        "switch.buffer": f"{factors['buffer_rtt']} BDP",
        "switch.policy": QUEUES[str(factors["policy"])],
    }


def _bursts(factors: Factors) -> dict[str, Any]:
    """Returns a source with equal on and off times at the link's rate, whose class only the guaranteed rate limits."""
    path, on = PATHS[str(factors["network"])], f"{factors['burst_ms']} ms"
    bursts = {
        "kind": "on-off",
        "rate": path.rate,
        "payload": f"{DATAGRAM_BYTES} B",
        "on": on,
        "off": on,
        "times": "fixed",
    }
    share = float(factors["guaranteed"])
    policy: dict[str, Any] = {"kind": "strict-priority"}
    if share:
        policy = {"kind": "weighted-priority", "weights": [round(10 * (1 - share)), round(10 * share)]}
    return {
        **_on_path(path, factors),
        "network.sources": BESIDE_BURSTS + 1,
        "network.group": [
            {"name": "bursts", "class": 0, "traffic": bursts, "start": {"kind": "fixed", "at": "0 s"}},
            {"name": "tcp", "count": BESIDE_BURSTS, "class": 1},
        ],
        "switch.buffer": "1 BDP",
        "switch.policy": policy,
    }


def _web(factors: Factors) -> dict[str, Any]:
    """Returns the changes for web pages with these factors."""
    path = PATHS[str(factors["network"])]
    return {
        **_on_path(path, factors),
        "duration": WEB_DURATION,
        "network.sources": clients(path),
        "switch.buffer": f"{factors['buffer_bdp']} BDP",
        "switch.policy": QUEUES[str(factors["policy"])],
        "traffic": PAGE,
    }


def _transfer(factors: Factors) -> dict[str, Any]:
    """Returns the changes for a single transfer with these factors, as in lbd-01."""
    w_star = int(factors["w_star_packets"])
    return {
        "network.sources": 1,
        "network.trunk_rate": f"{w_star * PACKET_BITS // 100} kbit/s",
        "network.trunk_delay": "48 ms",
        "duration": "200 s",
        "switch.buffer": f"{int(w_star * float(factors['buffer_bdp'])) + 1} packets",
        "traffic": {"kind": "transfer", "size": f"{SEGMENTS * MSS_BYTES} B"},
        "tcp.congestion": factors["tcp"],
    }


_CHANGES: Final = {"long-lived": _long_lived, "bursts": _bursts, "web": _web, "transfer": _transfer}


def measure(design: str, result: Result) -> dict[str, float]:
    """Returns the responses of a run of a design, and measures that explain them.

    `timeouts` and `recoveries` count retransmission timeouts and fast recoveries, `retransmitted` is the share of the
    sent segments, and `needless` a lower bound on the share of the retransmitted segments whose original was not lost.
    A share of no segments is nan.
    """
    flows = result.flows
    sent, retransmitted = int(flows["sent_segments"].sum()), int(flows["retransmitted_segments"].sum())
    # With bursts, lost datagrams would count as lost segments.
    lost = int(result.ports.filter(like="packets_lost_").to_numpy().sum()) - _lost_datagrams(result)
    return {
        **_RESPONSES[design](result),
        "timeouts": int(flows["timeouts"].sum()),
        "recoveries": int(flows["fast_retransmits"].sum()),
        "retransmitted": retransmitted / sent if sent else math.nan,
        "needless": max(0.0, 1 - lost / retransmitted) if retransmitted else math.nan,
    }


def _lost_datagrams(result: Result) -> int:
    datagrams = result.datagrams
    return int((datagrams["sent"] - datagrams["received"]).sum()) if len(datagrams) else 0


def _of_long_lived(result: Result) -> dict[str, float]:
    throughputs = result.throughputs_bps
    efficiency = atm_forum.efficiency(throughputs, full_segments_bps(result))
    return {"efficiency": efficiency, "fairness": atm_forum.fairness(throughputs)}


def _of_bursts(result: Result) -> dict[str, float]:
    """Returns the efficiency of the TCP flows, relative to the capacity that the received datagrams leave."""
    network = result.scenario.network
    assert isinstance(network, Dumbbell)  # noqa: S101 - all of these networks are dumbbells
    datagrams_bps, *tcp_bps = result.throughputs_bps
    packet_bytes = PACKET_BITS // 8
    left_bps = RATE.parse(network.trunk_rate) - datagrams_bps * packet_bytes / DATAGRAM_BYTES
    efficiency = atm_forum.efficiency(np.array(tcp_bps), left_bps * MSS_BYTES / packet_bytes)
    return {"efficiency": efficiency, "fairness": atm_forum.fairness(np.array(tcp_bps))}


def _of_web(result: Result) -> dict[str, float]:
    """Returns the responses of ATM Forum/98-0876, and the median response time [s] of files of 10 to 90 KB."""
    responses = measure_web(result)
    return {
        "efficiency": responses["efficiency"],
        "fairness": responses["fairness"],
        "median_s": responses["median_s_2"],
    }


def _of_transfer(result: Result) -> dict[str, float]:
    """Returns the utilization of lbd-01: the file's bits relative to the link's capacity until its last byte."""
    network = result.scenario.network
    assert isinstance(network, Dumbbell)  # noqa: S101 - all of these networks are dumbbells
    seconds = float(result.flows["completion_s"].iloc[0])
    return {"utilization": SEGMENTS * PACKET_BITS / (RATE.parse(network.trunk_rate) * seconds), "seconds": seconds}


_RESPONSES: Final = {"long-lived": _of_long_lived, "bursts": _of_bursts, "web": _of_web, "transfer": _of_transfer}
