"""Tests stores with one damaged byte: each way to read one returns the stored data, or one line about the damage.

`python tests/flips.py [--count 3000] [--seed 1]` prints the outcome of each read. `make fuzz` runs 3000 flips.
"""

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pandas as pd

from longpipe import Scenario, ScenarioError, simulate
from longpipe.design import Design, Factor
from longpipe.store import Store, StoreError, pack, studies
from longpipe.study import Study

BASE: Final = Scenario(defaults="1996", name="k", duration="20 ms")
FEW, MANY = "500 cells", "1000 cells"


def make(path: Path | str) -> None:
    """Creates a store with a study of 4 points and 3 replications, one of whose 12 runs is missing and one failed."""
    factors = [Factor.over("switch.buffer", [FEW, MANY]), Factor.over("tcp.recovery", ["reno", "sack"])]
    design = Design.full_factorial(BASE, factors, replications=3)
    with closing(Store(path)) as store:
        Study(design, store, "flips")
        *runs, failed, _ = design.runs()
        for run in runs:
            scenario = design.scenarios[run.point - 1]
            store.save(scenario, run.seed, pack(simulate(scenario, run.seed), 0.25))
        store.fail(design.scenarios[failed.point - 1], failed.seed, "out of memory")
        Study(Design.full_factorial(BASE, factors[:1]), store, "second")


def _text(frame: pd.DataFrame) -> str:
    return frame.to_json(orient="split", date_format="iso")


def _results(study: Study) -> str:
    return "\n".join(json.dumps(result.summary(), sort_keys=True) for result in study.results())


# Ways to read a store, independent of each other.
READS: Final[dict[str, Callable[[Store], str]]] = {
    "list": lambda store: repr(studies.overview(store)),
    "count": lambda store: str(store.count()),
    "all runs": lambda store: _text(pd.DataFrame(studies.all_runs(store))),
    "status": lambda store: repr(Study.open("flips", store).status()),
    "second status": lambda store: repr(Study.open("second", store).status()),
    "runs": lambda store: _text(Study.open("flips", store).runs()),
    "means": lambda store: _text(Study.open("flips", store).means()),
    "frame": lambda store: _text(Study.open("flips", store).frame()),
    "results": lambda store: _results(Study.open("flips", store)),
    "limits": lambda store: _text(Study.open("flips", store).limits()),
    "design": lambda store: repr(Study.open("flips", store).design),
    "left behind": lambda store: repr(Study.open("flips", store).left_behind()),
}


def read(path: Path | str, names: tuple[str, ...] = tuple(READS)) -> dict[str, str]:
    """Returns, for each way to read a store, its output or its one-line error.

    Raises an error if the store cannot be opened.
    """
    told = {}
    for name in names:
        # A new object is created each time, because data that one way has verified is not verified again.
        with closing(Store(path, readonly=True)) as store:
            try:
                told[name] = READS[name](store)
            except (ScenarioError, StoreError) as error:
                told[name] = f"error: {error}"
    return told


def flip(content: bytes, draws: random.Random) -> bytes:
    """Returns the bytes with one byte changed to another value."""
    at = draws.randrange(len(content))
    return content[:at] + bytes([content[at] ^ draws.randrange(1, 256)]) + content[at + 1 :]


def is_one_line(text: str) -> bool:
    """Returns whether an error is one line about a store."""
    return text.removeprefix("error: ").startswith(("store", "study")) and "\n" not in text and len(text) < 500


@contextmanager
def flipped(base: Path, draws: random.Random) -> Iterator[Path]:
    """Returns a copy of a store with one byte changed."""
    path = base.with_name("flipped.db")
    path.write_bytes(flip(base.read_bytes(), draws))
    yield path
    for file in base.parent.glob("flipped.db*"):
        file.unlink()


def check_flips(base: Path, count: int, seed: int) -> Counter[str]:
    """Reads the files after each of `count` bit flips, and counts the outcomes: equal, rejected, wrong, or a long
    error.
    """
    expected, draws = read(base), random.Random(seed)
    tally: Counter[str] = Counter()
    for number in range(count):
        with flipped(base, draws) as path:
            try:
                found = read(path)
            except (ScenarioError, StoreError) as error:
                found = dict.fromkeys(expected, f"error: {error}")
        for name, text in found.items():
            if text == expected[name]:
                tally["alike"] += 1
            elif text.startswith("error: "):
                tally["refused" if is_one_line(text) else f"unclear: {name}: {text[:200]!r}"] += 1
            else:
                tally[f"wrong: {name} after flip {number} of seed {seed}"] += 1
    return tally


def main() -> int:
    """Runs the command line; the exit status is 1 if wrong data was read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "runs.db"
        make(base)
        tally = check_flips(base, asked.count, asked.seed)
    sys.stdout.write(f"{asked.count} flips, seed {asked.seed}, {len(READS)} ways to read: ")
    sys.stdout.write(", ".join(f"{number} {name}" for name, number in tally.items()) + "\n")
    return 1 if set(tally) - {"alike", "refused"} else 0


if __name__ == "__main__":
    sys.exit(main())
