"""Stacks that `make stacks-NAME` builds, and transfers over random paths with them.

As a program, prints the decisions of each run: python tests/ends.py NAME CONTROL COUNT
"""

import json
import random
import sys
from pathlib import Path
from typing import Any, Final

from longpipe import Scenario, simulate

ROOT: Final = Path(__file__).parent.parent
FOLDER: Final = ROOT / "target" / "ends"
# Stacks that are programs instead of objects.
PROGRAMS: Final = {"aioquic": ROOT / "integrations" / "stacks" / "aioquic_end.py", "quic-go": FOLDER / "quic-go"}


def file_of(name: str) -> Path:
    """Returns the object or program of a stack, which need not exist."""
    return PROGRAMS.get(name, FOLDER / f"{name}.so")


def traffic(name: str, **settings: Any) -> dict[str, Any]:  # noqa: ANN401 - values of any type
    """Returns the traffic of a flow with a stack."""
    file = str(file_of(name))
    if name in PROGRAMS:
        source: dict[str, Any] = {"command": ["python", file] if file.endswith(".py") else [file]}
    else:
        source = {"file": file}
    return {"kind": "own-stack", **source, "stack": name, "settings": settings}


def path(
    sent: dict[str, Any], rate: str = "20 Mbit/s", delay: str = "20 ms", duration: str = "10 s", **others: object
) -> Scenario:
    """Returns a dumbbell with one flow."""
    network: dict[str, Any] = {
        "kind": "dumbbell", "sources": 1, "trunk_rate": rate, "trunk_delay": delay,
        "access_rate": "1 Gbit/s", "access_delay": "5 us",
    }  # fmt: skip
    fields: dict[str, Any] = {"framing": "ip", "duration": duration, "network": network, "switch": {"buffer": "1 BDP"}}
    return Scenario(defaults="1996", **fields | others, traffic=sent)


def random_path(name: str, control: str, seed: int) -> Scenario:
    """Returns a transfer over a path with random rate, delay, buffer, loss and jitter."""
    draw = random.Random(seed)
    made = path(
        traffic(name, congestion=control, size=draw.choice([30_000, 300_000, 1_000_000])),
        rate=f"{draw.choice([1, 5, 20, 100])} Mbit/s",
        delay=f"{draw.choice([2, 10, 40, 150])} ms",
        switch={"buffer": f"{draw.choice([8, 30, 200])} packets"},
    )
    changes: dict[str, Any] = {}
    if draw.random() < 0.5:
        changes["network.trunk_loss"] = {"kind": "bernoulli", "probability": draw.choice([0.001, 0.01, 0.05])}
    if draw.random() < 0.3:
        changes["network.conditioners"] = [{"kind": "jitter", "delay": "5 ms", "jitter": "1 ms", "order": "free"}]
    return made.with_(**changes)


def decisions(name: str, control: str, count: int) -> list[str]:
    """Returns the hashes of all packets and times of transfers over random paths, the first of which is repeated."""
    seeds = (*range(count), 0)
    return [str(simulate(random_path(name, control, seed), seed=seed).stacks.decisions[0]) for seed in seeds]


if __name__ == "__main__":
    print(json.dumps(decisions(sys.argv[1], sys.argv[2], int(sys.argv[3]))))  # noqa: T201
