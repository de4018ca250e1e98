"""Measures the speed of a congestion control in Python: ACKs per second of the whole run's CPU time.

Run with: .venv/bin/python benches/classes.py
"""

import time
from importlib.util import find_spec
from statistics import median
from typing import Any, Final

from longpipe import Ack, Control, Grant, Scenario, compiled, simulate
from longpipe.controls import isolation

PATH: Final = """
framing = "ip"
schema = 1
duration = "10 s"
tcp.profile = "linux-6"
switch.buffer = "1 BDP"
network = {kind = "dumbbell", sources = 1, trunk_rate = "1 Gbit/s", trunk_delay = "10 ms", access_rate = "10 Gbit/s"}
"""
ROUNDS: Final = 5
acks = 0


class Plain(Control):
    """Reno that counts bytes."""

    def on_ack(self, ack: Ack) -> Grant | None:
        """Increases the window by one segment per RTT."""
        if not ack.grows:
            return None
        if ack.window < ack.ssthresh:
            return Grant(window=ack.window + ack.acked)
        return Grant(window=ack.window + ack.mss * ack.acked / ack.window)


class Counting(Plain):
    """A controller that behaves like `Plain` and counts its ACKs."""

    def on_ack(self, ack: Ack) -> Grant | None:
        """Counts the ACK, and increases the window as `Plain` does."""
        global acks
        acks += 1
        return super().on_ack(ack)


class Compiled(Control):
    """Reno with byte counting, compiled by Numba."""

    @compiled
    def on_ack(state: Any, ack: Ack, grant: Any) -> None:  # noqa: ANN401, N805 - compiled
        """Increases the window by one segment per round trip."""
        if ack.grows:
            grant.window += ack.acked if ack.window < ack.ssthresh else ack.mss * ack.acked / ack.window


def seconds(scenario: Scenario) -> float:
    """Returns the CPU time [s] of a run."""
    began = time.process_time()
    simulate(scenario)
    return time.process_time() - began


def main() -> None:
    """Prints medians over interleaved runs of all controllers."""
    # The classes run in this process, because its processor time is measured.
    isolation.load_here()
    path = Scenario.from_toml(PATH)
    simulate(path.with_(**{"tcp.congestion": Counting}))
    controls = {"in Python": Plain, "longpipe's own": "linux-reno"} | (
        {"compiled": Compiled} if find_spec("numba") else {}
    )
    scenarios = {name: path.with_(**{"tcp.congestion": control}) for name, control in controls.items()}
    # The first run of each controller includes compilation and imports.
    times = [{name: seconds(one) for name, one in scenarios.items()} for _ in range(ROUNDS + 1)][1:]
    for name in scenarios:
        print(f"{name}: {acks / median(of[name] for of in times):,.0f} ACKs/s")  # noqa: T201


if __name__ == "__main__":
    main()
