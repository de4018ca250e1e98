"""Conclusions of ATM Forum/97-0616, as conditions on replicated runs."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import pandas as pd

from longpipe.analysis.claims import Claim, Condition, CorrelationCondition, mean_by_seed
from longpipe.analysis.correlation import rank_correlation
from longpipe_evidence.papers.buf_97.bounds import start_up_bound
from longpipe_evidence.papers.buf_97.links import LINKS

SUFFICIENT_RTT: Final = 0.5
FEW: Final = 5
FAST: Final = "155.52"
# Maximum increase of efficiency that counts as no gain, and maximum loss of fairness.
NO_GAIN: Final = 0.02


def _figures(runs: pd.DataFrame, network: str) -> pd.DataFrame:
    """Returns the runs of one of Figures 2 to 4."""
    return runs[runs["table"] == LINKS[network].figure]


def _half_is_enough(runs: pd.DataFrame) -> Iterator[Condition]:
    for network, link in LINKS.items():
        chosen = _figures(runs, network)
        chosen = chosen[chosen["buffer_rtt"] > SUFFICIENT_RTT]
        for n in link.sources:
            bound = start_up_bound(link, n)
            name = f"E({network}, N {n}, more than half a round trip), of which the start-up allows {bound:.3f}"
            yield Condition(name, mean_by_seed(chosen, "efficiency", sources=n), above=0.98)


def _half_is_enough_at_full_rate(runs: pd.DataFrame) -> Iterator[Condition]:
    for network in LINKS:
        by_seed = mean_by_seed(runs[runs["part"] == FAST], "printed_efficiency", network=network)
        yield Condition(f"E({network}, half a round trip or more), 155.52 over 135 Mbit/s", by_seed, above=0.98)


def _tiny_fails(runs: pd.DataFrame) -> Iterator[Condition]:
    for network, link in LINKS.items():
        n, smallest_buffer = max(link.sources), min(link.buffers_cells)
        chosen = _figures(runs, network)
        smallest = mean_by_seed(chosen, "efficiency", buffer_cells=smallest_buffer, sources=n)
        best = chosen[chosen["sources"] == n].groupby(["seed", "buffer_cells"])["efficiency"].mean()
        name = f"E({network}, N {n}, {smallest_buffer} cells) - half of the best of any buffer"
        yield Condition(name, smallest - best.groupby("seed").max() / 2, below=0.0)


def _rises(runs: pd.DataFrame) -> Iterator[Condition]:
    for network in LINKS:
        chosen = _figures(runs, network)
        chosen = chosen[chosen["buffer_rtt"] < 1]
        curves = chosen.groupby(["seed", "sources"])
        correlations = pd.Series({levels: _rank_correlation(curve) for levels, curve in curves})
        mean = correlations.groupby(level=0).mean()
        name = f"rank correlation of E with the buffer below 1 RTT ({network}, mean over N; 0 if E is constant)"
        yield CorrelationCondition(name, mean, above=0.9, neutral=1.0)


def _rank_correlation(curve: pd.DataFrame) -> float:
    """Returns Spearman's rank correlation of efficiency and buffer; 0 for a constant efficiency."""
    if curve["efficiency"].min() == curve["efficiency"].max():
        return 0.0
    return rank_correlation(curve["buffer_cells"], curve["efficiency"])


def _levels_off(runs: pd.DataFrame) -> Iterator[Condition]:
    for network in LINKS:
        chosen = _figures(runs, network)
        whole = mean_by_seed(chosen, "efficiency", buffer_rtt=1.0)
        with_largest = mean_by_seed(chosen, "efficiency", buffer_rtt=float(chosen["buffer_rtt"].max()))
        name = f"E({network}) with the largest buffer - with 1 RTT, mean over N"
        yield Condition(name, with_largest - whole, above=-NO_GAIN, below=NO_GAIN, neutral=0.0)


def _knee_sharpens(runs: pd.DataFrame) -> Iterator[Condition]:
    """Yields whether more sources gain more from a larger buffer."""
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


def _costs(runs: pd.DataFrame) -> dict[str, pd.Series]:
    """Returns the efficiency with 1 RTT minus that with 2 RTT for few sources over the long links, by link."""
    costs = {}
    for network in ("multi-leo", "geo"):
        chosen = _figures(runs, network)
        whole, double = (mean_by_seed(chosen, "efficiency", sources=FEW, buffer_rtt=b) for b in (1.0, 2.0))
        costs[network] = whole - double
    return costs


def _costliest(runs: pd.DataFrame) -> str:
    """Returns the link over which a buffer of 2 RTT costs most, because the document says that it can cost."""
    costs = _costs(runs)
    return max(costs, key=lambda network: float(costs[network].mean()))


def _more_can_cost(runs: pd.DataFrame) -> Iterator[Condition]:
    costs, best = _costs(runs), _costliest(runs)
    other = ", ".join(f"{costs[network].mean():.3f} on {network}" for network in costs if network != best)
    yield Condition(f"E(1 RTT) - E(2 RTT), N {FEW}, {best} ({other})", costs[best], above=0.0)


def _late_copies(runs: pd.DataFrame) -> Iterator[Condition]:
    network = _costliest(runs)
    chosen = _figures(runs, network)
    half, double = (mean_by_seed(chosen, "duplicates", sources=FEW, buffer_rtt=b) for b in (0.5, 2.0))
    name = f"share of duplicate segments, 2 RTT - 0.5 RTT, N {FEW}, {network}"
    yield Condition(name, double - half, above=0.0)
    timeouts = mean_by_seed(chosen, "timeouts", sources=FEW, buffer_rtt=2.0)
    yield Condition(f"timeouts per run at 2 RTT, N {FEW}, {network}", timeouts, above=1.0, neutral=0.0)


def _timers_expire_too_early(runs: pd.DataFrame) -> Iterator[Condition]:
    network = _costliest(runs)
    early = mean_by_seed(runs[runs["part"] == "recorded"], "needless_timeouts", network=network)
    name = f"timeouts per run while a copy of the segment is on its way, 2 RTT, N {FEW}, {network}"
    yield Condition(name, early, above=1.0, neutral=0.0)


def _fair(runs: pd.DataFrame) -> Iterator[Condition]:
    for network, link in LINKS.items():
        n = max(link.sources)
        chosen = _figures(runs, network)
        chosen = chosen[(chosen["buffer_rtt"] >= SUFFICIENT_RTT) & (chosen["sources"] == n)]
        by_seed = mean_by_seed(chosen, "fairness")
        name = f"F({network}, N {n}, half a round trip or more{_defined(chosen)})"
        yield Condition(name, by_seed, above=0.95, neutral=1.0)


def _defined(runs: pd.DataFrame) -> str:
    """Returns the number of buffers at which fairness is defined, unless it is defined at all of them in every seed."""
    buffers, by_seed = runs["buffer_cells"].nunique(), runs.groupby("seed")["fairness"].count()
    smallest, largest = by_seed.min(), by_seed.max()
    if smallest == buffers:
        return ""
    counted = f"{smallest}" if smallest == largest else f"{smallest} to {largest}"
    return f"; mean over {counted} of {buffers} buffers, nothing is delivered with the others"


CLAIMS: Final = (
    Claim(
        "buf-1",
        "Buffers of more than half a round trip give over 98 % whatever the number of sources",
        _half_is_enough,
        note="Over GEO the doubling of slow start alone leaves less than 98 % of 100 s: no buffer can meet the limit "
        "there.",
    ),
    Claim(
        "buf-1-155",
        "The same with 155.52 Mbit/s of cells, relative to the paper's 135 Mbit/s",
        _half_is_enough_at_full_rate,
        published=False,
        note="The mean over the numbers of sources: the paper's own denominator with its links' whole rate.",
    ),
    Claim(
        "buf-2",
        "Very small buffers give a very low throughput, with many sources sometimes none",
        _tiny_fails,
        note="The limit, half of the best, is longpipe's own.",
    ),
    Claim(
        "buf-3",
        "Efficiency rises with the buffer up to one round trip",
        _rises,
        note="The limit of .9 for the rank correlation is longpipe's own.",
    ),
    Claim("buf-4", "The knee is sharper for more sources", _knee_sharpens),
    Claim("buf-5", "At long delay and few sources more than one round trip of buffer can cost", _more_can_cost),
    Claim(
        "buf-6",
        "Fairness is high for many sources",
        _fair,
        note="The limit of .95 is longpipe's own; the paper prints no fairness.",
    ),
    Claim(
        "buf-7",
        "Beyond one round trip the efficiency stays about the same",
        _levels_off,
        note="The tolerance of .02 is longpipe's own.",
    ),
    Claim(
        "buf-8",
        "With more than one round trip of buffer, queued retransmissions are retransmitted again by timeouts",
        _late_copies,
        note="Over the link where such a buffer costs most. The limit of one timeout per run is longpipe's own.",
    ),
    Claim(
        "buf-9",
        "These timers expire while a copy of the segment is on its way",
        _timers_expire_too_early,
        published=False,
        note="Counted in recorded events, with the starts of the figures. The limit of one per run is longpipe's own.",
    ),
)
