"""Compares Prague's and CUBIC's shares over DualPI2 with the coupling law, and prints a Markdown table.

Usage: python benches/l4s.py [SEED]. The columns after the ratio of the measured to the predicted share are: the share
of packets marked by the step of the low-latency queue; the squared ratio of Prague's coupled marks (k p') to CUBIC's
drops (p'²), which is 1 for a constant p'; and the share that both responses predict for the measured marks and drops.
"""

import sys
from collections.abc import Sequence
from typing import Final

from longpipe import Scenario, simulate
from longpipe.analysis.coupled_law import COUPLING, cubic_rate, prague_rate, predicted_share

RATES_MBPS: Final = (20, 50, 100, 200)
RTTS_MS: Final = (5, 10, 20, 50, 100)
SEVERAL: Final = ((10, 200, 10), (10, 200, 20), (5, 100, 50), (10, 200, 50), (10, 200, 100))
PACKET_BITS: Final = 12_000
BEGIN_S, END_S = 50, 200
# Step threshold [s] of the low-latency queue.
STEP_S: Final = 0.001
TRUNK: Final = "switch1->switch2"


def scenario(flows: int, rate_mbps: int, rtt_ms: int) -> Scenario:
    """Returns `flows` flows of each control."""
    prague = {"congestion": "prague", "ecn": {"kind": "accurate", "ect": 1}}
    return Scenario().with_(
        framing="ip",
        duration=f"{END_S} s",
        network={
            "kind": "dumbbell",
            "sources": 2 * flows,
            "access_rate": "10 Gbit/s",
            "trunk_rate": f"{rate_mbps} Mbit/s",
            "trunk_delay": f"{rtt_ms / 2} ms",
            "group": [
                {"name": "prague", "count": flows, "tcp": prague},
                {"name": "cubic", "count": flows, "tcp": {"congestion": "cubic"}},
            ],
        },
        switch={"buffer": "20000 packets", "policy": "dualpi2"},
        tcp={"profile": "linux-6", "receiver_window": "64 MiB"},
        start={"kind": "random", "over": "1 s"},
        traces={"delay": True, "drops": True},
    )


def row(flows: int, rate_mbps: int, rtt_ms: int, seed: int) -> list[str]:
    """Runs a scenario, and returns its row of the table."""
    traces = simulate(scenario(flows, rate_mbps, rtt_ms), seed=seed).traces
    sent, drops = (
        table[(table["port"] == TRUNK) & (table["time_s"] > BEGIN_S)] for table in (traces["delay"], traces["drops"])
    )
    is_prague, of_prague = (table["flow"].astype(str).str.startswith("prague") for table in (sent, drops))
    delays, classic_delays = sent["delay_s"][is_prague], sent["delay_s"][~is_prague]
    share = len(delays) / len(sent)
    marks, lost = of_prague.sum() / len(delays), (~of_prague).sum() / (len(classic_delays) + (~of_prague).sum())
    step = (delays > STEP_S).mean()
    coupled = (marks - step) / (1 - step)
    rtt_s = rtt_ms / 1e3
    law = predicted_share(1e6 * rate_mbps / PACKET_BITS, rtt_s, flows)
    prague = prague_rate(marks, rtt_s + delays.mean())
    responses = prague / (prague + cubic_rate(lost, rtt_s + classic_delays.mean()))
    return [
        f"{flows}, {rate_mbps} Mbit/s, {rtt_ms} ms",
        f"{law.swing:.2f}",
        f"{law.share:.2f}",
        f"{share:.2f}",
        f"{share / law.share:.2f}",
        f"{step:.4f}",
        f"{coupled**2 / COUPLING**2 / lost:.2f}",
        f"{responses:.2f}",
        f"{share / responses:.2f}",
    ]


def main() -> None:
    """Prints the table."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    head = (
        "flows of each, rate, RTT", "swing of p'", "predicted", "share of Prague", "ratio", "step marks",
        "(p/2)² / drops", "by marks and drops", "ratio",
    )  # fmt: skip
    for cells in (head, ("---",) * len(head)):
        _write(cells)
    points = [(1, rate, rtt) for rate in RATES_MBPS for rtt in RTTS_MS]
    for point in (*points, *SEVERAL):
        _write(row(*point, seed))


def _write(cells: Sequence[str]) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
