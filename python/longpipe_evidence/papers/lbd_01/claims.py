"""Conclusions of lbd-01, as conditions on one run of each configuration; nothing is random."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
import pandas as pd

from longpipe.analysis.claims import Claim, Condition, Conditions, Exact
from longpipe.analysis.correlation import rank_correlation
from longpipe_evidence.papers.lbd_01.transfers import BUFFERS, FLAVORS, W_STARS

# Maximum difference between values of mu that the paper calls identical (section 4).
TIE: Final = 0.019
TOLERANCE: Final = "The tolerance of 10 % is longpipe's own."

# Recovery times [s] of two flavors after their first overflow at W* = 640 and B = W*/4.
RECOVERIES: Final = {"newreno": (8.0, 12.0), "reno": (1.0, 3.0)}


# Gains that count as none.
NO_GAIN: Final = {"above": 0.8, "below": 1.2, "neutral": 1.0}


def _within(printed: float) -> dict[str, float]:
    """Returns the limits for a printed number: 10 % of it, which is longpipe's own tolerance."""
    return {"above": 0.9 * printed, "below": 1.1 * printed, "neutral": printed}


def _exact(quantity: str, value: float, **limits: float) -> Condition:
    return Exact(quantity, pd.Series([value]), **limits)


def utilization(runs: pd.DataFrame, tcp: str, buffer: float, w_star: int) -> float:
    """Returns the average link utilization of one configuration."""
    chosen = (runs["tcp"] == tcp) & (runs["buffer_bdp"] == buffer) & (runs["w_star_packets"] == w_star)
    return float(runs.loc[chosen, "utilization"].iloc[0])


def _falls(runs: pd.DataFrame) -> Iterator[Condition]:
    for tcp, buffer in product(FLAVORS, BUFFERS):
        correlation = rank_correlation(W_STARS, [utilization(runs, tcp, buffer, w) for w in W_STARS])
        name = f"rank correlation of mu({tcp}) with W*, B = {buffer:g} W*"
        yield _exact(name, correlation, below=-0.8, neutral=-1.0)


def _leads(tcp: str, buffers: tuple[float, ...]) -> Conditions:
    """Returns the condition that the flavor has the largest mu with each buffer and W*, except for ties."""

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        competitors = [flavor for flavor in FLAVORS if flavor != tcp]
        for buffer, w in product(buffers, W_STARS):
            lead = utilization(runs, tcp, buffer, w) - max(utilization(runs, other, buffer, w) for other in competitors)
            yield _exact(f"mu({tcp}) - largest other mu, B = {buffer:g} W*, W* = {w}", lead, above=-TIE)

    return conditions


def _newreno_falls_behind(recoveries: dict[str, float]) -> Conditions:
    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        lead = utilization(runs, "reno", 0.25, 640) - utilization(runs, "newreno", 0.25, 640)
        yield _exact("mu(reno) - mu(newreno) at W* = 640, B = W*/4 (published 0.047)", lead, above=0.0)
        for tcp, (low, high) in RECOVERIES.items():
            yield _exact(f"recovery of {tcp} [s]", recoveries[tcp], above=low, below=high, neutral=(low + high) / 2)

    return conditions


def _inverse(slopes: pd.DataFrame) -> Conditions:
    """Checks that `slopes`, a row per W* and a column per flavor [1/s], are inversely proportional to W*."""

    def conditions(_runs: pd.DataFrame) -> Iterator[Condition]:
        for tcp in slopes:
            exponent = float(np.polyfit(np.log(slopes.index.to_numpy()), np.log(slopes[tcp].to_numpy()), 1)[0])
            name = f"log-log slope of T_N's slope against W*, {tcp}"
            yield _exact(name, exponent, above=-1.1, below=-0.9, neutral=-1.0)

    return conditions


def _estimate(packets: float) -> Conditions:
    def conditions(_runs: pd.DataFrame) -> Iterator[Condition]:
        yield _exact("threshold estimated at W* = 640 [packets]", packets, above=623, below=629)

    return conditions


def _gains(runs: pd.DataFrame) -> Iterator[Condition]:
    gain = utilization(runs, "newreno", 0.5, 640) / utilization(runs, "newreno", 0.25, 640)
    yield _exact("buffer gain of newreno at W* = 640, B = W*/2", gain, **_within(7.4))


def _no_more(runs: pd.DataFrame) -> Iterator[Condition]:
    for w_star in W_STARS:
        utilizations = [utilization(runs, "newreno", buffer, w_star) for buffer in BUFFERS[1:]]
        name = f"spread of newreno's mu over B >= W*/2 at W* = {w_star}"
        yield _exact(name, max(utilizations) - min(utilizations), below=0.01, neutral=0.0)


def _extremes(runs: pd.DataFrame) -> Iterator[Condition]:
    """Checks that mu is largest at the smallest W* and smallest at the largest, in each of the 12 settings."""
    for tcp, buffer in product(FLAVORS, BUFFERS):
        first, *between, last = (utilization(runs, tcp, buffer, w) for w in W_STARS)
        at = f"mu({tcp}), B = {buffer:g} W*"
        yield _exact(f"{at}: W* = 20 - largest of the others", first - max(*between, last), above=-TIE)
        yield _exact(f"{at}: W* = 640 - smallest of the others", last - min(first, *between), below=0.0)


def _reno_last(runs: pd.DataFrame) -> Iterator[Condition]:
    for buffer, w in product(BUFFERS[1:], W_STARS):
        smallest = min(utilization(runs, other, buffer, w) for other in ("newreno", "sack"))
        limits = {"below": 0.0} if (buffer, w) == (1.0, 640) else {"above": -TIE}
        name = f"smallest mu of newreno and sack - mu(reno), B = {buffer:g} W*, W* = {w}"
        yield _exact(name, smallest - utilization(runs, "reno", buffer, w), **limits)


def _newreno_ahead(runs: pd.DataFrame) -> Iterator[Condition]:
    for w in W_STARS[:-1]:
        lead = utilization(runs, "newreno", 0.25, w) - utilization(runs, "reno", 0.25, w)
        yield _exact(f"mu(newreno) - mu(reno) at W* = {w}, B = W*/4", lead, above=0.0)


def _gain(runs: pd.DataFrame, tcp: str, buffer: float, w_star: int) -> float:
    """Returns BG of section 4.3: mu divided by mu with B = W*/4."""
    return utilization(runs, tcp, buffer, w_star) / utilization(runs, tcp, 0.25, w_star)


def _reno_gains_past_three_quarters(runs: pd.DataFrame) -> Iterator[Condition]:
    for w in W_STARS[-2:]:
        for buffer in BUFFERS[2:]:
            yield _exact(f"BG_reno({buffer:g}) at W* = {w}", _gain(runs, "reno", buffer, w), above=2.0)


def _reno_gains_nothing_at_half(runs: pd.DataFrame) -> Iterator[Condition]:
    for w in W_STARS:
        yield _exact(f"BG_reno(1/2) at W* = {w}", _gain(runs, "reno", 0.5, w), **NO_GAIN)
    yield _exact("BG_reno(3/4) at W* = 160", _gain(runs, "reno", 0.75, 160), **NO_GAIN)
    yield _exact("BG_reno(1) at W* = 160", _gain(runs, "reno", 1.0, 160), above=1.0, below=1.5, neutral=1.0)


def _sack_at_320(runs: pd.DataFrame) -> Iterator[Condition]:
    half = _gain(runs, "sack", 0.5, 320)
    yield _exact("BG_sack(1/2) at W* = 320", half, **_within(1.5))
    for buffer in BUFFERS[2:]:
        more = _gain(runs, "sack", buffer, 320) - half
        yield _exact(f"BG_sack({buffer:g}) - BG_sack(1/2) at W* = 320", more, below=0.2, neutral=0.0)


def _timeouts(runs: pd.DataFrame, tcp: str, buffer: float, w_star: int) -> float:
    chosen = (runs["tcp"] == tcp) & (runs["buffer_bdp"] == buffer) & (runs["w_star_packets"] == w_star)
    return float(runs.loc[chosen, "timeouts"].iloc[0])


def _sack_at_640(runs: pd.DataFrame) -> Iterator[Condition]:
    gains = {buffer: _gain(runs, "sack", buffer, 640) for buffer in BUFFERS}
    yield _exact("BG_sack(1/2) - 1 at W* = 640", gains[0.5] - 1, above=0.0)
    bend = gains[0.75] - 2 * gains[0.5] + 1
    yield _exact("BG_sack(3/4) - 2 BG_sack(1/2) + 1 at W* = 640, 0 on a line", bend, above=-0.3, below=0.3, neutral=0.0)
    yield _exact("BG_sack(1) - BG_sack(3/4) at W* = 640", gains[1.0] - gains[0.75], below=0.0)
    yield _exact("timeouts at W* = B = 640", _timeouts(runs, "sack", 1.0, 640), above=0.0)
    yield _exact("timeouts at W* = 640, B = 3/4 W*", _timeouts(runs, "sack", 0.75, 640), below=1.0)


def _alike_for_small_products(runs: pd.DataFrame) -> Iterator[Condition]:
    for tcp, w in product(FLAVORS, W_STARS[:3]):
        largest = max(_gain(runs, tcp, buffer, w) for buffer in BUFFERS)
        yield _exact(f"largest BG_{tcp} at W* = {w}", largest, below=1.2, neutral=1.0)


def _newreno_at_320(runs: pd.DataFrame) -> Iterator[Condition]:
    yield _exact("BG_newreno(1/2) at W* = 320", _gain(runs, "newreno", 0.5, 320), **_within(2.2))


def _falls_again(times: pd.Series) -> Conditions:
    def conditions(_runs: pd.DataFrame) -> Iterator[Condition]:
        for w, s in times.items():
            yield _exact(f"Reno's window falls again at W* = {w} [s]", float(s), above=2.0, below=2.4)

    return conditions


def _stalls(throughput: float) -> Conditions:
    def conditions(_runs: pd.DataFrame) -> Iterator[Condition]:
        yield _exact("NewReno's mean T_N from 1 to 11 s at W* = 640, B = W*/4", throughput, below=0.05, neutral=0.0)

    return conditions


def _sack_fills(full: dict[int, float], second_loss: float) -> Conditions:
    def conditions(_runs: pd.DataFrame) -> Iterator[Condition]:
        for w, printed in ((80, 1.8), (20, 2.2)):
            yield _exact(f"SACK fills the pipe at W* = {w} [s]", full[w], **_within(printed))
        yield _exact("SACK's second loss at W* = 20 [s]", second_loss, **_within(1.6))

    return conditions


@dataclass(frozen=True)
class Recorded:
    """Results of transfers recorded over time: slopes of Table 2, recoveries [s] and more of sections 4.1 and 4.2."""

    slopes: pd.DataFrame
    recoveries: dict[str, float]
    estimate_packets: float
    falls_again: pd.Series
    newreno_stall: float
    # For SACK with B = W*/2 [s]: time at which it fills the pipe, by W*, and of its next loss at W* = 20.
    sack_full: dict[int, float]
    sack_second_loss: float


def claims(recorded: Recorded) -> tuple[Claim, ...]:
    """Returns the claims; those that need more than totals use transfers recorded over time."""

    def claim(number: int, text: str, conditions: Conditions, note: str = "") -> Claim:
        return Claim(f"lbd-{number}", text, conditions, published=False, note=note)

    tie = "The paper calls a difference of .019 identical; smaller ones are also ties here."
    return (
        claim(
            1,
            "Utilization falls as the bandwidth-delay product grows",
            _falls,
            "The limit of -.8 for the rank correlation is longpipe's own.",
        ),
        claim(2, "NewReno leads where B >= W*/2", _leads("newreno", BUFFERS[1:]), tie),
        claim(3, "SACK leads where B = W*/4", _leads("sack", BUFFERS[:1]), tie),
        claim(
            4,
            "NewReno falls behind Reno at W* = 640, B = W*/4",
            _newreno_falls_behind(recorded.recoveries),
            "The paper says about 10 s for NewReno and 2 s for Reno; the limits, 8 to 12 and 1 to 3 s, are longpipe's.",
        ),
        claim(
            5,
            "The slope of T_N in congestion avoidance is inverse to W*",
            _inverse(recorded.slopes),
            "The limits of -1.1 and -.9 for the exponent are longpipe's own.",
        ),
        claim(6, "NewReno estimates a threshold of 626 packets at W* = 640", _estimate(recorded.estimate_packets)),
        claim(7, "NewReno gains 7.4-fold from B = W*/4 to W*/2 at W* = 640", _gains, TOLERANCE),
        claim(
            8,
            "Beyond W*/2 NewReno gains nothing more",
            _no_more,
            "The limit of .01 is longpipe's own.",
        ),
        claim(9, "Utilization is highest at W* = 20 and lowest at W* = 640 in any setting", _extremes, tie),
        claim(10, "Reno is last where B >= W*/2, except for W* = B = 640", _reno_last, tie),
        claim(11, "NewReno is ahead of Reno up to W* = 320 where B = W*/4", _newreno_ahead),
        claim(
            12, "Reno gains more than a factor of 2 where B >= 3/4 W* and W* >= 320", _reno_gains_past_three_quarters
        ),
        claim(
            13,
            "Reno gains nothing from W*/4 to W*/2, and at W* = 160 a little with B = W*",
            _reno_gains_nothing_at_half,
            "The limits of .8 to 1.2 for almost one, and of 1.5 for slightly, are longpipe's own.",
        ),
        claim(
            14,
            "SACK gains 1.5-fold from W*/4 to W*/2 at W* = 320, and little more beyond",
            _sack_at_320,
            f"{TOLERANCE} So is the limit of .2 for a gain that is not significant.",
        ),
        claim(
            15,
            "SACK gains linearly up to 3/4 W* at W* = 640, and less with B = W*, where it suffers a timeout",
            _sack_at_640,
            "The tolerance of .3 for linearity is longpipe's own.",
        ),
        claim(
            16,
            "The buffer gains little where W* is at most 80, in all versions",
            _alike_for_small_products,
            "The limit of 1.2 is longpipe's own.",
        ),
        claim(17, "NewReno gains 2.2-fold from W*/4 to W*/2 at W* = 320", _newreno_at_320, TOLERANCE),
        claim(18, "Reno's throughput falls again between 2 and 2.4 s", _falls_again(recorded.falls_again)),
        claim(
            19,
            "NewReno's throughput is almost zero from 1 to 11 s at W* = 640, B = W*/4",
            _stalls(recorded.newreno_stall),
            "The limit of .05 is longpipe's own.",
        ),
        claim(
            20,
            "SACK fills the pipe at 1.8 s (W* = 80) and 2.2 s (W* = 20), where it loses again at 1.6 s",
            _sack_fills(recorded.sack_full, recorded.sack_second_loss),
            f"{TOLERANCE} The pipe is full in the first round trip with 98 % of the rate after the recovery.",
        ),
    )
