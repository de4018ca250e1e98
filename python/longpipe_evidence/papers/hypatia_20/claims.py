"""Statements of Hypatia's paper about RTTs and both controllers, as conditions."""

from collections.abc import Iterator
from typing import Final

import pandas as pd

from longpipe.analysis.claims import Claim, Condition, Conditions, mean_by_seed

PAIRS: Final = {
    "rio-petersburg": "Rio de Janeiro - Saint Petersburg",
    "manila-dalian": "Manila - Dalian",
    "istanbul-nairobi": "Istanbul - Nairobi",
}
# Minimum and maximum RTT [ms] without queues, of the pairs that always have a route.
RANGES: Final = {"manila-dalian": (25, 48), "istanbul-nairobi": (47, 70)}
# Time [s] at which the RTT of the first pair's route rises, RTTs [ms] before and after it, and a period [s] without a
# route.
JUMP: Final = (33, 96, 111)
GAP: Final = (155, 165)
# Numbers are printed as integers.
WHOLE: Final = 0.5
# Times before the increase of the RTT and long after it, at both of which there is a route [s].
BEFORE_S: Final = 32.0
AFTER_S: Final = 150.0
FILLS: Final = ("rio-petersburg", "manila-dalian", "istanbul-nairobi")
QUEUE: Final = 100


def _near(runs: pd.DataFrame, pair: str, metric: str, value: float, margin: float = WHOLE) -> Condition:
    means = mean_by_seed(runs, metric, pair=pair)
    return Condition(f"{metric}, {PAIRS[pair]}", means, above=value - margin, below=value + margin)


def _ranges(runs: pd.DataFrame) -> Iterator[Condition]:
    for pair, (shortest_ms, longest_ms) in RANGES.items():
        yield _near(runs, pair, "least_ms", shortest_ms)
        yield _near(runs, pair, "most_ms", longest_ms)


def _jump(runs: pd.DataFrame) -> Iterator[Condition]:
    for metric, value in zip(("jump_s", "before_jump_ms", "after_jump_ms"), JUMP, strict=True):
        yield _near(runs, FILLS[0], metric, value)


def _gap(runs: pd.DataFrame) -> Iterator[Condition]:
    for metric, value in zip(("gap_begins_s", "gap_ends_s"), GAP, strict=True):
        yield _near(runs, FILLS[0], metric, value, margin=1)


def _full(runs: pd.DataFrame) -> Iterator[Condition]:
    for pair in FILLS:
        peaks = mean_by_seed(runs, "peak_queue", pair=pair, tcp="newreno")
        yield Condition(f"peak queue of NewReno [packets], {PAIRS[pair]}", peaks, above=QUEUE - WHOLE)


def _empty(runs: pd.DataFrame) -> Iterator[Condition]:
    for pair in FILLS:
        queues = mean_by_seed(runs, "mean_queue", pair=pair, tcp="vegas")
        yield Condition(f"mean queue of Vegas [packets], {PAIRS[pair]}", queues, below=QUEUE / 10)


def _overtaken(runs: pd.DataFrame) -> Iterator[Condition]:
    for pair in FILLS:
        counts = mean_by_seed(runs, "overtakings", pair=pair, tcp="newreno")
        yield Condition(f"packets that overtook others, {PAIRS[pair]}", counts, above=WHOLE)


def _misled(runs: pd.DataFrame) -> Iterator[Condition]:
    of_vegas = {"pair": FILLS[0], "tcp": "vegas"}
    after, before = (mean_by_seed(runs, f"window_{when}", **of_vegas) for when in ("after", "before"))
    yield Condition(f"window of Vegas at {AFTER_S:g} s over that at {BEFORE_S:g} s", after / before, below=0.5)
    used, filled = (mean_by_seed(runs, "utilization", pair=FILLS[0], tcp=tcp) for tcp in ("vegas", "newreno"))
    yield Condition("throughput of Vegas over that of NewReno", used / filled, below=0.5)


def _claim(number: int, text: str, conditions: Conditions) -> Claim:
    return Claim(f"space-{number}", text, conditions, published=False)


CLAIMS: Final = (
    _claim(1, "Round trips vary from 25 to 48 ms (Manila - Dalian) and from 47 to 70 ms (Istanbul - Nairobi)", _ranges),
    _claim(2, "Rio de Janeiro - Saint Petersburg jumps from 96 to 111 ms at 33 s", _jump),
    _claim(3, "Rio de Janeiro - Saint Petersburg has no route from 155 to 165 s", _gap),
    _claim(4, "NewReno fills the queue of 100 packets", _full),
    _claim(5, "Vegas leaves the queue nearly empty", _empty),
    _claim(6, "Packets overtake each other when a route gets shorter", _overtaken),
    _claim(7, "Vegas interprets a longer route as congestion, and its throughput falls", _misled),
)
