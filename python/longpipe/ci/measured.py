"""What a regression test measures in a run of the tested sender."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from longpipe.result import Result


@dataclass(frozen=True)
class PenalizedMeasure:
    """A measure of which larger values are worse: its name, its unit, and the smallest value that changes refer to.

    A change is divided by the value of the baseline, or by `floor` if that is larger, so that a delay which grows from
    1 to 2 ms does not count as much as one which grows from 1 to 2 s.
    """

    name: str
    unit: str
    floor: float


TIME: Final = PenalizedMeasure("time", "s", 0.001)
DELAY: Final = PenalizedMeasure("queueing delay", "s", 0.01)
RESENT: Final = PenalizedMeasure("retransmissions", "%", 1.0)
MEASURES: Final = (TIME, DELAY, RESENT)
# Data [bytes] to which the time of flows without an end refers, and the smallest share of data that is extrapolated.
_PER_BYTES: Final = 10_000_000
_LEAST_SHARE: Final = 0.001


@dataclass(frozen=True)
class SenderRun:
    """Measures of a run, by name, and why connections of the tested sender ended early."""

    values: Mapping[str, float]
    deaths: Sequence[str]


def measured(result: Result, tested: Set[str], size_bytes: int | None) -> SenderRun:
    """Returns the measures of the tested flows in a run.

    The time is the mean over the flows from the start to the last byte [s]; for a transfer of `size_bytes` that is not
    complete, and for flows without an end, it is extrapolated from the data delivered, to 10 MB if there is no size.
    The queueing delay is the 95th percentile at the port where it is largest [s]. Retransmissions are the share of the
    packets sent [%].
    """
    flows: Mapping[str, Sequence[Any]] = result.part("flows")
    rows = [row for row, name in enumerate(flows["flow"]) if name in tested]
    times = []
    for row in rows:
        start, completed = flows["start_s"][row], flows["completion_s"][row]
        if completed is None or math.isnan(completed):
            share = flows["delivered_bytes"][row] / (size_bytes or _PER_BYTES)
            times.append((result.measured_s - start) / max(share, _LEAST_SHARE))
        else:
            times.append(completed - start)
    sent = sum(flows["sent_segments"][row] for row in rows)
    resent = sum(flows["retransmitted_segments"][row] for row in rows)
    delays = [delay for delay in result.ports["queueing_delay_p95_s"] if not math.isnan(delay)]
    values = {
        TIME.name: sum(times) / len(times),
        DELAY.name: max(delays, default=0.0),
        RESENT.name: 100 * resent / sent if sent else 0.0,
    }
    deaths = [line for line in result.deaths if line.partition(":")[0] in tested]
    return SenderRun(values, deaths)
