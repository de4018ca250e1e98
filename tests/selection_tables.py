"""Tables of runs for 20 choices among 12 to 20 alternatives, for `tests/test_advise_tables.py`.

`python tests/selection_tables.py FOLDER [LINK...]` simulates the tables that are missing in a folder, in two minutes of
processor time. The tables are stored in `tests/data/selection`.
"""

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from longpipe import Factor, Scenario, simulate
from longpipe.advise.question import Question

DATA: Final = Path(__file__).parent / "data" / "selection"
# Seeds from which the true values are computed, and seeds from which the repetitions are drawn.
TRUTH: Final = 150
DRAWN: Final = 150

LINKS: Final[Mapping[str, dict[str, Any]]] = {
    "home": {"trunk_rate": "5 Mbit/s", "trunk_delay": "10 ms"},
    "dsl": {"trunk_rate": "2 Mbit/s", "trunk_delay": "30 ms"},
    "short": {"trunk_rate": "10 Mbit/s", "trunk_delay": "5 ms"},
    "long": {"trunk_rate": "5 Mbit/s", "trunk_delay": "50 ms"},
    "lossy": {
        "trunk_rate": "5 Mbit/s",
        "trunk_delay": "20 ms",
        "trunk_loss": {"kind": "bernoulli", "probability": 0.005},
    },
}
POLICIES: Final = ["tail-drop", "pie", "codel", "fq-codel"]
CONTROLS: Final = ["cubic", "linux-reno", "bbr", "vegas", "westwood"]


@dataclass(frozen=True)
class Table:
    """Runs of a problem: values for the true means and for repetitions, with shape (alternatives, seeds, measures)."""

    name: str
    truth: NDArray[np.float64]
    drawn: NDArray[np.float64]


def problems() -> dict[str, Question]:
    """Returns the questions by name, four for each link."""
    found = {}
    for name, link in LINKS.items():
        base = Scenario.model_validate(
            {
                "defaults": "1996",
                "name": name,
                "duration": "3 s",
                "framing": "ip",
                "start": {"kind": "random", "over": "500 ms"},
                "network": {
                    "kind": "dumbbell",
                    "access_rate": "100 Mbit/s",
                    **link,
                    "group": [{"name": "call", "traffic": "voice"}, {"name": "bulk", "count": 3}],
                },
                "tcp": {"profile": "linux-6"},
            }
        )
        queue = Factor.over("switch.policy", POLICIES, "queue")
        control = Factor.over("tcp.congestion", CONTROLS, "control")
        few = Factor.over("switch.buffer", ["40 ms", "100 ms", "250 ms"], "buffer")
        many = Factor.over("switch.buffer", [f"{ms} ms" for ms in (40, 65, 100, 160, 250)], "buffer")
        bulk, call = "flow:bulk*.throughput", f"datagrams:call.p95 < {_delay_ms(link) + 40} ms"
        found[f"{name}-queue"] = Question(base, (queue, few), "efficiency")
        found[f"{name}-call"] = Question(base, (queue, few), bulk, limits=(call,))
        found[f"{name}-control"] = Question(base, (control, few), bulk)
        found[f"{name}-many"] = Question(base, (queue, many), "datagrams:call.p95", False, ("efficiency > 0.7",))
    return found


def _delay_ms(link: Mapping[str, Any]) -> int:
    return int(link["trunk_delay"].split()[0])


def simulated(questions: Sequence[Question]) -> list[NDArray[np.float64]]:
    """Runs all seeds of the alternatives that the given questions share.

    Each array has the shape (alternatives, seeds, measures).
    """
    scenarios = [scenario for [scenario] in questions[0].scenarios]
    jobs = [(scenario, seed) for scenario in scenarios for seed in range(1, TRUTH + DRAWN + 1)]

    def measured(job: tuple[Scenario, int]) -> list[list[float]]:
        result = simulate(*job)
        return [[measure(result) for measure in question.measures] for question in questions]

    with ThreadPoolExecutor() as pool:
        found = list(pool.map(measured, jobs))
    shape = (len(scenarios), TRUTH + DRAWN, -1)
    return [np.array([row[i] for row in found]).reshape(shape) for i in range(len(questions))]


def load(path: Path) -> Table:
    """Reads a table."""
    values = np.load(path)["values"].astype(float)
    return Table(path.stem, values[:, :TRUTH], values[:, TRUTH:])


def main(folder: Path, wanted: Sequence[str]) -> None:
    """Writes the tables of the requested links that are missing in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for link, kinds in product(wanted or LINKS, (("queue", "call"), ("control",), ("many",))):
        names = [f"{link}-{kind}" for kind in kinds]
        files = [folder / f"{name}.npz" for name in names]
        if not all(file.exists() for file in files):
            found = problems()
            for file, values in zip(files, simulated([found[name] for name in names]), strict=True):
                np.savez_compressed(file, values=values.astype(np.float32))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
