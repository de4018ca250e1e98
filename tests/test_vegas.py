"""Vegas compared with ns-2's Vegas, and with its goal of one to three segments in the queue."""

import numpy as np
import pandas as pd
import pytest

from longpipe import Scenario, simulate
from longpipe_evidence.validate import ns2

SEGMENTS, PACKET_BYTES, MSS = 3000, 640, 600
RATES = ("1600 kbit/s", "3200 kbit/s", "6400 kbit/s")


def path(rate: str, **changes: object) -> Scenario:
    """Returns one file over a bottleneck with a delay of 100 ms; all other links are a thousand times faster."""
    fast = f"{1000 * int(rate.split()[0])} kbit/s"
    return Scenario(defaults="1996").with_(
        **{
            "framing": "ip",
            "duration": "60 s",
            "switch.buffer": "81 packets",
            "network": {
                "kind": "dumbbell", "sources": 1, "access_rate": fast, "access_delay": "0 s", "exit_delay": "0 s",
                "trunk_rate": rate, "trunk_delay": "50 ms",
            },
            "tcp.congestion": "vegas",
            "tcp.mss": f"{MSS} B",
            "tcp.receiver_window": "1 MB",
            "traffic": {"kind": "transfer", "size": f"{SEGMENTS * MSS} B"},
            "traces": {"sequence": True, "cwnd": True},
            **changes,
        }
    )  # fmt: skip


def ns2_sent(rate: str, moves: str = "") -> pd.DataFrame:
    """Returns the send times of ns-2's Agent/TCP/Vegas; `moves` contains times and delays of the bottleneck."""
    if not ns2.available():
        pytest.skip("needs ns-2")
    bits = 1000 * int(rate.split()[0])
    sizes_and_window = [PACKET_BYTES, 40, 10_000, 80, SEGMENTS]
    return ns2.run([*ns2.AGENTS["vegas"], bits, 1000 * bits, 0.05, *sizes_and_window, 0.1, "", "", 0, moves]).sent


@pytest.mark.parametrize("rate", RATES)
def test_segments_leave_within_a_packet_time_of_ns2(rate: str) -> None:
    theirs = ns2_sent(rate)
    trace = simulate(path(rate)).traces["sequence"]
    ours = trace[trace["event"] == 0]
    assert (ours["sequence_bytes"].to_numpy() // MSS == theirs["segment"].to_numpy()).all()
    packet_s = 8 * PACKET_BYTES / (1000 * int(rate.split()[0]))
    assert np.abs(ours["time_s"].to_numpy() - theirs["s"].to_numpy()).max() < 1.01 * packet_s


@pytest.mark.parametrize("rate", RATES)
def test_a_lone_flow_settles_with_alpha_to_beta_segments_in_the_queue(rate: str) -> None:
    result = simulate(path(rate, traffic="greedy"))
    windows = result.traces["cwnd"]
    settled = windows["cwnd_bytes"][windows["time_s"] > 40].to_numpy() / MSS
    pipe = 1000 * int(rate.split()[0]) * 0.1 / 8 / PACKET_BYTES
    last = windows["cwnd_bytes"].iloc[-1] / MSS
    # To within a segment, the window is the sum of the BDP, two segments that are being transmitted (as data and as
    # ACK), and Vegas' bounds.
    assert pipe + 1 <= last <= pipe + 5
    assert settled.size == 0 or np.ptp(settled) <= 2
    assert result.flows["retransmitted_segments"].iloc[0] == 0
