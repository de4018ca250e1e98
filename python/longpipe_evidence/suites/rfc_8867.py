"""RFC 8867: test cases for the congestion control of interactive media, with str0m (WebRTC, Google's control)."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from longpipe.scenario.stack import VERSIONS
from longpipe_evidence.suites.criteria import CONTROL, at_least, at_most
from longpipe_evidence.suites.suite import Criterion, Suite, SuitePart

if TYPE_CHECKING:
    from longpipe_evidence.suites.suite import Levels

# Section 4: the one-way delay, and the maximum queue, which here refers to the case's reference rate.
ONE_WAY_MS: Final = 50
QUEUE_S: Final = 0.3
PORT: Final = "port:switch1->switch2"
P95: Final = f"p95={PORT}.queueing_p95"
LOSS: Final = f"loss={PORT}.loss"
MBITS: Final = 1e6
LOWEST_BPS: Final = 150e3
# Maximum rate [bit/s] of the media: 1.5 Mbit/s of encoded video and 20 kbit/s of audio.
MAX_BPS: Final = 1.52e6
# Share of the capacity that the media's goodput must reach, and maximum queueing delay (both are proposals).
CONVERGED: Final = 0.8
SHORT_S: Final = 0.1
# Length [s] of the measured interval at the end of each phase.
MEASURED_S: Final = 10
MEDIA: Final[dict[str, Any]] = {"kind": "stack", "stack": "str0m"}
# RFC 8868 section 4.5: the absolute value of a normal variable with a standard deviation of 5 ms, which preserves the
# order of packets. Its mean is 4 ms and its standard deviation 3 ms.
JITTER: Final[dict[str, Any]] = {
    "kind": "jitter",
    "delay": "4 ms",
    "jitter": "3 ms",
    "distribution": "normal",
    "order": "fifo",
}


def _flow(name: str = "media", at_s: float = 0, **more: object) -> dict[str, Any]:
    return {"name": name, "traffic": MEDIA, "start": {"kind": "fixed", "at": f"{at_s:g} s"}, **more}


def _scenario(case: str, rate_bps: float, *flows: dict[str, Any], duration_s: int, **network: object) -> dict[str, Any]:
    """Returns the fields of a test case of RFC 8867 with these flows."""
    return {
        "name": f"RFC 8867 {case}",
        "framing": "ip",
        "duration": f"{duration_s} s",
        "network": {
            "kind": "dumbbell",
            "access_rate": "1 Gbit/s",
            "access_delay": "1 ms",
            "trunk_rate": f"{rate_bps:g} bit/s",
            "trunk_delay": f"{ONE_WAY_MS - 2} ms",
            "exit_delay": "1 ms",
            "conditioners": [JITTER],
            "group": list(flows),
            **network,
        },
        "switch": {"buffer": f"{int(QUEUE_S * rate_bps / 8)} B"},
        "tcp": {"profile": "linux-6", "congestion": "linux-reno"},
        "traces": {"delay": True},
    }


def _capacity(reference_bps: float, steps: dict[int, float]) -> dict[str, Any]:
    """Returns a path whose capacity changes, at each given time [s], to a multiple of the reference rate."""
    return {"rate": [[f"{at} s", f"{ratio * reference_bps:g} bit/s"] for at, ratio in steps.items()]}


def _from(begin_s: int, end_s: int) -> dict[str, object]:
    return {"warm_up": f"{begin_s} s", "duration": f"{end_s} s"}


def _ends(reference_bps: float, steps: dict[int, float], end_s: int) -> "Levels":
    """Returns levels for measuring the last `MEASURED_S` before each change in capacity, and before the run's end."""
    ends = [*list(steps)[1:], end_s]
    return {
        f"{end - MEASURED_S}-{end} s, {ratio * reference_bps / MBITS:g} Mbit/s": _from(end - MEASURED_S, end)
        for end, ratio in zip(ends, steps.values(), strict=True)
    }


def _capacities(rows: pd.DataFrame) -> pd.Series:
    """Returns the capacity [bit/s] of each row's phase."""
    phases = rows.index.get_level_values("phase")
    return pd.Series([float(str(phase).split(", ")[1].split()[0]) * MBITS for phase in phases], index=rows.index)


def _converges(flows: int) -> Any:  # noqa: ANN401 - a margin
    """Returns the margin of a goodput that must reach a share of the capacity or of the media's highest rate."""

    def margin(rows: pd.DataFrame, _others: pd.DataFrame) -> pd.Series:
        reachable = _capacities(rows).clip(upper=flows * MAX_BPS)
        return rows["media"] / reachable - CONVERGED

    return margin


STEPS_5_1: Final = {0: 1.0, 40: 2.5, 60: 0.6, 80: 1.0}
STEPS_5_2: Final = {0: 2.0, 25: 1.0, 50: 1.75, 75: 0.5, 100: 1.0}
FORTH_5_3: Final = {0: 2.0, 20: 1.0, 40: 0.5, 60: 2.0}
BACK_5_3: Final = {0: 2.0, 35: 0.8, 70: 2.0}
# One-way delays of the five pairs of section 5.5 [ms].
DELAYS_5_5: Final = (10, 25, 50, 100, 150)
OWN: Final[dict[str, Any]] = {CONTROL: {"gcc": {}}}
GOODPUT: Final = "media=flow:media*.throughput"


def _short(section: str) -> Criterion:
    return Criterion(section, "The 95 % quantile of the queueing delay is at most 100 ms", at_most("p95", SHORT_S))


def _parts() -> tuple[SuitePart, ...]:
    """Returns the cases 5.1 to 5.6."""
    delays: Levels = {f"{ms} ms": {"network.trunk_delay": f"{ms - 2} ms"} for ms in (50, 100)}
    back: Levels = {"both": {}, "forward alone": {"network.return_path": _capacity(1e6, {0: 2.0})}}
    return (
        SuitePart(
            "5.1",
            "Variable available capacity with a single flow",
            _scenario("5.1", 1e6, _flow(), duration_s=100, path=_capacity(1e6, STEPS_5_1)),
            {**OWN, "delay": delays, "phase": _ends(1e6, STEPS_5_1, 99)},
            (GOODPUT, P95, LOSS),
            criteria=(
                Criterion("5.1", "The media converge to 80 % of the capacity or of their highest rate", _converges(1)),
                _short("5.1"),
            ),
        ),
        SuitePart(
            "5.2",
            "Variable available capacity with multiple flows",
            _scenario("5.2", 2e6, _flow("media1"), _flow("media2"), duration_s=125, path=_capacity(2e6, STEPS_5_2)),
            {**OWN, "delay": delays, "phase": _ends(2e6, STEPS_5_2, 124)},
            (GOODPUT, "fairness=flow:media*.fairness", P95, LOSS),
            criteria=(
                Criterion("5.2", "The media converge to 80 % of the capacity or of their highest rates", _converges(2)),
                # 0.8 is the fairness index for rates of 1:3, the bound in RFC 8868 section 3.
                Criterion("5.2", "The rates are within a factor of 3 (fairness .8)", at_least("fairness", 0.8)),
                _short("5.2"),
            ),
        ),
        SuitePart(
            "5.3",
            "Congested feedback link with bi-directional media flows",
            _scenario(
                "5.3",
                1e6,
                _flow(),
                _flow("back", direction="back"),
                duration_s=100,
                path=_capacity(1e6, FORTH_5_3),
                return_path=_capacity(1e6, BACK_5_3),
            ),
            {**OWN, "congested": back, "phase": _ends(1e6, FORTH_5_3, 99)},
            (GOODPUT, "back=flow:back.throughput", P95, LOSS),
            note="The RFC compares with a run whose feedback link is not congested; here this is a run with media in "
                "the forward direction only.",
            criteria=(
                Criterion("5.3", "The media converge to 80 % of the capacity or of their highest rate", _converges(1)),
            ),
        ),
        SuitePart(
            "5.4",
            "Competing media flows with the same congestion control algorithm",
            _scenario(
                "5.4", 3.5e6, *(_flow(f"media{i + 1}", 20 * i) for i in range(3)), duration_s=120
            ),
            {**OWN, "phase": {"59-119 s": _from(59, 119)}},
            (GOODPUT, "fairness=flow:media*.fairness", P95, LOSS),
            criteria=(
                Criterion("5.4", "Jain's index of the three flows is at least .9", at_least("fairness", 0.9)),
            ),
        ),
        SuitePart(
            "5.5",
            "Round-trip-time fairness",
            _scenario(
                "5.5",
                4e6,
                *(
                    _flow(f"media{i + 1}", 10 * i, access_delay=f"{ms - 9} ms")
                    for i, ms in enumerate(DELAYS_5_5)
                ),
                duration_s=300,
                trunk_delay="8 ms",
            ),
            {**OWN, "phase": {"200-299 s": _from(200, 299)}},
            (
                GOODPUT,
                *(f"flow_{ms}_ms=flow:media{i + 1}.throughput" for i, ms in enumerate(DELAYS_5_5)),
                P95,
                LOSS,
            ),
            criteria=(Criterion("5.5", "The rates are within a factor of 3", _within_three),),
        ),
        SuitePart(
            "5.6",
            "Media flow competing with a long TCP flow",
            _scenario(
                "5.6",
                2e6,
                {"name": "tcp", "traffic": "greedy"},
                _flow("media", 5),
                duration_s=120,
            ),
            {
                **OWN,
                "queue": {f"{ms} ms": {"switch.buffer": f"{int(ms / 1000 * 2e6 / 8)} B"} for ms in (300, 1000)},
                "phase": {"20-119 s": _from(20, 119)},
            },
            (GOODPUT, "tcp=flow:tcp.throughput", P95, LOSS),
            note="TCP is Linux's Reno (RFC 5681).",
            criteria=(
                # The minimum rate is that of the encoded video, without headers.
                Criterion(
                    "5.6", "The media keep at least their lowest rate", at_least("media", LOWEST_BPS / MBITS, of=MBITS)
                ),
            ),
        ),
    )  # fmt: skip


def _within_three(rows: pd.DataFrame, _others: pd.DataFrame) -> pd.Series:
    """Returns the margin by which the smallest rate exceeds a third of the largest rate, in units of that third.

    The ratio of the largest to the smallest rate would be infinite, and have no interval, if a flow had no goodput.
    """
    rates = rows[[f"flow_{ms}_ms" for ms in DELAYS_5_5]]
    return 3 * rates.min(axis=1) / rates.max(axis=1) - 1


SUITE: Final = Suite(
    id="rfc-8867",
    title="Google's congestion control of str0m in the test cases for interactive media (RFC 8867, January 2021)",
    conditions=(
        "A path of 50 ms in each direction with a queue of 300 ms at the reference rate, tail drop, and the jitter of "
        "RFC 8868 section 4.5. Video of 150 kbit/s to 1.5 Mbit/s with 30 frames a second and audio of 20 kbit/s over "
        f"WebRTC (str0m {VERSIONS['str0m']}). media is the goodput of all media flows, without headers; p95 the 95 % "
        f"quantile of the queueing delay at the bottleneck, loss the share of packets that it dropped. Rates, delays "
        f"and losses refer to the last {MEASURED_S} s of each phase, unless otherwise stated."
    ),
    parts=tuple(replace(part, over_time=True) for part in _parts()),
    left_out=(
        "5.1 to 5.3 with background UDP instead of a varying link. 5.7: short TCP flows. 5.8: pause and resume.",
        "6: optional cases: priorities, ECN, several bottlenecks. RFC 8869: wireless networks.",
    ),
    seeds=3,
    judgement=(
        "The RFC describes the expected behavior in words and asks for figures; the margins are proposed here, with "
        "the bound of RFC 8868 section 3 for fairness. A condition holds if the 95 % interval of its margin over the "
        "seeds is not negative at any point; it fails if an interval is negative; otherwise more seeds may decide."
    ),
)
