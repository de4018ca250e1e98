"""Extension of ATM Forum/97-0616: up to 1000 sources, buffers down to BDP / sqrt(N), every TCP flavor."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

import numpy as np
import pandas as pd

from longpipe.analysis.knee import knee
from longpipe.scenario import Scenario
from longpipe_evidence.papers.buf_97.links import BASE, LINKS, on_link
from longpipe_evidence.papers.experiments import Beyond, Experiment, Factors

FLAVORS: Final = ("vanilla", "tahoe", "reno", "newreno", "sack")
SOURCES: Final = (5, 15, 50, 150, 500, 1000)
# Buffers in bandwidth-delay products; 1 / sqrt(N) is added to these.
BUFFERS_BDP: Final = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0)
CURVE: Final = ["network", "tcp", "sources"]

# Duration: 200 RTTs over the LEO links, and the paper's 100 s over GEO, where the start-up takes 20 RTTs.
DURATIONS: Final = {"leo": "10 s", "multi-leo": "30 s", "geo": "100 s"}

# As in the paper's replications, but with starts spread over a second, so that 1000 sources do not start as one burst.
DRAWN: Final[dict[str, object]] = {
    "switch.ties": "random",
    "tcp.timer.phase": {"kind": "per-flow"},
    "start": {"kind": "random", "over": "1 s"},
}


def small_buffer_bdp(sources: int) -> float:
    """Returns the buffer [BDP] that desynchronized flows need (Appenzeller et al., SIGCOMM 2004)."""
    return float(1 / np.sqrt(sources))


def grid(sources: Iterable[int] = SOURCES) -> Iterator[Factors]:
    """Yields every flavor and buffer over the three links, for each number of sources."""
    for (network, link), n in product(LINKS.items(), sources):
        buffers = [(bdp, "ladder") for bdp in BUFFERS_BDP] + [(small_buffer_bdp(n), "sqrt")]
        for (bdp, rule), tcp in product(buffers, FLAVORS):
            cells = int(bdp * link.bdp_cells)
            place: Factors = {"network": network, "tcp": tcp, "sources": n}
            yield {**place, "buffer_cells": cells, "buffer_bdp": round(bdp, 6), "rule": rule}


def experiments(sources: Iterable[int] = SOURCES) -> list[Experiment]:
    """Yields the runs of the whole grid."""
    return [Experiment(factors, _scenario(factors)) for factors in grid(sources)]


def _scenario(factors: Factors) -> Scenario:
    """Returns a scenario beyond the paper with these factors."""
    network = str(factors["network"])
    return BASE.with_(
        **{
            **on_link(LINKS[network]),
            **DRAWN,
            "name": " ".join(str(factors[name]) for name in (*CURVE, "buffer_cells")),
            "duration": DURATIONS[network],
            "network.sources": factors["sources"],
            "switch.buffer": f"{factors['buffer_cells']} cells",
            "tcp.recovery": factors["tcp"],
        }
    )


def needed(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the buffer needed and the results with BDP / sqrt(N), per link, flavor and number of sources.

    `best_efficiency` is the highest efficiency of the flavor with any buffer, and `needed_bdp` the smallest buffer
    [BDP] that gives 95 % of it. `lowest_bdp` and `highest_bdp` are the minimum and maximum of `needed_bdp` over the
    seeds. `small_bdp` is 1 / sqrt(N), with which efficiency and fairness are `small_efficiency` and `small_fairness`.
    """
    rows = []
    for levels, curve in runs.groupby(CURVE, sort=False):
        means = _means(curve)
        by_seed = [_needed(_means(of_seed)) for _, of_seed in curve.groupby("seed")]
        small = curve[curve["rule"] == "sqrt"]
        rows.append(
            {
                **dict(zip(CURVE, levels, strict=True)),
                "needed_bdp": _needed(means),
                "lowest_bdp": min(by_seed),
                "highest_bdp": max(by_seed),
                "best_efficiency": means.max(),
                "small_bdp": small["buffer_bdp"].iloc[0],
                "small_efficiency": small["efficiency"].mean(),
                "small_fairness": small["fairness"].mean(),
            }
        )
    return pd.DataFrame(rows)


def _means(curve: pd.DataFrame) -> pd.Series:
    return curve.groupby("buffer_bdp")["efficiency"].mean().sort_index()


def _needed(means: pd.Series) -> float:
    return knee(means.index.to_numpy(dtype=float), means.to_numpy(dtype=float))


BEYOND: Final = Beyond(experiments=experiments, summaries={"buffer-needed": needed}, seeds=1)
