"""Linux's TCP over longpipe's queue (`stack = "linux"`), compared with the same guest's own queue."""

import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from longpipe import Scenario, simulate
from longpipe.ip import bottleneck, packet_bytes
from longpipe.result import Result
from longpipe.units import RATE, TIME
from longpipe_evidence.validate.linux import MSS, PACKET_BYTES, LinuxCase, LinuxControl, LinuxFlow, run
from longpipe_evidence.validate.linux_compare import TRUNK
from longpipe_evidence.validate.linux_disciplines import switch_of

T = TypeVar("T")

CONTROLS: Final[tuple[LinuxControl, ...]] = (
    "reno", "cubic", "bbr", "hybla", "westwood", "htcp", "illinois", "veno", "scalable", "highspeed", "bic", "vegas",
)  # fmt: skip
# Controls whose results depend on random draws, each of which needs several runs.
DRAWING: Final = ("bbr", "cdg")
# Interval [s] in which goodput and RTTs are measured.
BEGIN_S: Final = 20
END_S: Final = 60
# Accepted differences, as shares of the results of Linux's own queue.
GOODPUT_WITHIN: Final = 0.006
ROUND_TRIP_WITHIN: Final = 0.02
DROPS_WITHIN: Final = 0.15


@dataclass(frozen=True)
class EndRun:
    """Results of one run: over longpipe's queue, or over Linux's own."""

    goodput_mbits: float
    # Median SRTT.
    srtt_ms: float
    drops: int
    cpu_s: float


@dataclass(frozen=True)
class EndComparison:
    """Results of one control with one seed."""

    control: LinuxControl
    seed: int
    longpipe: EndRun
    own: EndRun

    @property
    def agrees(self) -> bool:
        """Returns whether goodput, median RTT and drops differ by no more than the accepted shares."""
        return (
            abs(self.longpipe.goodput_mbits / self.own.goodput_mbits - 1) <= GOODPUT_WITHIN
            and abs(self.longpipe.srtt_ms / self.own.srtt_ms - 1) <= ROUND_TRIP_WITHIN
            and abs(self.longpipe.drops - self.own.drops) <= DROPS_WITHIN * self.own.drops
        )

    def row(self) -> dict[str, Any]:
        """Returns the comparison as a row of a table."""
        sides = (("longpipe", self.longpipe), ("own", self.own))
        values = {f"{name}_{field}": value for name, side in sides for field, value in vars(side).items()}
        return {"control": self.control, "seed": self.seed, **values, "agrees": self.agrees}


def scenario(case: LinuxCase, duration_s: int) -> Scenario:
    """Returns the path of a case with Linux at its ends (`linux_compare` lists the differences)."""
    wire, (flow,) = packet_bytes(MSS, timestamps=True), case.flows
    rate_bps = RATE.parse(case.rate)
    fields: dict[str, Any] = {
        "name": f"linux-ends-{flow.control}",
        "framing": "ip",
        "duration": f"{duration_s} s",
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            **bottleneck(round(rate_bps * wire / PACKET_BYTES), wire, wire - MSS, TIME.parse(case.round_trip)),
        },
        "switch": switch_of(case.guest["discipline"], rate_bps),
        "traffic": {"kind": "stack", "stack": "linux", "congestion": flow.control},
        "traces": {"rtt": True},
    }
    return Scenario(defaults="1996", **fields)


def compare(controls: Sequence[LinuxControl], draws: int) -> Iterator[EndComparison]:
    """Yields a comparison for each control, and for each of `draws` seeds if the control uses random numbers.

    Raises ScenarioError if user-mode Linux is unavailable.
    """
    for control, seed in runs(controls, draws):
        yield EndComparison(control, seed, _over_longpipe(control, seed), _over_own_queue(control, seed))


def runs(controls: Sequence[LinuxControl], draws: int) -> list[tuple[LinuxControl, int]]:
    """Returns the control and the seed of each comparison."""
    return [(control, seed) for control in controls for seed in range(draws if control in DRAWING else 1)]


def _over_longpipe(control: LinuxControl, seed: int) -> EndRun:
    """Returns the results of a simulated flow, with goodput between `BEGIN_S` and `END_S`."""
    case = LinuxCase(flows=(LinuxFlow(control=control),))
    # Counters are those at the end of a run, so that the difference of two runs covers the interval.
    early, _ = _timed(lambda: simulate(scenario(case, BEGIN_S), seed=seed))
    late, cpu_s = _timed(lambda: simulate(scenario(case, END_S), seed=seed))
    delivered = [int(result.flows.delivered_bytes[0]) for result in (early, late)]
    trunk = late.ports.set_index("port").loc[TRUNK].to_dict()
    return EndRun(
        goodput_mbits=8e-6 * (delivered[1] - delivered[0]) / (END_S - BEGIN_S),
        srtt_ms=_median_srtt_ms(late),
        drops=int(trunk["packets_lost_overflow"]),
        cpu_s=cpu_s,
    )


def _median_srtt_ms(result: Result) -> float:
    """Returns the median of the SRTTs at the times of Linux's own series, every 100 ms."""
    srtt_s = result.traces["rtt"].set_index("time_s")["srtt_s"]
    times = [BEGIN_S + number / 10 for number in range(1, 10 * (END_S - BEGIN_S) + 1)]
    places = srtt_s.index.searchsorted(times, side="right") - 1
    return 1e3 * float(srtt_s.iloc[places].median())


def _over_own_queue(control: LinuxControl, seed: int) -> EndRun:
    linux_run, cpu_s = _timed(lambda: run(LinuxCase(flows=(LinuxFlow(control=control),), seed=seed)))
    return EndRun(
        goodput_mbits=linux_run.goodput(BEGIN_S, END_S) / 1e6,
        srtt_ms=1e3 * linux_run.median_srtt(BEGIN_S, END_S),
        drops=linux_run.queue_drops,
        cpu_s=cpu_s,
    )


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """Returns a result, and the CPU time [s] of this process and of the guest until then."""
    began_s = _cpu_s()
    result = work()
    return result, _cpu_s() - began_s


def _cpu_s() -> float:
    used = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
