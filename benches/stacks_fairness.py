"""Prints the share of senders beside Linux's CUBIC, as in docs/stacks-compared.md.

Two endless flows, one of Linux's CUBIC, begin at random times within 0.1 s over 20 Mbit/s, 40 ms and a buffer of one
BDP, for 60 s, with six seeds. Senders are named as in `longpipe ci`. Run with:

    .venv/bin/python benches/stacks_fairness.py SENDER ...
"""

import sys
from typing import Final

from longpipe import Scenario, simulate
from longpipe.analysis.intervals import estimate
from longpipe.fairness.controls import Sender

SEEDS: Final = range(1, 7)


def scenario(sender: Sender) -> Scenario:
    """Returns the scenario of a sender. Starts are random, because some stacks use no random numbers."""
    start = {"kind": "random", "over": "100 ms"}
    network = {
        "kind": "dumbbell", "trunk_rate": "20 Mbit/s", "trunk_delay": "20 ms",
        "access_rate": "1 Gbit/s", "access_delay": "5 us",
        "group": [
            {"name": "sender", "start": start, **sender.fields},
            {"name": "cubic", "start": start, "traffic": "greedy"},
        ],
    }  # fmt: skip
    fields = {"framing": "ip", "duration": "60 s", "switch": {"buffer": "1 BDP"}, "network": network}
    return Scenario(defaults="1996", **fields, tcp={"profile": "linux-6", "congestion": "cubic"})


def share(sender: Sender, seed: int) -> float:
    """Returns the share of the goodput that the sender has [%]."""
    rates = simulate(scenario(sender), seed=seed).flows.throughput_bps
    return float(100 * rates[0] / rates.sum())


def main() -> None:
    """Prints the mean of each sender with half of its 95 % interval, and all shares."""
    for word in sys.argv[1:]:
        sender = Sender.parse(word, "SENDER")
        shares = [share(sender, seed) for seed in SEEDS]
        mean = estimate(shares)
        text = ", ".join(f"{value:.0f}" for value in shares)
        print(f"{sender.name}: {mean.mean:.0f} ± {(mean.mean_high - mean.mean_low) / 2:.0f} ({text})", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
