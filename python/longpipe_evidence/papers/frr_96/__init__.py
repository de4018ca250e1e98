"""ATM Forum/96-1761: fast retransmit and recovery over UBR+, on a LAN and a WAN."""

from collections.abc import Mapping
from itertools import product
from typing import Final

from longpipe.metrics import atm_forum
from longpipe.result import Result
from longpipe.scenario import Scenario
from longpipe_evidence.papers.atm_base import ATM_BASE, DETERMINISTIC_TIES, DRAWN, LAN_AND_WAN, RANDOMNESS
from longpipe_evidence.papers.denominator import full_segments_bps
from longpipe_evidence.papers.duplicates import duplicate_share
from longpipe_evidence.papers.experiments import Caption, Experiment, Factors
from longpipe_evidence.papers.frr_96.claims import CLAIMS, FBA_PARAMETERS, FINE_TIMER, PEAK_CELLS, ZERO_LOSS_PARTS
from longpipe_evidence.papers.frr_96.reasons import REASONS
from longpipe_evidence.papers.frr_96.variants import READINGS, VARIANTS, WATCHED
from longpipe_evidence.papers.mechanisms import loss_synchronization, needless
from longpipe_evidence.papers.recorded import Recording, synchronization
from longpipe_evidence.papers.replicated import ReplicatedPaper

# Fractions of the requested seeds. Runs over the WAN are the longest and vary least; without loss, the order has no
# effect.
SHARES: Final = {"lan": 1.0, "wan": 0.5}
ZERO_LOSS_SHARE: Final = 0.15
FINE_TIMER_SHARE: Final = 0.25
FBA_SHARE: Final = 0.25

BUFFERS_CELLS: Final = {"lan": (1000, 3000), "wan": (12000, 36000)}
SOURCES: Final = (5, 15)
FLAVORS: Final = {"vanilla": "1+2", "reno": "3+4"}

# The paper gives R and Z for Fair Buffer Allocation only; here they also apply to the other two policies.
POLICIES: Final[dict[str, dict[str, object]]] = {
    "tail-drop": {"kind": "tail-drop"},
    "epd": {"kind": "epd", "threshold": 0.9},
    "selective-drop": {"kind": "selective-drop", "threshold": 0.9, "z": 0.8},
    "fba": {"kind": "fba", "threshold": 0.9, "z": 0.8},
}

# Parameters of the paper's section 3.1, and defaults for those that it does not specify.
BASE: Final = ATM_BASE.with_(
    **{"switch.ties": DETERMINISTIC_TIES, "tcp.mss": "512 B", "tcp.duplicate_ack_threshold": 3}
)


def experiments() -> list[Experiment]:
    """Yields the 64 configurations of Tables 1 to 4, and those that only claims need.

    Claim frr-9 needs 12 of them, frr-11 (a fine timer) 8, frr-14 (R and Z of Fair Buffer Allocation) 32.
    """
    return [*_tables(), *_zero_loss(), *_fine_timer(), *_fba_parameters()]


def _tables() -> list[Experiment]:
    """Returns the experiments of the paper's tables."""
    experiments = []
    for (tcp, table), network, sources in product(FLAVORS.items(), LAN_AND_WAN, SOURCES):
        for buffer, policy in product(BUFFERS_CELLS[network], POLICIES):
            factors: Factors = {
                "network": network,
                "sources": sources,
                "buffer_cells": buffer,
                "tcp": tcp,
                "policy": policy,
            }
            scenario = _scenario(factors)
            experiments.append(Experiment(factors, scenario.with_(**DRAWN), scenario, table, SHARES[network]))
    return experiments


def _zero_loss() -> list[Experiment]:
    """Returns the experiments with the paper's largest queues, and parts and multiples of them, as the buffer."""
    experiments = []
    for ((network, sources), peak), (part, share) in product(PEAK_CELLS.items(), ZERO_LOSS_PARTS.items()):
        factors: Factors = {
            "network": network,
            "sources": sources,
            "buffer_cells": int(peak * share),
            "tcp": "reno",
            "policy": "tail-drop",
            "part": part,
        }
        experiments.append(Experiment(factors, _scenario(factors).with_(**DRAWN), share_of_seeds=ZERO_LOSS_SHARE))
    return experiments


def _variations(policy: str, parts: Mapping[str, Mapping[str, object]], share: float) -> list[Experiment]:
    """Yields the configurations of Vanilla TCP under one policy with alternative settings, as parts without a table."""
    experiments = []
    for network, sources in product(LAN_AND_WAN, SOURCES):
        for buffer, (part, changes) in product(BUFFERS_CELLS[network], parts.items()):
            factors: Factors = {
                "network": network,
                "sources": sources,
                "buffer_cells": buffer,
                "tcp": "vanilla",
                "policy": policy,
                "part": part,
            }
            scenario = _scenario(factors).with_(**DRAWN).with_(**changes)
            experiments.append(Experiment(factors, scenario, share_of_seeds=share * SHARES[network]))
    return experiments


def _fine_timer() -> list[Experiment]:
    """Returns plain UBR with a timer granularity of a tenth of the paper's; the first RTO remains 3 s."""
    fine = {"tcp.timer.tick": "10 ms", "tcp.timer.initial_rto": "300 ticks"}
    return _variations("tail-drop", {FINE_TIMER: fine}, FINE_TIMER_SHARE)


def _fba_parameters() -> list[Experiment]:
    """Returns parameters of Fair Buffer Allocation that differ from the paper's."""
    parts = {
        name: {"switch.policy": {"kind": "fba", "threshold": r, "z": z}} for name, (r, z) in FBA_PARAMETERS.items()
    }
    return _variations("fba", parts, FBA_SHARE)


def _scenario(factors: Factors) -> Scenario:
    """Returns the scenario with these factors."""
    return BASE.with_(
        **{
            "name": " ".join(str(level) for level in factors.values()),
            "network.sources": factors["sources"],
            "switch.buffer": f"{factors['buffer_cells']} cells",
            "switch.policy": POLICIES[str(factors["policy"])],
            "tcp.recovery": factors["tcp"],
            **LAN_AND_WAN[str(factors["network"])],
        }
    )


def measure(result: Result) -> dict[str, float]:
    """Returns the metrics of section 3.2, and explanatory ones.

    `cells_lost` and `peak_queue_cells` cover all switches. `duplicates` is the fraction of segments sent that arrived
    although the receiver already had them, computed as segments sent minus those damaged in the network and those
    delivered.
    """
    switches = result.ports[result.ports["kind"] == "switch"]
    return {
        "efficiency": atm_forum.efficiency(result.throughputs_bps, full_segments_bps(result)),
        "fairness": result.fairness,
        "cells_lost": int(switches.filter(like="cells_lost_").to_numpy().sum()),
        "peak_queue_cells": int(switches["peak_queue_cells"].max()),
        "timeouts": int(result.flows["timeouts"].sum()),
        "fast_retransmits": int(result.flows["fast_retransmits"].sum()),
        "duplicates": duplicate_share(result),
    }


def _synchronized(experiment: Experiment) -> bool:
    """Selects plain UBR with 15 sources and the smaller buffers, for which claim frr-17 compares the flavors."""
    factors = experiment.factors
    return factors["policy"] == "tail-drop" and factors["sources"] == 15 and factors["buffer_cells"] in (1000, 12000)


def _mechanisms(result: Result) -> dict[str, float]:
    """Returns the synchronization of windows and of losses, and needless retransmissions."""
    return {**synchronization(result), **loss_synchronization(result), **needless(result)}


PAPER: Final = ReplicatedPaper(
    id="frr-96",
    title="Further results on UBR+: effect of fast retransmit and recovery (ATM Forum/96-1761, December 1996)",
    data="published.csv",
    factors={"network": "net", "sources": "N", "buffer_cells": "cells", "tcp": "TCP", "policy": "policy"},
    columns="policy",
    column_names={"tail-drop": "UBR", "epd": "EPD", "selective-drop": "Selective Drop", "fba": "FBA"},
    metrics=("efficiency", "fairness"),
    series="tcp",
    captions=(
        Caption(1, "1+2", "efficiency", "efficiency of Vanilla TCP"),
        Caption(2, "1+2", "fairness", "fairness of Vanilla TCP"),
        Caption(3, "3+4", "efficiency", "efficiency of Reno TCP"),
        Caption(4, "3+4", "fairness", "fairness of Reno TCP"),
    ),
    experiments=experiments,
    measure=measure,
    claims=CLAIMS,
    recordings=(Recording(("cwnd", "events"), _synchronized, _mechanisms, seeds=20),),
    reasons=REASONS,
    other_readings=READINGS,
    variants=VARIANTS,
    watched=WATCHED,
    conditions=(
        "Fast retransmit on the third duplicate ACK; R 0.9 for all three policies. "
        f"{RANDOMNESS}"
        "the WAN, whose runs vary less, has half of the seeds."
    ),
)
