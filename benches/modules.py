"""Compares the speed of Linux's CUBIC module with that of longpipe's own CUBIC, in packets per second of CPU time.

Run with: .venv/bin/python benches/modules.py tcp_cubic.c
"""

import sys
import time
from statistics import median
from typing import Final

from longpipe import Scenario, simulate
from longpipe.controls import isolation
from longpipe.result import Result

PATH: Final = """
framing = "ip"
schema = 1
duration = "60 s"
tcp.profile = "linux-6"
switch.buffer = "0.5 BDP"
network = {kind = "dumbbell", sources = 4, trunk_rate = "200 Mbit/s", trunk_delay = "20 ms", access_rate = "1 Gbit/s"}
"""
ROUNDS: Final = 9


def packets(result: Result) -> int:
    """Returns the number of data packets and ACKs that entered a port."""
    return int(result.ports["packets_in"].sum())


def rate(scenario: Scenario, seed: int) -> float:
    """Returns the number of packets per second of CPU time."""
    began = time.process_time()
    result = simulate(scenario, seed)
    return packets(result) / (time.process_time() - began)


def main() -> None:
    """Prints medians of both rates and of their ratio, over interleaved runs."""
    file = sys.argv[1]
    # The modules run in this process, because its processor time is measured.
    isolation.load_here()
    path = Scenario.from_toml(PATH)
    own = path.with_(**{"tcp.congestion": {"kind": "cubic", "rules": "linux"}})
    module = path.with_(**{"tcp.congestion": {"kind": "module", "file": file}})
    rates = [(rate(own, seed), rate(module, seed)) for seed in range(ROUNDS)]
    ours, theirs = (median(of) / 1e6 for of in zip(*rates, strict=True))
    ratio = median(second / first for first, second in rates)
    print(f"longpipe's own {ours:.2f} million packets/s, module {theirs:.2f}: ratio {ratio:.2f}")  # noqa: T201


if __name__ == "__main__":
    main()
