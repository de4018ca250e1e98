"""Sums computed without NumPy are bit-identical to NumPy's."""

import random

import numpy as np
import pytest

from longpipe.metrics.atm_forum import efficiency, fairness
from longpipe.metrics.sums import total


@pytest.mark.parametrize("count", [*range(20), 63, 64, 127, 128, 129, 136, 137, 255, 256, 257, 1000, 4099])
def test_totals_equal_numpys(count: int) -> None:
    drawn = random.Random(count)
    values = [drawn.uniform(-1, 1) * 10.0 ** drawn.randint(-8, 8) for _ in range(count)]
    assert total(values) == float(np.sum(np.array(values)))


def test_efficiency_and_fairness_equal_numpys() -> None:
    x = np.random.default_rng(1).uniform(0, 1e8, 77)
    assert efficiency(x.tolist(), 1e9) == float(np.sum(x)) / 1e9
    assert fairness(x.tolist()) == float(np.sum(x) ** 2 / (x.size * np.sum(x * x)))
