"""Test cases of the BBR draft, as far as packets can show them, for longpipe's BBRv3 and noq's (QUIC)."""

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from longpipe.scenario.stack import VERSIONS
from longpipe_evidence.suites.criteria import CONTROL, at_least, at_most
from longpipe_evidence.suites.suite import Criterion, Suite, SuitePart

if TYPE_CHECKING:
    from longpipe_evidence.suites.suite import Levels

NOQ: Final[dict[str, Any]] = {"kind": "stack", "stack": "noq", "congestion": "bbr3", "window": "64 MiB"}
CONTROLS: "Final[Levels]" = {"bbr3": {}, "noq-bbr3": {"traffic": NOQ}}
MBITS: Final = 1e6
# Constants of the draft.
STARTUP_PACING_GAIN: Final = 2.77
DRAIN_PACING_GAIN: Final = 0.5
PROBE_UP_CWND_GAIN: Final = 2.25
PROBE_DOWN_PACING_GAIN: Final = 0.9
PROBE_RTT_CWND_GAIN: Final = 0.5
PROBE_RTT_INTERVAL_S: Final = 5
# Rounds without growth after which Startup and ProbeUP end.
FULL_BW_ROUNDS: Final = 3
# Permitted difference between a rate, averaged over a round trip, and a gain's rate, because the sender may change its
# state within the round trip.
GAIN_WITHIN: Final = 0.15
GOODPUT: Final = "goodput=flow:flow1.throughput"
LOSS: Final = "loss=port:switch1->switch2.loss"


def _phase(name: str) -> str:
    return f"{name}=longpipe_evidence.suites.bbr_phases:{name}"


def _scenario(
    case: str, rate_mbits: float, round_trip_ms: float, buffer: str, *, duration_s: int, **network: object
) -> dict[str, Any]:
    """Returns a scenario with one flow over one bottleneck; `network` has further fields of the dumbbell."""
    return {
        "name": f"BBR draft, {case}",
        "framing": "ip",
        "duration": f"{duration_s} s",
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "1 Gbit/s",
            "trunk_rate": f"{rate_mbits:g} Mbit/s",
            "trunk_delay": f"{round_trip_ms / 2:g} ms",
            **network,
        },
        "switch": {"buffer": buffer},
        "tcp": {"profile": "linux-6", "congestion": "bbr3"},
        "traces": {"delay": True},
    }


def _within(column: str, expected: float, difference: float) -> Any:  # noqa: ANN401 - a margin
    """Returns the margin of a measure that may differ from a value by at most `difference`."""
    return lambda rows, _others: difference - (rows[column] - expected).abs()


def _goodput(share: float, rate_mbits: float) -> Any:  # noqa: ANN401 - a margin
    return at_least("goodput", share, of=rate_mbits * MBITS)


def _probe_rtt(rows: pd.DataFrame, _others: pd.DataFrame) -> pd.Series:
    # During the first three seconds, Startup, Drain and the first packets without a queue may still lower the minimum
    # RTT.
    return PROBE_RTT_INTERVAL_S + 3 - rows["first_probe_rtt_s"]


def _steps(*steps: tuple[int, float]) -> dict[str, Any]:
    """Returns a path whose rate changes at times [s] to values [Mbit/s]."""
    return {"rate": [[f"{at} s", f"{rate:g} Mbit/s"] for at, rate in steps]}


def _from(begin_s: int, end_s: int) -> "Levels":
    return {f"{begin_s}-{end_s} s": {"warm_up": f"{begin_s} s", "duration": f"{end_s} s"}}


# Longest permitted times, in round trips of the empty path. In Startup, a round trip takes up to the pacing gain times
# as long, because the queue grows by the pacing gain minus one BDP per round; in ProbeUP, it takes up to the window
# gain times as long. A queue that ProbeUP built drains at the pacing gain of ProbeDOWN.
STARTUP_ROUNDS: Final = (FULL_BW_ROUNDS + 1) * STARTUP_PACING_GAIN + 1
DRAIN_ROUNDS: Final = FULL_BW_ROUNDS * 2
PROBE_ROUNDS: Final = FULL_BW_ROUNDS * PROBE_UP_CWND_GAIN + (PROBE_UP_CWND_GAIN - 1) / (1 - PROBE_DOWN_PACING_GAIN)


def _parts() -> tuple[SuitePart, ...]:
    """Returns the cases that packets can show, in the draft's order."""
    controls = {CONTROL: CONTROLS}
    return (
        SuitePart(
            "1-10",
            "Startup, Drain, ProbeBW and ProbeRTT on a constant path",
            _scenario("cases 1, 3, 5, 8 and 10", 20, 40, "8 BDP", duration_s=14),
            controls,
            (
                *map(_phase, ("startup_rounds", "drain_rate", "drain_rounds", "probes", "longest_probe_rounds")),
                *map(_phase, ("first_probe_rtt_s", "probe_rtt_rate")),
                LOSS,
            ),
            note="20 Mbit/s, 40 ms, and a buffer that does not overflow. Rates are shares of the link's rate.",
            criteria=(
                Criterion(
                    "1",
                    f"Startup ends at most {STARTUP_ROUNDS:.1f} round trips after the rate has exceeded the link's",
                    at_most("startup_rounds", STARTUP_ROUNDS),
                ),
                Criterion("1", "Startup loses no packet", at_most("loss", 0.0)),
                Criterion(
                    "3",
                    f"The rate in Drain is {DRAIN_PACING_GAIN} ± {GAIN_WITHIN}",
                    _within("drain_rate", DRAIN_PACING_GAIN, GAIN_WITHIN),
                ),
                Criterion(
                    "3",
                    f"Drain empties the queue in at most {DRAIN_ROUNDS} round trips",
                    at_most("drain_rounds", DRAIN_ROUNDS),
                ),
                Criterion("5", "It probes for bandwidth at least twice from 2 to 14 s", at_least("probes", 2)),
                Criterion(
                    "5, 8",
                    f"The queue of a probe has drained after {PROBE_ROUNDS:.1f} round trips",
                    at_most("longest_probe_rounds", PROBE_ROUNDS),
                ),
                Criterion("10", "The first ProbeRTT begins within 8 s", _probe_rtt),
                Criterion(
                    "10",
                    f"The rate over 200 ms of ProbeRTT is {PROBE_RTT_CWND_GAIN} ± {GAIN_WITHIN}",
                    _within("probe_rtt_rate", PROBE_RTT_CWND_GAIN, GAIN_WITHIN),
                ),
            ),
        ),
        SuitePart(
            "12-13",
            "Startup and ProbeCRUISE with aggregation",
            _scenario(
                "cases 12 and 13", 20, 40, "8 BDP", duration_s=14,
                conditioners=[{"kind": "aggregation", "overhead": "0 s", "interval": "20 ms"}],
            ),
            {**controls, "phase": {**_from(0, 2), **_from(4, 14)}},
            (GOODPUT, LOSS),
            note="Packets leave the bottleneck in batches every 20 ms, like those of a cellular link.",
            criteria=(
                Criterion("12, 13", "The goodput is at least 70 % of the link's rate", _goodput(0.7, 20)),
            ),
        ),
        SuitePart(
            "14",
            "BDP below one packet",
            _scenario("case 14", 0.1, 4, "100 packets", duration_s=30),
            {**controls, "phase": _from(10, 30)},
            (GOODPUT, LOSS),
            note="100 kbit/s and 4 ms: 50 bytes.",
            criteria=(Criterion("14", "The goodput is at least 85 % of the link's rate", _goodput(0.85, 0.1)),),
        ),
        SuitePart(
            "15",
            "Increase of the rate by a factor of 10",
            _scenario("case 15", 100, 40, "500 kB", duration_s=30, path=_steps((0, 10), (10, 100))),
            {**controls, "phase": _from(20, 30)},
            (GOODPUT, LOSS),
            note="From 10 to 100 Mbit/s at 10 s.",
            criteria=(
                Criterion("15", "After 10 s the goodput is at least 80 % of the link's rate", _goodput(0.8, 100)),
            ),
        ),
        SuitePart(
            "16",
            "Decrease of the rate by a factor of 10",
            _scenario("case 16", 100, 40, "500 kB", duration_s=35, path=_steps((0, 100), (10, 10))),
            {**controls, "phase": _from(25, 35)},
            (GOODPUT, LOSS),
            note="From 100 to 10 Mbit/s at 10 s.",
            criteria=(
                Criterion("16", "After 15 s the goodput is at least 85 % of the link's rate", _goodput(0.85, 10)),
                Criterion("16", "After 15 s at most 2 % of the packets are lost", at_most("loss", 0.02)),
            ),
        ),
        SuitePart(
            "17",
            "Token-bucket policer",
            _scenario(
                "case 17", 100, 40, "8 BDP", duration_s=30,
                conditioners=[{"kind": "policer", "rate": "10 Mbit/s", "burst": "100 kB"}],
            ),
            {**controls, "phase": _from(10, 30)},
            (GOODPUT, LOSS),
            note="A link of 100 Mbit/s with tokens of 10 Mbit/s and a bucket of 100 kB.",
            criteria=(
                Criterion("17", "The goodput is at least 80 % of the token rate", _goodput(0.8, 10)),
                Criterion("17", "At most 5 % of the packets are lost", at_most("loss", 0.05)),
            ),
        ),
    )  # fmt: skip


SUITE: Final = Suite(
    id="bbr-draft",
    title="BBRv3 of longpipe and noq by the test cases of the draft (draft-ietf-ccwg-bbr, August 2026)",
    conditions=(
        "One flow over one bottleneck with tail drop. bbr3 is longpipe's BBRv3 over TCP (profile linux-6), noq-bbr3 "
        f"that of noq {VERSIONS['noq']} over QUIC. Both are judged by their packets: the times at which they arrive at "
        "the bottleneck, and their waiting times there. Rounds are round trips of the empty path."
    ),
    parts=_parts(),
    left_out=(
        "Not observable in packets, because the cases concern variables of the sender: 18 and 19 (saved and restored "
        "bounds), 21 (inflight_longterm), 22 (max_bw after an application-limited refill).",
        "Not observable in these flows of noq, whose application neither pauses nor limits the rate: 2, 6, 7, 11, 20. "
        "Not observable without the sender's state: 4 and 9, whose link changes when the sender enters a state.",
        "Unit tests of longpipe's BBRv3 check all 22 cases, including its internal state: "
        "crates/tcp/src/congestion/model/bbr3/cases.",
    ),
    seeds=5,
    judgement=(
        "The draft expects states and values of variables. The conditions on packets are proposed here and follow from "
        "its constants. A condition holds if the 95 % interval of its margin over the seeds is not negative at any "
        "point; it fails if an interval is negative; otherwise more seeds may decide."
    ),
)
