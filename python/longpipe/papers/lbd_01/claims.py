"""What lbd-01 concludes, as conditions on one run of each configuration: nothing in them is random."""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pandas as pd

from longpipe.analysis.claims import Claim, Condition, Exact
from longpipe.analysis.correlation import rank_correlation
from longpipe.papers.lbd_01.transfers import BUFFERS, FLAVORS, W_STARS

Conditions = Callable[[pd.DataFrame], Iterator[Condition]]

# How long each of two flavors recovers from its first overflow at W* = 640, B = W*/4 [s].
RECOVERIES: Final = {"newreno": (8.0, 12.0), "reno": (1.0, 3.0)}


def _exact(quantity: str, value: float, **limits: float) -> Condition:
    return Exact(quantity, pd.Series([value]), **limits)


def utilization(runs: pd.DataFrame, tcp: str, buffer: float, w_star: int) -> float:
    """Average link utilization of one configuration."""
    chosen = (runs["tcp"] == tcp) & (runs["buffer_bdp"] == buffer) & (runs["w_star_packets"] == w_star)
    return float(runs.loc[chosen, "utilization"].iloc[0])


def _falls(runs: pd.DataFrame) -> Iterator[Condition]:
    worst = max(
        rank_correlation(W_STARS, [utilization(runs, tcp, buffer, w) for w in W_STARS])
        for tcp in FLAVORS
        for buffer in BUFFERS
    )
    yield _exact("rank correlation of mu with W*, largest of 12", worst, below=-0.8)


def _leads(tcp: str, buffers: tuple[float, ...], w_stars: tuple[int, ...], ties: float) -> Conditions:
    """The flavor has the largest mu, but for ties."""

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        others = [flavor for flavor in FLAVORS if flavor != tcp]
        for other in others:
            lead = min(
                utilization(runs, tcp, buffer, w) - utilization(runs, other, buffer, w)
                for buffer in buffers
                for w in w_stars
            )
            yield _exact(f"mu({tcp}) - mu({other}), smallest of {len(buffers) * len(w_stars)}", lead, above=0.0 - ties)

    return conditions


def _newreno_falls_behind(recoveries: dict[str, float]) -> Conditions:
    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        lead = utilization(runs, "reno", 0.25, 640) - utilization(runs, "newreno", 0.25, 640)
        yield _exact("mu(reno) - mu(newreno) at W* = 640, B = W*/4 (published 0.047)", lead, above=0.0)
        for tcp, (low, high) in RECOVERIES.items():
            yield _exact(f"recovery of {tcp} [s]", recoveries[tcp], above=low, below=high)

    return conditions


def _inverse(slopes: pd.DataFrame) -> Conditions:
    """`slopes`: a row per W*, a column per flavor [1/s]."""

    def conditions(_runs: pd.DataFrame) -> Iterator[Condition]:
        for tcp in slopes:
            exponent = float(np.polyfit(np.log(slopes.index.to_numpy()), np.log(slopes[tcp].to_numpy()), 1)[0])
            yield _exact(f"log-log slope of T_N's slope against W*, {tcp}", exponent, above=-1.1, below=-0.9)

    return conditions


def _estimate(packets: float) -> Conditions:
    def conditions(_runs: pd.DataFrame) -> Iterator[Condition]:
        yield _exact("threshold estimated at W* = 640 [packets]", packets, above=623, below=629)

    return conditions


def _gains(runs: pd.DataFrame) -> Iterator[Condition]:
    gain = utilization(runs, "newreno", 0.5, 640) / utilization(runs, "newreno", 0.25, 640)
    yield _exact("buffer gain of newreno at W* = 640, B = W*/2", gain, above=0.9 * 7.4, below=1.1 * 7.4)


def _no_more(runs: pd.DataFrame) -> Iterator[Condition]:
    for w_star in W_STARS:
        of = [utilization(runs, "newreno", buffer, w_star) for buffer in BUFFERS[1:]]
        yield _exact(f"spread of newreno's mu over B >= W*/2 at W* = {w_star}", max(of) - min(of), below=0.01)


def claims(slopes: pd.DataFrame, recoveries: dict[str, float], estimate_packets: float) -> tuple[Claim, ...]:
    """The eight claims; what the runs' totals do not tell comes from transfers watched over time."""

    def claim(number: int, text: str, conditions: Conditions) -> Claim:
        return Claim(f"lbd-{number}", text, conditions, published=False)

    return (
        claim(1, "Utilization falls as the bandwidth-delay product grows", _falls),
        claim(2, "NewReno leads where B >= W*/2", _leads("newreno", BUFFERS[1:], W_STARS, 0.02)),
        claim(3, "SACK leads where B = W*/4, from W* = 80 on", _leads("sack", BUFFERS[:1], W_STARS[2:], 0.0)),
        claim(4, "NewReno falls behind Reno at W* = 640, B = W*/4", _newreno_falls_behind(recoveries)),
        claim(5, "The slope of T_N in congestion avoidance is inverse to W*", _inverse(slopes)),
        claim(6, "NewReno estimates a threshold of 626 packets at W* = 640", _estimate(estimate_packets)),
        claim(7, "NewReno gains 7.4-fold from B = W*/4 to W*/2 at W* = 640", _gains),
        claim(8, "Past W*/2 NewReno gains nothing more", _no_more),
    )
