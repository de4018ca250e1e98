"""ATM Forum/97-0616: the buffer that SACK needs over one LEO hop, several LEO hops and a GEO satellite."""

from functools import cache
from itertools import product
from typing import Final

import numpy as np

from longpipe.metrics import atm_forum
from longpipe.result import Result
from longpipe.scenario import Scenario
from longpipe.units import TIME
from longpipe_evidence.papers.atm_base import DETERMINISTIC_TIES, DRAWN, RANDOMNESS
from longpipe_evidence.papers.buf_97.beyond import BEYOND
from longpipe_evidence.papers.buf_97.claims import CLAIMS
from longpipe_evidence.papers.buf_97.links import BASE, LINKS, SLOW_RATE, on_link
from longpipe_evidence.papers.buf_97.summaries import SUMMARIES
from longpipe_evidence.papers.buf_97.variants import READINGS, VARIANTS, WATCHED
from longpipe_evidence.papers.denominator import full_segments_bps
from longpipe_evidence.papers.duplicates import duplicate_share
from longpipe_evidence.papers.experiments import Caption, Experiment, Factors
from longpipe_evidence.papers.mechanisms import needless
from longpipe_evidence.papers.recorded import Recording
from longpipe_evidence.papers.replicated import ReplicatedPaper

# Section 2 assumes "135 Mbps approximately" as the maximum for TCP.
ATTAINABLE_BPS: Final = 135e6
# Without SONET overhead the links carry cells at their whole rate.
FAST_RATE: Final = "155.52 Mbit/s"
# The buffers that the paper recommends: at least half a round trip.
SUFFICIENT_RTT: Final = 0.5
# Start-up phase that a summary shows separately, as a fraction of a run.
START_UP: Final = 0.2
# Fraction of the seeds with which additional experiments run, because they need no narrow intervals.
PARTS_SHARE: Final = 0.5


@cache
def experiments() -> list[Experiment]:
    """Returns the 72 points of Figures 2 to 4, and two additional experiments for each point with a sufficient buffer.

    The factor `part` names the additional experiments: links of 155.52 Mbit/s, and runs that end after the start-up.
    """
    planned: list[Experiment] = []
    for network, link in LINKS.items():
        for buffer, sources in product(link.buffers_cells, link.sources):
            factors: Factors = {
                "network": network,
                "sources": sources,
                "buffer_cells": buffer,
                "buffer_rtt": link.round_trips(buffer),
            }
            deterministic = _scenario(factors)
            replicated = deterministic.with_(**DRAWN)
            planned.append(Experiment(factors, replicated, deterministic, table=link.figure))
            if link.round_trips(buffer) >= SUFFICIENT_RTT:
                parts = {
                    "155.52": {"network.access_rate": FAST_RATE, "network.trunk_rate": FAST_RATE},
                    "start-up": {"duration": TIME.format(round(START_UP * TIME.parse(link.duration)))},
                }
                for part, changes in parts.items():
                    scenario = replicated.with_(**changes)
                    planned.append(Experiment({**factors, "part": part}, scenario, share_of_seeds=PARTS_SHARE))
    return planned


def _scenario(factors: Factors) -> Scenario:
    """Returns the scenario of the paper's figures with these factors."""
    link = LINKS[str(factors["network"])]
    return BASE.with_(
        **{
            **on_link(link),
            "name": " ".join(str(factors[name]) for name in ("network", "sources", "buffer_cells")),
            "network.sources": factors["sources"],
            "switch.buffer": f"{factors['buffer_cells']} cells",
            "switch.ties": DETERMINISTIC_TIES,
            "tcp.recovery": "sack",
        }
    )


def measure(result: Result) -> dict[str, float]:
    """Returns the metrics of section 2; `efficiency` uses the links' rate, `printed_efficiency` 135 Mbit/s."""
    flows, throughput_bps = result.columns["flows"], float(result.throughputs_bps.sum())
    return {
        "efficiency": atm_forum.efficiency(result.throughputs_bps, full_segments_bps(result)),
        "fairness": result.fairness,
        "printed_efficiency": throughput_bps / ATTAINABLE_BPS,
        "timeouts": int(np.sum(flows["timeouts"])),
        "fast_retransmits": int(np.sum(flows["fast_retransmits"])),
        "duplicates": duplicate_share(result),
        "delivered_bytes": int(np.sum(flows["delivered_bytes"])),
    }


def _is_recorded(experiment: Experiment) -> bool:
    """Returns whether claim buf-9 needs the events: those of five sources with 2 RTT of buffer on the longer links."""
    factors = experiment.factors
    return factors["network"] != "leo" and factors["sources"] == 5 and factors["buffer_rtt"] == 2.0


PAPER: Final = ReplicatedPaper(
    id="buf-97",
    title="UBR buffer requirements for TCP/IP over satellite networks (ATM Forum/97-0616, July 1997)",
    data=None,
    tables_title="Simulated; the paper prints only curves",
    factors={"network": "link", "sources": "N", "buffer_cells": "cells", "buffer_rtt": "RTT"},
    columns="sources",
    column_names={5: "N 5", 15: "N 15", 50: "N 50", 100: "N 100"},
    metrics=("efficiency", "fairness"),
    series="network",
    captions=tuple(
        Caption(int(link.figure), link.figure, metric, f"{metric} over {link.name}", kind="Figure")
        for metric in ("efficiency", "fairness")
        for link in LINKS.values()
    ),
    experiments=experiments,
    measure=measure,
    claims=CLAIMS,
    other_readings=READINGS,
    variants=VARIANTS,
    watched=WATCHED,
    conditions=(
        f"Links of {SLOW_RATE} of cells; efficiency is relative to their capacity and includes the start-up. "
        "The paper prints curves and conclusions, no numbers. "
        f"{RANDOMNESS}"
        "all sources start together, as the authors write in 96-1761."
    ),
    summaries=SUMMARIES,
    seeds=10,
    beyond=BEYOND,
    recordings=(Recording(("events",), _is_recorded, needless, seeds=3),),
)
