"""Conclusions of lbd-01 as conditions on one transfer by today's senders over an empty path with tail drop."""

from collections.abc import Callable, Iterator
from typing import Final

import pandas as pd

from longpipe.analysis.claims import Condition, Conditions, CorrelationCondition
from longpipe.analysis.correlation import rank_correlation
from longpipe_evidence.papers.lbd_01.transfers import BUFFERS, W_STARS
from longpipe_evidence.papers.today.conclusions import Question, of_seeds
from longpipe_evidence.papers.today.paths import SENDERS

# Maximum difference between values of mu that the paper calls identical.
TIE: Final = 0.019
# Today's senders in place of the paper's Reno, NewReno and SACK.
RENO, CUBIC, BBR = SENDERS


Measure = Callable[["Seed"], float]


class Seed:
    """The transfers of one seed: utilizations and gains by sender, buffer and W*."""

    def __init__(self, runs: pd.DataFrame) -> None:
        self._mu = runs.set_index(["tcp", "buffer_bdp", "w_star_packets"])["utilization"]

    def mu(self, tcp: str, buffer: float, w_star: int) -> float:
        """Returns the utilization of one configuration."""
        return float(self._mu.loc[(tcp, buffer, w_star)])

    def gain(self, tcp: str, buffer: float, w_star: int) -> float:
        """Returns BG of the paper's section 4.3: mu divided by mu with B = W*/4."""
        return self.mu(tcp, buffer, w_star) / self.mu(tcp, 0.25, w_star)

    def lead(self, tcp: str, other: str, buffers: tuple[float, ...], w_stars: tuple[int, ...] = W_STARS) -> float:
        """Returns the smallest lead of one sender over another."""
        return min(self.mu(tcp, b, w) - self.mu(other, b, w) for b in buffers for w in w_stars)


def _condition(runs: pd.DataFrame, quantity: str, measure: Measure, **limits: float) -> Condition:
    return Condition(quantity, _by_seed(runs, measure), **limits)


def _by_seed(runs: pd.DataFrame, measure: Measure) -> pd.Series:
    return of_seeds(runs, lambda of_seed: measure(Seed(of_seed)))


def _lead(tcp: str, other: str, buffers: tuple[float, ...], w_stars: tuple[int, ...] = W_STARS) -> Measure:
    return lambda seed: seed.lead(tcp, other, buffers, w_stars)


def _gain(tcp: str, buffer: float, w_star: int) -> Measure:
    return lambda seed: seed.gain(tcp, buffer, w_star)


def _utilization_falls_with_w_star(runs: pd.DataFrame) -> Iterator[Condition]:
    def largest(seed: Seed) -> float:
        curves = ([seed.mu(tcp, b, w) for w in W_STARS] for tcp in SENDERS for b in BUFFERS)
        return max(rank_correlation(W_STARS, curve) for curve in curves)

    name = "rank correlation of mu with W*, largest of 12"
    yield CorrelationCondition(name, _by_seed(runs, largest), below=-0.8)


def _cubic_leads_with_large_buffers(runs: pd.DataFrame) -> Iterator[Condition]:
    for tcp, other in ((CUBIC, RENO), (CUBIC, BBR), (BBR, RENO)):
        name = f"mu({SENDERS[tcp]}) - mu({SENDERS[other]}) where B >= W*/2, smallest of 18"
        yield _condition(runs, name, _lead(tcp, other, BUFFERS[1:]), above=-TIE)


def _bbr_leads_with_small_buffers(runs: pd.DataFrame) -> Iterator[Condition]:
    for other in (RENO, CUBIC):
        name = f"mu({SENDERS[BBR]}) - mu({SENDERS[other]}) where B = W*/4, smallest of 6"
        yield _condition(runs, name, _lead(BBR, other, (0.25,)), above=-TIE)


def _cubic_leads_reno_with_small_buffers(runs: pd.DataFrame) -> Iterator[Condition]:
    for w in W_STARS:
        name = f"mu({SENDERS[CUBIC]}) - mu({SENDERS[RENO]}) at W* = {w}, B = W*/4"
        limits = {"above": 0.0} if w < W_STARS[-1] else {"below": 0.0}
        yield _condition(runs, name, _lead(CUBIC, RENO, (0.25,), (w,)), **limits)


def _gains(tcp: str, *wanted: tuple[float, int, dict[str, float]]) -> Conditions:
    """Returns the limits of the gain of a buffer over W*/4 at a W*."""

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        for buffer, w, limits in wanted:
            name = f"BG of {SENDERS[tcp]} with B = {buffer:g} W* at W* = {w}"
            yield _condition(runs, name, _gain(tcp, buffer, w), **limits)

    return conditions


def _alike_for_small_products(runs: pd.DataFrame) -> Iterator[Condition]:
    for tcp, name in SENDERS.items():

        def largest(seed: Seed, tcp: str = tcp) -> float:
            return max(seed.gain(tcp, b, w) for b in BUFFERS for w in W_STARS[:3])

        yield _condition(runs, f"largest BG of {name} for W* of at most 80", largest, below=1.2)


def _cubic_falls_behind_reno(runs: pd.DataFrame) -> Iterator[Condition]:
    def loss(seed: Seed) -> float:
        return seed.mu(RENO, 0.25, 640) - seed.mu(CUBIC, 0.25, 640)

    yield _condition(runs, f"mu({SENDERS[RENO]}) - mu({SENDERS[CUBIC]}) at W* = 640, B = W*/4", loss, above=0.0)
    name = f"mu({SENDERS[CUBIC]}) at W* = 640, B = W*/4"
    yield _condition(runs, name, lambda seed: seed.mu(CUBIC, 0.25, 640), below=0.2)


DESIGN: Final = "transfer"
QUESTIONS: Final = (
    Question(
        "L1",
        DESIGN,
        "Utilization falls with W* in any setting",
        _utilization_falls_with_w_star,
        "A larger window takes longer to open, with any sender.",
    ),
    Question(
        "L2",
        DESIGN,
        "Where B >= W*/2 CUBIC leads and Reno is last, except for ties of .019",
        _cubic_leads_with_large_buffers,
        (
            "CUBIC leaves slow start by HyStart before it overflows the buffer; BBRv3's start-up and probing cost more "
            "with a small BDP."
        ),
    ),
    Question(
        "L3",
        DESIGN,
        "Where B = W*/4 BBRv3 leads, except for ties of .019",
        _bbr_leads_with_small_buffers,
        (
            "BBRv3 does not depend on the buffer, so it leads if the buffer is small and the BDP large; with a small "
            "BDP CUBIC leads."
        ),
    ),
    Question(
        "L4",
        DESIGN,
        "Where B = W*/4 CUBIC leads Reno up to W* = 320, and is behind at 640",
        _cubic_leads_reno_with_small_buffers,
        "Both repair their losses within a few round trips, and CUBIC regrows faster at any W*.",
    ),
    Question(
        "L5",
        DESIGN,
        "Reno gains more than a factor of 2 where B >= 3/4 W* and W* >= 320",
        _gains(RENO, *((b, w, {"above": 2.0}) for w in W_STARS[-2:] for b in BUFFERS[2:])),
        "A loss no longer costs a timeout, so a buffer gains little.",
    ),
    Question(
        "L6",
        DESIGN,
        "Reno gains nothing from W*/4 to W*/2",
        _gains(RENO, *((0.5, w, {"above": 0.8, "below": 1.2}) for w in W_STARS)),
        "Increasing the buffer from a quarter to half of a round trip avoids losses in Reno's slow start, a gain of 10 "
        "to 20 %.",
    ),
    Question(
        "L7",
        DESIGN,
        "BBRv3 gains a factor of 1.5 from W*/4 to W*/2 at W* = 320, within 10 %",
        _gains(BBR, (0.5, 320, {"above": 1.35, "below": 1.65})),
        "BBRv3 paces by its estimate of the rate and does not use the buffer.",
    ),
    Question(
        "L8",
        DESIGN,
        "BBRv3 gains up to 3/4 W* at W* = 640, by more than a factor of 1.5",
        _gains(BBR, (0.75, 640, {"above": 1.5})),
        "BBRv3 paces by its estimate of the rate and does not use the buffer.",
    ),
    Question(
        "L9",
        DESIGN,
        "No buffer gains more than a factor of 1.2 for W* of at most 80",
        _alike_for_small_products,
        "Losses cost a round trip at any W*.",
    ),
    Question(
        "L10",
        DESIGN,
        "CUBIC gains a factor of 2.2 at W* = 320 and of 7.4 at 640 from W*/4 to W*/2, within 10 %",
        _gains(CUBIC, (0.5, 320, {"above": 1.98, "below": 2.42}), (0.5, 640, {"above": 6.66, "below": 8.14})),
        "CUBIC's loss recovery takes one round trip, NewReno's took one for each loss, so there is little to gain.",
    ),
    Question(
        "L13",
        DESIGN,
        "CUBIC repairs the losses of slow start later than Reno and falls behind it, to a utilization below .2",
        _cubic_falls_behind_reno,
        "SACK and RACK repair all losses of a window in about a round trip.",
    ),
)
