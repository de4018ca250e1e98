"""ATM Forum/98-0876: web traffic of 100 clients over a WAN, a MEO and a GEO link of 45 Mbit/s."""

from typing import Any, Final

from longpipe.metrics import atm_forum
from longpipe.metrics.shares import relative_throughputs
from longpipe.metrics.web import QUANTILES
from longpipe.result import Result, duration_s
from longpipe.scenario import Scenario
from longpipe_evidence.papers.denominator import full_segments_bps
from longpipe_evidence.papers.experiments import Caption, Experiment, Factors
from longpipe_evidence.papers.replicated import ReplicatedPaper
from longpipe_evidence.papers.www_98.claims import CLAIMS
from longpipe_evidence.papers.www_98.reasons import REASONS
from longpipe_evidence.papers.www_98.summaries import SUMMARIES
from longpipe_evidence.papers.www_98.variants import READINGS, VARIANTS, WATCHED

# Sections 6.1 and 6.2 of the paper, and table 2.
NETWORKS: Final[dict[str, dict[str, object]]] = {
    "wan": {
        "network.trunk_delay": "5 ms",
        "tcp.mss": "1024 B",
        "tcp.receiver_window": "64 KiB",
        "tcp.initial_ssthresh": "56250 B",
    },
    "meo": {
        "network.trunk_delay": "100 ms",
        "tcp.mss": "9180 B",
        "tcp.receiver_window": "2097120 B",
        "tcp.initial_ssthresh": "1125000 B",
    },
    "geo": {
        "network.trunk_delay": "275 ms",
        "tcp.mss": "9180 B",
        "tcp.receiver_window": "4194240 B",
        "tcp.initial_ssthresh": "3093750 B",
    },
}

# Buffer sizes [cells] by multiple of the bandwidth-delay product; the WAN's largest holds a packet of each connection.
BUFFERS_CELLS: Final = {
    "wan": {0.5: 531, 1.0: 1062, 2.0: 2300},
    "meo": {0.5: 10615, 1.0: 21230, 2.0: 42460},
    "geo": {0.5: 29190, 1.0: 58380, 2.0: 116760},
}

POLICIES: Final[dict[str, dict[str, object]]] = {
    "epd": {"kind": "epd", "threshold": 0.8},
    "selective-drop": {"kind": "selective-drop", "threshold": 0.8, "z": 0.8},
}

# Parameters of the paper's sections 5 and 6, and defaults for those that it does not specify.
BASE: Final = Scenario(defaults="1996").with_(
    **{
        "duration": "100 s",
        "network": {
            "kind": "dumbbell",
            "sources": 100,
            "access_rate": "149.76 Mbit/s",
            "trunk_rate": "45 Mbit/s",
            "access_delay": "5 us",
            "exit_delay": "5 us",
        },
        "switch.ties": "random",
        "switch.slot_phase": 0.5,
        "tcp.silly_window_avoidance": False,
        "tcp.idle_restart": False,
        # The document is silent. ATM Forum/97-0424 section 2.1, by the same authors, says that the window doubles every
        # round trip, which growth per ACK exceeds with the short segments that are sent without silly-window avoidance.
        "tcp.congestion.byte_counting": True,
        # The guard against repeated fast retransmits dates from April 1999 (RFC 2582). The paper says that its NewReno
        # lacks it, and its SACK of 1997 is older than the guard.
        "tcp.sack.guard": False,
        "tcp.timer": {
            "kind": "coarse",
            "tick": "100 ms",
            "phase": {"kind": "common"},
            "min_rto": "2 ticks",
            "initial_rto": "30 ticks",
        },
        "tcp.ack": {"kind": "immediate"},
        "traffic": {"kind": "web", "cut": "clamping", "kilobyte": 1024, "cycle_from": "first-request"},
        # Simultaneous starts would be pathological, because each client's first packet would cause the loss of
        # another's.
        "start": {"kind": "random", "over": "100 ms"},
    }
)


def experiments() -> list[Experiment]:
    """Yields the 72 configurations of Tables 4, 7 and 10."""
    planned = []
    for row in PAPER.published().to_dict("records"):
        factors: Factors = {name: row[name] for name in PAPER.factors}
        planned.append(Experiment(factors, _scenario(factors), table=str(row["table"])))
    return planned


def _scenario(factors: Factors) -> Scenario:
    changes: dict[str, Any] = {
        "name": " ".join(str(level) for level in factors.values()),
        "switch.buffer": f"{BUFFERS_CELLS[str(factors['network'])][float(factors['buffer_bdp'])]} cells",
        "switch.policy": POLICIES[str(factors["policy"])],
        "tcp.recovery": factors["tcp"],
    }
    return BASE.with_(**changes, **NETWORKS[str(factors["network"])])


def measure(result: Result) -> dict[str, float]:
    """Returns the metrics of section 7, from the highest sequence number received, and explanatory ones.

    `scheduled_bps` is the offered load of the servers; `median_s_2` and similar are response times of class 2 [s].
    """
    duration = duration_s(result.scenario)
    throughputs = result.flows["highest_sequence_bytes"] * 8 / duration
    demands = result.web["scheduled_bytes"] * 8 / duration
    attainable_bps = full_segments_bps(result)
    relative = relative_throughputs(throughputs, demands, attainable_bps)
    waits = result.response_times
    return {
        "efficiency": atm_forum.efficiency(throughputs, attainable_bps),
        "fairness": atm_forum.fairness(relative),
        "scheduled_bps": float(demands.sum()),
        "timeouts": int(result.flows["timeouts"].sum()),
        "fast_retransmits": int(result.flows["fast_retransmits"].sum()),
        "retransmitted_bytes": int(result.flows["retransmitted_bytes"].sum()),
        "sent_segments": int(result.flows["sent_segments"].sum()),
        **{f"{name}_{int(row['class'])}": float(row[name]) for row in waits.to_dict("records") for name in QUANTILES},
    }


PAPER: Final = ReplicatedPaper(
    id="www-98",
    title="Performance of TCP enhancements for WWW traffic using UBR+ with limited buffers (ATM Forum/98-0876, 1998)",
    data="published.csv",
    factors={
        "network": "net",
        "policy": "policy",
        "tcp": "TCP",
        "buffer_bdp": "buffer",
    },
    columns="buffer_bdp",
    column_names={0.5: "0.5 RTT", 1.0: "1 RTT", 2.0: "2 RTT"},
    metrics=("efficiency", "fairness"),
    series="network",
    captions=tuple(
        Caption(int(table), table, metric, f"{metric} on the {link}")
        for table, link in (("4", "WAN"), ("7", "MEO link"), ("10", "GEO link"))
        for metric in ("efficiency", "fairness")
    ),
    decimals=4,
    # Printed below Tables 5, 8 and 11.
    standard_errors={
        ("4", "efficiency"): 0.0156,
        ("4", "fairness"): 0.0472,
        ("7", "efficiency"): 0.0036,
        ("7", "fairness"): 0.0060,
        ("10", "efficiency"): 0.0182,
        ("10", "fairness"): 0.0139,
    },
    seeds=10,
    experiments=experiments,
    measure=measure,
    claims=CLAIMS,
    reasons=REASONS,
    other_readings=READINGS,
    variants=VARIANTS,
    watched=WATCHED,
    conditions=(
        "Each seed corresponds to a complete document. It determines the clients' requests, their first request times "
        "within 100 ms, the phase of the hosts' common 100 ms clock and the order of simultaneous cells. All 72 "
        "configurations with the same seed have the same requests."
    ),
    metrics_note=(
        "Its efficiency and fairness count data up to the highest sequence number received; longpipe run counts data "
        "delivered to the application."
    ),
    summaries=SUMMARIES,
    compared={"variation": {"percent": "%"}, "effects": {"effect": ""}},
)
