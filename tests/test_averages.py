"""Averages of a paper's columns have the same values and rounding on the terminal and on the page, for any seeds."""

import math

import numpy as np
import pandas as pd
import pytest

from longpipe.analysis.intervals import deviation, estimate, estimate_average
from longpipe.measures.readable import written
from longpipe.report.parts import NOTHING
from longpipe.study.until import needed
from longpipe_evidence.papers.rounding import difference, rounded
from longpipe_evidence.papers.seeds import seeds_text


def test_a_table_mentions_rows_that_no_seed_defines() -> None:
    assert seeds_text(pd.DataFrame({"seeds": [10, 10, 0]}), [], {}) == f"10 seeds; undefined ({NOTHING}) in 1 of 3 rows"
    assert seeds_text(pd.DataFrame({"seeds": [0]}), [], {}) == f"no seeds; undefined ({NOTHING}) in 1 of 1 rows"


def test_configurations_with_the_same_seeds_are_averaged_by_seed() -> None:
    one, other = {1: 0.2, 2: 0.4, 3: 0.9}, {1: 0.3, 2: 0.3, 3: 0.1}
    wanted = estimate([(one[seed] + other[seed]) / 2 for seed in one])
    found = estimate_average([one, other])
    assert (found.mean, found.mean_low, found.mean_high) == pytest.approx(
        (wanted.mean, wanted.mean_low, wanted.mean_high)
    )


@pytest.mark.parametrize("value", [417.1, 0.1, 5.1e7, -3.3, 0.0])
def test_the_interval_of_equal_values_is_the_value_itself(value: float) -> None:
    found = estimate([value] * 5)
    assert (found.mean, found.low, found.high, found.mean_low, found.mean_high) == (value,) * 5
    assert written(found.mean, (found.mean_high - found.mean_low) / 2).rstrip(".0").endswith("±")
    # Sums of equal numbers in a different order differ by rounding errors.
    noisy = [value, value, value * (1 + 2e-16), value, value * (1 - 2e-16)]
    assert deviation(noisy) == 0
    average = estimate_average([dict(enumerate(noisy)), dict.fromkeys(range(3), 2 * value)])
    assert average.mean_low == average.mean == average.mean_high
    assert needed(np.array(noisy), 0.01, 0.95) == (0, 0)


def test_small_deviations_and_non_finite_values_are_kept() -> None:
    assert deviation([1.0, 1 + 1e-9]) == pytest.approx(1e-9 / math.sqrt(2))
    assert math.isnan(deviation([1.0, math.nan]))
    assert estimate([1e-15, 3e-15]).mean_high > 2e-15


def test_the_average_of_configurations_with_fewer_seeds_is_that_of_their_means() -> None:
    lan, wan = {seed: float(seed) for seed in range(1, 21)}, dict.fromkeys(range(1, 11), 1.0)
    found = estimate_average([lan, wan])
    assert found.mean == pytest.approx((10.5 + 1) / 2)
    assert math.isnan(estimate_average([lan, {1: 1.0}]).mean_low)


def test_the_interval_holds_the_mean_95_times_in_100() -> None:
    draws = np.random.default_rng(1)
    held = 0
    for _ in range(1000):
        common = draws.normal(size=20)
        lan = dict(enumerate(common + draws.normal(size=20)))
        wan = dict(list(enumerate(common + draws.normal(size=20)))[:10])
        found = estimate_average([lan, wan])
        held += found.mean_low <= 0 <= found.mean_high
    # The degrees of freedom are those of the smaller number of seeds, which is conservative.
    assert 0.95 <= held / 1000 <= 0.985


def test_a_difference_is_rounded_once() -> None:
    assert (rounded(0.125), rounded(0.635), difference(0.877, 0.915)) == (0.13, 0.64, -0.04)


@pytest.mark.parametrize(
    ("lan", "wan", "said"),
    [
        (20, 20, "20 seeds"),
        (20, 10, "20 seeds (WAN 10)"),
        (3, 2, "3 seeds (WAN 2); few seeds make wide intervals: ±12.7 standard errors with 2"),
        (1, 1, "1 seed, which has no interval"),
    ],
)
def test_table_states_its_number_of_seeds(lan: int, wan: int, said: str) -> None:
    rows = pd.DataFrame({"policy": ["epd"] * 4, "network": ["lan", "wan"] * 2, "seeds": [lan, wan] * 2})
    assert seeds_text(rows, ["policy", "network"], {"wan": "WAN"}) == said
