"""Measures the speed of runs with real QUIC stacks: data packets per CPU second on one core, with and without TLS.

A data packet includes its ACKs, both ends and the path. Run with: .venv/bin/python benches/stacks.py
"""

import time
from typing import Any, Final

from longpipe import Scenario, simulate

STACKS: Final = (("quinn", "cubic"), ("noq", "cubic"))
TRAFFIC: Final = {"kind": "stack", "window": "16 MiB"}
PATH: Final[dict[str, Any]] = {
    "framing": "ip",
    "duration": "40 s",
    "network": {
        "kind": "dumbbell",
        "sources": 1,
        "access_rate": "1 Gbit/s",
        "trunk_rate": "100 Mbit/s",
        "trunk_delay": "20 ms",
    },
    "switch": {"buffer": "1 BDP"},
}


def rate(stack: str, congestion: str, crypto: str, size: str) -> float:
    """Returns the data packets per CPU second of one transfer."""
    traffic = {**TRAFFIC, "stack": stack, "congestion": congestion, "crypto": crypto, "size": size}
    scenario = Scenario(defaults="1996", **PATH, traffic=traffic)
    began = time.process_time()
    result = simulate(scenario)
    return float(result.flows.sent_segments[0] / (time.process_time() - began))


def main() -> None:
    """Prints the best of three transfers of 200 MB with each stack."""
    for stack, congestion in STACKS:
        # The first run loads the libraries.
        rate(stack, congestion, "tls", "100 kB")
        for crypto in ("tls", "null"):
            best = max(rate(stack, congestion, crypto, "200 MB") for _ in range(3))
            print(f"{stack}, crypto = {crypto!r}: {best:,.0f} data packets/s")  # noqa: T201


if __name__ == "__main__":
    main()
