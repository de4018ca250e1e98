"""Random drops, windows, queues, rates and options in longpipe and ns-2, and the rules that cause differences."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final, get_args

import pandas as pd

from longpipe_evidence.validate.ns2_drops import DropCase, Flavor, compare
from longpipe_evidence.validate.ns2_rules import explain

FLAVORS: Final[tuple[Flavor, ...]] = get_args(Flavor)
LEVELS: Final[dict[str, Sequence[Any]]] = {
    "segments": (200, 400),
    "window": (4, 8, 16, 32, 64, 100, 300),
    "queue": (None, None, 3, 6, 12, 25, 60),
    "rate": ("1.5 Mbit/s", "3.3 Mbit/s", "10 Mbit/s", "45 Mbit/s"),
    "round_trip": ("3 ms", "20 ms", "60 ms", "100 ms", "250 ms"),
    "mss": ("512 B", "1460 B", "9180 B"),
    "tick": ("1 ms", "10 ms", "100 ms"),
    "guard": (False, True),
}
# Number of drops, range of segments, and range of the first drop.
DROPS, SPANS, STARTS = (1, 2, 3, 4, 5, 6, 8), (8, 20, 60, 150), 150


def draw(tcp: Flavor, seed: int) -> DropCase:
    """Draws a case: 1 to 8 drops, and a value of every option of the flavor."""
    random = Random(f"{tcp} {seed}")  # noqa: S311 - not used for cryptography
    first, span = random.randrange(STARTS), random.choice(SPANS)
    drop = [random.randrange(first, first + span) for _ in range(random.choice(DROPS))]
    options: dict[str, Any] = {name: random.choice(levels) for name, levels in LEVELS.items()}
    if tcp == "newreno":
        options |= {"hoe": random.random() < 1 / 2, "timer_restart": random.choice(("first", "every"))}
        options["deflation"] = not options["hoe"] and random.random() < 1 / 2
    if tcp == "sack":
        options["pipe"] = random.choice(("window", "outstanding"))
    return DropCase(tcp=tcp, drop=tuple(drop), **options)


def run(tcp: Flavor, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yields rows: case, `first_difference` (None if the order is equal), and its `rule` if known."""
    for seed in seeds:
        comparison = compare(draw(tcp, seed))
        rule = None if comparison.same_order else explain(comparison)
        yield {
            "seed": seed,
            **comparison.case.model_dump(),
            "drop": " ".join(map(str, comparison.case.drop)),
            "first_difference": comparison.first_difference,
            "rule": rule and rule.text,
        }


def count(rows: pd.DataFrame) -> pd.DataFrame:
    """Counts cases by outcome and flavor: `same order`, each rule, `unexplained`."""
    did = rows["rule"].where(rows["rule"].notna(), "unexplained")
    did = did.where(rows["first_difference"].notna(), "same order")
    table = pd.crosstab(did.rename("did"), rows["tcp"])
    return table.reindex(sorted(table.index, key=lambda name: (name != "same order", name == "unexplained", name)))
