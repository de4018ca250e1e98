"""What ATM Forum/97-0616 concludes, as conditions on replicated runs."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import pandas as pd

from longpipe.analysis.claims import Claim, Condition, mean_by_seed
from longpipe.analysis.correlation import rank_correlation
from longpipe.papers.buf_97.links import LINKS

SUFFICIENT_RTT: Final = 0.5
FEW: Final = 5
FAST: Final = "155.52"


def _figures(runs: pd.DataFrame, network: str) -> pd.DataFrame:
    """The runs of one of Figures 2 to 4."""
    return runs[runs["table"] == LINKS[network].figure]


def _half_is_enough(runs: pd.DataFrame) -> Iterator[Condition]:
    for network in LINKS:
        chosen = _figures(runs, network)
        by_seed = mean_by_seed(chosen[chosen["buffer_rtt"] >= SUFFICIENT_RTT], "efficiency")
        yield Condition(f"E({network}, half a round trip or more), of 149.76 Mbit/s", by_seed, above=0.98)


def _half_is_enough_at_full_rate(runs: pd.DataFrame) -> Iterator[Condition]:
    for network in LINKS:
        by_seed = mean_by_seed(runs[runs["part"] == FAST], "printed_efficiency", network=network)
        yield Condition(f"E({network}, half a round trip or more), 155.52 over 135 Mbit/s", by_seed, above=0.98)


def _tiny_fails(runs: pd.DataFrame) -> Iterator[Condition]:
    for network, link in LINKS.items():
        n, least = max(link.sources), min(link.buffers_cells)
        of = {"sources": n}
        chosen = _figures(runs, network)
        smallest = mean_by_seed(chosen, "efficiency", buffer_cells=least, **of)
        whole = mean_by_seed(chosen, "efficiency", buffer_rtt=1.0, **of)
        yield Condition(f"E({network}, N {n}, {least} cells) / E(1 RTT)", smallest / whole, below=0.5)


def _rises(runs: pd.DataFrame) -> Iterator[Condition]:
    for network in LINKS:
        chosen = _figures(runs, network)
        chosen = chosen[chosen["buffer_rtt"] < 1]
        curves = chosen.groupby(["seed", "sources"])
        correlations = pd.Series({levels: _rank_correlation(curve) for levels, curve in curves})
        smallest = correlations.groupby(level=0).min()
        yield Condition(f"rank correlation of E with the buffer below 1 RTT ({network}, smallest N's)", smallest, 0.9)


def _rank_correlation(curve: pd.DataFrame) -> float:
    """Spearman's, of the efficiency with the buffer; 0 for a constant efficiency, which does not rise."""
    if curve["efficiency"].min() == curve["efficiency"].max():
        return 0.0
    return rank_correlation(curve["buffer_cells"], curve["efficiency"])


def _knee_sharpens(runs: pd.DataFrame) -> Iterator[Condition]:
    for network, link in LINKS.items():
        chosen = _figures(runs, network)
        gains = {
            n: mean_by_seed(chosen, "efficiency", sources=n, buffer_rtt=0.5)
            - mean_by_seed(chosen, "efficiency", sources=n, buffer_rtt=0.0625)
            for n in link.sources
        }
        for fewer, more in pairwise(link.sources):
            name = f"gain of E from .0625 to .5 RTT ({network}), N {more} - N {fewer}"
            yield Condition(name, gains[more] - gains[fewer], above=0.0)


def _more_can_cost(runs: pd.DataFrame) -> Iterator[Condition]:
    costs = {}
    for network in ("multi-leo", "geo"):
        chosen = _figures(runs, network)
        whole, double = (mean_by_seed(chosen, "efficiency", sources=FEW, buffer_rtt=b) for b in (1.0, 2.0))
        costs[network] = whole - double
    # The claim is of either link.
    best = max(costs, key=lambda network: float(costs[network].mean()))
    other = ", ".join(f"{costs[network].mean():.3f} on {network}" for network in costs if network != best)
    yield Condition(f"E(1 RTT) - E(2 RTT), N {FEW}, {best} ({other})", costs[best], above=0.0)


def _fair(runs: pd.DataFrame) -> Iterator[Condition]:
    for network, link in LINKS.items():
        n = max(link.sources)
        chosen = _figures(runs, network)
        by_seed = mean_by_seed(chosen[chosen["buffer_rtt"] >= SUFFICIENT_RTT], "fairness", sources=n)
        yield Condition(f"F({network}, N {n}, half a round trip or more)", by_seed, above=0.95)


CLAIMS: Final = (
    Claim("buf-1", "Half a round trip of buffer is enough for 98 %", _half_is_enough),
    Claim(
        "buf-1-155",
        "The same at 155.52 Mbit/s of cells, over the paper's 135 Mbit/s",
        _half_is_enough_at_full_rate,
        published=False,
    ),
    Claim("buf-2", "Very small buffers fail", _tiny_fails),
    Claim("buf-3", "Efficiency rises with the buffer up to one round trip", _rises),
    Claim("buf-4", "The knee is sharper for more sources", _knee_sharpens),
    Claim("buf-5", "At long delay and few sources more than one round trip can cost", _more_can_cost),
    Claim("buf-6", "Fairness is high for many sources", _fair),
)
