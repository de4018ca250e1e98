"""A bottleneck with varying delay, compared with ns-2's `$link set delay_`: both send equal segments in the same order.
ns-2 reads the delay when a packet's transmission starts, and does not keep packets on the wire in order.
"""

from typing import Final

import numpy as np
import pandas as pd
import pytest

from longpipe import Scenario, simulate
from longpipe.units import SIZE
from longpipe_evidence.validate import ns2
from longpipe_evidence.validate.ns2_drops import DropCase, Flavor
from test_vegas import MSS, RATES, ns2_sent
from test_vegas import path as vegas_path

pytestmark = pytest.mark.skipif(not ns2.available(), reason="ns-2 is not installed (Debian's package ns2)")

Moves = list[tuple[float, float]]

# Times and one-way delays in seconds. The times are unusual, so that no other event coincides. The transmission of a
# packet takes 2.9 ms, and the first series decreases so slowly that no packet overtakes another.
SLOW: Final[Moves] = [
    (0.0, 0.05),
    (0.7310011, 0.081),
    *((round(1.2110013 + 0.2 * k, 7), round(0.0785 - 0.0025 * k, 4)) for k in range(13)),
    (3.9070019, 0.12),
]
JUMPS: Final[Moves] = [(0.0, 0.05), (0.7310011, 0.081), (1.5130013, 0.0365), (2.4010017, 0.12), (3.0070019, 0.0433)]
DROPS: Final = [(), (30, 31), (45, 60, 61, 120)]


def both(tcp: Flavor, drop: tuple[int, ...], moves: Moves) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """Returns the send times of each segment in longpipe and ns-2, and the number of overtaking packets in longpipe."""
    case = DropCase(tcp=tcp, drop=drop, segments=1500, window=100)
    ours, overtakings = sent(case.scenario(), moves, SIZE.parse(case.mss))
    return ours, ns2.run([*case.arguments(), 0, of_ns2(moves)]).sent, overtakings


def sent(scenario: Scenario, moves: Moves, mss: int) -> tuple[pd.DataFrame, float]:
    """Returns the send times of a flow's segments over a time-varying trunk, and the number of overtaking packets."""
    knots = [[f"{at} s", f"{delay} s"] for at, delay in moves]
    path = {"delay": knots, "between": "hold", "at": "start", "order": "free"}
    result = simulate(scenario.with_(**{"network.path": path}))
    trace = result.traces["sequence"]
    trace = trace[trace["event"] == 0]
    segments = trace["sequence_bytes"].to_numpy() // mss
    ours = pd.DataFrame({"s": trace["time_s"].to_numpy(), "segment": segments})
    return ours, float(result.ports["overtakings"].sum())


def of_ns2(moves: Moves) -> str:
    return " ".join(f"{at} {delay}" for at, delay in moves[1:])


def largest_lag_s(ours: pd.DataFrame, theirs: pd.DataFrame) -> float:
    """Returns the maximum difference [s] between send times, if both sent the same segments in the same order."""
    assert ours["segment"].tolist() == theirs["segment"].tolist()
    return float(np.abs(ours["s"].to_numpy() - theirs["s"].to_numpy()).max())


@pytest.mark.parametrize("tcp", ["reno", "newreno", "sack"])
@pytest.mark.parametrize("drop", DROPS, ids=str)
def test_the_same_segments_leave_over_a_delay_that_moves(tcp: Flavor, drop: tuple[int, ...]) -> None:
    ours, theirs, overtakings = both(tcp, drop, SLOW)
    assert ours["s"].iloc[-1] > SLOW[-1][0]
    assert overtakings == 0
    # SACK blocks make ACKs longer than ns-2's.
    assert largest_lag_s(ours, theirs) < (2e-4 if tcp == "sack" else 1e-6)


@pytest.mark.parametrize(("tcp", "drop"), [("reno", ()), ("sack", (30, 31)), ("sack", (45, 60, 61, 120))], ids=str)
def test_the_same_segments_leave_where_packets_overtake_others(tcp: Flavor, drop: tuple[int, ...]) -> None:
    ours, theirs, overtakings = both(tcp, drop, JUMPS)
    assert overtakings > 0
    assert largest_lag_s(ours, theirs) < (2e-4 if tcp == "sack" else 1e-6)


@pytest.mark.parametrize("rate", RATES)
def test_vegas_sends_the_same_segments_as_ns2(rate: str) -> None:
    # ns-2 rounds the queued data to whole segments before it compares them with 1 and 3.
    rounded = {"tcp.vegas.alpha": 0.5, "tcp.vegas.beta": 3.5, "tcp.vegas.gamma": 1.5}
    ours, _ = sent(vegas_path(rate, duration="150 s", **rounded), SLOW, MSS)
    theirs = ns2_sent(rate, of_ns2(SLOW))
    # In linear growth, ns-2 spreads each increase evenly over an RTT, so the windows then differ by fractions of a
    # segment.
    drift = int((ours["s"] < SLOW[-1][0] - 0.01).sum())
    assert largest_lag_s(ours[:drift], theirs[:drift]) < 1e-6
    assert largest_lag_s(ours, theirs) < 0.5
