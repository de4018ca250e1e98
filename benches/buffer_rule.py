"""Buffer that n long Reno flows need, compared with B = C RTT / sqrt(n), as a table in Markdown.

Usage: python benches/buffer_rule.py [SEED]. The bottleneck has tail drop, and a rate with which C RTT is 100 packets
per flow, and at least 10 000 packets; the RTTs are spread evenly from 60 to 180 ms. Columns: number of flows; C RTT
[packets]; smallest buffer with which the bottleneck is busy for 98 % of the time [packets]; buffer of the rule
[packets]; ratio of the two; median share of the flows that lose packets in one overflow. The last line is the slope of
log B/(C RTT) over log n, which is -0.5 for the rule.

The rule assumes that the windows are independent, in which case few flows lose packets at a time (Appenzeller,
Keslassy and McKeown 2004).
"""

import math
import sys
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pandas as pd

from longpipe import Result, Scenario, simulate

FLOWS: Final = (50, 100, 200, 500, 1000)
UTILIZATION: Final = 0.98
RTTS_S: Final = (0.060, 0.180)
# C RTT: per flow and minimum [packets].
WINDOW, LEAST = 100, 10_000
PACKET_BITS: Final = 12_000
# Period over which means are taken, after tens of RTTs for slow start and convergence [s].
BEGIN_S, END_S = 60, 200
# Buffers of the search, in multiples of the rule's, and the ratio of two buffers at which it ends.
BRACKET: Final = (0.5, 8)
PRECISION: Final = 1.05
BOTTLENECK: Final = "switch1->switch2"


def pipe(flows: int) -> int:
    """Returns C RTT [packets]."""
    return max(LEAST, WINDOW * flows)


def rule(flows: int) -> float:
    """Returns C RTT / sqrt(n) [packets]."""
    return pipe(flows) / math.sqrt(flows)


def scenario(flows: int, buffer: int, *, drops: bool = False) -> Scenario:
    """Returns the flows over a buffer [packets]. Sending times vary by a packet's duration, against phase effects."""
    low, high = RTTS_S
    rate = pipe(flows) * PACKET_BITS / (sum(RTTS_S) / 2)
    rtts = (low + (high - low) * (flow + 0.5) / flows for flow in range(flows))
    return Scenario(defaults="1996").with_(
        framing="ip",
        duration=f"{END_S} s",
        warm_up=f"{BEGIN_S} s",
        network={
            "kind": "dumbbell",
            "access_rate": "100 Mbit/s",
            "trunk_rate": f"{rate:.0f} bit/s",
            "trunk_delay": "1 ms",
            "access_delay": "0 s",
            "exit_delay": "0 s",
            "send_jitter": "12 us",
            "group": [
                {"name": f"{number}-", "access_delay": f"{rtt / 2 - 0.001:.6f} s"} for number, rtt in enumerate(rtts)
            ],
        },
        switch={"buffer": f"{buffer} packets"},
        tcp={"recovery": "sack", "mss": "1460 B", "receiver_window": "64 MiB"},
        start={"kind": "random", "over": "20 s"},
        traces={"drops": drops},
    )


def utilization(result: Result) -> float:
    """Returns the share of the time in which the bottleneck transmits."""
    ports = result.ports
    return float(ports.loc[ports["port"] == BOTTLENECK, "utilization"].iloc[0])


def needed(flows: int, seed: int) -> int:
    """Returns the smallest sufficient buffer [packets], to within the precision.

    Raises RuntimeError if all tested buffers are sufficient or none is, because the result would be an end of the
    bracket, which is proportional to the rule.
    """
    least, most = low, high = [round(multiple * rule(flows)) for multiple in BRACKET]
    while high / low > PRECISION:
        middle = round(math.sqrt(low * high))
        if utilization(simulate(scenario(flows, middle), seed=seed)) < UTILIZATION:
            low = middle
        else:
            high = middle
    if low == least or high == most:
        raise RuntimeError(f"{flows} flows: the search ended at an end of {least} to {most} packets; widen BRACKET")
    return high


def losing(drops: pd.DataFrame, flows: int) -> Iterator[float]:
    """Yields the share of the flows that lose a packet in each overflow; overflows are an RTT without a loss apart."""
    drops = drops[drops["time_s"] > BEGIN_S]
    overflow = (drops["time_s"].diff() > sum(RTTS_S) / 2).cumsum()
    for _, lost in drops.groupby(overflow):
        yield lost["flow"].nunique() / flows


def main() -> None:
    """Prints the table."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    head = ("flows", "C RTT", "buffer", "C RTT / √n", "ratio", "flows that lose in an overflow")
    for cells in (head, ("---",) * len(head)):
        _write(cells)
    parts = []
    for flows in FLOWS:
        buffer = needed(flows, seed)
        parts.append(buffer / pipe(flows))
        drops = simulate(scenario(flows, buffer, drops=True), seed=seed).traces["drops"]
        share = float(np.median(list(losing(drops, flows))))
        ratio = buffer / rule(flows)
        _write((flows, pipe(flows), buffer, round(rule(flows)), f"{ratio:.2f}", f"{100 * share:.0f} %"))
    slope = np.polyfit(np.log(FLOWS), np.log(parts), 1)[0]
    sys.stdout.write(f"slope: {slope:.2f}\n")


def _write(cells: Iterable[object]) -> None:
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
