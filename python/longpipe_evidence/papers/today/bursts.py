"""Conclusions of gr-97 as conditions on TCP in competition with bursts; a weight represents the guaranteed rate."""

from collections.abc import Iterator
from typing import Final

import pandas as pd

from longpipe.analysis.anova import anova
from longpipe.analysis.claims import Condition, mean_by_seed
from longpipe.units import TIME
from longpipe_evidence.papers.today.conclusions import SMALL, Question
from longpipe_evidence.papers.today.paths import PATHS

FACTORS: Final = ("tcp", "guaranteed", "burst_ms")
# The document's WAN and today's LEO are the most similar of their links.
NEAR: Final = "leo"


def _efficiency(runs: pd.DataFrame, network: str, **factors: object) -> pd.Series:
    return mean_by_seed(runs, "efficiency", network=network, **factors)


def _long_bursts_hurt(runs: pd.DataFrame) -> Iterator[Condition]:
    for network in PATHS:
        short, long = (_efficiency(runs, network, guaranteed=0.0, burst_ms=burst) for burst in (50, 300))
        yield Condition(f"{network}, no guarantee: E(50 ms) - E(300 ms)", short - long, above=SMALL, neutral=0.0)


def _guarantee_dominates(runs: pd.DataFrame) -> Iterator[Condition]:
    """Yields whether the guaranteed rate explains most of the variation of efficiency, and raises it."""
    shares = {}
    for seed, of_seed in runs[runs["network"] == NEAR].groupby("seed"):
        variation = anova(of_seed, "efficiency", FACTORS, order=2).variation.set_index("component")["percent"]
        competing = variation.drop(["individual values", "overall mean", "total variation", "error", "guaranteed"])
        shares[seed] = (variation["guaranteed"] - competing.max()) / 100
    yield Condition(f"{NEAR}: share(guaranteed) - largest other share, of E", pd.Series(shares), above=0.0)
    for rate in (0.1, 0.5):
        gain = _efficiency(runs, NEAR, guaranteed=rate) - _efficiency(runs, NEAR, guaranteed=0.0)
        yield Condition(f"{NEAR}: E(guaranteed {rate:g}) - E(none)", gain, above=0.0)


def _bursts_are_tolerated(runs: pd.DataFrame) -> Iterator[Condition]:
    at: dict[str, object] = {"network": "geo", "guaranteed": 0.0}
    timeouts = mean_by_seed(runs, "timeouts", burst_ms=300, **at)
    yield Condition("geo, no guarantee, bursts of 300 ms: timeouts per run of 15 flows", timeouts, below=1.0)
    cost = mean_by_seed(runs, "efficiency", burst_ms=50, **at) - mean_by_seed(runs, "efficiency", burst_ms=300, **at)
    yield Condition("geo, no guarantee: E(50 ms) - E(300 ms)", cost, below=0.05)


def _helps_past_a_round_trip(runs: pd.DataFrame) -> Iterator[Condition]:
    """Yields whether a guaranteed rate helps more if bursts are longer than the round trip."""
    for network in ("meo", "geo"):
        round_trip_ms = TIME.parse(PATHS[network].round_trip) / 1e9
        of_network = runs[runs["network"] == network]
        gains = []
        for longer in (True, False):
            chosen = of_network[(of_network["burst_ms"] > round_trip_ms) == longer]
            gains.append(_efficiency(chosen, network, guaranteed=0.5) - _efficiency(chosen, network, guaranteed=0.0))
        name = f"{network}: gain of E by a guaranteed half, bursts longer than the round trip - shorter"
        yield Condition(name, gains[0] - gains[1], above=0.0)
        yield Condition(f"{network}: gain of E by a guaranteed half, bursts longer than the round trip", gains[0], 0.0)


DESIGN: Final = "bursts"
QUESTIONS: Final = (
    Question(
        "G1",
        DESIGN,
        "Bursts of 300 ms cost more than .01 of efficiency beyond those of 50 ms, over each link",
        _long_bursts_hurt,
        (
            "A burst of several round trips stops the ACKs of all flows, so timers of at least 200 ms expire; over "
            "longer round trips the timers tolerate it."
        ),
    ),
    Question(
        "G4",
        DESIGN,
        "Over LEO the guaranteed rate is the largest factor, and .1 and .5 are better than none",
        _guarantee_dominates,
        "Without a guarantee no packets pass during a burst, with any sender.",
    ),
    Question(
        "G7",
        DESIGN,
        "Over GEO bursts of 300 ms cause less than one timeout per run, and cost less than .05 of efficiency",
        _bursts_are_tolerated,
        (
            "The timeout, a smoothed round trip of 684 ms and at least 200 ms, is longer than a burst of 300 ms; "
            "longer queues make a few timers expire."
        ),
    ),
    Question(
        "G8",
        DESIGN,
        "A guaranteed half helps where bursts are longer than the round trip, more than where they are shorter",
        _helps_past_a_round_trip,
        "A guaranteed share keeps ACKs and RTT samples coming; data in flight bridge a shorter burst.",
    ),
)
