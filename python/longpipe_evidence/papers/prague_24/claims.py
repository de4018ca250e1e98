"""Statements about Prague's share and delay in six queues, as conditions."""

from collections.abc import Iterator
from functools import cache
from typing import Final

import pandas as pd

from longpipe.analysis.claims import Claim, Condition, Conditions, mean_by_seed
from longpipe_evidence.papers.paper import published_data

CELL: Final = ["legacy", "buffer_bdp", "queue"]
# Half of the largest throughput of both flows, as a share of the link.
HALF: Final = 0.475
# Cells whose published share differs from one half by more than this have a sign.
CLEAR: Final = 0.08
# Share of the clear cells whose sign is to be right, and mean absolute difference of all cells.
RIGHT: Final = 0.9
CLOSE: Final = 0.1
# A starved flow has less than this share.
STARVED: Final = 0.05
# Published mean delays in a FIFO queue beside CUBIC without ECN [ms], by buffer [BDP].
FIFO_DELAYS_MS: Final = {0.5: 2.8, 1: 6.6, 2: 14.9, 4: 31.2, 8: 63.8}
DELAY_MARGIN: Final = 0.15


@cache
def _published() -> pd.Series:
    numbers = published_data("prague-24", "published.csv")
    return numbers.set_index(CELL)["share"]


def _cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the simulated share of each cell, a row per seed."""
    return runs.pivot_table(index="seed", columns=CELL, values="share")


def _signs(runs: pd.DataFrame) -> Iterator[Condition]:
    shares, published = _cells(runs), _published()
    clear = published[(published - HALF).abs() > CLEAR]
    right = ((shares[clear.index] > HALF) == (clear > HALF)).mean(axis="columns")
    yield Condition(f"share of {len(clear)} cells on the published side of {HALF:g}", right, above=RIGHT, neutral=1)


def _distances(runs: pd.DataFrame) -> Iterator[Condition]:
    shares, published = _cells(runs), _published()
    distance = (shares[published.index] - published).abs().mean(axis="columns")
    yield Condition("mean absolute difference of the share, all cells", distance, below=CLOSE, neutral=0)


def _share(runs: pd.DataFrame, legacy: str, queue: str, buffer: float, flow: str = "share") -> pd.Series:
    return mean_by_seed(runs, flow, legacy=legacy, queue=queue, buffer_bdp=buffer)


def _marked_alone(runs: pd.DataFrame) -> Iterator[Condition]:
    for buffer in (1, 2, 4, 8):
        share = _share(runs, "cubic", "fifo-ecn", buffer)
        yield Condition(f"Prague's share, {buffer} BDP", share, below=STARVED, neutral=0)


def _marked_together(runs: pd.DataFrame) -> Iterator[Condition]:
    for buffer in (1, 2, 4, 8):
        share = _share(runs, "cubic-ecn", "fifo-ecn", buffer)
        yield Condition(f"Prague's share, {buffer} BDP", share, above=0.8, neutral=1)


def _isolated(runs: pd.DataFrame) -> Iterator[Condition]:
    for legacy in ("cubic", "cubic-ecn", "bbr"):
        for buffer in (1, 2, 4, 8):
            share = _share(runs, legacy, "fq-codel", buffer)
            yield Condition(f"Prague's share beside {legacy}, {buffer} BDP", share, 0.425, 0.525, neutral=HALF)


def _shallow(runs: pd.DataFrame) -> Iterator[Condition]:
    for buffer in (0.5, 1):
        share = _share(runs, "bbr", "fifo", buffer)
        yield Condition(f"Prague's share, {buffer:g} BDP", share, below=0.17, neutral=0)


def _low_latency(runs: pd.DataFrame) -> Iterator[Condition]:
    delay = _share(runs, "cubic", "dualpi2", 2, "delay_ms")
    yield Condition("mean delay of Prague in DualPI2 [ms]", delay, below=1, neutral=0)


def _fifo_delays(runs: pd.DataFrame) -> Iterator[Condition]:
    for buffer, published_ms in FIFO_DELAYS_MS.items():
        delay = _share(runs, "cubic", "fifo", buffer, "delay_ms")
        low, high = (published_ms * (1 + sign * DELAY_MARGIN) for sign in (-1, 1))
        yield Condition(f"mean delay in a FIFO of {buffer:g} BDP [ms]", delay, low, high, neutral=published_ms)


def _claim(number: int, text: str, conditions: Conditions) -> Claim:
    return Claim(f"prague-{number}", text, conditions, published=False)


CLAIMS: Final = (
    _claim(1, "Prague gets more, or less, than half of the link in the same cells", _signs),
    _claim(2, "Prague's shares are those of the artifact", _distances),
    _claim(3, "A FIFO that marks starves Prague beside CUBIC without ECN", _marked_alone),
    _claim(4, "A FIFO that marks starves CUBIC with classic ECN beside Prague", _marked_together),
    _claim(5, "FQ-CoDel gives both flows the same rate", _isolated),
    _claim(6, "BBR takes the link from Prague in a FIFO of at most one BDP", _shallow),
    _claim(7, "DualPI2 keeps Prague's queueing delay below 1 ms beside CUBIC", _low_latency),
    _claim(8, "The delay in a FIFO beside CUBIC grows with the buffer", _fifo_delays),
)
