"""Measures the time of an analysis of variation (4 x 3 x 2 levels, 1000 replications) against statsmodels' formulas.

Run with: .venv/bin/python benches/anova.py
"""

import time
import warnings
from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from statsmodels.stats.anova import anova_lm

from longpipe.analysis.anova import Anova, anova
from longpipe.analysis.bootstrap import bootstrap
from longpipe.analysis.checks import check
from longpipe.analysis.comparisons import tukey
from longpipe.analysis.ranks import aligned_ranks

FACTORS = ["tcp", "buffer", "policy"]


def runs(replications: int) -> pd.DataFrame:
    """Returns runs with normally distributed responses, on which two of the three factors and the seed have effects."""
    rng = np.random.default_rng(1)
    points = product(["vanilla", "reno", "newreno", "sack"], [0.5, 1.0, 2.0], ["epd", "selective-drop"])
    frame = pd.DataFrame(list(points), columns=FACTORS).merge(pd.Series(range(replications), name="seed"), how="cross")
    shared = rng.normal(0, 0.01, replications)[frame["seed"]]
    return frame.assign(
        y=frame["buffer"] / 10 + (frame["tcp"] == "sack") / 5 + shared + rng.normal(0, 0.02, len(frame))
    )


def seconds(work: Callable[[], object]) -> float:
    """Returns the shortest of three measured times [s]."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def rival(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns statsmodels' table for the same data."""
    return pd.DataFrame(anova_lm(smf.ols("y ~ C(tcp, Sum) * C(buffer, Sum) * C(policy, Sum)", frame).fit(), typ=3))


def everything(found: Anova) -> None:
    """Computes everything that `longpipe analyse --robust --compare ...` prints."""
    tables = [found.variation, found.effects(0.9, 3), check(found), *(tukey(found, name) for name in FACTORS)]
    tables += [bootstrap(found), aligned_ranks(found)]


def main() -> None:
    """Prints the times and the ratio."""
    frame = runs(1000)
    ours = seconds(lambda: anova(frame, "y", FACTORS).variation)
    theirs = seconds(lambda: rival(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = seconds(lambda: everything(anova(frame, "y", FACTORS, blocks="seed")))
    print(f"allocation of variation, 24 000 runs: {ours:.3f} s; statsmodels {theirs:.3f} s: {theirs / ours:.0f} times")  # noqa: T201
    print(f"with 1000 blocks, checks, Tukey, bootstrap and ranks: {whole:.2f} s")  # noqa: T201


if __name__ == "__main__":
    main()
