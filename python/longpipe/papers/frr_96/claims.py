"""What ATM Forum/96-1761 concludes, as conditions on replicated runs."""

from collections.abc import Callable, Iterator
from typing import Final

import pandas as pd

from longpipe.analysis.claims import Claim, Condition, mean_by_seed

# Largest queue without loss: the segments of all windows less what the round trip holds.
PEAK_CELLS: Final = {("lan", 5): 7609, ("lan", 15): 22849, ("wan", 5): 59256, ("wan", 15): 199776}

# Buffers of the runs about zero loss, in units of that queue.
ZERO_LOSS_PARTS: Final = {"double": 2.0, "zero-loss": 1.0, "half": 0.5}

# As evidence abbreviates the mean of a metric over the configurations named in brackets.
LETTERS: Final = {"efficiency": "E", "fairness": "F"}

Conditions = Callable[[pd.DataFrame], Iterator[Condition]]


def _of_tables(runs: pd.DataFrame) -> pd.DataFrame:
    return runs[runs["table"].notna()]


def _exceeds(metric: str, more: dict[str, object], less: dict[str, object], by: float = 0.0) -> Conditions:
    """Mean of the metric over the runs `more` exceeds that over the runs `less` by more than `by`."""

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        yield _difference(runs, metric, more, less, above=by)

    return conditions


def _difference(
    runs: pd.DataFrame, metric: str, one: dict[str, object], other: dict[str, object], **limits: float
) -> Condition:
    runs = _of_tables(runs)
    names = [", ".join(str(level) for level in factors.values()) for factors in (one, other)]
    by_seed = (mean_by_seed(runs, metric, **one) - mean_by_seed(runs, metric, **other)).dropna()
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
    for policy in ("selective-drop", "fba"):
        yield _difference(runs, "efficiency", _policy("reno", policy), _policy("reno", "epd"), above=-0.06, below=0.06)


def _zero_loss(runs: pd.DataFrame) -> Iterator[Condition]:
    def each(metric: str, part: str) -> pd.DataFrame:
        """One row per seed, one column per network and number of sources."""
        chosen = {at: mean_by_seed(runs, metric, part=part, network=at[0], sources=at[1]) for at in PEAK_CELLS}
        return pd.DataFrame(chosen)

    peaks = each("peak_queue_cells", "double")
    error = (peaks / pd.Series(PEAK_CELLS) - 1).abs().max(axis="columns")
    found, wanted = (", ".join(f"{cells:.0f}" for cells in values) for values in (peaks.mean(), PEAK_CELLS.values()))
    efficiency, lost = each("efficiency", "zero-loss"), each("cells_lost", "half")
    with_it = "with that buffer, in all four"
    yield Condition(f"largest relative error of the peak queues ({found} cells) against {wanted}", error, below=0.01)
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
    ),
    Claim("frr-8", "With fast retransmit Selective Drop and FBA add little to EPD", _little_beyond_epd),
    Claim("frr-9", "Zero loss needs buffers equal to the sum of the receiver windows", _zero_loss, published=False),
)
