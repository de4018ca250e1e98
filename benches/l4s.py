"""Compares Prague's and CUBIC's shares over DualPI2 with the coupling law, and prints a Markdown table.

Usage: python benches/l4s.py [SEED]. It takes about three minutes of CPU time. The shares are those of seconds 200 to
1000. The last two columns are the share in a fluid model in which p' varies, for one flow of each control, and the
ratio of the measured to the modeled share.
"""

import sys
from collections.abc import Sequence
from typing import Final

from longpipe import Scenario, simulate
from longpipe_evidence.validate.coupled_law import predicted_share
from longpipe_evidence.validate.coupled_model import modeled_share

RATES_MBPS: Final = (20, 50, 100, 200)
RTTS_MS: Final = (5, 10, 20, 50, 100)
SEVERAL: Final = ((10, 200, 10), (10, 200, 20), (5, 100, 50), (10, 200, 50), (10, 200, 100))
PACKET_BITS: Final = 12_000
BEGIN_S, END_S = 200, 1000


def scenario(flows: int, rate_mbps: int, rtt_ms: int) -> Scenario:
    """Returns `flows` flows of each control."""
    prague = {"congestion": "prague", "ecn": {"kind": "accurate", "ect": 1}}
    return Scenario(defaults="1996").with_(
        framing="ip",
        duration=f"{END_S} s",
        warm_up=f"{BEGIN_S} s",
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
    )


def row(flows: int, rate_mbps: int, rtt_ms: int, seed: int) -> list[str]:
    """Runs a scenario, and returns its row of the table."""
    rates = simulate(scenario(flows, rate_mbps, rtt_ms), seed=seed).flows["throughput_bps"]
    share = float(rates[:flows].sum() / rates.sum())
    packets_per_s, rtt_s = 1e6 * rate_mbps / PACKET_BITS, rtt_ms / 1e3
    law = predicted_share(packets_per_s, rtt_s, flows)
    modeled = modeled_share(packets_per_s, rtt_s, BEGIN_S, END_S) if flows == 1 else None
    return [
        f"{flows}, {rate_mbps} Mbit/s, {rtt_ms} ms",
        f"{law.swing:.2f}",
        f"{law.share:.2f}",
        f"{share:.2f}",
        f"{share / law.share:.2f}",
        "" if modeled is None else f"{modeled:.2f}",
        "" if modeled is None else f"{share / modeled:.2f}",
    ]


def main() -> None:
    """Prints the table."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    head = ("flows of each, rate, RTT", "swing of p'", "predicted", "share of Prague", "ratio", "modeled", "ratio")
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
