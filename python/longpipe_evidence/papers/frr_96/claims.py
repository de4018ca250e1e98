"""Conclusions of ATM Forum/96-1761, as conditions on replicated runs."""

from collections.abc import Iterator
from typing import Final

import pandas as pd

from longpipe.analysis.claims import Claim, Condition, Conditions, mean_by_seed

# Maximum queue without loss: the segments of all windows minus the capacity of the round trip.
PEAK_CELLS: Final = {("lan", 5): 7609, ("lan", 15): 22849, ("wan", 5): 59256, ("wan", 15): 199776}

# Buffer sizes of the runs without losses, as multiples of `PEAK_CELLS`.
ZERO_LOSS_PARTS: Final = {"double": 2.0, "zero-loss": 1.0, "half": 0.5}

# Parts of the runs that only claims need: a timer of 10 ms, and parameters R and Z of Fair Buffer Allocation.
FINE_TIMER: Final = "10 ms timer"
FBA_PARAMETERS: Final = {
    "FBA R 0.8": (0.8, 0.8),
    "FBA R 0.95": (0.95, 0.8),
    "FBA Z 0.5": (0.9, 0.5),
    "FBA Z 1": (0.9, 1.0),
}

# Resolution of the printed numbers; parameters that differ by less are equally good.
PRINTED: Final = 0.01

# Abbreviations used in evidence: the mean of a metric over the configurations in brackets.
LETTERS: Final = {"efficiency": "E", "fairness": "F"}


def _of_tables(runs: pd.DataFrame) -> pd.DataFrame:
    return runs[runs["table"].notna()]


def _exceeds(metric: str, more: dict[str, object], less: dict[str, object], by: float = 0.0) -> Conditions:
    """Returns the condition that the metric's mean over `more` exceeds that over `less` by more than `by`.

    A `by` other than 0 is longpipe's own limit.
    """

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        yield _difference(runs, metric, more, less, above=by, **({"neutral": 0.0} if by else {}))

    return conditions


def _difference(
    runs: pd.DataFrame, metric: str, first: dict[str, object], second: dict[str, object], **limits: float
) -> Condition:
    runs = _of_tables(runs)
    names = [", ".join(str(level) for level in factors.values()) for factors in (first, second)]
    by_seed = (mean_by_seed(runs, metric, **first) - mean_by_seed(runs, metric, **second)).dropna()
    return Condition(f"{LETTERS[metric]}({names[0]}) - {LETTERS[metric]}({names[1]})", by_seed, **limits)


def _all(*parts: Conditions) -> Conditions:
    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        for part in parts:
            yield from part(runs)

    return conditions


def _policy(tcp: str, policy: str) -> dict[str, object]:
    return {"tcp": tcp, "policy": policy}


def _fba_is_best(runs: pd.DataFrame) -> Iterator[Condition]:
    for metric in LETTERS:
        for other in ("tail-drop", "epd", "selective-drop"):
            yield _difference(runs, metric, _policy("vanilla", "fba"), _policy("vanilla", other), above=0.0)


def _little_beyond_epd(runs: pd.DataFrame) -> Iterator[Condition]:
    limits = {"above": -0.06, "below": 0.06, "neutral": 0.0}
    for policy in ("selective-drop", "fba"):
        yield _difference(runs, "efficiency", _policy("reno", policy), _policy("reno", "epd"), **limits)


def _small_buffers_suffer(runs: pd.DataFrame) -> Iterator[Condition]:
    tables = _of_tables(runs)
    smaller = tables[tables["buffer_cells"].isin((1000, 12000))]
    for metric in LETTERS:
        by_seed = mean_by_seed(smaller, metric, **_policy("vanilla", "tail-drop"))
        yield Condition(f"{LETTERS[metric]}(vanilla, tail-drop, smaller buffers)", by_seed, below=0.8, neutral=1.0)


def _fine_timer_helps(runs: pd.DataFrame) -> Iterator[Condition]:
    for network in ("lan", "wan"):
        coarse = mean_by_seed(_of_tables(runs), "efficiency", network=network, **_policy("vanilla", "tail-drop"))
        fine = mean_by_seed(runs, "efficiency", network=network, part=FINE_TIMER)
        name = f"{network}: E(vanilla, tail-drop) with a timer of 10 ms - with 100 ms"
        yield Condition(name, (fine - coarse).dropna(), above=0.0)


def _epd_leaves_fairness(runs: pd.DataFrame) -> Iterator[Condition]:
    limits = {"above": -0.1, "below": 0.1, "neutral": 0.0}
    yield _difference(runs, "fairness", _policy("vanilla", "epd"), _policy("vanilla", "tail-drop"), **limits)


def _paper_s_parameters_are_best(runs: pd.DataFrame) -> Iterator[Condition]:
    for metric in LETTERS:
        best = mean_by_seed(_of_tables(runs), metric, **_policy("vanilla", "fba"))
        for part in FBA_PARAMETERS:
            other = mean_by_seed(runs, metric, part=part)
            letter = LETTERS[metric]
            name = f"{letter}(FBA R 0.9 Z 0.8) - {letter}({part})"
            yield Condition(name, (best - other).dropna(), above=-PRINTED, neutral=0.0)


def _more_duplicates(runs: pd.DataFrame) -> Iterator[Condition]:
    """Yields whether Reno retransmits more segments needlessly than vanilla TCP over the WAN."""
    of_wan = _of_tables(runs)
    of_wan = of_wan[of_wan["network"] == "wan"]
    more = mean_by_seed(of_wan, "duplicates", tcp="reno") - mean_by_seed(of_wan, "duplicates", tcp="vanilla")
    yield Condition("wan: share of duplicate segments, reno - vanilla", more, above=0.0)
    lost = mean_by_seed(of_wan, "duplicates", tcp="reno")
    yield Condition("wan: share of duplicate segments, reno", lost, above=0.01, neutral=0.0)
    recorded = runs[runs["part"] == "recorded"]
    false = mean_by_seed(recorded, "false_fast_retransmits", network="wan", tcp="reno")
    name = "wan, 15 sources, plain UBR: share of Reno's fast retransmits whose segment was not lost"
    yield Condition(name, false, above=0.01, neutral=0.0)


def _desynchronized(runs: pd.DataFrame) -> Iterator[Condition]:
    recorded = runs[runs["part"] == "recorded"]
    for network in ("lan", "wan"):
        vanilla, reno = (mean_by_seed(recorded, "synchronization", network=network, tcp=t) for t in ("vanilla", "reno"))
        yield Condition(f"{network}: correlation between windows, vanilla - reno", vanilla - reno, above=0.0)
    for network in ("lan", "wan"):
        at = [mean_by_seed(recorded, "loss_synchronization", network=network, tcp=t) for t in ("vanilla", "reno")]
        yield Condition(f"{network}: correlation between losses, vanilla - reno", at[0] - at[1], above=0.0)


def _fairness_beyond_epd(runs: pd.DataFrame) -> Iterator[Condition]:
    yield _difference(runs, "fairness", _policy("reno", "selective-drop"), _policy("reno", "epd"), above=0.0)
    place = {"network": "lan", "sources": 15, "buffer_cells": 1000}
    epd, fba = ({**_policy("reno", policy), **place} for policy in ("epd", "fba"))
    yield _difference(runs, "fairness", epd, fba, above=0.0)


def _zero_loss(runs: pd.DataFrame) -> Iterator[Condition]:
    """Yields whether the paper's buffers suffice to lose no cell, and whether half of them does not."""

    def each(metric: str, part: str) -> pd.DataFrame:
        """Returns one row per seed, and one column per network and number of sources."""
        chosen = {at: mean_by_seed(runs, metric, part=part, network=at[0], sources=at[1]) for at in PEAK_CELLS}
        return pd.DataFrame(chosen)

    peaks = each("peak_queue_cells", "double")
    error = (peaks / pd.Series(PEAK_CELLS) - 1).abs().max(axis="columns")
    simulated, wanted = (
        ", ".join(f"{cells:.0f}" for cells in values) for values in (peaks.mean(), PEAK_CELLS.values())
    )
    efficiency, lost = each("efficiency", "zero-loss"), each("cells_lost", "half")
    with_it = "with that buffer, in all four"
    yield Condition(
        f"largest relative error of the peak queues ({simulated} cells) against {wanted}", error, below=0.01
    )
    yield Condition(f"cells lost {with_it}", each("cells_lost", "zero-loss").sum(axis="columns"), below=1)
    yield Condition(f"timeouts {with_it}", each("timeouts", "zero-loss").sum(axis="columns"), below=1)
    yield Condition("E with that buffer, smallest of four", efficiency.min(axis="columns"), above=0.98)
    yield Condition("cells lost with half of it, fewest of four", lost.min(axis="columns"), above=0)


CLAIMS: Final = (
    Claim(
        "frr-1",
        "EPD raises efficiency over plain UBR for Vanilla TCP",
        _exceeds("efficiency", _policy("vanilla", "epd"), _policy("vanilla", "tail-drop")),
    ),
    Claim(
        "frr-2",
        "Per-VC accounting raises fairness over EPD for Vanilla TCP",
        _exceeds("fairness", _policy("vanilla", "selective-drop"), _policy("vanilla", "epd")),
    ),
    Claim("frr-3", "FBA gives Vanilla TCP the best efficiency and fairness of the four policies", _fba_is_best),
    Claim(
        "frr-4",
        "Fast retransmit raises the mean efficiency of plain UBR",
        _exceeds("efficiency", _policy("reno", "tail-drop"), _policy("vanilla", "tail-drop")),
    ),
    Claim(
        "frr-5",
        "On the WAN fast retransmit hurts efficiency",
        _exceeds("efficiency", {"tcp": "vanilla", "network": "wan"}, {"tcp": "reno", "network": "wan"}),
    ),
    Claim(
        "frr-6",
        "Fast retransmit raises the fairness of plain UBR",
        _exceeds("fairness", _policy("reno", "tail-drop"), _policy("vanilla", "tail-drop")),
    ),
    Claim(
        "frr-7",
        "With fast retransmit EPD is a large gain in efficiency and fairness",
        _all(*(_exceeds(metric, _policy("reno", "epd"), _policy("reno", "tail-drop"), by=0.10) for metric in LETTERS)),
        note="The paper writes of a large improvement; the limit of .10 is longpipe's own (printed: .19 and .16).",
    ),
    Claim(
        "frr-8",
        "With fast retransmit, Selective Drop and FBA are little more efficient than EPD",
        _little_beyond_epd,
        note="The limit of .06 for a small difference is longpipe's own (printed: -.03 and -.03).",
    ),
    Claim("frr-9", "Zero loss needs buffers equal to the sum of the receiver windows", _zero_loss, published=False),
    Claim(
        "frr-10",
        "Plain UBR with small buffers gives Vanilla TCP a low and unfair throughput",
        _small_buffers_suffer,
        note="The limit of .8 for low is longpipe's own (printed: .56 and .60).",
    ),
    Claim(
        "frr-11",
        "The coarse granularity of the timer is a reason for the low throughput of plain UBR",
        _fine_timer_helps,
        published=False,
        note="Judged by additional runs of longpipe: a timer of 10 ms in place of 100 ms, the first RTO of 3 s "
        "unchanged.",
    ),
    Claim(
        "frr-12",
        "EPD has little effect on the fairness of Vanilla TCP",
        _epd_leaves_fairness,
        note="The limit of .10 is longpipe's own; the printed averages, of which the paper says this, differ by .09.",
    ),
    Claim(
        "frr-13",
        "Selective Drop has a better efficiency than EPD for Vanilla TCP",
        _exceeds("efficiency", _policy("vanilla", "selective-drop"), _policy("vanilla", "epd")),
    ),
    Claim(
        "frr-14",
        "R 0.9 and Z 0.8 are the best parameters of FBA",
        _paper_s_parameters_are_best,
        published=False,
        note="Judged against four other pairs over the configurations of Vanilla TCP. The tolerance of .01, the "
        "resolution of the printed numbers, is longpipe's own.",
    ),
    Claim(
        "frr-15",
        "On the WAN, Reno retransmits more segments that the receiver already has than Vanilla does",
        _more_duplicates,
        published=False,
        note="The paper calls their number significant; the limits of 1 % are longpipe's own.",
    ),
    Claim(
        "frr-16",
        "With fast retransmit Selective Drop is fairer than EPD, and FBA is less fair in one case",
        _fairness_beyond_epd,
        note="The case is the LAN with 15 sources and 1000 cells, printed as .69 for FBA and .96 for EPD.",
    ),
    Claim(
        "frr-17",
        "Fast retransmit breaks the synchronization of the sources over plain UBR",
        _desynchronized,
        published=False,
        note=(
            "Measured as the mean correlation between the congestion windows of 15 sources, and between their losses "
            "by 100 ms, with the smaller buffers."
        ),
    ),
)
