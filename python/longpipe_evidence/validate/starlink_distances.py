"""Distances of distributions to WetLinks' quartiles: of the Starlink path, and of an example that was not measured.

Of the measured distributions, only the quartiles are known. The distance of Kolmogorov and Smirnov is the greatest
difference of the distribution functions at the measured quartiles, and that of Wasserstein the mean absolute difference
of the quartiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from longpipe import Scenario
from longpipe.scenario.paths import trunk
from longpipe_evidence.validate.starlink import PAYLOAD, PS, TEST_S, Effort, drawn_tests

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    Numbers = npt.NDArray[np.float64]

FILE: Final = Path("tests/data/starlink/before.toml")
_SHARES: Final = (0.25, 0.5, 0.75)
_UNITS: Final = {"down": "Mbit/s", "up": "Mbit/s", "bent-pipe": "ms"}
# Time between values of a mean over a test [s], and number of tests of the example.
_STEP_S: Final = 0.01
_TESTS: Final = 1000


class Distance(NamedTuple):
    """Distances of two distributions to the measured quartiles of a quantity: before, and now."""

    quantity: str
    unit: str
    kolmogorov_smirnov: tuple[float, float]
    wasserstein: tuple[float, float]


def distances(rows: pd.DataFrame, effort: Effort, file: Path = FILE) -> list[Distance]:
    """Returns the distances of the example in a file and of the Starlink path to the measured quartiles."""
    measured = rows.set_index("id")["value"]
    tests = [test for batch in range(effort.batches) for test in drawn_tests(batch, effort.tests)]
    rtts = np.array([test.rtt_ms for test in tests])
    now = {
        "down": np.array([test.down.mean() for test in tests]), "up": np.array([test.up.mean() for test in tests]),
        "bent-pipe": rtts[~np.isnan(rtts)],
    }  # fmt: skip
    before = _of_example(Scenario.from_toml(file.read_text(encoding="utf-8")))
    found = []
    for name, unit in _UNITS.items():
        quartiles = np.array([measured[f"{name}-p{share:.0%}".rstrip("%")] for share in _SHARES])
        both = [
            (_kolmogorov_smirnov(values[name], quartiles), _wasserstein(values[name], quartiles))
            for values in (before, now)
        ]
        found.append(Distance(name, unit, (both[0][0], both[1][0]), (both[0][1], both[1][1])))
    return found


def _kolmogorov_smirnov(values: Numbers, quartiles: Numbers) -> float:
    reached = np.searchsorted(np.sort(values), quartiles, side="right") / len(values)
    return float(np.abs(reached - _SHARES).max())


def _wasserstein(values: Numbers, quartiles: Numbers) -> float:
    return float(np.abs(np.quantile(values, _SHARES) - quartiles).mean())


def _of_example(scenario: Scenario) -> Mapping[str, Numbers]:
    """Returns rates [Mbit/s] and round trips [ms] of tests of 15 s at random times of a scenario with steps."""
    resolved = scenario.resolve()
    links = [resolved["links"][trunk(resolved, back=back)] for back in (False, True)]
    end = max(rate[0] for link in links for rate in link["motion"]["service"]["steps"]) / PS
    random = Random("example")  # noqa: S311 - a simulation
    times = np.array([random.uniform(0, end - TEST_S) for _ in range(_TESTS)])[:, None] + np.arange(0, TEST_S, _STEP_S)

    def held(points: Iterable[Sequence[float]]) -> Numbers:
        begins, values = np.array(list(points), dtype=float).T
        found: Numbers = values[np.searchsorted(begins / PS, times, side="right") - 1]
        return found

    losses = held(links[0]["loss"]["steps_ps"])
    rates = [held(link["motion"]["service"]["steps"]) * PAYLOAD / 1e6 for link in links]
    delays = [held(link["motion"]["delay"]["knots_ps"]) / PS * 1e3 for link in links]
    return {
        "down": (rates[0] * (1 - losses)).mean(axis=1), "up": rates[1].mean(axis=1),
        "bent-pipe": (delays[0] + delays[1]).mean(axis=1),
    }  # fmt: skip
