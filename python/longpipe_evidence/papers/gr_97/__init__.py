"""ATM Forum/97-0424: a guaranteed rate for UBR that competes with bursts of VBR, on LAN, WAN and satellite links."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any, Final

import numpy as np

from longpipe.aal5 import cell_tax
from longpipe.metrics import atm_forum
from longpipe.result import Result
from longpipe.scenario import Scenario
from longpipe_evidence.papers.atm_base import ATM_BASE, DETERMINISTIC_TIES, DRAWN, LAN_AND_WAN, RANDOMNESS
from longpipe_evidence.papers.denominator import full_segments_bps
from longpipe_evidence.papers.experiments import Caption, Experiment, Factors
from longpipe_evidence.papers.gr_97.claims import CLAIMS, FIXED_PHASE, LONG_BURST_MS, LONG_BURSTS, PERIODS, PLAIN_TIMER
from longpipe_evidence.papers.gr_97.reasons import REASONS
from longpipe_evidence.papers.gr_97.summaries import SUMMARIES
from longpipe_evidence.papers.gr_97.variants import PHASE, READINGS, VARIANTS, WATCHED
from longpipe_evidence.papers.recorded import Recording, timeout_s
from longpipe_evidence.papers.replicated import ReplicatedPaper

NETWORKS: Final[dict[str, dict[str, object]]] = {
    **LAN_AND_WAN,
    # Delay of 1 km of fiber from the hosts to the switches.
    "satellite": {
        "duration": "40 s",
        "tcp.receiver_window": "8704000 B",
        "tcp.mss": "9180 B",
        "network.access_delay": "5 us",
        "network.trunk_delay": "275 ms",
        "network.exit_delay": "5 us",
    },
}

# The paper gives no thresholds. For both policies, these are the thresholds of the same authors' ATM Forum/98-0876
# section 6.3.
POLICIES: Final[dict[str, dict[str, object]]] = {
    "tail-drop": {"kind": "tail-drop"},
    "epd": {"kind": "epd", "threshold": 0.8},
    "selective-drop": {"kind": "selective-drop", "threshold": 0.8, "z": 0.8},
}

# Parameters of the paper's section 4.1, and defaults for those that it does not specify.
BASE: Final = ATM_BASE.with_(
    **{
        "network.vbr": {"duty": 0.5, "phase": "0 s"},
        "switch.ties": DETERMINISTIC_TIES,
        "switch.scheduler": "priority",
        "tcp.mss": "512 B",
        # These settings are fitted, because the paper's Reno and SACK on the LAN have nearly as many timeouts as
        # Vanilla, unlike in the authors' paper of 1996.
        "tcp.fast_retransmit_interval": "200 ms",
        "tcp.reno.inflate_always": True,
    }
)

# Fractions of the requested seeds: all of them only for the rows of claim gr-1, whose runs vary most.
TABLES_SHARE: Final = 0.5
PARTS_SHARE: Final = 0.25

# The paper's satellite efficiencies are relative to the maximum for segments of 512 bytes instead of 9180.
PAPER_S_MSS: Final = 512
SATELLITE_MSS: Final = 9180


@cache
def experiments() -> list[Experiment]:
    """Yields the 306 rows of Tables 1 to 9, and runs that only claims need.

    Twelve rows of Tables 1 and 2 also appear in Tables 3 to 6.
    """
    return [*_tables(), *_in_a_phase(), *_without_fit(), *_long_bursts()]


def _in_a_phase() -> Iterator[Experiment]:
    """Yields the WAN's rows of Tables 1 and 2 with one phase of the clock, because efficiency depends on the phase."""
    for experiment in _tables():
        if experiment.table == PERIODS and experiment.factors["network"] == "wan":
            scenario = experiment.replicated.with_(**PHASE.changes)
            yield Experiment({**experiment.factors, "part": FIXED_PHASE}, scenario, share_of_seeds=TABLES_SHARE)


def _without_fit() -> Iterator[Experiment]:
    """Yields Reno and SACK on the LAN without the two fitted settings."""
    plain = {"tcp.fast_retransmit_interval": "0 s", "tcp.reno.inflate_always": False}
    for experiment in _tables():
        if experiment.table == "3+5" and experiment.factors["tcp"] != "vanilla":
            scenario = experiment.replicated.with_(**plain)
            yield Experiment({**experiment.factors, "part": PLAIN_TIMER}, scenario, share_of_seeds=PARTS_SHARE)


def _long_bursts() -> Iterator[Experiment]:
    """Yields bursts of VBR that are longer than the satellite link's RTT and the timers."""
    for tcp, rate in product(("vanilla", "reno", "sack"), (0.0, 0.5)):
        factors: Factors = {
            "network": "satellite",
            "sources": 5,
            "buffer_cells": 200000,
            "tcp": tcp,
            "policy": "selective-drop",
            "guaranteed_rate": rate,
            "vbr_period_ms": LONG_BURST_MS,
        }
        scenario = _scenario(factors).with_(**DRAWN)
        yield Experiment({**factors, "part": LONG_BURSTS}, scenario, share_of_seeds=PARTS_SHARE)


@cache
def _tables() -> list[Experiment]:
    """Returns the experiments of the paper's tables."""
    experiments = []
    scenarios: dict[tuple[Any, ...], Scenario] = {}
    for row in PAPER.published().to_dict("records"):
        factors: Factors = {name: row[name] for name in PAPER.factors}
        key = tuple(factors.values())
        if key not in scenarios:
            scenarios[key] = _scenario(factors)
        single = scenarios[key]
        share = 1.0 if row["table"] == PERIODS and row["network"] == "wan" else TABLES_SHARE
        experiments.append(Experiment(factors, single.with_(**DRAWN), single, str(row["table"]), share))
    return experiments


def _scenario(factors: Factors) -> Scenario:
    """Returns the scenario with these factors."""
    rate = float(factors["guaranteed_rate"])
    return BASE.with_(
        **{
            "name": " ".join(str(level) for level in factors.values()),
            "network.sources": factors["sources"],
            "network.vbr.period": f"{factors['vbr_period_ms']} ms",
            "switch.buffer": f"{factors['buffer_cells']} cells",
            "switch.policy": POLICIES[str(factors["policy"])],
            "switch.scheduler": {"kind": "guaranteed-rate", "share": rate} if rate else {"kind": "priority"},
            "tcp.recovery": factors["tcp"],
            **NETWORKS[str(factors["network"])],
        }
    )


def measure(result: Result) -> dict[str, float]:
    """Returns the metrics of section 4.2, and VBR's: mean end-to-end `vbr_delay_s` and `vbr_cells_lost`.

    `efficiency` uses the paper's denominator, `true_efficiency` that of the segments sent.
    """
    satellite = result.scenario.tcp.mss == f"{SATELLITE_MSS} B"
    flattering = cell_tax(SATELLITE_MSS) / cell_tax(PAPER_S_MSS) if satellite else 1.0
    flows, vbr = result.columns["flows"], result.columns["vbr"]
    efficiency = atm_forum.efficiency(result.throughputs_bps, full_segments_bps(result))
    return {
        "efficiency": efficiency * flattering,
        "fairness": result.fairness,
        "true_efficiency": efficiency,
        "vbr_delay_s": float(vbr["mean_delay_s"][0]),
        "vbr_longest_delay_s": float(vbr["max_delay_s"][0]),
        "vbr_cells_lost": int(vbr["cells_lost"][0]),
        "timeouts": int(np.sum(flows["timeouts"])),
        "fast_retransmits": int(np.sum(flows["fast_retransmits"])),
    }


def _over_the_satellite(experiment: Experiment) -> bool:
    """Selects Selective Drop with 200 000 cells and a GR of 0, for which claim gr-13 uses the timeout."""
    factors = experiment.factors
    return experiment.table == "7" and factors["buffer_cells"] == 200000 and factors["guaranteed_rate"] == 0


PAPER: Final = ReplicatedPaper(
    id="gr-97",
    title="Guaranteed rate for improving TCP performance on UBR+ (ATM Forum/97-0424, April 1997)",
    data="published.csv",
    factors={
        "network": "net",
        "sources": "N",
        "buffer_cells": "cells",
        "tcp": "TCP",
        "policy": "policy",
        "guaranteed_rate": "GR",
        "vbr_period_ms": "VBR ms",
    },
    columns="policy",
    column_names={"tail-drop": "UBR", "epd": "EPD", "selective-drop": "Selective Drop"},
    metrics=("efficiency", "fairness"),
    series="network",
    captions=(
        Caption(1, "1+2", "efficiency", "efficiency of SACK with VBR of three periods"),
        Caption(2, "1+2", "fairness", "fairness of SACK with VBR of three periods"),
        Caption(3, "3+5", "efficiency", "efficiency on the LAN"),
        Caption(4, "4+6", "efficiency", "efficiency on the WAN"),
        Caption(5, "3+5", "fairness", "fairness on the LAN"),
        Caption(6, "4+6", "fairness", "fairness on the WAN"),
        *(
            Caption(number, str(number), metric, f"{metric} over the satellite, {policy}")
            for number, policy in ((7, "Selective Drop"), (8, "EPD"), (9, "UBR"))
            for metric in ("efficiency", "fairness")
        ),
    ),
    experiments=experiments,
    measure=measure,
    claims=CLAIMS,
    recordings=(Recording(("rtt",), _over_the_satellite, timeout_s, seeds=3),),
    reasons=REASONS,
    other_readings=READINGS,
    variants=VARIANTS,
    watched=WATCHED,
    conditions=(
        "Two settings of Reno and SACK are fitted to its LAN and not stated in any document: at least 200 ms between "
        "fast retransmits, and a window of Reno that every duplicate ACK beyond the third inflates. gr-3-plain is "
        "judged without them. "
        f"{RANDOMNESS}"
        "the WAN's rows of Tables 1 and 2, whose runs vary most, have all of the seeds, other rows half of them. "
        "Satellite efficiencies have the paper's denominator, that of 512-byte segments; both are shown below."
    ),
    metrics_note=(
        "Its efficiency divides by the capacity that VBR's mean rate leaves, over the satellite in segments of 512 "
        "bytes; longpipe run divides by the capacity that the cells of VBR in this run leave. Fairness is the same."
    ),
    summaries=SUMMARIES,
)
