"""Measures the speed of the environments for reinforcement learning: number of 10 ms steps per CPU second on one core.

Run with: .venv/bin/python benches/gym.py
"""

import time
from typing import Final

import numpy as np

from longpipe import Scenario
from longpipe.gym import LinkVectorEnv

PATH: Final = """
framing = "ip"
duration = "1000 s"
tcp.profile = "linux-6"
switch.buffer = "1 BDP"
network = {kind = "dumbbell", sources = 1, trunk_rate = "12 Mbit/s", trunk_delay = "14 ms", access_rate = "1 Gbit/s"}
"""
ENVIRONMENTS: Final = 256
STEPS: Final = 300
# Targets: rates below and above the link's rate (above it, the queue overflows), and a window of one BDP of the path.
AIMS: Final = {
    "rate of 11 Mbit/s": ("rate", "rate_bps", 11e6),
    "rate of 12.5 Mbit/s, with losses": ("rate", "rate_bps", 12.5e6),
    "window of 1 BDP": ("window", "window_bytes", 42e3),
}


def main() -> None:
    """Prints, for each target, the steps per second of CPU time on one thread."""
    for name, (action, field, aim) in AIMS.items():
        env = LinkVectorEnv(
            ENVIRONMENTS, Scenario.from_toml(PATH), action=action, step="10 ms", most_steps=10**6, threads=1, copy=False
        )
        env.reset(seed=1)
        actions, began = np.zeros((ENVIRONMENTS, 1)), 0.0
        # The first steps approach the target.
        for step in range(2 * STEPS):
            if step == STEPS:
                began = time.process_time()
            *_, information = env.step(actions)
            step_to = 0.05 if action == "window" else 1.0
            actions = np.where(information[field] < aim, step_to, -step_to)[:, None]
        rate = ENVIRONMENTS * STEPS / (time.process_time() - began)
        print(f"{name}: {rate:,.0f} steps/s")  # noqa: T201


if __name__ == "__main__":
    main()
