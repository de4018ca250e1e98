"""RFC 9743 (BCP 133): specifying new congestion control algorithms.

Tests a control in competition with CUBIC, Reno and BBR.
"""

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from longpipe.errors import ScenarioError
from longpipe.fairness.controls import control_of
from longpipe.scenario.remedies import of_control as needs_of_control
from longpipe_evidence.suites.criteria import BASELINE, CONTROL, at_least, at_most, compared, not_less
from longpipe_evidence.suites.suite import Criterion, Suite, SuitePart, over

if TYPE_CHECKING:
    from longpipe_evidence.suites.suite import Levels

REFERENCES: Final[dict[str, Any]] = {BASELINE: "cubic", "reno": "linux-reno", "bbr": "bbr"}
# 10 Mbit/s and 40 ms give a BDP of 33 packets.
LINK: Final[dict[str, Any]] = {
    "kind": "dumbbell",
    "access_rate": "1 Gbit/s",
    "access_delay": "1 ms",
    "trunk_rate": "10 Mbit/s",
    "trunk_delay": "18 ms",
    "exit_delay": "1 ms",
}
RATE_BPS: Final = 10e6
# Rate [bit/s] of one 1500-byte packet per round trip of 40 ms.
PACKET_PER_RTT_BPS: Final = 1500 * 8 / 0.04
PORT: Final = "port:switch1->switch2"
GOODPUT: Final = "goodput=flow:*.throughput"
LOSS: Final = f"loss={PORT}.loss"
UTILIZATION: Final = f"utilization={PORT}.utilization"
# Packets that a source sends, including those that are lost, as a share of the rate of its link.
SENT: Final = "sent=port:source1->switch1.utilization"
SOURCE_BPS: Final = 1e9
P95: Final = f"p95={PORT}.queueing_p95"
MBITS: Final = 1e6
# Packets of 1500 bytes that a sender may send in the minute that begins 1 s after the last feedback. A timeout that
# starts at 200 ms and doubles gives 6 or 7, and a timeout that does not double gives 60 or more.
PACKETS_WITHOUT_FEEDBACK: Final = 12
MINUTE_S: Final = 60
# Loss rate from which on the proposed circuit breaker trips (RFC 8084 gives no number).
BREAKER_LOSS: Final = 0.1
# QUIC's control: Reno that grows only while the window is full (RFC 9002).
QUIC: Final[dict[str, Any]] = {"congestion": "linux-reno", "rate_limited": "rfc9002"}
# Queues: drop-tail, AQMs, and AQMs that mark the packets of ECN-capable connections.
QUEUES: Final[dict[str, Any]] = {
    "tail-drop": "tail-drop",
    "pie": "pie",
    "codel": "codel",
    "fq-codel": "fq-codel",
    "codel, marks": {"kind": "codel", "ecn": True},
    "fq-codel, marks": {"kind": "fq-codel", "ecn": True},
    "dualpi2": "dualpi2",
}
VIDEO: Final[dict[str, Any]] = {"name": "video", "traffic": {"kind": "video", "rate": "1 Mbit/s"}}
# Variations of the trunk: of the path or its rate, and of its delay.
EVENTS: Final[dict[str, dict[str, Any]]] = {
    "rate / 4 and back": {"rate": [["0 s", "10 Mbit/s"], ["15 s", "2.5 Mbit/s"], ["30 s", "10 Mbit/s"]]},
    "rate / 10": {"rate": [["0 s", "10 Mbit/s"], ["20 s", "1 Mbit/s"]]},
    "rate x 10": {"rate": [["0 s", "1 Mbit/s"], ["20 s", "10 Mbit/s"]]},
    "outage of 1 s": {"outages": {"intervals": [["20 s", "21 s"]]}},
    "outage of 10 s": {"outages": {"intervals": [["20 s", "30 s"]]}},
    "route each 5 s": {
        "delay": [[f"{t} s", f"{18 + 9 * (t // 5 % 2)} ms"] for t in range(0, 40, 5)], "between": "hold",
    },
}  # fmt: skip
DELAYS: Final[dict[str, dict[str, Any]]] = {
    "40 to 80 ms": {"delay": [["0 s", "18 ms"], ["20 s", "38 ms"]], "between": "hold"},
    "80 to 40 ms": {"delay": [["0 s", "38 ms"], ["20 s", "18 ms"]], "between": "hold"},
    "saw-tooth of 10 ms": {"delay": [[f"{t} s", f"{18 + t % 15 / 3:g} ms"] for t in range(40)]},
}


def _scenario(
    name: str,
    *groups: dict[str, Any],
    duration: str = "40 s",
    **link: Any,  # noqa: ANN401 - fields
) -> dict[str, Any]:
    """Returns the fields of a test case of RFC 9743 with these groups of flows."""
    return {
        "name": f"RFC 9743 {name}",
        "framing": "ip",
        "duration": duration,
        "start": {"kind": "random", "over": "1 s"},
        "network": {**LINK, **link, **({"group": list(groups)} if groups else {})},
        "switch": {"buffer": "1 BDP"},
        "tcp": {"profile": "linux-6"},
        "traces": {"delay": True},
    }


def _tested(count: int = 1) -> dict[str, Any]:
    return {"name": "tested", "count": count}


def _other(control: str, count: int = 1) -> dict[str, Any]:
    return {"name": "other", "count": count, "tcp": {"congestion": control}}


def _of_group(controls: dict[str, Any], group: int = 0) -> "Levels":
    """Returns levels that differ in the control of one group of flows, with the settings that the control needs."""
    return {
        name: {f"network.group.{group}.tcp": {"congestion": value, **needs_of_control(value, "linux-6")}}
        for name, value in controls.items()
    }


def _of_all(controls: dict[str, Any]) -> "Levels":
    """Returns levels that differ in the control of all flows, with the settings that a control needs."""
    fields = {name: {"congestion": value, **needs_of_control(value, "linux-6")} for name, value in controls.items()}
    return {name: {"tcp": {"profile": "linux-6", **tcp}} for name, tcp in fields.items()}


def _moving(path: dict[str, Any]) -> dict[str, object]:
    return {"network.path": {"kind": "moving", **path}}


def _many(counts: tuple[int, ...]) -> "Levels":
    return {count: {"network.group.0.count": count} for count in counts}


def _persistent(probabilities: tuple[float, ...]) -> "Levels":
    """Returns levels with loss probabilities that apply from 10 s on."""
    return {
        f"{100 * p:g} %": {"network.trunk_loss": {"kind": "over-time", "steps": [["0 s", 0.0], ["10 s", p]]}}
        for p in probabilities
    }


def _impairments() -> "Levels":
    """Returns levels with losses, jitter and duplication on a link."""
    nothing: dict[str, object] = {"network.trunk_loss": {"kind": "none"}, "network.conditioners": []}
    losses: dict[str, dict[str, object]] = {
        f"loss of {100 * p:g} %": {"network.trunk_loss": {"kind": "bernoulli", "probability": p}}
        for p in (0.0001, 0.001, 0.01, 0.02)
    }
    jitter: dict[str, dict[str, object]] = {
        f"jitter of {ms} ms": {
            "network.conditioners": [{"kind": "jitter", "delay": f"{ms} ms", "jitter": f"{ms} ms", "order": "fifo"}]
        }
        for ms in (5, 20)
    }
    doubled: dict[str, dict[str, object]] = {
        "duplicates, 1 %": {"network.conditioners": [{"kind": "duplication", "probability": 0.01}]}
    }
    return {name: {**nothing, **fields} for name, fields in {**losses, **jitter, **doubled}.items()}


# Everything is lost from 10 s on.
_TOTAL: Final[dict[str, Any]] = {"kind": "over-time", "steps": [["0 s", 0.0], ["10 s", 1.0]]}
_NO_LOSS: Final = {"kind": "none"}


def _signals() -> "Levels":
    """Returns levels with signals of congestion: losses at two rates, and marks."""
    changes: dict[str, dict[str, object]] = {
        "loss of 1 %": {"network.trunk_loss": {"kind": "bernoulli", "probability": 0.01}},
        "loss of 5 %": {"network.trunk_loss": {"kind": "bernoulli", "probability": 0.05}},
        "marks": {"switch.policy": {"kind": "codel", "ecn": True}, "tcp.ecn": "classic"},
    }
    nothing: dict[str, object] = {"network.trunk_loss": _NO_LOSS, "switch.policy": "tail-drop", "tcp.ecn": "off"}
    return {name: {**nothing, **fields} for name, fields in changes.items()}


def _misbehaviors() -> "Levels":
    """Returns levels in which ACKs are duplicated, batched, or lost."""
    changes: dict[str, dict[str, object]] = {
        "each ACK twice": {"network.return_conditioners": [{"kind": "duplication", "probability": 1.0}]},
        "batches of 10 ms": {"network.return_conditioners": [{"kind": "aggregation", "interval": "10 ms"}]},
        "half of the ACKs lost": {"network.return_loss": {"kind": "bernoulli", "probability": 0.5}},
    }
    nothing: dict[str, object] = {"network.return_conditioners": [], "network.return_loss": _NO_LOSS}
    return {name: {**nothing, **fields} for name, fields in changes.items()}


def _starved(rows: pd.DataFrame, _cubic: pd.DataFrame) -> pd.Series:
    """Returns the goodput of the single CUBIC flow relative to its fair share, minus 5 %."""
    flows = rows.index.get_level_values("joined").astype(int) + 1
    return rows["other"] * flows / RATE_BPS - 0.05


def _single_algorithm(own: "Levels") -> tuple[SuitePart, ...]:
    """Returns the parts of section 5.1: flows of one control."""
    return (
        SuitePart(
            "5.1.1",
            "Protection against congestion collapse: many flows on 1 Mbit/s, 100 ms, less than one packet per flow",
            _scenario("5.1.1", _tested(8), trunk_rate="1 Mbit/s", trunk_delay="48 ms"),
            {CONTROL: own, "flows": _many((8, 32, 128))},
            (GOODPUT, LOSS, "resent=flow:*.resent"),
            criteria=(
                Criterion("5.1.1", "Goodput is at least 80 % of the link", at_least("goodput", 0.8, of=1e6)),
                Criterion("5.1.1", "Loss is at most 5 percentage points more than "
                    "CUBIC's", compared("loss", plus=0.05)),
            ),
        ),
        SuitePart(
            "5.1.1 backoff",
            "Full backoff: from 10 s on, a link loses most packets; means cover the time after that",
            {
                **_scenario("5.1.1 backoff", _tested(), duration="130 s"),
                "warm_up": "10 s",
            },
            {CONTROL: own, "loss": _persistent((0.5, 0.7, 0.9))},
            (GOODPUT, UTILIZATION),
            criteria=(
                Criterion(
                    "5.1.1",
                    "At most one packet per round trip while most packets are lost",
                    at_most("utilization", PACKET_PER_RTT_BPS / RATE_BPS),
                ),
            ),
        ),
        SuitePart(
            "5.1.1 feedback",
            "Loss of all data, and of all feedback (also 5.2), from 10 s on; means cover a minute from 11 s on",
            {**_scenario("5.1.1 feedback", _tested(), duration="71 s"), "warm_up": "11 s"},
            {
                CONTROL: own,
                "lost": {
                    "data": {"network.trunk_loss": _TOTAL, "network.return_loss": _NO_LOSS},
                    "feedback": {"network.trunk_loss": _NO_LOSS, "network.return_loss": _TOTAL},
                },
            },
            (SENT,),
            criteria=(
                Criterion(
                    "5.1.1, 5.2",
                    f"At most {PACKETS_WITHOUT_FEEDBACK} packets in a minute without feedback",
                    at_most("sent", PACKETS_WITHOUT_FEEDBACK * 12_000 / MINUTE_S / SOURCE_BPS),
                ),
            ),
        ),
        SuitePart(
            "5.1.2",
            "Protection against bufferbloat: a buffer of 10 BDP",
            {**_scenario("5.1.2", _tested()), "switch": {"buffer": "10 BDP"}},
            {CONTROL: own, "flows": _many((1, 4))},
            (GOODPUT, P95),
            criteria=(
                Criterion(
                    "5.1.2",
                    "The 95 % quantile of the queueing delay is at most 1.05 times CUBIC's",
                    compared("p95", factor=1.05, scale=1e-3),
                ),
            ),
        ),
        SuitePart(
            "5.1.3",
            "Protection against high packet loss: shallow buffers",
            _scenario("5.1.3", _tested(2)),
            {CONTROL: own, "buffer": over("switch.buffer", {q: f"{q} BDP" for q in ("0.1", "0.25", "0.5", "1", "2")})},
            (GOODPUT, LOSS),
            criteria=(
                Criterion(
                    "5.1.3",
                    "Loss is at most twice CUBIC's, or 2 %",
                    lambda rows, cubic: (2 * cubic["loss"]).clip(lower=0.02) - rows["loss"],
                ),
            ),
        ),
        SuitePart(
            "5.1.4",
            "Fairness among flows of one control, which start within a second",
            _scenario("5.1.4", _tested(2), duration="60 s"),
            {CONTROL: own, "flows": _many((2, 8))},
            (GOODPUT, "jain=flow:*.fairness"),
            criteria=(Criterion("5.1.4", "Jain's index over 60 s is at least 0.9", at_least("jain", 0.9)),),
        ),
        SuitePart(
            "5.1.5",
            "Short flows (also 5.2.3): web clients with CUBIC, and a long flow",
            _scenario("5.1.5", _tested(), {**_other("cubic", 5), "name": "web", "traffic": "web"}, duration="60 s"),
            {CONTROL: own},
            ("long=flow:tested.throughput", "median=web.median", "p95_page=web.p95"),
            criteria=(
                Criterion(
                    "5.1.5, 5.2.3",
                    "The 95 % quantile of response times is at most 1.1 times that with CUBIC",
                    compared("p95_page", factor=1.1),
                ),
            ),
        ),
    )  # fmt: skip


def _mixed_algorithms(own: "Levels") -> tuple[SuitePart, ...]:
    """Returns the parts of section 5.2: flows of the control beside those of other controls."""
    return (
        SuitePart(
            "5.2",
            "Starvation: flows of the control join one flow of CUBIC",
            _scenario("5.2", _tested(), _other("cubic"), duration="60 s"),
            {CONTROL: own, "joined": _many((1, 4, 16))},
            ("tested=flow:tested*.throughput", "other=flow:other.throughput"),
            criteria=(Criterion("5.2", "CUBIC keeps at least 5 % of its fair share", _starved),),
        ),
        SuitePart(
            "5.2.1",
            "Competition with standard and widely deployed controls: one flow against another",
            _scenario("5.2.1", _tested(), _other("cubic"), duration="60 s"),
            {
                CONTROL: own,
                "other": {
                    **_of_group({**REFERENCES, "bbr3": "bbr3"}, 1),
                    "quic": {"network.group.1.tcp": QUIC},
                },
                "buffer": over("switch.buffer", {q: f"{q} BDP" for q in ("0.5", "1", "4")}),
            },
            ("tested=flow:tested.throughput", "against=flow:other.throughput", LOSS, P95),
            note="against is the goodput of the competing flow. quic is Reno with the growth of RFC 9002, which equals "
                "Reno's while the flow fills its window.",
            criteria=(
                Criterion(
                    "5.2.1",
                    "The competing flow loses at most 10 percentage points of the link more than with CUBIC",
                    not_less("against", minus=0.1 * RATE_BPS, scale=MBITS),
                ),
                Criterion(
                    "5.2.1",
                    "Loss at the bottleneck is at most 1 percentage point more than with CUBIC",
                    compared("loss", plus=0.01),
                ),
            ),
        ),
        SuitePart(
            "5.2.2",
            "Real-time flows: video of 1 Mbit/s with a long flow on 2 Mbit/s, 100 ms, a queue of 300 ms",
            {
                **_scenario("5.2.2", _tested(), VIDEO, trunk_rate="2 Mbit/s", trunk_delay="48 ms"),
                "switch": {"buffer": "50 packets"},
            },
            {CONTROL: own},
            ("tested=flow:tested.throughput", "video_p95=datagrams:video.p95", "video_loss=datagrams:video.loss"),
            note="The path of RFC 8867 section 5.6. The video does not adapt.",
            criteria=(
                Criterion(
                    "5.2.2",
                    "The video's 95 % delay is at most 1.05 times that with CUBIC",
                    compared("video_p95", factor=1.05, scale=1e-3),
                ),
                Criterion(
                    "5.2.2",
                    "The video loses at most 1 percentage point more than with CUBIC",
                    compared("video_loss", plus=0.01),
                ),
            ),
        ),
    )  # fmt: skip


def _other_criteria(own: "Levels") -> tuple[SuitePart, ...]:
    """Returns the parts of section 5.3: differences from other controls, and existing equipment."""
    return (
        SuitePart(
            "5.3.1",
            "Deviations from RFC 2914 and RFC 7141 that authors must explain: the response to losses and to marks",
            {**_scenario("5.3.1", _tested()), "switch": {"buffer": "4 BDP"}},
            {CONTROL: own, "signal": _signals()},
            (GOODPUT, P95),
            note="Conditions that fail are deviations, not defects.",
            criteria=(
                Criterion(
                    "5.3.1",
                    "Goodput with losses is at most twice CUBIC's",
                    compared("goodput", factor=2.0, scale=MBITS),
                ),
                Criterion(
                    "5.3.1",
                    "The 95 % quantile of the queueing delay is at most twice CUBIC's, or 20 ms",
                    lambda rows, cubic: (2 * cubic["p95"]).clip(lower=0.02) - rows["p95"],
                ),
            ),
        ),
        SuitePart(
            "5.3.2",
            "Existing equipment: a policer of 10 Mbit/s on a link of 100 Mbit/s",
            {**_scenario("5.3.2", _tested(), trunk_rate="100 Mbit/s"), "switch": {"buffer": "1000 packets"}},
            {
                CONTROL: own,
                "burst": over(
                    "network.conditioners",
                    {
                        burst: [{"kind": "policer", "rate": "10 Mbit/s", "burst": burst}]
                        for burst in ("16 KB", "50 KB", "250 KB")
                    },
                ),
            },
            (GOODPUT, LOSS),
            note="50 KB are the BDP of 10 Mbit/s and 40 ms.",
            criteria=(
                Criterion(
                    "5.3.2", "Goodput is at least 90 % of CUBIC's", not_less("goodput", factor=0.9, scale=MBITS)
                ),
                Criterion("5.3.2", "Loss is at most 5 percentage points more than "
                    "CUBIC's", compared("loss", plus=0.05)),
            ),
        ),
    )  # fmt: skip


def _general_use(own: "Levels") -> tuple[SuitePart, ...]:
    """Returns the parts of section 6: tunnels and wireless paths."""
    return (
        SuitePart(
            "6.2",
            "Tunnels: packets 60 bytes shorter, over a queue that marks the outer header (RFC 6040)",
            {
                **_scenario("6.2", _tested(), _other("cubic")),
                "switch": {"buffer": "4 BDP", "policy": {"kind": "codel", "ecn": True}},
                "tcp": {"profile": "linux-6", "mss": "1388 B"},
            },
            {
                CONTROL: own,
                "mode": over("tcp.ecn", {"normal": "classic", "compatibility": "off"}),
            },
            (GOODPUT, "against=flow:other.throughput", P95),
            note="In normal mode marks of the outer header are copied to the inner one. In compatibility mode the "
                "outer header is not ECN-capable, so the queue drops.",
            criteria=(
                Criterion("6.2", "Both flows get at least 85 % of the link", at_least("goodput", 0.85, of=RATE_BPS)),
                Criterion(
                    "6.2",
                    "The competing flow loses at most 10 percentage points of the link more than with CUBIC",
                    not_less("against", minus=0.1 * RATE_BPS, scale=MBITS),
                ),
            ),
        ),
        SuitePart(
            "6.4",
            "Wireless paths: losses without congestion, jitter and duplicates",
            _scenario("6.4", _tested()),
            {CONTROL: own, "impairment": _impairments()},
            (GOODPUT, P95),
            note="Jitter is uniform and preserves the order of packets. Its delay is not included in the queueing "
                "delay.",
            criteria=(
                Criterion(
                    "6.4",
                    "Goodput is at least CUBIC's minus 5 percentage points of the link",
                    not_less("goodput", minus=0.05 * RATE_BPS, scale=MBITS),
                ),
            ),
        ),
    )  # fmt: skip


def _special_cases(own: "Levels") -> tuple[SuitePart, ...]:
    """Returns the parts of sections 7.1 to 7.6: queues, paths, nodes and routers that need special care."""
    return (
        SuitePart(
            "7.1",
            "AQM and ECN: one flow and CUBIC, both with classic ECN",
            {
                **_scenario("7.1", _tested(), _other("cubic")),
                "switch": {"buffer": "4 BDP"},
                "tcp": {"profile": "linux-6", "ecn": "classic"},
            },
            {
                CONTROL: own,
                "queue": over("switch.policy", QUEUES),
            },
            (GOODPUT, "tested=flow:tested.throughput", "against=flow:other.throughput", P95),
            note="Queues without marks drop packets instead. Packets carry ECT(0).",
            criteria=(
                Criterion("7.1", "Both flows get at least 90 % of the link", at_least("goodput", 0.9, of=RATE_BPS)),
            ),
        ),
        SuitePart(
            "7.2",
            "Inside the envelope of network circuit breakers (RFC 8084): flows on 2 Mbit/s, a buffer of 0.5 BDP",
            {
                **_scenario("7.2", _tested(), trunk_rate="2 Mbit/s"),
                "switch": {"buffer": "0.5 BDP"},
                "warm_up": "5 s",
            },
            {CONTROL: own, "flows": _many((1, 2, 4))},
            (GOODPUT, LOSS),
            note="RFC 8084 gives no threshold. Means exclude the first 5 s.",
            criteria=(
                Criterion(
                    "7.2",
                    f"Loss is at most {BREAKER_LOSS:.0%}, beyond which a circuit breaker trips, or CUBIC's",
                    lambda rows, cubic: cubic["loss"].clip(lower=BREAKER_LOSS) - rows["loss"],
                ),
            ),
        ),
        SuitePart(
            "7.3",
            "Changes of the minimum delay",
            _scenario("7.3", _tested()),
            {CONTROL: own, "delay": {name: _moving(path) for name, path in DELAYS.items()}},
            (GOODPUT, P95),
            criteria=(Criterion("7.3", "Goodput is at least 80 % of the link", at_least("goodput", 0.8, of=RATE_BPS)),),
        ),
        SuitePart(
            "7.4",
            "Constrained nodes: 64 kbit/s, 500 ms, packets of 576 bytes",
            {
                **_scenario("7.4", _tested(), trunk_rate="64 kbit/s", trunk_delay="248 ms", duration="120 s"),
                "tcp": {"profile": "linux-6", "mss": "524 B"},
                "switch": {"buffer": "10 packets"},
            },
            {CONTROL: own},
            (GOODPUT, "resent=flow:*.resent", "timeouts=flow:*.timeouts"),
            criteria=(
                Criterion(
                    "7.4",
                    "Goodput is at least CUBIC's minus 10 percentage points of the link",
                    not_less("goodput", minus=6.4e3, scale=1e3),
                ),
            ),
        ),
        SuitePart(
            "7.5",
            "High delay: a geostationary satellite, 20 Mbit/s, 600 ms",
            _scenario("7.5", _tested(), trunk_rate="20 Mbit/s", trunk_delay="298 ms", duration="120 s"),
            {CONTROL: own, "buffer": over("switch.buffer", {q: f"{q} BDP" for q in ("0.5", "1", "2")})},
            (GOODPUT, P95, LOSS),
            criteria=(Criterion("7.5", "Goodput is at least 80 % of the link", at_least("goodput", 0.8, of=20e6)),),
        ),
        SuitePart(
            "7.6",
            "Misbehaving routers and receivers: one flow and CUBIC, whose ACKs are duplicated, batched or lost",
            _scenario("7.6", _tested(), _other("cubic"), duration="60 s"),
            {CONTROL: own, "misbehavior": _misbehaviors()},
            ("tested=flow:tested.throughput", "against=flow:other.throughput", LOSS),
            criteria=(
                Criterion(
                    "7.6",
                    "The competing flow loses at most 10 percentage points of the link more than with CUBIC",
                    not_less("against", minus=0.1 * RATE_BPS, scale=MBITS),
                ),
            ),
        ),
    )  # fmt: skip


def _events(own: "Levels", whole: "Levels") -> tuple[SuitePart, ...]:
    """Returns the parts of sections 7.7 to 7.11: reordering, sudden changes and data centers."""
    return (
        SuitePart(
            "7.7",
            "Extreme reordering: a share of the packets overtakes others",
            _scenario("7.7", _tested()),
            {
                CONTROL: own,
                "reordering": over(
                    "network.conditioners",
                    {
                        f"{100 * share:g} % by {ms} ms": [
                            {"kind": "jitter", "delay": f"{ms} ms", "jitter": "0 s"},
                            {"kind": "reordering", "probability": share},
                        ]
                        for share, ms in ((0.01, 6), (0.1, 6), (0.5, 6), (0.01, 40))
                    },
                ),
            },
            (GOODPUT, "resent=flow:*.resent"),
            note="6 ms correspond to 5 packets; 40 ms is the RTT of the path without reordering.",
            criteria=(
                Criterion(
                    "7.7",
                    "Goodput is at least CUBIC's minus 5 percentage points of the link",
                    not_less("goodput", minus=0.05 * RATE_BPS, scale=MBITS),
                ),
            ),
        ),
        SuitePart(
            "7.8",
            "Transient events and sudden changes of the path (also 7.9)",
            _scenario("7.8", _tested()),
            {CONTROL: own, "event": {name: _moving(path) for name, path in EVENTS.items()}},
            (GOODPUT, P95, LOSS),
            criteria=(
                Criterion(
                    "7.8, 7.9", "Goodput is at least 90 % of CUBIC's", not_less("goodput", factor=0.9, scale=MBITS)
                ),
            ),
        ),
        SuitePart(
            "7.11",
            "Data centers: 16 and 64 flows of 64 kB at once, 10 Gbit/s, 100 us, 200 packets",
            {
                **_scenario(
                    "7.11", duration="2 s", sources=16, trunk_rate="10 Gbit/s", access_rate="10 Gbit/s",
                    trunk_delay="30 us", access_delay="10 us", exit_delay="10 us",
                ),
                "start": {"kind": "fixed", "at": "0 s"},
                "traffic": {"kind": "transfer", "size": "64 KB"},
                "switch": {"buffer": "200 packets"},
            },
            {CONTROL: whole, "flows": {count: {"network.sources": count} for count in (16, 64)}},
            ("done=flow:*.completion", "resent=flow:*.resent", LOSS),
            criteria=(
                Criterion("7.11", "All files are complete within 1.5 times CUBIC's time", compared("done", factor=1.5)),
            ),
        ),
    )  # fmt: skip


def parts(controls: dict[str, Any]) -> tuple[SuitePart, ...]:
    """Returns the suite's parts, which compare the given controls, in the order of the sections."""
    own = _of_group(controls)
    return (
        *_single_algorithm(own),
        *_mixed_algorithms(own),
        *_other_criteria(own),
        *_general_use(own),
        *_special_cases(own),
        *_events(own, _of_all(controls)),
    )


def of_control(text: str) -> Suite:
    """Returns the suite that tests a control (as in `control_of`) in competition with CUBIC, Reno and BBR."""
    name, value = control_of(text)
    tested = {} if value in REFERENCES.values() else {name: value}
    if name in REFERENCES and tested:
        raise ScenarioError(f"--control: {text!r}; needs a name other than {', '.join(REFERENCES)}")
    return Suite(
        id="rfc-9743",
        title=f"{name}, assessed by the criteria for new congestion control algorithms (RFC 9743, BCP 133, March 2025)",
        conditions=(
            "10 Mbit/s, 40 ms, a buffer of 1 BDP, tail drop and 40 s unless a section says otherwise; Linux's TCP with "
            "SACK and RACK. Reno is Linux's. goodput is the total of all flows, p95 the 95 % quantile of the queueing "
            "delay at the bottleneck, loss the share of packets that it dropped, resent the share of retransmitted "
            "segments, jain Jain's fairness index. The RFC asks for ranges of rates, delays and buffers: repeat the "
            "suite with --set. Sections follow draft-ietf-ccwg-rfc5033bis-08, the last one before the RFC."
        ),
        parts=parts({**tested, **REFERENCES}),
        left_out=(
            "5.2.2: adaptive media, which need longpipe[stacks] (longpipe suite rfc-8867), and RTP circuit breakers "
            "(RFC 8083), which act at the media's sender. 6.1 and 6.3 are the conditions of all parts.",
            "6.2: tunnels with their own congestion control, because flows cannot carry other flows. 7.6: optimistic "
            "ACKs, ACK division and forged packets, because receivers follow TCP.",
            "7.10: multipath, because flows of TCP have one path, and multipath QUIC (longpipe[stacks]) has its own "
            "control.",
        ),
        seeds=5,
        judgement=(
            "All conditions are proposed: RFC 9743 sets no thresholds, and leaves the judgement to the community. A "
            "condition holds if the 95 % interval of its margin over the seeds, compared with CUBIC's run of equal "
            "seed, is not negative at any point; it fails if an interval is negative; otherwise more seeds may decide."
        ),
        of_control=of_control,
    )


SUITE: Final = of_control(BASELINE)
