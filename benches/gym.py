"""Measures the speed of the environments for reinforcement learning: number of 10 ms steps per CPU second on one core.

A vectorized environment is measured for several targets, and a single environment for the first one.

Run with: .venv/bin/python benches/gym.py
"""

import time
from typing import Final

import numpy as np

from longpipe import Scenario
from longpipe.gym import LinkEnv, LinkVectorEnv

PATH: Final = """
framing = "ip"
schema = 1
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


def single() -> float:
    """Returns the steps per second of CPU time of a single environment."""
    action, field, aim = next(iter(AIMS.values()))
    env = LinkEnv(Scenario.from_toml(PATH), action=action, step="10 ms", most_steps=10**6)
    _, information = env.reset(seed=1)
    began, up = 0.0, np.ones(1)
    for step in range(20 * STEPS):
        if step == 10 * STEPS:
            began = time.process_time()
        *_, information = env.step(up if information[field] < aim else -up)
    return 10 * STEPS / (time.process_time() - began)


def main() -> None:
    """Prints the steps per second of CPU time on one thread for each target, and for a single environment."""
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
    print(f"a single environment: {single():,.0f} steps/s")  # noqa: T201


if __name__ == "__main__":
    main()
