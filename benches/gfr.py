"""Cells that five VCs get, relative to their guarantees, over 20 seeds (docs/atm.md): `python benches/gfr.py`."""

import statistics
import sys
from typing import Final

from longpipe import Scenario, simulate

LINK: Final = 155_520_000 // 424
SHARES: Final = {"a": 0.10, "b": 0.14, "c": 0.18, "d": 0.22, "e": 0.26}
DURATION_S: Final = 20
SEEDS: Final = range(1, 21)
# Schedulers and policies, and the factor by which the guarantees are multiplied.
CASES: Final = (
    ("wfq", "selective-drop", 1.0),
    ({"kind": "wfq", "unit": "frames"}, "selective-drop", 1.0),
    ("wfq", "dfba", 1.0),
    ("fifo", "dfba", 1.0),
    ("fifo", "selective-drop", 1.0),
    ("fifo", "dfba", 0.5),
)


def ratios(scenario: Scenario, seed: int, factor: float) -> list[float]:
    """Returns the cells that each VC delivered, relative to its guarantee."""
    cells = simulate(scenario, seed).guaranteed["cells_delivered"]
    return [count / DURATION_S / (factor * share * LINK) for count, share in zip(cells, SHARES.values(), strict=True)]


def main() -> None:
    """Prints a row per case: means over the seeds, the smallest ratio, and the seeds with at least 95 % for all VCs."""
    delays = {f"network.{part}_delay": "5 ms" for part in ("access", "trunk", "exit")}
    tcp = {"tcp.recovery": "sack", "tcp.receiver_window": "600000 B"}
    start = {"start": {"kind": "random", "over": "100 ms"}, "duration": f"{DURATION_S} s"}
    wan = Scenario(defaults="1996").with_(**delays, **tcp, **start, **{"switch.buffer": "12000 cells"})
    for scheduler, policy, factor in CASES:
        group = [
            {"name": name, "service": {"kind": "gfr", "mcr": int(factor * share * LINK)}}
            for name, share in SHARES.items()
        ]
        scenario = wan.with_(**{"network.group": group, "switch.scheduler": scheduler, "switch.policy": policy})
        found = [ratios(scenario, seed, factor) for seed in SEEDS]
        means = "  ".join(f"{statistics.mean(of_vc):.2f}" for of_vc in zip(*found, strict=True))
        kept = sum(min(row) >= 0.95 for row in found)
        smallest = min(map(min, found))
        sys.stdout.write(f"{scheduler} {policy} {factor}: {means}; smallest {smallest:.2f}; {kept} of {len(found)}\n")


if __name__ == "__main__":
    main()
